import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from configurations import GYM, SIMPLE, first_legal
from gymnasium.error import InvalidAction, ResetNeeded

import agents
import nim_env
from nim_env import ExpertPolicy, NimRules, RandomPolicy, theory
from nim_env.positions import capacity, choices, positions


def make(**arguments):
    return gym.make("Nim-v0", **arguments)


def play(env, seed, episodes=3):
    """Everything that random play brings to light, as plain data."""
    generator = np.random.default_rng(seed)
    record = []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed if episode == 0 else None)
        record.append((observation.tolist(), plain(info)))
        over = False
        while not over:
            action = int(generator.choice(np.flatnonzero(info["action_mask"])))
            observation, reward, terminated, truncated, info = env.step(action)
            record.append((observation.tolist(), reward, terminated, truncated, plain(info)))
            over = terminated or truncated
    return record


def plain(info):
    return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in info.items()}


def test_spaces():
    env = make()
    assert env.observation_space == gym.spaces.MultiDiscrete([2, 4, 6, 8])
    assert env.action_space == gym.spaces.Discrete(16)
    observation, info = env.reset(seed=0)
    assert observation.dtype == np.int64
    assert info["action_mask"].dtype == np.int8
    assert env.action_space.sample(info["action_mask"]) in env.action_space


def test_a_game_by_hand():
    env = make(heaps=(1, 2), misere=False, opponent=first_legal, first_player="agent")
    rules = env.unwrapped.rules
    observation, info = env.reset()
    assert observation.tolist() == [1, 2]
    assert info["action_mask"].tolist() == [1, 1, 1]
    assert info["illegal_action"] is False
    observation, reward, terminated, truncated, info = env.step(rules.action(1, 1))  # 1-1; the reply is 0-1
    assert (observation.tolist(), reward, terminated, truncated) == ([0, 1], 0.0, False, False)
    assert info["action_mask"].tolist() == [0, 1, 0]
    observation, reward, terminated, truncated, info = env.step(rules.action(1, 1))
    assert (observation.tolist(), reward, terminated, truncated) == ([0, 0], 1.0, True, False)
    assert info["action_mask"].tolist() == [1, 1, 1]
    assert info["illegal_action"] is False


@pytest.mark.parametrize(("misere", "reward"), [(True, -1.0), (False, 1.0)])
def test_the_last_object_decides(misere, reward):
    env = make(heaps=(2,), misere=misere, first_player="agent")
    env.reset()
    assert env.step(1)[1:4] == (reward, True, False)
    env.reset()
    assert env.step(0)[1:4] == (-reward, True, False)  # the opponent has to take the last one


@pytest.mark.parametrize(
    "action", [9, np.int32(9), np.uint8(9), np.int64(9), np.array(9), np.array(9, dtype=np.int16)]
)
def test_kinds_of_integers_are_actions(action):
    env = make(opponent=None)
    env.reset()
    assert env.step(action)[0].tolist() == [1, 3, 5, 6]


@pytest.mark.parametrize(
    "action",
    [16, -1, 10**30, 1.0, np.float64(1), "1", None, True, np.True_, np.array([1]), [1], (0, 1), np.array(1.0)],
)
@pytest.mark.parametrize("arguments", [{}, {"illegal_action": "raise"}, {"opponent": None}], ids=str)
def test_other_things_are_no_actions(action, arguments):
    env = make(**arguments)
    env.reset(seed=1)
    before = copy.deepcopy(env)
    with pytest.raises(InvalidAction, match="action must be an integer from 0 to 15; got"):
        env.step(action)
    assert rest_of(env) == rest_of(before)


def rest_of(env, seed=7):
    """How an environment in the middle of a game goes on, to the end and for three games more."""
    env = copy.deepcopy(env)
    unwrapped = env.unwrapped
    record, generator = [unwrapped.action_masks().tolist()], np.random.default_rng(seed)
    over = False
    while not over:
        action = int(generator.choice(np.flatnonzero(unwrapped.action_masks())))
        observation, reward, over, _, info = env.step(action)
        record.append((observation.tolist(), reward, over, plain(info)))
    for _ in range(3):
        observation, info = env.reset()
        record.append((observation.tolist(), plain(info)))
    return record


