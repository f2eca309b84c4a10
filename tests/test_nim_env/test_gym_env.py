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


class LastLegal:
    """A policy object that always takes the last legal action."""

    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        n_actions = action_mask.shape[-1]
        last = n_actions - 1 - np.flip(action_mask, axis=-1).argmax(axis=-1)
        return (np.arange(n_actions) == last[..., None]).astype(np.float32)


# --- By hand --------------------------------------------------------------------------------------


def test_spaces():
    env = make()
    assert env.observation_space == gym.spaces.MultiDiscrete([2, 4, 6, 8])
    assert env.action_space == gym.spaces.Discrete(16)
    observation, info = env.reset(seed=0)
    assert observation.dtype == np.int64
    assert info["action_mask"].dtype == np.int8
    assert env.action_space.sample(info["action_mask"]) in env.action_space


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
    env.reset()
    assert env.step(1)[1:4] == (reward, True, False)
    env.reset()
    assert env.step(0)[1:4] == (-reward, True, False)  # the opponent has to take the last one


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
    env = make(heaps=(10**18,) * 9, max_take=5, opponent="expert", misere=False)
    observation, info = env.reset(seed=0)
    for _ in range(20):
        observation, _, _, _, info = env.step(env.action_space.sample(info["action_mask"]))
    assert not theory.is_winning(env.unwrapped.rules, observation)
    env = make(heaps=(10**18, 3), random_start=True, max_take=3)
    assert env.reset(seed=0)[0][0] > 10**15


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
    assert env.render() == "heap 0:  0  · · ·\nheap 1: 12  | | | | | | | | | | | |\nplayer 1 to move"
    env.step(env.unwrapped.rules.action(1, 12))
    assert env.render().splitlines()[-1] == "player 1 won"
    env = make(render_mode="ansi", heaps=(2,), first_player="agent")
    for action, winner in ((0, "agent"), (1, "opponent")):
        env.reset()
        assert env.render().splitlines()[-1] == "agent to move"
        env.step(action)
        assert env.render().splitlines()[-1] == f"{winner} won"
    env = make(render_mode="ansi", heaps=(1000,))
    env.reset(options={"heaps": (999,)})
    assert env.render() == "heap 0:  999\nagent to move"


def test_render_without_mode_warns():
    env = NimEnv()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


# --- Actions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action", [9, np.int32(9), np.uint8(9), np.int64(9), np.array(9), np.array(9, dtype=np.int16)]
)
def test_integers_are_actions(action):
    env = make(opponent=None)
    env.reset()
    assert env.step(action)[0].tolist() == [1, 3, 5, 6]


NOT_ACTIONS = [16, -1, 10**30, 1.0, np.float64(1), "1", None, True, np.True_, np.array([1]), [1], (0, 1)]


@pytest.mark.parametrize("action", [*NOT_ACTIONS, np.array(1.0)], ids=repr)
@pytest.mark.parametrize("arguments", [{}, {"illegal_action": "raise"}, {"opponent": None}], ids=str)
def test_other_things_are_not_actions(action, arguments):
    env = make(**arguments)
    env.reset(seed=1)
    before = rest_of(env)
    with pytest.raises(InvalidAction, match="action must be an integer from 0 to 15"):
        env.step(action)
    assert rest_of(env) == before


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
    ("arguments", "low", "high"),
    [
        ({"first_player": "agent"}, 200, 200),
        ({"first_player": "opponent"}, 0, 0),
        ({"first_player": "random"}, 70, 130),
        ({}, 70, 130),
    ],
    ids=str,
)
def test_first_player(arguments, low, high):
    env = make(**arguments)
    full = sum(env.reset(seed=None if i else 0)[0].tolist() == [1, 3, 5, 7] for i in range(200))
    assert low <= full <= high
    for _ in range(20):
        assert env.reset(options={"first_player": "agent"})[0].tolist() == [1, 3, 5, 7]
        assert env.reset(options={"first_player": "opponent"})[0].tolist() != [1, 3, 5, 7]
    assert env.unwrapped.first_player == arguments.get("first_player", "random")


