"""The vector environment: compared with SyncVectorEnv, random moves, options, copies and bad input."""

import copy
import pickle
from functools import partial
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from configurations import (
    GYM,
    LAST_LEGAL,
    SIMPLE,
    Wrapped,
    check_frequencies,
    distribution_after,
    first_legal,
    plain,
)
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from table_policies import random_table

from nim_env import (
    Encoding,
    MixturePolicy,
    NimEnv,
    NimRules,
    NimVectorEnv,
    OpponentPool,
    RandomPolicy,
    TabularPolicy,
)
from nim_env.policies import Player, checked_policy

EVERY_MODE = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


def make(num_envs=4, **arguments):
    return gym.make_vec("Nim-v0", num_envs=num_envs, **arguments)


def draw_actions(mask, generator, illegal=0.0):
    """Draws random legal actions, or with probability ``illegal`` any actions of the space."""
    weights = generator.random(mask.shape) * mask
    is_any = generator.random(len(mask)) < illegal
    return np.where(is_any, generator.integers(mask.shape[1], size=len(mask)), weights.argmax(axis=1))


def play(env, overwrite=False):
    """Plays at random, resets the environment, and returns all results.

    With ``overwrite`` it overwrites all arrays that were returned or passed.
    """
    generator, record = np.random.default_rng(1), []

    def keep(*results):
        record.append(plain(results))
        if overwrite:
            fill(results)

    for _ in range(12):
        mask = env.unwrapped.action_masks()
        actions = draw_actions(mask, generator)
        results = env.step(actions)
        is_over = results[2] | results[3]
        keep(env.render() if env.render_mode else None, env.unwrapped.states, mask, actions, *results)
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and is_over.any():
            keep(*env.reset(options={"reset_mask": is_over}), is_over)
    keep(*env.reset())
    return record