def test_an_illegal_action_loses():
    for opponent in ("random", None):
        env = make(heaps=(2, 2), opponent=opponent)
        env.reset(options={"heaps": (1, 2)})
        observation, reward, terminated, truncated, info = env.step(1)
        assert (observation.tolist(), reward, terminated, truncated) == ([1, 2], -1.0, True, False)
        assert info["illegal_action"] is True
        assert info["action_mask"].all()
        assert env.reset()[1]["illegal_action"] is False


def test_an_illegal_action_may_be_an_error():
    env = make(heaps=(2, 2), illegal_action="raise")
    env.reset(options={"heaps": (1, 2)})
    before = copy.deepcopy(env)
    with pytest.raises(
        InvalidAction, match=r"action 1, take 2 from heap 0, is illegal at heaps \[1, 2\]; legal are \[0, 2, 3\]"
    ):
        env.step(1)
    assert rest_of(env) == rest_of(before)


def test_steps_need_a_game():
    env = make(heaps=(2,), first_player="agent").unwrapped
    for call in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            call()
    env.reset()
    env.step(1)
    with pytest.raises(ResetNeeded, match="when a game is over"):
        env.step(0)
    with pytest.raises(ResetNeeded):  # also for an action that would be wrong anyway
        env.step("0")


def starts(env, episodes=200):
    """How often the learner faces the full heaps."""
    full = list(env.unwrapped.rules.heaps)
    return sum(env.reset(seed=0 if i == 0 else None)[0].tolist() == full for i in range(episodes))


def test_first_player():
    assert starts(make(first_player="agent")) == 200
    assert starts(make(first_player="opponent")) == 0
    assert 70 < starts(make(first_player="random")) < 130
    assert 70 < starts(make()) < 130
    assert make().unwrapped.first_player == "random"


def test_first_player_of_one_episode():
    env = make()
    for _ in range(20):
        assert env.reset(options={"first_player": "agent"})[0].tolist() == [1, 3, 5, 7]
        assert env.reset(options={"first_player": "opponent"})[0].tolist() != [1, 3, 5, 7]
    assert env.unwrapped.first_player == "random"


def test_the_loser_starts():
    env = make(**SIMPLE, first_player="loser", opponent="random")
    lost = True  # as if: the agent starts the first episode
    seen = set()
    for seed in (3, None):
        observation, info = env.reset(seed=seed)
        assert observation[0] == 21
    for _ in range(40):
        over = False
        while not over:
            _, reward, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
        lost = reward < 0
        observation, info = env.reset()
        assert (observation[0] == 21) == lost
        seen.add(lost)
    assert seen == {True, False}


def test_a_seed_starts_the_count_of_losers_anew():
    env = make(heaps=(5,), misere=False, first_player="loser")
    env.reset(options={"heaps": (1,)})
    assert env.step(0)[1] == 1.0  # the agent wins, so the opponent would start
    assert env.reset(seed=1)[0].tolist() == [5]


@pytest.mark.parametrize("first_player", ["random", "opponent", "loser"])
@pytest.mark.parametrize("opponent", ["random", "take-3", "expert", first_legal])
def test_an_opening_move_leaves_the_game_alive(first_player, opponent):
    env = make(heaps=(4, 1), misere=False, first_player=first_player, opponent=opponent)
    for seed in range(60):
        observation, info = env.reset(seed=seed)
        assert observation.any()
        assert info["action_mask"].any()


def test_opening_moves_are_drawn_from_the_opponents_own():
    env = make(heaps=(5,), max_take=3, misere=False, first_player="opponent", opponent="expert")
    assert {int(env.reset(seed=seed)[0][0]) for seed in range(30)} == {4}
    env = make(heaps=(3,), misere=False, first_player="opponent")  # taking all 3 would end the game
    faced = np.bincount([int(env.reset(seed=seed)[0][0]) for seed in range(400)], minlength=4)
    assert faced[3] == faced[0] == 0
    assert faced[1] > 150
    assert faced[2] > 150

    class Weighted:
        def action_probabilities(self, observation, action_mask):  # noqa: ARG002
            return np.array([0.15, 0.05, 0.8])

    env = make(heaps=(3,), misere=False, first_player="opponent", opponent=Weighted())
    faced = np.bincount([int(env.reset(seed=seed)[0][0]) for seed in range(2000)], minlength=4)
    np.testing.assert_allclose(faced / 2000, [0, 0.25, 0.75, 0], atol=4 * (0.25 * 0.75 / 2000) ** 0.5)


