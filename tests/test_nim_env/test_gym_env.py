"""The Gymnasium environment: games by hand, random moves, seeds, copies, opponents and bad input."""

import copy
import functools
import pickle

import gymnasium as gym
import numpy as np
import pytest
from configurations import GYM, Wrapped, check_frequencies, distribution_after, first_legal, plain
from gymnasium.error import InvalidAction, ResetNeeded
from table_policies import random_table

from nim_env import ExpertPolicy, MixturePolicy, NimEnv, NimRules, NimVectorEnv, RandomPolicy, aec_env
from nim_env.policies import InvalidPolicyOutput, checked_policy, tabulate

EVERY_CONFIGURATION = pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)


def make(**arguments):
    return gym.make("Nim-v0", **arguments)


def play_on(env, generator, overwrite=False):
    """Plays at random to the end of the game. Returns the results as plain data.

    With ``overwrite`` it overwrites the returned arrays, which must not change the environment.
    """
    record, is_over = [], False
    while not is_over:
        mask = env.unwrapped.action_masks()
        action = int(generator.choice(np.flatnonzero(mask)))
        results = env.step(action)
        record.append(plain(results))
        if overwrite:
            results[0][:] = results[-1]["action_mask"][:] = mask[:] = -1
        is_over = results[2]
    return record


def play(env, seed, overwrite=False):
    generator, record = np.random.default_rng(seed), []
    for episode in range(3):
        observation, info = env.reset(seed=seed if episode == 0 else None)
        record.append(plain((observation, info)))
        if overwrite:
            observation[:] = info["action_mask"][:] = -1
        record += play_on(env, generator, overwrite)
    return record


def rest_of(env):
    """Returns how a copy of an environment continues: the rest of its game, and the starts of three more games."""
    env = copy.deepcopy(env)
    record = [env.unwrapped.action_masks().tolist(), *play_on(env, np.random.default_rng(7))]
    return record + [env.reset()[0].tolist() for _ in range(3)]


def test_wrong_actions_change_nothing():
    env = make(heaps=(2, 2), illegal_action="raise")
    env.reset(options={"heaps": (1, 2)})
    before = rest_of(env)
    with pytest.raises(InvalidAction, match=r"action 1.*\[1, 2\].*\[0, 2, 3\]"):
        env.step(1)
    for action in (4, -1, 10**30, 1.0, "1", None, True, np.True_, np.array([1]), [1], np.array(1.0)):
        with pytest.raises(InvalidAction, match=r"action.*3"):
            env.step(action)
    assert rest_of(env) == before
    expected = copy.deepcopy(env).step(2)[0].tolist()
    for action in (np.int32(2), np.uint8(2), np.array(2, dtype=np.int16)):
        assert copy.deepcopy(env).step(action)[0].tolist() == expected


def test_steps_need_a_game():
    env = NimEnv(heaps=(2,), first_player="agent")
    for call in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


class Noisy(ExpertPolicy):
    def action_probabilities(self, observation, action_mask):
        expert = super().action_probabilities(observation, action_mask)
        return 0.9 * expert + 0.1 * RandomPolicy().action_probabilities(observation, action_mask)


UNEVEN = random_table(NimRules(), 0)
MIXTURE = MixturePolicy(NimRules(), ["expert", UNEVEN], weights=[2, 1])


@pytest.mark.parametrize(
    "opponent", ["random", "take-2", "expert", Noisy(NimRules()), Wrapped(RandomPolicy()), UNEVEN, MIXTURE]
)
def test_openings_and_replies_are_drawn_from_the_policy(opponent):
    """This also holds for a subclass of a built-in policy, which is queried."""
    policy = checked_policy(opponent, NimRules())
    for first_player, probability in (("agent", 0.0), ("opponent", 1.0), (None, 0.5)):
        env = make(opponent=opponent, first_player=first_player)
        starts = [env.reset(seed=None if i else 0)[0] for i in range(1000)]
        expected = {(1, 3, 5, 7): 1 - probability}
        for heaps, weight in distribution_after(NimRules(), (1, 3, 5, 7), policy).items():
            expected[heaps] = weight * probability
        check_frequencies(starts, expected)
    assert env.reset(options={"first_player": "agent"})[0].sum() == 16
    assert env.reset(options={"first_player": "opponent"})[0].sum() < 16
    for heaps, action in (((0, 3, 5, 7), 1), ((1, 0, 3, 7), 4), ((0, 1, 2, 1), 1)):
        found = []
        for _ in range(1000):
            env.reset(options={"heaps": heaps})
            found.append(env.step(action)[0])
        check_frequencies(found, distribution_after(NimRules(), NimRules().apply(heaps, action), policy))


