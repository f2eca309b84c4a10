"""The options of the vector environment, its bad input, and opponents that fail."""

import copy

import gymnasium as gym
import numpy as np
import pytest
from configurations import first_legal
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode

from nim_env import NimRules, NimVectorEnv
from nim_env.policies import InvalidPolicyOutput, batched


def make(num_envs=3, **arguments):
    return gym.make_vec("Nim-v0", num_envs=num_envs, **arguments)


def rest_of(env):
    """How an environment continues, itself left as it is."""
    env = copy.deepcopy(env)
    record = [env.unwrapped.action_masks().tolist()]
    for _ in range(8):
        observations, rewards, terminated, *_ = env.step(env.unwrapped.action_masks().argmax(axis=1))
        record.append((observations.tolist(), rewards.tolist()))
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and terminated.any():
            record.append(env.reset(options={"reset_mask": terminated})[0].tolist())
    return [*record, env.reset()[0].tolist()]


def check_unchanged(env, call, error, message):
    before = rest_of(env)
    with pytest.raises(error, match=message):
        call()
    assert rest_of(env) == before


# --- Options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("opponent", [first_legal, "take-1", None], ids=["callable", "take-1", "self-play"])
def test_heaps_of_some_environments(opponent):
    """Where the heaps are None, the episode starts as usual: with an opening move, or at random."""
    env = make(4, opponent=opponent, first_player=opponent and "opponent")
    start, usual = [0, 1, 0, 2], 16 - (opponent is not None)
    for heaps in ([None, start, None, (0, 0, 1, 0)], (None, start, None, np.array([0, 0, 1, 0]))):
        observations, infos = env.reset(seed=0, options={"heaps": heaps})
        assert observations.sum(axis=1).tolist() == [usual, 3, usual, 1]
        assert observations[[1, 3]].tolist() == [start, [0, 0, 1, 0]]
        assert (infos["action_mask"] == NimRules().action_mask(observations)).all()
    options = {"heaps": [start, None, None, None], "reset_mask": np.array([True, True, False, False])}
    assert env.reset(options=options)[0].sum(axis=1).tolist()[:2] == [3, usual]
    env = make(200, opponent=opponent, random_start=True)
    observations, _ = env.reset(seed=0, options={"heaps": [start] + [None] * 199})
    assert observations[0].tolist() == start
    assert len(np.unique(observations, axis=0)) > 50


def test_first_player_of_all_environments_or_of_each():
    env, full, opened = make(4, opponent=first_legal), [1, 3, 5, 7], [0, 3, 5, 7]
    for first_player in ("agent", np.array("agent")):
        assert env.reset(options={"first_player": first_player})[0].tolist() == [full] * 4
    options = {"first_player": ["agent", "opponent", "loser", "opponent"]}
    assert env.reset(options=options)[0].tolist() == [full, opened, full, opened]
    assert options == {"first_player": ["agent", "opponent", "loser", "opponent"]}
    env.reset(options={"heaps": [(0, 1, 0, 1), (0, 2, 0, 0), (0, 1, 0, 1), (0, 2, 0, 0)]})
    assert env.step(np.array([1, 1, 1, 2]))[1].tolist() == [1, 1, 1, -1]
    options = {"first_player": ("loser", "loser", "agent", "loser")}
    assert env.reset(options=options)[0].tolist() == [opened, opened, full, full]
    assert env.reset(seed=1, options={"first_player": np.array(["loser"] * 4)})[0].tolist() == [full] * 4


def test_loser_is_remembered_until_the_next_game_ends():
    arguments = {"heaps": (3, 3), "misere": False, "opponent": first_legal, "autoreset_mode": "Disabled"}
    env = make(2, first_player="loser", **arguments)
    full, opened = [3, 3], [2, 3]
    assert env.reset(seed=0)[0].tolist() == [full, full]
    env.reset(options={"heaps": (1, 0)})
    env.step(np.array([0, 0]))  # both won
    assert env.reset()[0].tolist() == [opened, opened]
    env.step(env.unwrapped.action_masks().argmax(axis=1))
    assert env.reset()[0].tolist() == [opened, opened]  # in the middle of an episode
    mask = np.array([True, False])
    assert env.reset(seed=1, options={"reset_mask": mask})[0].tolist() == [full, opened]
    assert env.reset()[0].tolist() == [full, opened]  # the seed made environment 0 forget