@pytest.mark.parametrize("first_player", [None, "random", "opponent", "loser"])
@pytest.mark.parametrize(
    ("heaps", "opponent"), [((1,), "random"), ((0, 1), first_legal), ((3,), "take-3"), ((5,), "expert")]
)
def test_an_impossible_opening_is_refused(heaps, opponent, first_player):
    with pytest.raises(
        ValueError, match=r"needs an opening move that leaves the game alive.*use first_player=.agent."
    ):
        make(heaps=heaps, misere=False, opponent=opponent, first_player=first_player)
    env = make(heaps=heaps, misere=False, opponent=opponent, first_player="agent")
    assert env.reset()[0].tolist() == list(heaps)
    with pytest.raises(ValueError, match="needs an opening move that leaves the game alive"):
        env.reset(options={"first_player": "opponent"})


def test_an_opponent_without_an_opening_is_found_out_at_reset():
    env = make(heaps=(4,), first_player="opponent", opponent=lambda *_: 3)
    with pytest.raises(ValueError, match="needs an opening move that leaves the game alive"):
        env.reset(seed=1)


def test_random_start_is_uniform_and_plays_no_opening():
    env = make(heaps=(1, 2), random_start=True, first_player="opponent")
    seen = [tuple(env.reset(seed=0 if i == 0 else None)[0].tolist()) for i in range(5000)]
    positions = [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert set(seen) == set(positions)
    for position in positions:
        assert abs(seen.count(position) / 5000 - 0.2) < 4 * (0.2 * 0.8 / 5000) ** 0.5


@pytest.mark.parametrize("heaps", [(0, 0, 0, 1), [1, 3, 5, 7], np.array([0, 3, 0, 7], dtype=np.uint8)])
@pytest.mark.parametrize(
    "arguments", [{}, {"first_player": "opponent"}, {"opponent": None}, {"random_start": True}], ids=str
)
def test_the_position_given_is_the_one_faced(heaps, arguments):
    env = make(**arguments)
    for _ in range(5):
        assert env.reset(options={"heaps": heaps})[0].tolist() == list(heaps)
    assert env.unwrapped.rules.heaps == (1, 3, 5, 7)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"heap": (1, 1, 1, 1)}, ValueError, 'options may hold "heaps" and "first_player"; got \'heap\''),
        (
            {"heaps": (0, 0, 0, 0)},
            ValueError,
            r"one unfinished position, 4 heap sizes not all 0; got \(0, 0, 0, 0\)",
        ),
        ({"heaps": (1, 3, 5, 8)}, ValueError, "got 8 in heap 3"),
        ({"heaps": (1, 3, 5)}, ValueError, r"heaps must have shape \(..., 4\)"),
        ({"heaps": [(1, 3, 5, 7)]}, ValueError, "must be one unfinished position"),
        ({"heaps": (1.0, 3, 5, 7)}, TypeError, "heaps must hold integers alone"),
        ({"heaps": 3}, ValueError, "heaps must have shape"),
        ({"first_player": "me"}, ValueError, r'options\["first_player"\] must be one of .*; got .me.'),
        ({"first_player": ""}, ValueError, r'options\["first_player"\] must be one of .*; got .'),
        ({"first_player": 0}, ValueError, r'options\["first_player"\] must be one of .*; got 0'),
        ([1, 3, 5, 7], TypeError, r"options must be a dictionary or None; got \[1, 3, 5, 7\]"),
    ],
)
def test_bad_options_change_nothing(options, error, message):
    env = make(first_player="loser")
    env.reset(seed=5)
    env.step(15)
    before = copy.deepcopy(env)
    with pytest.raises(error, match=message):
        env.reset(seed=6, options=options)
    assert rest_of(env) == rest_of(before)