@pytest.mark.parametrize("opponent", ["random", Wrapped(RandomPolicy())])
def test_an_opening_move_does_not_end_the_game(opponent):
    arguments = {"heaps": (3,), "misere": False, "first_player": "opponent", "opponent": opponent}
    env = make(**arguments)
    check_frequencies([env.reset(seed=seed)[0] for seed in range(1000)], {(2,): 1, (1,): 1})
    many, _ = NimVectorEnv(5_000, **arguments).reset(seed=0)
    check_frequencies(many, {(2,): 1, (1,): 1})


@pytest.mark.parametrize(("heaps", "opponent"), [((0, 1), first_legal), ((3,), "take-3"), ((5,), "expert")])
def test_impossible_opening_is_refused(heaps, opponent):
    for kind in (NimEnv, NimVectorEnv):
        for first_player in (None, "random", "opponent"):
            with pytest.raises(ValueError, match=r"opponent=.*first_player="):
                kind(heaps=heaps, misere=False, opponent=opponent, first_player=first_player)
        env = kind(heaps=heaps, misere=False, opponent=opponent, first_player="agent")
        with pytest.raises(ValueError, match="first_player"):
            env.reset(options={"first_player": "opponent"})
        with pytest.raises(ValueError, match="first_player"):
            kind(opponent=None).reset(options={"first_player": "agent"})
        env = kind(heaps=(4,), first_player="opponent", opponent=lambda *_: 3)  # not known before it moves
        with pytest.raises(ValueError, match=r"opponent=.*first_player="):
            env.reset(seed=1)


@pytest.mark.parametrize("kind", [NimEnv, NimVectorEnv])
def test_the_first_player_is_not_ignored_from_a_chosen_position(kind):
    env = kind(heaps=(3, 4), opponent="random")
    with pytest.raises(ValueError, match="first_player"):
        env.reset(options={"heaps": (1, 2), "first_player": "opponent"})
    assert env.reset(options={"heaps": (1, 2)})[0].tolist() in ([1, 2], [[1, 2]])


@pytest.mark.parametrize("kind", [NimEnv, NimVectorEnv])
def test_the_first_player_is_not_ignored_from_a_random_position(kind):
    env = kind(random_start=True)
    before = env.reset(seed=0)[0].tolist()
    with pytest.raises(ValueError, match=r"first_player='opponent'.*random_start"):
        env.reset(options={"first_player": "opponent"})
    env.set_opponent("expert")
    env.reset(options={"first_player": "agent"})
    assert env.reset(seed=0)[0].tolist() == before