def test_loser_starts():
    env = make(**SIMPLE, first_player="loser")
    found = set()
    for seed in (3, None):
        observation, info = env.reset(seed=seed)
        assert observation[0] == 21  # the agent starts the first episode
    for _ in range(40):
        is_over = False
        while not is_over:
            _, reward, is_over, _, info = env.step(env.action_space.sample(info["action_mask"]))
        observation, info = env.reset()
        assert (observation[0] == 21) == (reward < 0)
        found.add(reward)
    assert found == {1.0, -1.0}


def test_seed_forgets_who_lost():
    env = make(heaps=(5,), misere=False, first_player="loser")
    env.reset(options={"heaps": (1,)})
    assert env.step(0)[1] == 1.0  # the agent wins, so the opponent would start
    assert copy.deepcopy(env).reset()[0].tolist() != [5]
    assert env.reset(seed=1)[0].tolist() == [5]


@pytest.mark.parametrize("first_player", ["random", "opponent", "loser"])
@pytest.mark.parametrize("opponent", ["random", "take-3", "expert", first_legal])
def test_opening_move_does_not_end_the_game(first_player, opponent):
    env = make(heaps=(4, 1), misere=False, first_player=first_player, opponent=opponent)
    for seed in range(60):
        observation, info = env.reset(seed=seed)
        assert observation.any()
        assert (info["action_mask"] == env.unwrapped.rules.action_mask(observation)).all()


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


@pytest.mark.parametrize("first_player", [None, "random", "opponent", "loser"])
@pytest.mark.parametrize(
    ("heaps", "opponent"), [((1,), "random"), ((0, 1), first_legal), ((3,), "take-3"), ((5,), "expert")]
)
def test_impossible_opening_is_refused(heaps, opponent, first_player):
    with pytest.raises(ValueError, match=r"first_player=.*opponent="):
        make(heaps=heaps, misere=False, opponent=opponent, first_player=first_player)
    env = make(heaps=heaps, misere=False, opponent=opponent, first_player="agent")
    assert env.reset()[0].tolist() == list(heaps)
    with pytest.raises(ValueError, match='"first_player"'):
        env.reset(options={"first_player": "opponent"})


def test_opponent_that_opens_by_ending_the_game():
    env = make(heaps=(4,), first_player="opponent", opponent=lambda *_: 3)
    with pytest.raises(ValueError, match=r"first_player=.*opponent="):
        env.reset(seed=1)


