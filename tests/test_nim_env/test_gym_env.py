"""The Gymnasium environment: by hand, seeds, copies, opponents and bad input."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from configurations import GYM, SIMPLE, first_legal
from gymnasium.error import InvalidAction, ResetNeeded

import nim_env
from nim_env import ExpertPolicy, NimEnv, NimRules, RandomPolicy, theory
from nim_env.policies import InvalidPolicyOutput, batched, tabulate


def make(**arguments):
    return gym.make("Nim-v0", **arguments)


def plain(info):
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in info.items()}


def play_on(env, generator):
    """Random play to the end of the game, as plain data."""
    record, is_over = [], False
    while not is_over:
        action = int(generator.choice(np.flatnonzero(env.unwrapped.action_masks())))
        observation, reward, terminated, truncated, info = env.step(action)
        record.append((observation.tolist(), reward, terminated, truncated, plain(info)))
        is_over = terminated or truncated
    return record


def play(env, seed, episodes=3):
    generator, record = np.random.default_rng(seed), []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed if episode == 0 else None)
        record += [(observation.tolist(), plain(info)), *play_on(env, generator)]
    return record


def rest_of(env):
    """How a copy of an environment continues: the rest of its game, and the starts of three more."""
    env = copy.deepcopy(env)
    record = [env.unwrapped.action_masks().tolist(), *play_on(env, np.random.default_rng(7))]
    return record + [env.reset()[0].tolist() for _ in range(3)]


# --- By hand --------------------------------------------------------------------------------------


def test_spaces():
    env = make()
    assert env.observation_space == gym.spaces.MultiDiscrete([2, 4, 6, 8])
    assert env.action_space == gym.spaces.Discrete(16)
    observation, info = env.reset(seed=0)
    assert (observation.dtype, info["action_mask"].dtype) == (np.int64, np.int8)


def test_game_by_hand():
    env = make(heaps=(1, 2), misere=False, opponent=first_legal, first_player="agent")
    rules = env.unwrapped.rules
    observation, info = env.reset()
    assert observation.tolist() == [1, 2]
    assert plain(info) == {"action_mask": [1, 1, 1], "illegal_action": False}
    observation, reward, terminated, truncated, info = env.step(rules.action(1, 1))  # 1-1; the reply is 0-1
    assert (observation.tolist(), reward, terminated, truncated) == ([0, 1], 0.0, False, False)
    assert info["action_mask"].tolist() == [0, 1, 0]
    observation, reward, terminated, truncated, info = env.step(rules.action(1, 1))
    assert (observation.tolist(), reward, terminated, truncated) == ([0, 0], 1.0, True, False)
    assert plain(info) == {"action_mask": [1, 1, 1], "illegal_action": False}


def test_self_play():
    env = make(opponent=None, heaps=(2, 1))
    observation, info = env.reset(seed=0)
    assert (observation.tolist(), info["to_play"]) == ([2, 1], 0)
    for action, heaps, reward, to_play in ((0, [1, 1], 0.0, 1), (2, [1, 0], 0.0, 0), (0, [0, 0], -1.0, 1)):
        observation, found, terminated, _, info = env.step(action)
        assert (observation.tolist(), found, terminated) == (heaps, reward, not any(heaps))
        assert info["to_play"] == to_play
    assert env.reset()[1]["to_play"] == 0
    assert "to_play" not in make().reset()[1]


@pytest.mark.parametrize(("misere", "reward"), [(True, -1.0), (False, 1.0)])
def test_last_object_decides(misere, reward):
    env = make(heaps=(2,), misere=misere, first_player="agent")
    for action, expected in ((1, reward), (0, -reward)):  # after 0 the opponent has to take the last one
        env.reset()
        assert env.step(action)[1:4] == (expected, True, False)


@pytest.mark.parametrize("opponent", ["random", None])
def test_illegal_action_loses(opponent):
    env = make(heaps=(2, 2), opponent=opponent)
    env.reset(options={"heaps": (1, 2)})
    observation, reward, terminated, truncated, info = env.step(1)
    assert (observation.tolist(), reward, terminated, truncated) == ([1, 2], -1.0, True, False)
    assert info["illegal_action"] is True
    assert info["action_mask"].all()
    assert env.reset()[1]["illegal_action"] is False


def test_illegal_action_raises():
    env = make(heaps=(2, 2), illegal_action="raise")
    env.reset(options={"heaps": (1, 2)})
    before = rest_of(env)
    with pytest.raises(InvalidAction, match=r"action 1.*\[1, 2\].*\[0, 2, 3\]"):
        env.step(1)
    assert rest_of(env) == before


def test_huge_games():
    env = make(heaps=(10**18,) * 9, max_take=5, opponent="expert", misere=False, random_start=True)
    observation, info = env.reset(seed=0)
    assert observation.max() > 10**15
    for _ in range(20):
        observation, _, _, _, info = env.step(env.action_space.sample(info["action_mask"]))
    assert not theory.is_winning(env.unwrapped.rules, observation)


def test_game_with_more_positions_than_are_cached():
    """The cache of 3000-3000 holds some hundred positions."""
    env = make(heaps=(3000, 3000), misere=False, random_start=True, opponent="expert").unwrapped
    rules = env.rules
    env.reset(seed=0)
    for _ in range(1000):
        observation, _ = env.reset()
        action = int(env.action_masks().argmax())
        between = rules.apply(observation, action)
        after, _, terminated, *_ = env.step(action)
        assert terminated or (env.action_masks() == rules.action_mask(after)).all()
        assert not theory.is_winning(rules, between) or not theory.is_winning(rules, after)


def test_text():
    env = make(render_mode="ansi", opponent=None, heaps=(3, 12), misere=False)
    env.reset()
    env.step(2)
    assert env.render() == "heap A:  0  · · ·\nheap B: 12  | | | | | | | | | | | |\nPlayer 2 to move"
    env.step(env.unwrapped.rules.action(1, 12))
    assert env.render().splitlines()[-1] == "Player 2 won"
    env = make(render_mode="ansi", heaps=(1000,), first_player="agent")
    env.reset()
    assert env.render() == "heap A: 1000\nAgent to move"
    env = NimEnv()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


# --- Actions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"illegal_action": "raise"}, {"opponent": None}], ids=str)
def test_actions_are_integers(arguments):
    env = make(**arguments)
    env.reset(seed=1)
    before = rest_of(env)
    for action in (16, -1, 10**30, 1.0, "1", None, True, np.True_, np.array([1]), [1], np.array(1.0)):
        with pytest.raises(InvalidAction, match="action must be an integer from 0 to 15"):
            env.step(action)
        assert rest_of(env) == before
    if "opponent" in arguments:
        for action in (9, np.int32(9), np.uint8(9), np.array(9, dtype=np.int16)):
            env.reset()
            assert env.step(action)[0].tolist() == [1, 3, 5, 6]


def test_steps_need_a_game():
    env = make(heaps=(2,), first_player="agent").unwrapped
    for call in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    env.reset()
    env.step(1)
    for action in (0, "0"):
        with pytest.raises(ResetNeeded, match="reset"):
            env.step(action)


# --- Who starts, and where ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first_player", "low", "high"), [("agent", 200, 200), ("opponent", 0, 0), (None, 70, 130)]
)
def test_first_player(first_player, low, high):
    env, full = make(first_player=first_player), [1, 3, 5, 7]
    assert low <= sum(env.reset(seed=None if i else 0)[0].tolist() == full for i in range(200)) <= high
    for _ in range(20):
        assert env.reset(options={"first_player": "agent"})[0].tolist() == full
        assert env.reset(options={"first_player": "opponent"})[0].tolist() != full


def test_loser_starts():
    env = make(**SIMPLE, first_player="loser")
    reward, found = 0.0, set()
    for episode in range(40):
        seed = episode if episode % 10 == 0 else None
        observation, info = env.reset(seed=seed)
        if seed is not None:
            assert observation[0] == 21  # the agent starts the first episode of a seed
        else:
            assert (observation[0] == 21) == (reward < 0)
        is_over = False
        while not is_over:
            _, reward, is_over, _, info = env.step(env.action_space.sample(info["action_mask"]))
        found.add(reward)
    assert found == {1.0, -1.0}


def test_opening_moves_are_those_of_the_opponent():
    class Weighted:
        def action_probabilities(self, observation, action_mask):  # noqa: ARG002
            return np.array([0.15, 0.05, 0.8])

    env = make(heaps=(5,), max_take=3, misere=False, first_player="opponent", opponent="expert")
    assert {int(env.reset(seed=seed)[0][0]) for seed in range(30)} == {4}
    for opponent, expected in (("random", [0, 0.5, 0.5, 0]), (Weighted(), [0, 0.25, 0.75, 0])):
        env = make(heaps=(3,), misere=False, first_player="opponent", opponent=opponent)  # taking 3 would end it
        env.reset(seed=0)
        counts = np.bincount([int(env.reset()[0][0]) for _ in range(2000)], minlength=4)
        np.testing.assert_allclose(counts / 2000, expected, atol=4 * (0.25 / 2000) ** 0.5)


@pytest.mark.parametrize(
    ("heaps", "opponent"), [((1,), "random"), ((0, 1), first_legal), ((3,), "take-3"), ((5,), "expert")]
)
def test_impossible_opening_is_refused(heaps, opponent):
    for first_player in (None, "random", "opponent", "loser"):
        with pytest.raises(ValueError, match=r"first_player=.*opponent="):
            make(heaps=heaps, misere=False, opponent=opponent, first_player=first_player)
    env = make(heaps=heaps, misere=False, opponent=opponent, first_player="agent")
    assert env.reset()[0].tolist() == list(heaps)
    with pytest.raises(ValueError, match='"first_player"'):
        env.reset(options={"first_player": "opponent"})
    env = make(heaps=(4,), first_player="opponent", opponent=lambda *_: 3)  # known only when it opens
    with pytest.raises(ValueError, match=r"first_player=.*opponent="):
        env.reset(seed=1)


def test_random_start_is_uniform():
    env = make(heaps=(1, 2), random_start=True, first_player="opponent")
    starts = [tuple(env.reset(seed=None if i else 0)[0].tolist()) for i in range(5000)]
    positions = [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert set(starts) == set(positions)
    for position in positions:
        assert abs(starts.count(position) / 5000 - 0.2) < 4 * (0.2 * 0.8 / 5000) ** 0.5


@pytest.mark.parametrize(
    "arguments", [{}, {"first_player": "opponent"}, {"opponent": None}, {"random_start": True}], ids=str
)
def test_given_position_is_faced(arguments):
    env = make(**arguments)
    for heaps in ((0, 0, 0, 1), [1, 3, 5, 7], np.array([0, 3, 0, 7], dtype=np.uint8)):
        options = {"heaps": copy.deepcopy(heaps), "first_player": None}
        for _ in range(3):
            observation = env.reset(options=options)[0]
            assert observation.tolist() == list(heaps)
            observation[:] = 9
            env.step(int(env.unwrapped.action_masks().argmax()))
        np.testing.assert_equal(options, {"heaps": heaps, "first_player": None})


# --- Opponents ------------------------------------------------------------------------------------


def test_subclass_of_a_built_in_policy_keeps_its_probabilities():
    class Noisy(ExpertPolicy):
        def action_probabilities(self, observation, action_mask):
            expert = super().action_probabilities(observation, action_mask)
            return 0.9 * expert + 0.1 * RandomPolicy().action_probabilities(observation, action_mask)

    rules = NimRules((5,), max_take=3, misere=False)
    env = make(heaps=(5,), max_take=3, misere=False, opponent=Noisy(rules), first_player="agent")
    env.reset(seed=0)
    left = []
    for _ in range(2000):
        env.reset()
        left.append(int(env.step(1)[0][0]))  # the opponent faces 3, and should take all of it
    assert abs(left.count(0) / 2000 - (0.9 + 0.1 / 3)) < 4 * (0.07 * 0.93 / 2000) ** 0.5


def test_opponent_gets_copies():
    def overwriting(observation, action_mask):
        action = int(action_mask.argmax())
        observation[:] = action_mask[:] = 0
        return action

    expected = play(make(opponent=first_legal, first_player="agent"), 0)
    assert play(make(opponent=overwriting, first_player="agent"), 0) == expected


class Half:
    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        return action_mask / action_mask.sum() / 2


@pytest.mark.parametrize(
    ("opponent", "error", "message"),
    [
        (lambda *_: 1, InvalidPolicyOutput, r"opponent.*\[0,? 2\]"),
        (lambda *_: 7, InvalidPolicyOutput, "opponent.*7"),
        (lambda *_: 2.0, InvalidPolicyOutput, "opponent.*2.0"),
        (lambda *_: None, InvalidPolicyOutput, "opponent.*None"),
        (lambda *_: [2], InvalidPolicyOutput, "opponent"),
        (Half(), InvalidPolicyOutput, r"opponent.*sum.*\[0, 2\]"),
        (lambda *_: {}["mine"], KeyError, "mine"),
    ],
    ids=["illegal", "out of range", "float", "None", "list", "half", "raises"],
)
def test_opponent_that_returns_wrong_things(opponent, error, message):
    env = make(heaps=(2, 2), opponent=opponent)
    env.reset(seed=1, options={"heaps": (1, 2)})
    for _ in range(2):  # the game is unchanged, so the same step fails the same way
        with pytest.raises(error, match=message):
            env.step(0)
    assert env.unwrapped.action_masks().tolist() == [1, 0, 1, 1]


def test_opponent_that_fails_at_its_opening():
    outputs = iter([0, 1, "no", 2.5])
    env = make(opponent=lambda *_: next(outputs), first_player="agent")
    env.reset(options={"first_player": "opponent"})
    env.step(1)
    masks = env.unwrapped.action_masks()
    for seed in (None, 3):
        with pytest.raises(InvalidPolicyOutput, match="opponent"):
            env.reset(seed=seed, options={"first_player": "opponent"})
    np.testing.assert_array_equal(env.unwrapped.action_masks(), masks)


# --- set_opponent ---------------------------------------------------------------------------------

OPPONENTS = {
    "random": "random",
    "take-2": "take-2",
    "expert": "expert",
    "callable": first_legal,
    "policy": batched(lambda _, masks: masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1)),
    "table": tabulate(NimRules(), "expert"),
}


@pytest.mark.parametrize("after", OPPONENTS)
def test_set_opponent(after):
    """From now on it plays as an environment made with the new opponent, in a game under way too."""
    for before in OPPONENTS:
        env, expected = make(opponent=OPPONENTS[before]), make(opponent=OPPONENTS[after])
        env.unwrapped.set_opponent(OPPONENTS[after])
        assert env.unwrapped.opponent is OPPONENTS[after]
        assert play(env, 5) == play(expected, 5)
        env.unwrapped.set_opponent(OPPONENTS[before])
        for each in (env, expected):
            each.reset(seed=3, options={"heaps": (1, 2, 5, 6)})
        env.unwrapped.set_opponent(OPPONENTS[after])
        assert rest_of(env) == rest_of(expected)


def test_set_opponent_is_refused():
    env = make(heaps=(3,), misere=False, opponent="random")
    env.reset(seed=0)
    before = rest_of(env)
    for opponent, error in (
        ("grandmaster", ValueError),
        (3, TypeError),
        (None, ValueError),
        (RandomPolicy, TypeError),
        (ExpertPolicy(NimRules((3, 3))), ValueError),
        ("take-3", ValueError),  # it can only open by ending the game
    ):
        with pytest.raises(error, match="opponent"):
            env.unwrapped.set_opponent(opponent)
        assert env.unwrapped.opponent == "random"
        assert rest_of(env) == before
    make(heaps=(3,), misere=False, first_player="agent").unwrapped.set_opponent("take-3")
    with pytest.raises(ValueError, match="opponent='random'"):
        make(opponent=None).unwrapped.set_opponent("random")


# --- Seeds, copies, arrays ------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
def test_seed_decides_everything(configuration):
    first, second = make(**configuration), make(**configuration)
    play(second, seed=99)
    for seed in range(5):
        assert play(first, seed) == play(second, seed)
    if "opponent" not in configuration and configuration.get("heaps") != (1,):
        assert len({str(play(first, seed)) for seed in range(20)}) > 5
    assert len(pickle.dumps(first.unwrapped)) < 20_000  # without the cached positions


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
def test_copies_continue_identically(configuration):
    env = NimEnv(**configuration)
    play(env, seed=3)
    env.reset()
    is_over = False
    while not is_over:
        assert rest_of(copy.deepcopy(env)) == rest_of(pickle.loads(pickle.dumps(env))) == rest_of(env)
        is_over = env.step(int(np.flatnonzero(env.action_masks())[-1]))[2]


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
def test_returned_arrays_are_copies(configuration):
    class Overwritten(gym.Wrapper):
        def reset(self, **arguments):
            return self.overwrite(*super().reset(**arguments))

        def step(self, action):
            observation, *rest, info = super().step(action)
            observation, info = self.overwrite(observation, info)
            return observation, *rest, info

        def overwrite(self, observation, info):
            kept = copy.deepcopy((observation, info))
            for array in (observation, info["action_mask"], self.env.unwrapped.action_masks()):
                array[:] = -1
            return kept

    expected = [play(make(**configuration), seed) for seed in range(3)]  # before anything is overwritten
    for env in (Overwritten(make(**configuration)), make(**configuration)):
        assert [play(env, seed) for seed in range(3)] == expected


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"heap": (1, 1, 1, 1)}, ValueError, "options.*'heap'"),
        ({"heaps": (0, 0, 0, 0)}, ValueError, r'"heaps".*\(0, 0, 0, 0\)'),
        ({"heaps": (1, 3, 5, 8)}, ValueError, "heaps.*8 in heap 3"),
        ({"heaps": [(1, 3, 5, 7)]}, ValueError, '"heaps"'),
        ({"first_player": "me"}, ValueError, r"\"first_player\".*'me'"),
        ({"first_player": 0}, ValueError, r"\"first_player\".*0"),
        ([1, 3, 5, 7], TypeError, r"options.*\[1, 3, 5, 7\]"),
    ],
    ids=str,
)
def test_wrong_options_change_nothing(options, error, message):
    env = make(first_player="loser")
    env.reset(seed=5)
    env.step(15)
    before = rest_of(env)
    with pytest.raises(error, match=message):
        env.reset(seed=6, options=options)
    assert rest_of(env) == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"heaps": (1.5,)}, TypeError, "heaps.*1.5"),
        ({"misere": "yes"}, TypeError, "misere.*'yes'"),
        ({"opponent": "grandmaster"}, ValueError, "opponent.*'grandmaster'"),
        ({"opponent": RandomPolicy}, TypeError, "opponent.*RandomPolicy"),
        ({"opponent": ExpertPolicy(NimRules(misere=False))}, ValueError, "opponent.*normal"),
        ({"first_player": "me"}, ValueError, "first_player.*'me'"),
        ({"opponent": None, "first_player": "agent"}, ValueError, "first_player='agent'.*opponent=None"),
        ({"random_start": 1}, TypeError, "random_start.*1"),
        ({"illegal_action": "ignore"}, ValueError, "illegal_action.*'ignore'"),
        ({"render_mode": "braille"}, ValueError, "braille"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, error, message):
    for kind in (NimEnv, nim_env.NimVectorEnv):
        with pytest.raises(error, match=message):
            kind(**arguments)
    with pytest.raises(ValueError, match=r"\"first_player\".*opponent=None"):
        make(opponent=None).reset(options={"first_player": "agent"})