def test_random_starts_are_uniform():
    env, board = (
        make(heaps=(1, 2), random_start=True, first_player="agent"),
        aec_env.env(heaps=(1, 2), random_start=True),
    )
    starts, states = [], []
    for i in range(1000):
        starts.append(env.reset(seed=None if i else 0)[0])
        board.reset(seed=None if i else 0)
        states.append(board.state()[:-1])
    for drawn in (starts, states):
        check_frequencies(drawn, dict.fromkeys([(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], 0.2))


def test_opponent_that_fails_changes_no_game():
    answers = iter([0, 1, "no", 2.5])
    env = make(heaps=(2, 2), opponent=lambda *_: next(answers), first_player="opponent")
    env.reset(seed=1)
    masks = env.unwrapped.action_masks().tolist()
    for call, error in (
        (lambda: env.step(0), InvalidPolicyOutput),
        (env.reset, InvalidPolicyOutput),
        (lambda: env.reset(seed=3), InvalidPolicyOutput),
        (lambda: env.step(0), StopIteration),  # an error in the function propagates
    ):
        with pytest.raises(error):
            call()
        assert env.unwrapped.action_masks().tolist() == masks


OPPONENTS = {"random": "random", "callable": first_legal, "table": tabulate(NimRules(), "expert")}


@pytest.mark.parametrize("after", OPPONENTS)
def test_set_opponent(after):
    """A game in progress keeps its opponent. The next one is the same as with the new opponent from the start."""
    for before in OPPONENTS:
        env, old, new = (make(opponent=OPPONENTS[name]) for name in (before, before, after))
        env.unwrapped.set_opponent(OPPONENTS[after])
        assert env.unwrapped.opponent is OPPONENTS[after]
        assert play(env, 5) == play(new, 5)
        env.unwrapped.set_opponent(OPPONENTS[before])
        for each in (env, old):
            each.reset(seed=3, options={"heaps": (1, 2, 5, 6)})
        env.unwrapped.set_opponent(OPPONENTS[after])
        assert play_on(env, np.random.default_rng(7)) == play_on(old, np.random.default_rng(7))
        assert play(env, 5) == play(new, 5)


@EVERY_CONFIGURATION
def test_seeds_copies_and_returned_arrays(configuration):
    """A seed determines everything, no matter what was played before or what is written to the returned arrays."""
    first, second = make(**configuration), make(**configuration)
    play(second, seed=99)
    for seed in range(5):
        assert play(first, seed) == play(second, seed, overwrite=True)
        first.reset()
        if not first.step(int(first.unwrapped.action_masks().argmax()))[2]:
            assert rest_of(first) == rest_of(pickle.loads(pickle.dumps(first)))
    if "opponent" not in configuration and configuration.get("heaps") != (1,):
        assert len({str(play(first, seed)) for seed in range(20)}) > 5
    assert len(pickle.dumps(first.unwrapped)) < 20_000  # without the cached positions


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heap": (1, 1, 1, 1)}, "options.*'heap'"),
        ({"heaps": (0, 0, 0, 0)}, r"heaps.*\(0, 0, 0, 0\)"),
        ({"heaps": (1, 3, 5, 8)}, "heaps.*8"),
        ({"heaps": [(1, 3, 5, 7)]}, "heaps"),
        ({"first_player": "me"}, r"first_player.*'me'"),
        ({"first_player": np.array(["agent", "random"])}, "first_player.*agent"),
        ([1, 3, 5, 7], "options"),
    ],
    ids=str,
)
def test_wrong_options_change_nothing(options, message):
    env = make(first_player="agent")
    env.reset(seed=5)
    env.step(15)
    before = rest_of(env)
    with pytest.raises(ValueError, match=message):
        env.reset(seed=6, options=options)
    assert rest_of(env) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heaps": (1.5,)}, "heaps.*1.5"),
        ({"misere": "yes"}, "misere.*'yes'"),
        ({"random_start": 1}, "random_start.*1"),
        ({"observation": "hex"}, "observation.*'hex'"),
        ({"illegal_action": "ignore"}, "illegal_action.*'ignore'"),
        ({"render_mode": "braille"}, "render_mode.*'braille'"),
        ({"opponent": "grandmaster"}, "opponent.*'grandmaster'"),
        ({"opponent": ExpertPolicy(NimRules(misere=False))}, "opponent.*normal"),
        ({"first_player": "me"}, "first_player.*'me'"),
        ({"opponent": None, "first_player": "agent"}, "first_player='agent'"),
        ({"random_start": True, "first_player": "opponent"}, "first_player='opponent'.*random_start"),
        ({"random_start": True, "first_player": "random"}, "first_player='random'.*random_start"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, message):
    for make_env in (NimEnv, NimVectorEnv, aec_env.env):
        if make_env is not aec_env.env or not {"opponent", "first_player"} & set(arguments):
            with pytest.raises((ValueError, TypeError), match=message):
                make_env(**arguments)


@pytest.mark.parametrize("name", ["Nim-v0", "NimOneHot-v0", "SimpleNim-v0"])
def test_the_ids_are_registered_in_the_namespace_of_the_package_too(name):
    for make in (gym.make, functools.partial(gym.make_vec, num_envs=2)):
        plain, namespaced = make(name), make(f"nim_env/{name}")
        assert plain.observation_space == namespaced.observation_space
        assert plain.unwrapped.rules == namespaced.unwrapped.rules
        np.testing.assert_array_equal(plain.reset(seed=0)[0], namespaced.reset(seed=0)[0])