def test_options_are_not_changed():
    options = {"heaps": np.array([1, 0, 2, 0]), "first_player": "agent"}
    env = make()
    env.reset(options=options)[0][:] = 9
    env.step(0)
    assert options["heaps"].tolist() == [1, 0, 2, 0]
    assert set(options) == {"heaps", "first_player"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"heaps": ()}, ValueError, "heaps must hold one size or more"),
        ({"heaps": (1.5,)}, TypeError, r"heaps\[0\] must be an integer; got 1.5"),
        ({"max_take": 0}, ValueError, "max_take must be 1 or more"),
        ({"misere": "yes"}, TypeError, "misere must be True or False; got 'yes'"),
        ({"opponent": "take-0"}, ValueError, 'opponent must be "random", "expert" or "take-N".*got \'take-0\''),
        ({"opponent": "grandmaster"}, ValueError, "got 'grandmaster'"),
        (
            {"opponent": 3},
            TypeError,
            "opponent must be a name, an object with action_probabilities, or a callable",
        ),
        ({"opponent": RandomPolicy}, TypeError, "opponent must be a policy, not a class"),
        ({"opponent": ExpertPolicy(NimRules((3, 3)))}, ValueError, r"opponent was made for NimRules\("),
        ({"opponent": ExpertPolicy(NimRules(misere=False))}, ValueError, r"opponent was made for NimRules\("),
        ({"first_player": "me"}, ValueError, "first_player must be one of .*; got 'me'"),
        ({"first_player": 0}, ValueError, "first_player must be one of .*; got 0"),
        (
            {"opponent": None, "first_player": "agent"},
            ValueError,
            "first_player='agent' has no meaning with opponent=None",
        ),
        ({"opponent": None, "first_player": "random"}, ValueError, "leave it out"),
        ({"random_start": 1}, TypeError, "random_start must be True or False; got 1"),
        ({"illegal_action": "ignore"}, ValueError, 'illegal_action must be "lose" or "raise"; got \'ignore\''),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        make(**arguments)


def test_an_unknown_render_mode_raises():
    with pytest.raises(
        ValueError, match=r"render_mode must be None or one of \['human', 'ansi', 'rgb_array'\]; got 'braille'"
    ):
        nim_env.gym_env.NimEnv(render_mode="braille")


def test_first_player_of_one_episode_is_refused_in_self_play():
    env = make(opponent=None)
    with pytest.raises(ValueError, match="has no meaning with opponent=None"):
        env.reset(options={"first_player": "agent"})


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (1, ValueError, r"opponent answered action 1 at heaps \[0, 2\]; legal are \[2, 3\]"),
        (7, ValueError, "opponent answered action 7"),
        (2.0, TypeError, "opponent must answer integer actions; got"),
        (None, TypeError, "opponent must answer integer actions"),
        ([2], ValueError, "opponent must answer one action for each position"),
    ],
)
def test_an_opponent_that_answers_illegally_changes_nothing(answer, error, message):
    env = make(heaps=(2, 2), opponent=lambda *_: answer)
    env.reset(seed=1, options={"heaps": (1, 2)})
    unwrapped = env.unwrapped
    state = unwrapped.np_random.bit_generator.state
    for _ in range(2):  # the game is where it was, so the same step fails the same way
        with pytest.raises(error, match=message):
            env.step(0)
    assert unwrapped.action_masks().tolist() == [1, 0, 1, 1]
    assert unwrapped.np_random.bit_generator.state == state


def test_an_opponent_that_fails_at_its_opening_changes_nothing():
    answers = iter([0, 1, "no", 2.5])
    env = make(opponent=lambda *_: next(answers), first_player="random")
    while env.reset()[0].tolist() == [1, 3, 5, 7]:  # until the opponent has opened once
        pass
    state = env.unwrapped.np_random.bit_generator.state
    env.step(1)
    state = env.unwrapped.np_random.bit_generator.state
    masks = env.unwrapped.action_masks()
    with pytest.raises(TypeError, match="opponent must answer integer actions"):
        env.reset(options={"first_player": "opponent"})
    with pytest.raises(TypeError, match="opponent must answer integer actions"):
        env.reset(seed=3, options={"first_player": "opponent"})
    assert env.unwrapped.np_random.bit_generator.state == state
    np.testing.assert_array_equal(env.unwrapped.action_masks(), masks)


def test_a_refused_opening_takes_back_its_coin():
    env = make(opponent=lambda *_: None, first_player="random")
    refused = 0
    for seed in range(20):
        env.reset(seed=seed, options={"first_player": "agent"})
        state = env.unwrapped.np_random.bit_generator.state
        try:
            env.reset()
        except TypeError:
            refused += 1
            assert env.unwrapped.np_random.bit_generator.state == state
        else:
            assert env.unwrapped.np_random.bit_generator.state != state
    assert 0 < refused < 20