def fill(value):
    if isinstance(value, dict | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            fill(part)
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            for part in value:
                fill(part)
        value[...] = None if value.dtype == object else 77


def rest_of(env):
    """Returns the results of playing on with a copy of an environment."""
    return play(copy.deepcopy(env))


def check_unchanged(env, call, error, message):
    before = rest_of(env)
    with pytest.raises(error, match=message):
        call()
    assert rest_of(env) == before


PAIRS = Encoding(Box(0, 7, (2, 2)), lambda heaps: heaps.reshape(*heaps.shape[:-1], 2, 2))
DETERMINISTIC = {
    "callable": {"opponent": first_legal, "first_player": "opponent", "observation": PAIRS},
    "policy": {"opponent": LAST_LEGAL, "first_player": "agent", **SIMPLE, "observation": "index"},
    "take-3": {"opponent": "take-3", "first_player": "opponent", **SIMPLE, "heaps": (15,)},
    "pool": {"opponent": OpponentPool(NimRules(), [first_legal, LAST_LEGAL], [0, 1]), "first_player": "opponent"},
    "large tables": {"opponent": "take-2", "first_player": "opponent", "heaps": (1100,), "max_take": 500},
    "direct": {"opponent": "take-3", "first_player": "opponent", "heaps": (10**15,), "max_take": 3},
    "self-play": {"opponent": None},
    "self-play that raises": {"opponent": None, "heaps": (0, 3, 0, 1), "illegal_action": "raise"},
    "self-play in large tables": {"opponent": None, "heaps": (9, 11, 13, 30), "observation": "one_hot"},
    "direct self-play": {"opponent": None, "heaps": (1,) * 21, "observation": "bits"},
}


@EVERY_MODE
@pytest.mark.parametrize("max_episode_steps", [1, 3, -1])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_equal_to_sync_vector_env(name, max_episode_steps, mode):
    """All values and dtypes are equal, and so is the truncation by the wrapper TimeLimit."""
    arguments = {**DETERMINISTIC[name], "max_episode_steps": max_episode_steps}
    sync = gym.make_vec(
        "Nim-v0", 6, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **arguments
    )
    ours = make(6, autoreset_mode=mode.value, **arguments)
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, space) == getattr(sync, space)
    assert ours.metadata["autoreset_mode"] is mode
    rules = ours.unwrapped.rules
    starts = [None, {"heaps": np.minimum(rules.heaps, 4) * (np.arange(rules.n_heaps) >= rules.n_heaps - 3)}]
    if arguments["opponent"] is not None and not arguments.get("random_start"):
        starts += [{"first_player": name} for name in ("agent", "opponent")]
    generator, n_terminated, n_truncated = np.random.default_rng(0), 0, 0
    for step in range(60):
        if step % 10 == 0:
            options = starts[step // 10 % len(starts)]
            results = [env.reset(seed=None if step % 20 else step, options=options) for env in (sync, ours)]
            assert plain(results[0]) == plain(results[1])
        mask = ours.unwrapped.action_masks()
        actions = draw_actions(mask, generator, 0.0 if "illegal_action" in arguments else 0.1)
        results = [env.step(actions) for env in (sync, ours)]
        assert plain(results[0]) == plain(results[1])
        n_terminated += results[0][2].sum()
        n_truncated += results[0][3].sum()
        is_over = results[0][2] | results[0][3]
        if mode is AutoresetMode.DISABLED and is_over.any():
            seed = None if step % 3 else step  # with and without a seed
            results = [env.reset(seed=seed, options={"reset_mask": is_over.copy()}) for env in (sync, ours)]
            assert plain(results[0][0]) == plain(results[1][0])
            for key, value in results[0][1].items():  # SyncVectorEnv has 0 in the other rows, and ours keeps them
                rows = slice(None) if key[0] == "_" else is_over
                np.testing.assert_array_equal(results[1][1][key][rows], value[rows])
    assert n_terminated > 5 or max_episode_steps > 0
    assert bool(n_truncated) == (max_episode_steps > 0)


NUMBER = 5_000
WAYS = {  # heaps for each way in which a step is computed
    "table of moves": (1, 3, 5, 7),
    "tables": (1, 3, 5, 7, 30),
    "large": (1, 3, 5, 7, *[1] * 12),
    "queried": (1, 3, 5, 7),
    "set later": (1, 3, 5, 7),
}
UNEVEN = {  # opponents whose replies are drawn by weight, from lists or from the answers of a queried member
    "table": random_table(NimRules(), 0),
    "mixture": MixturePolicy(NimRules(), ["take-2", random_table(NimRules(), 1)], weights=[1, 3]),
    "queried member": MixturePolicy(NimRules(), ["expert", first_legal]),
    "pool": OpponentPool(NimRules(), ["take-2", random_table(NimRules(), 1)], weights=[1, 3]),
    "queried member of a pool": OpponentPool(NimRules(), ["expert", first_legal]),
}


@pytest.mark.parametrize(("first_player", "probability"), [("random", 0.5), ("opponent", 1.0)])
@pytest.mark.parametrize(
    ("way", "name"),
    [*product(WAYS, ["random", "expert", "take-2"]), *product(["table of moves", "set later"], UNEVEN)],
)
def test_openings_and_replies_are_drawn_from_the_policy(way, name, first_player, probability):
    rules, opponent = NimRules(WAYS[way]), UNEVEN.get(name, name)
    is_pool = isinstance(opponent, OpponentPool)  # for the first move in a game, a pool is a mixture
    mixed = MixturePolicy(rules, opponent.policies, opponent.weights) if is_pool else opponent
    policy = checked_policy(mixed, rules)
    made_with = {"queried": Wrapped(policy), "set later": first_legal}.get(way, opponent)
    env = make(NUMBER, opponent=made_with, heaps=rules.heaps, first_player=first_player, max_episode_steps=1)
    env.unwrapped.set_opponent(opponent if way == "set later" else made_with)
    expected = {rules.heaps: 1 - probability}
    for heaps, weight in distribution_after(rules, rules.heaps, policy).items():
        expected[heaps] = weight * probability
    observations, infos = env.reset(seed=0)
    check_frequencies(observations, expected)
    env.step(draw_actions(infos["action_mask"], np.random.default_rng(0)))  # truncated
    check_frequencies(env.step(np.zeros(NUMBER, dtype=int))[0], expected)
    env.reset(options={"heaps": np.eye(rules.n_heaps, dtype=int)[1]})
    assert env.step(np.zeros(NUMBER, dtype=int))[2].all()  # illegal
    check_frequencies(env.step(np.zeros(NUMBER, dtype=int))[0], expected)
    for start in [(1, 3, 5, 7), (0, 3, 5, 7), (1, 0, 3, 7), (1, 1, 5, 1), (0, 0, 2, 5)]:
        heaps = np.pad(start, (0, rules.n_heaps - len(start)))
        env.reset(options={"heaps": heaps})
        action = int(np.flatnonzero(rules.action_mask(heaps))[sum(start) % 5])
        observations, *_ = env.step(np.full(NUMBER, action))
        check_frequencies(observations, distribution_after(rules, rules.apply(heaps, action), policy))


@pytest.mark.parametrize("kind", [NimEnv, NimVectorEnv])
def test_a_mixture_may_change_while_games_are_in_progress(kind):
    mixture = MixturePolicy(NimRules(), ["take-1", "expert"])
    env = kind(opponent=mixture, first_player="agent")
    options = {"heaps": (1, 3, 3, 7)}  # the expert leaves 1-3-3-1

    def check(left):
        env.reset(seed=0, options=options)
        observation = env.step(9 if kind is NimEnv else [9])[0]  # one object of heap D
        assert observation.sum() == left

    for weights, left in (([1, 0], 12), ([0, 1], 8), ([1, 0], 12)):
        mixture.weights[:] = weights
        check(left)
    for member, left in (("take-1", 12), ("expert", 8), (first_legal, 0 + 3 + 3 + 6), ("expert", 8)):
        mixture.weights[:] = [0] * len(mixture.weights)
        mixture.add(member)
        check(left)


INVALID = random_table(NimRules(), 0).probabilities * np.where(np.arange(384) == 200, 0.5, 1)[:, None]


@pytest.mark.parametrize("kind", [NimEnv, NimVectorEnv])
@pytest.mark.parametrize(
    ("opponent", "message"),
    [(TabularPolicy(NimRules(), INVALID), "sum to 1"), (Player(RandomPolicy(), "lose"), "illegal_action")],
    ids=["a row of a table", "a player whose illegal actions lose"],
)
def test_opponents_that_could_fail_are_refused_at_once(kind, opponent, message):
    with pytest.raises(ValueError, match=message):
        kind(opponent=opponent)
    env = kind(opponent=Player(RandomPolicy(), "raise"))
    before = env.opponent
    with pytest.raises(ValueError, match=message):
        env.set_opponent(opponent)
    assert env.opponent is before


@EVERY_MODE
@pytest.mark.parametrize("opponent", ["expert", None, first_legal], ids=["expert", "self-play", "callable"])
def test_random_starts_are_uniform(opponent, mode):
    env = make(NUMBER, opponent=opponent, heaps=(2, 0, 3), random_start=True, autoreset_mode=mode)
    expected = {(i, 0, j): 1 for i in range(3) for j in range(4) if i + j}
    observations, infos = env.reset(seed=0)
    check_frequencies(observations, expected)
    np.testing.assert_array_equal(infos["action_mask"], env.unwrapped.rules.action_mask(observations))
    env.reset(options={"heaps": (1, 0, 1)})
    observations, _, terminated, *_ = env.step(np.full(NUMBER, 4))  # illegal
    assert terminated.all()
    if mode is AutoresetMode.NEXT_STEP:
        observations, *_ = env.step(np.zeros(NUMBER, dtype=int))
    elif mode is AutoresetMode.DISABLED:
        observations, _ = env.reset(options={"reset_mask": terminated})
    check_frequencies(observations, expected)


@pytest.mark.parametrize("opponent", [first_legal, "take-1", None], ids=["callable", "take-1", "self-play"])
def test_options_of_some_environments(opponent):
    """The other games do not change: environment 1 lost by an illegal action, and environment 2 is in progress."""
    env = make(4, opponent=opponent, first_player=opponent and "opponent", autoreset_mode="Disabled")
    env.reset(seed=0, options={"heaps": (0, 3, 5, 7)})
    after = env.step(np.array([1, 0, 4, 15]))[0]
    heaps = np.array([(0, 1, 0, 2), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0)])
    reset_mask = heaps.any(axis=1)
    options = {"heaps": heaps.copy(), "reset_mask": reset_mask.copy()}
    observations, infos = env.reset(options=options)
    np.testing.assert_equal(options, {"heaps": heaps, "reset_mask": reset_mask})
    np.testing.assert_array_equal(observations, np.where(reset_mask[:, None], heaps, after))
    is_lost = np.arange(4) == 1
    np.testing.assert_array_equal(infos["illegal_action"], is_lost)
    np.testing.assert_array_equal(infos["action_mask"], NimRules().action_mask(observations) | is_lost[:, None])
    if opponent is None:
        assert infos["to_play"].tolist() == [0, 1, 1, 0]
    with pytest.raises(ResetNeeded, match="environment 1"):
        env.step(np.zeros(4, dtype=int))