def test_some_environments_are_reset():
    env = make(4, opponent=None, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(np.array([0, 1, 4, 15]))  # heap 0, heap 1, heap 2, all of heap 3
    options = {"reset_mask": np.array([True, False, False, True]), "heaps": [[0, 0, 0, 0]] * 3 + [[0, 0, 1, 0]]}
    with pytest.raises(ValueError, match=r'"heaps".*environment 0'):
        env.reset(options=options)
    options["heaps"][0] = [0, 0, 0, 4]
    observations, infos = env.reset(options=options)
    assert options["reset_mask"].tolist() == [True, False, False, True]
    assert observations.tolist() == [[0, 0, 0, 4], [1, 2, 5, 7], [1, 3, 4, 7], [0, 0, 1, 0]]
    assert infos["to_play"].tolist() == [0, 1, 1, 0]
    assert (infos["action_mask"] == NimRules().action_mask(observations)).all()
    for key in ("_action_mask", "_illegal_action", "_to_play"):
        assert infos[key].tolist() == [True, False, False, True]


def test_finished_environments_that_are_not_reset():
    env = make(2, opponent=None, autoreset_mode=AutoresetMode.DISABLED, heaps=(1, 1))
    env.reset()
    env.step(np.array([0, 0]))
    assert env.step(np.array([0, 1]))[2].all()  # illegal, and the last object
    observations, infos = env.reset(options={"reset_mask": np.array([False, True])})
    assert observations.tolist() == [[0, 1], [1, 1]]
    assert infos["illegal_action"].tolist() == [True, False]
    assert infos["action_mask"].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(ResetNeeded, match="environment 0"):
        env.step(np.array([0, 0]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ("heaps", TypeError, "options.*'heaps'"),
        ({"heap": (1, 3, 5, 7)}, ValueError, "options.*'heap'"),
        ({"heaps": (1, 3, 5)}, ValueError, "heaps.*shape"),
        ({"heaps": [(1, 3, 5, 7), (1, 3, 6, 7), (1, 3, 5, 7)]}, ValueError, "heaps.*6 in heap 2 of position 1"),
        ({"heaps": [(1, 3, 5, 7), (0, 0, 0, 0), None]}, ValueError, "heaps.*environment 1"),
        ({"heaps": [(1, 3, 5, 7)] * 2}, ValueError, r"heaps.*\(2, 4\)"),
        ({"heaps": [None, (1, 3, 5), None]}, (TypeError, ValueError), "heaps"),
        ({"first_player": "nobody"}, ValueError, r"first_player.*'nobody'"),
        ({"first_player": ["agent"] * 2}, ValueError, "first_player.*2"),
        ({"first_player": ["agent", "me", "agent"]}, ValueError, "first_player.*'me'"),
        ({"first_player": 3}, ValueError, "first_player.*3"),
        ({"reset_mask": np.array([1, 0, 1])}, TypeError, "reset_mask"),
        ({"reset_mask": np.array([True, False])}, ValueError, "reset_mask"),
        ({"reset_mask": np.zeros(3, dtype=bool)}, ValueError, "reset_mask"),
    ],
    ids=str,
)
def test_wrong_options(options, error, message):
    env = make()
    env.reset(seed=0)
    check_unchanged(env, lambda: env.reset(seed=5, options=options), error, message)
    for seed in (-1, "0", [1, 2, 3]):
        errors = gym.error.Error, TypeError, ValueError
        check_unchanged(env, lambda seed=seed: env.reset(seed=seed), errors, "seed|Seed")


# --- Arguments and actions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_envs": 0}, ValueError, "num_envs.*0"),
        ({"num_envs": 2.0}, TypeError, "num_envs.*2.0"),
        ({"heaps": (10_000,), "num_envs": 10**9}, ValueError, "num_envs=1,000,000,000"),
        ({"autoreset_mode": "sometimes"}, ValueError, "autoreset_mode.*'sometimes'"),
        ({"autoreset_mode": None}, ValueError, "autoreset_mode.*None"),
        ({"max_episode_steps": 0}, ValueError, "max_episode_steps.*0"),
        ({"max_episode_steps": 2.5}, TypeError, "max_episode_steps.*2.5"),
        ({"render_mode": "human"}, ValueError, "render_mode.*'human'"),
        ({"heaps": (1,), "opponent": "random"}, ValueError, "first_player=.*opponent='random'"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        NimVectorEnv(**{"num_envs": 2, **arguments})
    for mode in AutoresetMode:
        assert all(
            make(autoreset_mode=name).metadata["autoreset_mode"] is mode for name in (mode.value, mode.name)
        )


WRONG_ACTIONS = [
    ([0, 1, 16], "environment 2 got 16"),
    ([0, -1, 16], "environment 1 got -1"),
    (np.array([0, 1, 2**63], dtype=np.uint64), "environment 2"),
    (np.array([0.0, 1.0, 2.0]), "environment 0"),
    (np.array([True, False, True]), "environment 0"),
    ([0, True, 2], "environment 1 got True"),
    ([0, None, 2], "environment 1 got None"),
    (["1", 2, 3], "environment 0 got '1'"),
    ([0, 1], r"\(2,\)"),
    (np.zeros((3, 1), dtype=int), r"\(3, 1\)"),
    ([[0], [1, 2], [3]], "environment 0"),
    *[(actions, "actions must be an array or a sequence") for actions in (5, None, {9: 0}, b"012", "012")],
]


def test_actions_are_integers():
    env = make(opponent=None)
    env.reset(seed=0)
    for actions, message in WRONG_ACTIONS:
        check_unchanged(env, lambda actions=actions: env.step(actions), InvalidAction, message)
    for actions in ((9, 10, 11), [9, np.int16(10), np.array(11)], np.array([9, 10, 11], np.uint8)):
        env.reset()
        assert env.step(actions)[0][:, 3].tolist() == [6, 5, 4]


def test_actions_where_an_episode_starts_have_no_effect():
    for wrong in ([-1, 99], [1, 1], [None, "x"]):
        env = make(2, opponent=None, heaps=(1, 1))
        env.reset()
        env.step(np.array([0, 0]))
        assert env.step(np.array([1, 1]))[2].all()
        assert env.step(wrong)[0].tolist() == [[1, 1], [1, 1]]


def test_illegal_actions_raise():
    env = make(illegal_action="raise", heaps=(2, 3), opponent=None)
    env.reset(options={"heaps": [(2, 3), (1, 1), (1, 0)]})
    message = r"environment 1: action 1.*\[1, 1\].*\[0, 2\]"
    check_unchanged(env, lambda: env.step(np.array([1, 1, 1])), InvalidAction, message)
    env.step(np.array([1, 0, 0]))
    env.step(np.array([2, 2, 4]))  # environment 2 is over, and its action is ignored


def test_steps_need_games():
    env = make(render_mode="ansi")
    calls = env.unwrapped.action_masks, env.unwrapped.mask_rows, env.render
    for call in (lambda: env.step(np.zeros(3, int)), *calls):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    with pytest.raises(ResetNeeded, match="environment 1"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    env.reset(options={"reset_mask": np.ones(3, dtype=bool)})


# --- Opponents that fail --------------------------------------------------------------------------


def illegal_at(heaps):
    """Takes the first legal action, but an illegal one in one position."""
    return lambda observation, mask: int(mask.argmin() if observation.tolist() == heaps else mask.argmax())


class Weighted:
    """Returns the same probabilities everywhere."""

    def __init__(self, *probabilities):
        self.probabilities = probabilities

    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        return np.tile(self.probabilities, (len(observation), 1))


@pytest.mark.parametrize(
    ("opponent", "error", "message"),
    [
        (illegal_at([0, 2]), InvalidPolicyOutput, r"environment 2: opponent.*action 0.*\[0,? 2\]"),
        (lambda *_: 9, InvalidPolicyOutput, "environment 1: opponent.*action 9"),
        (lambda *_: 1.0, InvalidPolicyOutput, "environment 1: opponent.*1.0"),
        (lambda *_: np.array([1, 1]), InvalidPolicyOutput, "environment 1: opponent.*batched"),
        (
            batched(lambda _, masks: masks.argmax(axis=1)[:-1]),
            InvalidPolicyOutput,
            r"environment 1: opponent.*\(2,\)",
        ),
        (
            batched(lambda _, masks: masks.argmax(axis=1) * 1.0),
            InvalidPolicyOutput,
            "environment 1: opponent.*integer",
        ),
        (Weighted(0.0, 0.4, 0.0), InvalidPolicyOutput, "environment 1: opponent.*sum"),
        (Weighted(-1.0, 1.0, 1.0), InvalidPolicyOutput, "environment 1: opponent.*negative"),
        (Weighted(1.0, 0.0, 0.0), InvalidPolicyOutput, r"environment 2: opponent.*illegal.*\[0, 2\]"),
        (Weighted(1.0), InvalidPolicyOutput, "environment 1: opponent.*shape"),
        (lambda *_: {}["nothing"], KeyError, "nothing"),
    ],
)
def test_opponents_that_return_wrong_things(opponent, error, message):
    env = make(opponent=opponent, heaps=(1, 2), first_player="agent", render_mode="ansi")
    env.reset(seed=0, options={"heaps": [(1, 0), (1, 2), (1, 2)]})
    before = env.render(), env.unwrapped.action_masks().tolist()
    with pytest.raises(error, match=message):
        env.step(np.array([0, 1, 0]))  # environment 0 ends, so the opponent is not asked there
    assert (env.render(), env.unwrapped.action_masks().tolist()) == before


def test_opponent_gets_copies_of_one_unfinished_position():
    def overwriting(observation, action_mask):
        assert observation.any()
        assert (action_mask == NimRules().action_mask(observation)).all()
        action = action_mask.argmax()
        observation[:], action_mask[:] = 99, 99
        return action

    def everything(env):
        env.reset(seed=0)
        return [env.step(env.unwrapped.action_masks().argmax(axis=1))[0].tolist() for _ in range(60)]

    expected = everything(make(20, opponent=first_legal))
    assert everything(make(20, opponent=overwriting)) == expected
    in_batches = batched(lambda observations, masks: [overwriting(*pair) for pair in zip(observations, masks)])  # noqa: B905
    assert everything(make(20, opponent=in_batches)) == expected


class FailingError(Exception):
    pass


class Failing:
    """Takes the first legal action, until it has no calls left."""

    calls_left = 10**9

    def __call__(self, observation, action_mask):
        if self.calls_left <= 0:
            raise FailingError("mine")
        self.calls_left -= 1
        return first_legal(observation, action_mask)


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
def test_opponent_that_raises_changes_no_game(mode):
    """Its own exception arrives, whether it replies or opens."""
    opponent = Failing()
    env = make(
        4, heaps=(2, 2), opponent=opponent, first_player="opponent", autoreset_mode=mode, render_mode="ansi"
    )
    env.reset(seed=0, options={"heaps": [(2, 2), (1, 0), (1, 2), (1, 0)]})

    def check(calls_left, call, state=rest_of):
        before, opponent.calls_left = state(env), calls_left
        with pytest.raises(FailingError, match="mine"):
            call()
        opponent.calls_left = 10**9
        assert state(env) == before

    actions = np.zeros(4, dtype=int)  # environments 1 and 3 end
    for calls_left in range(4 if mode is AutoresetMode.SAME_STEP else 2):  # two replies, and then two openings
        check(calls_left, lambda: env.step(actions))
    env.step(actions)
    if mode is AutoresetMode.NEXT_STEP:
        actions = env.unwrapped.action_masks().argmax(axis=1)  # environments 1 and 3 are opened now
        check(0, lambda: env.step(actions))
        check(2, lambda: env.step(actions))
    options = {"reset_mask": np.array([False, True, False, True])}
    check(1, lambda: env.reset(seed=9, options=options), state=lambda env: env.render())