def test_a_policy_with_bad_probabilities_is_named():
    class Half:
        def action_probabilities(self, observation, action_mask):  # noqa: ARG002
            return action_mask / action_mask.sum() / 2

    env = make(opponent=Half(), first_player="agent")
    env.reset()
    with pytest.raises(ValueError, match=r"opponent answered probabilities not of sum 1 at heaps \[0, 3, 5, 7\]"):
        env.step(0)


def test_self_play():
    env = make(opponent=None, heaps=(2, 1), misere=True)
    observation, info = env.reset(seed=0)
    assert (observation.tolist(), info["to_play"]) == ([2, 1], 0)
    observation, reward, terminated, _, info = env.step(0)
    assert (observation.tolist(), reward, terminated, info["to_play"]) == ([1, 1], 0.0, False, 1)
    observation, reward, terminated, _, info = env.step(2)
    assert (observation.tolist(), reward, terminated, info["to_play"]) == ([1, 0], 0.0, False, 0)
    observation, reward, terminated, _, info = env.step(0)
    assert (observation.tolist(), reward, terminated) == ([0, 0], -1.0, True)
    assert env.reset()[1]["to_play"] == 0
    assert "to_play" not in make().reset()[1]


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
def test_one_seed_gives_one_game(configuration):
    first, second = make(**configuration), make(**configuration)
    play(second, seed=99)  # whatever happened before, the seed decides
    for seed in range(5):
        assert play(first, seed) == play(second, seed)


def test_different_seeds_give_different_games():
    assert len({str(play(make(), seed)) for seed in range(20)}) == 20


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_copies_go_on_identically(configuration, copied):
    env = nim_env.gym_env.NimEnv(**configuration)
    play(env, seed=3)
    assert rest_of_game_or_next(copied(env)) == rest_of_game_or_next(env)
    env.reset(seed=4)
    for _ in range(3):  # from ever deeper in the game
        other = copied(env)
        assert rest_of(other) == rest_of(env)
        mask = env.action_masks()
        _, _, over, *_ = env.step(int(mask.argmax()))
        if over:
            break


def rest_of_game_or_next(env):
    env.reset()
    return rest_of(env)


def test_a_copy_is_independent():
    env = make(opponent=None)
    env.reset(seed=0)
    other = copy.deepcopy(env)
    other.step(15)
    assert env.step(0)[0].tolist() == [0, 3, 5, 7]


@pytest.mark.parametrize("configuration", GYM.values(), ids=GYM)
def test_returned_arrays_are_the_callers(configuration):
    expected = [play(make(**configuration), seed) for seed in range(3)]  # copied out before anything is spoiled

    class Spoiled(gym.Wrapper):
        def reset(self, **arguments):
            return self.spoil(*super().reset(**arguments))

        def step(self, action):
            observation, *rest, info = super().step(action)
            observation, info = self.spoil(observation, info)
            return observation, *rest, info

        def spoil(self, observation, info):
            kept = copy.deepcopy((observation, info))
            for array in (observation, info["action_mask"], self.env.unwrapped.action_masks()):
                array[:] = -1
            return kept

    for _ in range(2):
        assert [play(Spoiled(make(**configuration)), seed) for seed in range(3)] == expected
    assert [play(make(**configuration), seed) for seed in range(3)] == expected


def test_an_opponent_cannot_spoil_what_it_is_shown():
    def vandal(observation, action_mask):
        action = int(action_mask.argmax())
        observation[:] = 0
        action_mask[:] = 0
        return action

    assert play(make(opponent=vandal, first_player="agent"), 0) == play(
        make(opponent=first_legal, first_player="agent"), 0
    )


def test_the_expert_opponent_never_errs():
    env = make(opponent="expert", first_player="opponent", heaps=(3, 4, 5), misere=False)
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        over = False
        while not over:
            assert not theory.is_winning(env.unwrapped.rules, observation)
            observation, reward, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
        assert reward == -1.0


def test_any_policy_may_be_the_opponent():
    rules = NimRules()
    assert play(make(opponent=ExpertPolicy(rules)), 1) == play(make(opponent="expert"), 1)
    assert play(make(opponent=RandomPolicy()), 1) == play(make(opponent="random"), 1)