OPPONENTS = {"random": "random", "callable": first_legal, "policy": LAST_LEGAL}


@EVERY_MODE
@pytest.mark.parametrize("max_episode_steps", [None, 4])
@pytest.mark.parametrize("after", OPPONENTS)
def test_set_opponent_holds_for_games_that_begin_later(after, max_episode_steps, mode):
    """A new game is the same as if the new opponent had always been set. test_pool.py tests games in progress."""
    arguments = {"render_mode": "ansi", "max_episode_steps": max_episode_steps, "autoreset_mode": mode.value}
    expected, *envs = (make(7, opponent=each, **arguments) for each in (OPPONENTS[after], *OPPONENTS.values()))
    expected.reset(seed=4)
    for env in envs:
        for _ in range(2):  # before the first game, and later
            env.unwrapped.set_opponent(OPPONENTS[after])
            with pytest.raises(ValueError, match="opponent"):
                env.unwrapped.set_opponent("grandmaster")
            assert env.unwrapped.opponent is OPPONENTS[after]
            env.reset(seed=4)
            assert rest_of(env) == rest_of(expected)
            env.unwrapped.set_opponent("take-1")


SMALL_GYM = {name: GYM[name] for name in GYM if name != "seven heaps"}  # its tables take a second to make
EVERY_CONFIGURATION = pytest.mark.parametrize("configuration", SMALL_GYM.values(), ids=SMALL_GYM)