def test_random_start_is_uniform():
    env = make(heaps=(1, 2), random_start=True, first_player="opponent")
    starts = [tuple(env.reset(seed=None if i else 0)[0].tolist()) for i in range(5000)]
    positions = [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert set(starts) == set(positions)
    for position in positions:
        assert abs(starts.count(position) / 5000 - 0.2) < 4 * (0.2 * 0.8 / 5000) ** 0.5


@pytest.mark.parametrize("heaps", [(0, 0, 0, 1), [1, 3, 5, 7], np.array([0, 3, 0, 7], dtype=np.uint8)])
@pytest.mark.parametrize(
    "arguments", [{}, {"first_player": "opponent"}, {"opponent": None}, {"random_start": True}], ids=str
)
def test_given_position_is_faced(heaps, arguments):
    env, options = make(**arguments), {"heaps": heaps, "first_player": None}
    before = copy.deepcopy(options)
    for _ in range(5):
        observation = env.reset(options=options)[0]
        assert observation.tolist() == list(heaps)
        observation[:] = 9
        env.step(int(env.unwrapped.action_masks().argmax()))
    np.testing.assert_equal(options, before)
    assert env.unwrapped.rules.heaps == (1, 3, 5, 7)


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


def test_opponent_that_returns_illegal_actions():
    for output, error in ((1, ValueError), (7, ValueError), (2.0, TypeError), (None, TypeError), ([2], TypeError)):
        env = make(heaps=(2, 2), opponent=lambda *_, output=output: output)
        env.reset(seed=1, options={"heaps": (1, 2)})
        for _ in range(2):  # the game is unchanged, so the same step fails the same way
            with pytest.raises(error, match="opponent"):
                env.step(0)
        assert env.unwrapped.action_masks().tolist() == [1, 0, 1, 1]


def test_opponent_that_fails_at_its_opening():
    outputs = iter([0, 1, "no", 2.5])
    env = make(opponent=lambda *_: next(outputs), first_player="agent")
    env.reset(options={"first_player": "opponent"})
    env.step(1)
    masks = env.unwrapped.action_masks()
    for seed in (None, 3):
        with pytest.raises(TypeError, match="opponent"):
            env.reset(seed=seed, options={"first_player": "opponent"})
    np.testing.assert_array_equal(env.unwrapped.action_masks(), masks)


def test_exception_of_an_opponent_propagates():
    class BrokenError(Exception):
        pass

    error = BrokenError("mine")

    def broken(*_):
        raise error

    env = make(opponent=broken, first_player="agent")
    env.reset(seed=0)
    with pytest.raises(BrokenError) as caught:
        env.step(0)
    assert caught.value is error
    assert env.unwrapped.action_masks().all()  # the game is unchanged


def test_policy_with_wrong_probabilities():
    class Half:
        def action_probabilities(self, observation, action_mask):  # noqa: ARG002
            return action_mask / action_mask.sum() / 2

    env = make(opponent=Half(), first_player="agent")
    env.reset()
    with pytest.raises(ValueError, match=r"opponent.*sum.*\[0, 3, 5, 7\]"):
        env.step(0)


# --- set_opponent ---------------------------------------------------------------------------------

OPPONENTS = {
    "random": "random",
    "take-2": "take-2",
    "expert": "expert",
    "callable": first_legal,
    "policy": LastLegal(),
    "table": nim_env.policies.tabulate(NimRules(), "expert"),
}


@pytest.mark.parametrize("before", OPPONENTS)
@pytest.mark.parametrize("after", OPPONENTS)
def test_set_opponent(before, after):
    """From now on it plays as an environment made with the new opponent, in a game under way too."""
    env, expected = make(opponent=OPPONENTS[before]), make(opponent=OPPONENTS[after])
    env.unwrapped.set_opponent(OPPONENTS[after])
    assert env.unwrapped.opponent is OPPONENTS[after]
    assert play(env, 5) == play(expected, 5)
    env.unwrapped.set_opponent(OPPONENTS[before])
    for each in (env, expected):
        each.reset(seed=3, options={"heaps": (1, 2, 5, 6)})
    env.unwrapped.set_opponent(OPPONENTS[after])
    assert rest_of(env) == rest_of(expected)


def test_set_opponent_changes_the_replies():
    env = make(heaps=(20,), max_take=3, misere=False, first_player="agent")
    for name, expected in (("expert", {16}), ("random", {16, 17, 18}), ("take-2", {17}), (LastLegal(), {16})):
        env.unwrapped.set_opponent(name)
        replies = set()
        for _ in range(60):
            env.reset()
            replies.add(int(env.step(0)[0][0]))
        assert replies == expected


def test_set_opponent_is_refused():
    env = make(heaps=(5,), max_take=4, misere=False, opponent="take-2")
    env.reset(seed=0)
    before = rest_of(env)
    other_game = ExpertPolicy(NimRules((3, 3)))
    wrong = {
        "grandmaster": ValueError,
        3: TypeError,
        None: ValueError,
        RandomPolicy: TypeError,
        other_game: ValueError,
    }
    for opponent, error in wrong.items():
        with pytest.raises(error, match="opponent"):
            env.unwrapped.set_opponent(opponent)
        assert env.unwrapped.opponent == "take-2"
        assert rest_of(env) == before
    whole = make(heaps=(3,), misere=False, opponent="random")
    whole.reset(seed=0)
    before = rest_of(whole)
    with pytest.raises(ValueError, match=r"first_player='random'.*opponent='take-3'"):  # it can only end the game
        whole.unwrapped.set_opponent("take-3")
    assert whole.unwrapped.opponent == "random"
    assert rest_of(whole) == before
    make(heaps=(3,), misere=False, first_player="agent").unwrapped.set_opponent("take-3")
    with pytest.raises(ValueError, match="opponent='random'"):
        make(opponent=None).unwrapped.set_opponent("random")
    with pytest.raises(AttributeError):
        env.unwrapped.opponent = "expert"


# --- Seeds, copies, arrays ------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
def test_seed_decides_everything(configuration):
    first, second = make(**configuration), make(**configuration)
    play(second, seed=99)
    for seed in range(5):
        assert play(first, seed) == play(second, seed)


def test_seeds_differ():
    assert len({str(play(make(), seed)) for seed in range(20)}) == 20


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_continue_identically(configuration, copied):
    env = NimEnv(**configuration)
    play(env, seed=3)
    env.reset()
    is_over = False
    while not is_over:
        assert rest_of(copied(env)) == rest_of(env)
        is_over = env.step(int(np.flatnonzero(env.action_masks())[-1]))[2]


def test_copies_are_independent():
    env = make(opponent=None)
    env.reset(seed=0)
    other = copy.deepcopy(env)
    other.step(15)
    assert env.step(0)[0].tolist() == [0, 3, 5, 7]
    assert len(pickle.dumps(NimEnv(opponent="expert"))) < 20_000  # without the cached positions


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
        ({"heaps": (1, 3, 5)}, ValueError, r"heaps.*\(3,\)"),
        ({"heaps": [(1, 3, 5, 7)]}, ValueError, '"heaps"'),
        ({"heaps": (1.0, 3, 5, 7)}, TypeError, "heaps"),
        ({"heaps": 3}, ValueError, "heaps"),
        ({"first_player": "me"}, ValueError, r"\"first_player\".*'me'"),
        ({"first_player": ""}, ValueError, r"\"first_player\".*''"),
        ({"first_player": 0}, ValueError, r"\"first_player\".*0"),
        ([1, 3, 5, 7], TypeError, r"options.*\[1, 3, 5, 7\]"),
    ],
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
        ({"heaps": ()}, ValueError, "heaps"),
        ({"heaps": (0, 0)}, ValueError, "heaps"),
        ({"heaps": (1.5,)}, TypeError, "heaps.*1.5"),
        ({"max_take": 0}, ValueError, "max_take.*0"),
        ({"misere": "yes"}, TypeError, "misere.*'yes'"),
        ({"opponent": "take-0"}, ValueError, "opponent.*'take-0'"),
        ({"opponent": "grandmaster"}, ValueError, "opponent.*'grandmaster'"),
        ({"opponent": 3}, TypeError, "opponent.*3"),
        ({"opponent": RandomPolicy}, TypeError, "opponent.*RandomPolicy"),
        ({"opponent": ExpertPolicy(NimRules((3, 3)))}, ValueError, "opponent.*3-3"),
        ({"opponent": ExpertPolicy(NimRules(misere=False))}, ValueError, "opponent.*normal"),
        ({"first_player": "me"}, ValueError, "first_player.*'me'"),
        ({"first_player": 0}, ValueError, "first_player.*0"),
        ({"opponent": None, "first_player": "agent"}, ValueError, "first_player='agent'.*opponent=None"),
        ({"opponent": None, "first_player": "random"}, ValueError, "first_player='random'"),
        ({"random_start": 1}, TypeError, "random_start.*1"),
        ({"illegal_action": "ignore"}, ValueError, "illegal_action.*'ignore'"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, error, message):
    for kind in (NimEnv, nim_env.NimVectorEnv):
        with pytest.raises(error, match=message):
            kind(**arguments)


def test_unknown_render_mode():
    with pytest.raises(ValueError, match="braille"):
        NimEnv(render_mode="braille")


def test_first_player_of_one_episode_in_self_play():
    with pytest.raises(ValueError, match=r"\"first_player\".*opponent=None"):
        make(opponent=None).reset(options={"first_player": "agent"})