def test_rendering():
    env = make(render_mode="ansi", opponent=None, heaps=(3, 12), misere=False)
    env.reset()
    env.step(2)
    assert env.render() == "heap 0:  0  · · ·\nheap 1: 12  | | | | | | | | | | | |\nplayer 1 to move"
    env.step(env.unwrapped.rules.action(1, 12))
    assert env.render().splitlines()[-1] == "player 1 won"
    env = make(render_mode="ansi", heaps=(2,), first_player="agent")
    env.reset()
    assert env.render().splitlines()[-1] == "agent to move"
    env.step(0)
    assert env.render().splitlines()[-1] == "agent won"
    env.reset()
    env.step(1)
    assert env.render().splitlines()[-1] == "opponent won"
    env = make(render_mode="ansi", heaps=(1000,))
    env.reset(options={"heaps": (999,)})
    assert env.render() == "heap 0:  999\nagent to move"


def test_rendering_without_a_mode_warns():
    env = nim_env.gym_env.NimEnv()
    env.reset()
    with pytest.warns(UserWarning, match='pass render_mode="ansi"'):
        assert env.render() is None


def test_huge_games_work():
    env = make(heaps=(10**18,) * 9, max_take=5, opponent="expert", misere=False)
    observation, info = env.reset(seed=0)
    for _ in range(20):
        observation, _, _, _, info = env.step(env.action_space.sample(info["action_mask"]))
    assert not theory.is_winning(env.unwrapped.rules, observation)
    env = make(heaps=(10**18, 3), random_start=True, max_take=3)
    assert env.reset(seed=0)[0][0] > 10**15


def test_position_caches_are_bounded():
    rules = NimRules((3000, 3000), misere=False)
    limit = capacity(rules)
    assert limit < 2000
    env = make(heaps=rules.heaps, misere=False, random_start=True, opponent="expert").unwrapped
    for seed in range(2 * limit):
        env.reset(seed=seed)
        env.step(int(env.action_masks().argmax()))
        assert len(positions(rules)) <= limit
        assert len(choices(rules, ExpertPolicy(rules))) <= limit
    assert len(positions(rules)) > 1
    for function in (positions, choices):
        assert function.cache_info().maxsize <= 16


def test_what_a_cache_forgets_it_finds_again():
    table = positions(NimRules((3, 4)))
    full = [table[index] for index in range(20)]
    table.capacity = 3
    try:
        for index in (7, 0, 19, 7, 7, 3, 2, 1, 0, 7):
            np.testing.assert_array_equal(table[index].heaps, full[index].heaps)
    finally:
        positions.cache_clear()
    assert len(table) <= 20


def test_copies_share_what_is_remembered():
    env = nim_env.gym_env.NimEnv(opponent="expert")
    env.reset(seed=0)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), nim_env.gym_env.NimEnv(opponent="expert")):
        assert other._positions is env._positions
        assert other._choices is env._choices
    assert len(pickle.dumps(env)) < 20_000


def test_a_policy_built_on_another_keeps_its_own_probabilities():
    class Noisy(ExpertPolicy):
        def action_probabilities(self, observation, action_mask):
            expert = super().action_probabilities(observation, action_mask)
            return 0.9 * expert + 0.1 * RandomPolicy().action_probabilities(observation, action_mask)

    rules = NimRules((5,), max_take=3, misere=False)
    env = make(heaps=(5,), max_take=3, misere=False, opponent=Noisy(rules), first_player="agent")
    left = []
    for seed in range(2000):
        env.reset(seed=seed)
        left.append(int(env.step(1)[0][0]))  # the opponent faces 3, and should take all of it
    assert abs(left.count(0) / 2000 - (0.9 + 0.1 / 3)) < 4 * (0.07 * 0.93 / 2000) ** 0.5


def test_an_agent_of_another_game_is_named_as_the_opponent():
    spaces = make(heaps=(3,), first_player="agent")
    agent = agents.QLearningAgent(spaces.observation_space, spaces.action_space)
    env = make(opponent=agent, first_player="agent")
    env.reset()
    with pytest.raises(ValueError, match=r"opponent=<agents.* cannot play at heaps \[0, 3, 5, 7\]"):
        env.step(0)