@EVERY_MODE
@EVERY_CONFIGURATION
def test_seeds_copies_and_returned_arrays(configuration, mode):
    env, other = (make(20, autoreset_mode=mode, render_mode="ansi", **configuration) for _ in range(2))
    start = plain(env.reset(seed=3))
    other.reset(seed=8)
    if mode is not AutoresetMode.DISABLED:  # games in progress
        other.step(other.unwrapped.action_masks().argmax(axis=1))
    record = rest_of(other)
    assert record == play(pickle.loads(pickle.dumps(other))) == play(other)
    again = other.reset(seed=3)
    assert start == plain(again)
    fill(again)
    record = play(env)
    assert record == play(other, overwrite=True)
    if configuration in ({}, {"opponent": "expert"}, {"random_start": True}):
        env.reset(seed=4)
        assert record != play(env)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"heaps": [(1, 3, 5, 7), (1, 3, 6, 7), (1, 3, 5, 7)]}}, "heaps.*6"),
        ({"options": {"heaps": [(1, 3, 5, 7), (0, 0, 0, 0), (1, 3, 5, 7)]}}, "heaps"),
        ({"options": {"heaps": [(1, 3, 5, 7)] * 2}}, "heaps"),
        ({"options": {"reset_mask": np.array([1, 0, 1])}}, "reset_mask"),
        ({"options": {"reset_mask": np.zeros(3, dtype=bool)}}, "reset_mask"),
        ({"seed": [1, 2, 3]}, "seed.*one int"),
    ],
    ids=str,
)
def test_wrong_resets(arguments, message):
    env = make(3)
    env.reset(seed=0)
    check_unchanged(env, lambda: env.reset(**{"seed": 5, **arguments}), (ValueError, TypeError), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs.*0"),
        ({"heaps": (10_000,), "num_envs": 10**9}, "num_envs=1,000,000,000"),
        ({"autoreset_mode": "sometimes"}, "sometimes"),
        ({"max_episode_steps": 0}, "max_episode_steps.*0"),
        ({"render_mode": "human"}, "render_mode.*'human'"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NimVectorEnv(**{"num_envs": 2, **arguments})


@pytest.mark.parametrize(
    "actions", [[0, 1, 16], [0, -1, 16], [2**63] * 3, [0.0] * 3, [True] * 3, [0, None, 2], [0, 1], 5], ids=str
)
def test_actions_are_integers(actions):
    env = make(3, opponent=None)
    env.reset(seed=0)
    check_unchanged(env, lambda: env.step(actions), InvalidAction, "actions")
    for accepted in ((9, 10, 11), [9, np.int16(10), np.array(11)], np.array([9, 10, 11], np.uint8)):
        env.reset()
        assert env.step(accepted)[0][:, 3].tolist() == [6, 5, 4]


@pytest.mark.parametrize("actions", [[-1, 99], [1, 1]])
def test_actions_where_an_episode_starts_are_ignored(actions):
    env = make(2, opponent=None, heaps=(1, 1), illegal_action="raise")
    env.reset(options={"heaps": (0, 1)})
    assert env.step(np.array([1, 1]))[2].all()
    assert env.step(actions)[0].tolist() == [[1, 1], [1, 1]]


def test_illegal_actions_raise():
    env = make(3, illegal_action="raise", heaps=(2, 3), opponent=None)
    env.reset(options={"heaps": [(2, 3), (1, 1), (1, 0)]})
    message = r"environment 1: action 1.*\[1, 1\].*\[0, 2\]"
    check_unchanged(env, lambda: env.step(np.array([1, 1, 1])), InvalidAction, message)


def test_calls_before_reset():
    env = make(3)
    for call in (lambda: env.step([0, 0, 0]), env.unwrapped.action_masks, env.render):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    with pytest.raises(ResetNeeded, match="environment 1"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    env.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() == (None,) * 3


@EVERY_MODE
def test_opponent_that_raises_changes_no_game(mode):
    """Its exception propagates, whether it occurs in a reply or in an opening move."""
    calls_left = 10**9

    def opponent(observation, action_mask):
        nonlocal calls_left
        calls_left -= 1
        if calls_left < 0:
            raise RuntimeError("mine")
        return first_legal(observation, action_mask)

    env = make(4, heaps=(2, 2), opponent=opponent, first_player="opponent", autoreset_mode=mode)
    env.reset(seed=0, options={"heaps": [(2, 2), (1, 0), (1, 2), (1, 0)]})
    step = partial(env.step, env.unwrapped.action_masks().argmax(axis=1))
    reset = partial(env.reset, options={"reset_mask": np.array([False, True, False, True])})
    before = rest_of(env)
    # environments 1 and 3 end, so there are two replies, and two opening moves if they restart at once
    for call, n in ((step, 4 if mode is AutoresetMode.SAME_STEP else 2), (reset, 2)):
        for calls_left in range(n):
            with pytest.raises(RuntimeError, match="mine"):
                call()
            calls_left = 10**9
            assert rest_of(env) == before
