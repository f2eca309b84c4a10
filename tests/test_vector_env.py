"""The vector environment beside the single one, beside Gymnasium's own vector environments, and under abuse."""

import copy
import gc
import pickle
import re
import tracemalloc
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import pytest
from configurations import GYM, SIMPLE, first_legal
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from scipy import stats

import agents
from nim_env import NimRules, many_games
from nim_env.many_games import ComputedGames, TabulatedGames
from nim_env.policies import UniformPolicy
from nim_env.vector_env import NimVectorEnv

MODES = list(AutoresetMode)
EVERY_MODE = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
GAMES_COMPARED = 10_000


class LastLegal:
    """A policy of one's own that always takes the last legal action, and says so as probabilities."""

    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        n_actions = action_mask.shape[-1]
        last = n_actions - 1 - np.flip(action_mask, axis=-1).argmax(axis=-1)
        return (np.arange(n_actions) == last[..., None]).astype(np.float32)


DETERMINISTIC = {  # but for the starts, which the single environment is told
    "self-play": {"opponent": None},
    "bounded self-play": {"opponent": None, "heaps": (4, 4), "max_take": 3, "misere": False},
    "zero heaps self-play": {"opponent": None, "heaps": (0, 3, 0, 2), "illegal_action": "raise"},
    "random start self-play": {"opponent": None, "heaps": (3, 4, 5), "random_start": True},
    "computed self-play": {"opponent": None, "heaps": (9, 11, 13, 30), "random_start": True, "misere": False},
    "take-3, loser first": {"opponent": "take-3", "first_player": "loser", **SIMPLE},
    "take-2, opponent first": {"opponent": "take-2", "heaps": (10,), "first_player": "opponent"},
    "take-3, random first": {"opponent": "take-3", **SIMPLE},
    "computed take-2": {"opponent": "take-2", "heaps": (2000,), "max_take": 900, "random_start": True},
    "callable, loser first": {"opponent": first_legal, "first_player": "loser"},
    "callable, random first": {"opponent": first_legal, "illegal_action": "raise"},
    "policy, random start": {"opponent": LastLegal(), "random_start": True, "misere": False},
}


def make(num_envs=4, **arguments):
    return gym.make_vec("Nim-v0", num_envs=num_envs, **arguments)


def legal_actions(mask, generator, illegal=0.0):
    """Random actions, legal but for a share of any of the space."""
    weights = generator.random(mask.shape) * mask
    at_random = generator.random(len(mask)) < illegal
    return np.where(at_random, generator.integers(mask.shape[1], size=len(mask)), weights.argmax(axis=1))


def start_of(env, heaps, arguments):
    """The options by which a single environment starts where a game of the vector environment did."""
    if arguments.get("random_start"):
        return {"heaps": heaps}
    if arguments["opponent"] is None or "first_player" in arguments:
        return None
    return {"first_player": "agent" if tuple(heaps) == env.unwrapped.rules.heaps else "opponent"}


class Singles:
    """The same games in single environments, in each autoreset mode, with Gymnasium's infos."""

    def __init__(self, number, mode, arguments):
        self.envs = [gym.make("Nim-v0", disable_env_checker=True, **arguments) for _ in range(number)]
        self.mode, self.arguments = mode, arguments
        self.over = np.zeros(number, dtype=bool)

    def reset(self, game, heaps):
        return self.envs[game].reset(options=start_of(self.envs[game], heaps, self.arguments))

    def step(self, actions, observations):
        """What the vector environment must say, given where it has started its games."""
        rows, final = [], {}
        for game, env in enumerate(self.envs):
            if self.over[game] and self.mode is AutoresetMode.NEXT_STEP:
                observation, info = self.reset(game, observations[game])
                rows.append((observation, 0.0, False, False, info))
                continue
            observation, reward, terminated, truncated, info = env.step(int(actions[game]))
            if terminated and self.mode is AutoresetMode.SAME_STEP:
                final[game] = observation, info
                observation, info = self.reset(game, observations[game])
            rows.append((observation, reward, terminated, truncated, info))
        self.over = np.array([row[2] for row in rows])
        return rows, final


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_game_for_game_equal_to_the_single_environment(name, mode):
    arguments = DETERMINISTIC[name]
    number = 500
    env = make(number, autoreset_mode=mode, **arguments)
    generator = np.random.default_rng(0)
    singles = Singles(number, mode, arguments)
    observations, infos = env.reset(seed=1)
    for game in range(number):
        observation, info = singles.reset(game, observations[game])
        check_row(game, observation, info, observations, infos)
    ended = 0
    while ended < GAMES_COMPARED:
        illegal = 0.0 if arguments.get("illegal_action") == "raise" else 0.05
        actions = legal_actions(infos["action_mask"], generator, illegal)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        rows, final = singles.step(actions, observations)
        for game, (observation, reward, *over, info) in enumerate(rows):
            check_row(game, observation, info, observations, infos)
            assert [rewards[game], terminated[game], truncated[game]] == [reward, *over]
        assert final.keys() == set(infos.get("_final_obs", np.zeros(1)).nonzero()[0])
        for game, (observation, info) in final.items():
            assert (infos["final_obs"][game] == observation).all()
            check_row(game, observation, info, infos["final_obs"], infos["final_info"])
        ended += terminated.sum()
        if mode is AutoresetMode.DISABLED and terminated.any():
            options = {"reset_mask": terminated}
            observations, infos = env.reset(options=options)
            for game in terminated.nonzero()[0]:
                observation, info = singles.reset(game, observations[game])
                check_row(game, observation, info, observations, infos)
            assert (infos["_action_mask"] == terminated).all()


def check_row(game, observation, info, observations, infos):
    assert (observations[game] == observation).all()
    assert infos.keys() - {"final_obs", "_final_obs", "final_info", "_final_info"} == {
        name for key in info for name in (key, f"_{key}")
    }
    for key, value in info.items():
        assert np.array_equal(infos[key][game], value)
        assert infos[f"_{key}"][game]


# --- Beside SyncVectorEnv -------------------------------------------------------------------------


def outline(value):
    """Keys, shapes, dtypes and types, without the values."""
    if isinstance(value, dict):
        return {key: outline(part) for key, part in value.items()}
    return type(value), value.shape, value.dtype


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", GYM)
def test_as_the_synchronous_vector_environment(name, mode):
    arguments = GYM[name]
    sync = gym.make_vec(
        "Nim-v0", 7, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **arguments
    )
    ours = make(7, autoreset_mode=mode, **arguments)
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, space) == getattr(sync, space)
    assert ours.metadata["autoreset_mode"] is sync.metadata["autoreset_mode"] is mode
    assert ours.num_envs == sync.num_envs
    seen = []
    for env in (sync, ours):
        generator = np.random.default_rng(0)
        observations, infos = env.reset(seed=0)
        record = {"reset": outline({"obs": observations, **infos})}
        for _ in range(60):
            actions = legal_actions(infos["action_mask"], generator)
            *arrays, infos = env.step(actions)
            told = {key: value.all() for key, value in infos.items() if key[0] == "_" and "final" not in key}
            kind = "final" if "final_obs" in infos else "step"
            what = outline({**dict(enumerate(arrays)), **infos}), told
            assert record.setdefault(kind, what) == what
            over = arrays[2] | arrays[3]
            if mode is AutoresetMode.SAME_STEP:
                assert ("final_obs" in infos) == over.any()
                if over.any():
                    check_finals(infos, over)
            if mode is AutoresetMode.DISABLED and over.any():
                masks = infos["action_mask"]
                observations, infos = env.reset(options={"reset_mask": over})
                what = outline({"obs": observations, **infos})
                assert record.setdefault("partly", what) == what
                assert all((infos[key] == over).all() for key in infos if key[0] == "_")
                infos["action_mask"] = np.where(over[:, None], infos["action_mask"], masks)
        seen.append(record)
    assert seen[0] == seen[1]


def check_finals(infos, over):
    """Only what has ended has an end to tell of."""
    final = infos["final_info"]
    assert [observation is not None for observation in infos["final_obs"]] == over.tolist()
    for key in ("final_obs", "final_info"):
        assert (infos[f"_{key}"] == over).all()
    for key, value in final.items():
        if key[0] == "_":
            assert (value == over).all()
        else:
            assert not value[~over].any()


def test_registered():
    for name, n_actions in (("Nim-v0", 16), ("SimpleNim-v0", 3)):
        env = gym.make_vec(name, num_envs=3)
        assert isinstance(env.unwrapped, NimVectorEnv)
        assert env.reset(seed=0)[1]["action_mask"].shape == (3, n_actions)
        assert env.spec.id == name
        assert str(env) == f"NimVectorEnv({name}, num_envs=3)"
        assert isinstance(gym.make_vec(name, num_envs=3, vectorization_mode="sync"), SyncVectorEnv)
    assert isinstance(gym.make_vec("nim_env:Nim-v0", num_envs=1).unwrapped, NimVectorEnv)
    env = gym.make_vec("SimpleNim-v0", num_envs=2)
    assert env.unwrapped.rules == NimRules(heaps=(21,), max_take=3, misere=False)
    env.close()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_episode_statistics(mode):
    env = gym.wrappers.vector.RecordEpisodeStatistics(make(50, opponent="take-3", autoreset_mode=mode, **SIMPLE))
    env = gym.wrappers.vector.TransformReward(env, lambda reward: 10 * reward)
    generator = np.random.default_rng(0)
    _, infos = env.reset(seed=0)
    episodes = 0
    while episodes < 500:
        _, rewards, terminated, _, infos = env.step(legal_actions(infos["action_mask"], generator))
        if terminated.any():
            statistics = infos["episode"]
            assert (10 * statistics["r"][terminated] == rewards[terminated]).all()
            assert (np.abs(rewards[terminated]) == 10).all()
            if mode is not AutoresetMode.SAME_STEP or SAME_STEP_IS_COUNTED:
                assert (statistics["l"][terminated] > 1).all()
                assert (statistics["l"][terminated] <= 11).all()
        episodes += terminated.sum()
        if mode is AutoresetMode.DISABLED and terminated.any():
            _, infos = env.reset(options={"reset_mask": terminated})
    assert env.env.episode_count == episodes


SAME_STEP_IS_COUNTED = tuple(map(int, gym.__version__.split(".")[:2])) >= (1, 3)  # earlier ones lose the lengths


def test_other_wrappers():
    env = gym.wrappers.vector.DictInfoToList(make(3, autoreset_mode="SameStep"))
    _, infos = env.reset(seed=0)
    assert [sorted(info) for info in infos] == [["action_mask", "illegal_action"]] * 3
    env = gym.wrappers.vector.FlattenObservation(make(3))
    observations, _ = env.reset(seed=0)
    assert observations.shape == (3, 2 + 4 + 6 + 8)
    assert (observations.sum(axis=1) == 4).all()
    env = gym.wrappers.vector.ClipReward(make(3, illegal_action="lose"), max_reward=0.5, min_reward=-0.5)
    env.reset(seed=0, options={"heaps": (1, 0, 0, 0)})
    assert env.step(np.array([15, 15, 15]))[1].tolist() == [-0.5] * 3


# --- Random opponents and starts ------------------------------------------------------------------


def chi_squared(counts, probabilities):
    """How likely so uneven a draw is; what is impossible must not have happened."""
    possible = probabilities > 0
    assert not counts[~possible].any()
    if possible.sum() == 1:
        return 1.0
    return stats.chisquare(counts[possible], probabilities[possible] * counts.sum()).pvalue


def counted(rules, heaps, observations):
    """How often each action led from a position to the observations."""
    actions = {tuple(rules.apply(heaps, action)): action for action in np.flatnonzero(rules.action_mask(heaps))}
    counts = np.zeros(rules.n_actions)
    for after, number in zip(*np.unique(observations, axis=0, return_counts=True), strict=True):
        counts[actions[tuple(after)]] += number
    return counts


class Wrapped:
    """A policy whose class says nothing, so that the environment has to ask it each time."""

    def __init__(self, policy):
        self.policy = policy

    def action_probabilities(self, observation, action_mask):
        return self.policy.action_probabilities(observation, action_mask)


ENGINES = ["tabulated", "moves computed", "computed", "asked"]


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """Makes an environment that plays in one of the ways there are."""
    if request.param == "computed":
        monkeypatch.setattr(many_games, "TABLES", 0)
    if request.param == "moves computed":
        monkeypatch.setattr(many_games, "TABULATED_MOVES", 0)
    many_games._tabulated.clear()

    def make_so(number, opponent, **arguments):
        env = make(number, opponent=opponent, **arguments).unwrapped
        if request.param == "asked":
            policy = env._policy
            env = make(number, opponent=Wrapped(policy), **arguments).unwrapped
            env.policy = policy
        else:
            env.policy = env._policy
        tabulated = request.param in ("tabulated", "moves computed")
        assert isinstance(env._games, TabulatedGames if tabulated else ComputedGames)
        return env

    yield make_so
    many_games._tabulated.clear()


POSITIONS = [(1, 3, 5, 7), (0, 3, 5, 7), (1, 0, 3, 7), (1, 1, 5, 1), (0, 0, 2, 5)]


@pytest.mark.parametrize("misere", [True, False])
@pytest.mark.parametrize("name", ["random", "expert", "take-2"])
def test_replies_are_drawn_as_the_policy_says(engine, name, misere):
    number = 20_000
    env = engine(number, name, misere=misere)
    rules = env.rules
    for seed, heaps in enumerate(POSITIONS):
        env.reset(seed=seed, options={"heaps": heaps})
        action = int(np.flatnonzero(rules.action_mask(heaps))[seed])
        left = rules.apply(heaps, action)
        expected = env.policy.action_probabilities(left, rules.action_mask(left))
        observations, *_ = env.step(np.full(number, action))
        assert chi_squared(counted(rules, left, observations), expected) > 0.001


@pytest.mark.parametrize("name", ["random", "expert", "take-2"])
@pytest.mark.parametrize("first_player", ["random", "agent", "opponent"])
def test_who_opens_and_how(engine, name, first_player):
    number, games = 20_000, {"heaps": (1, 4, 2), "misere": False}
    env = engine(number, name, first_player=first_player, **games)
    full = np.array(env.rules.heaps)
    expected = env.policy.action_probabilities(full, env.rules.action_mask(full))
    share = {"random": 0.5, "agent": 0.0, "opponent": 1.0}[first_player]
    observations, _ = env.reset(seed=0)
    check_openings(env.rules, observations, expected, share)
    while True:  # until every game has ended, and so begun anew in this very step or an earlier one
        _, _, terminated, _, _ = env.step(env.action_masks().argmax(axis=1))
        if terminated.any():
            started = terminated.nonzero()[0]
            break
    observations, *_ = env.step(np.zeros(number, dtype=int))
    check_openings(env.rules, observations[started], expected, share)


def test_an_opening_leaves_the_game_alive(engine):
    env = engine(20_000, "random", heaps=(3,), first_player="opponent")
    observations, _ = env.reset(seed=0)
    counts = np.bincount(observations[:, 0], minlength=4)
    assert not counts[[0, 3]].any()
    assert stats.chisquare(counts[1:3]).pvalue > 0.001


def check_openings(rules, observations, expected, share):
    full = (observations == rules.heaps).all(axis=1)
    if share in (0.0, 1.0):
        assert full.all() == (share == 0.0)
        assert full.any() == (share == 0.0)
    else:
        assert stats.binomtest(int(full.sum()), len(full), 1 - share).pvalue > 0.001
    if not full.all():
        assert chi_squared(counted(rules, np.array(rules.heaps), observations[~full]), expected) > 0.001


@pytest.mark.parametrize("opponent", ["expert", None])
def test_random_starts_are_uniform(engine, opponent):
    if opponent is None:
        env = make(50_000, opponent=None, heaps=(2, 0, 3), random_start=True)
    else:
        env = engine(50_000, opponent, heaps=(2, 0, 3), random_start=True, illegal_action="lose")
    check_starts(env.reset(seed=0)[0])
    env.reset(options={"heaps": (1, 0, 1)})
    _, _, terminated, _, _ = env.step(np.full(50_000, 4))  # illegal there, so that all games end
    assert terminated.all()
    check_starts(env.step(np.zeros(50_000, dtype=int))[0])


def check_starts(observations):
    """Every position of 2-0-3 but the empty one is as likely."""
    counts = np.bincount(observations @ [4, 4, 1], minlength=12)
    assert chi_squared(counts, np.array([0] + [1 / 11] * 11)) > 0.001


@pytest.mark.parametrize("first_player", ["random", "agent", "opponent", "loser"])
@pytest.mark.parametrize("name", ["random", "expert", "take-2"])
def test_tables_and_rules_play_the_same_games(name, first_player, monkeypatch):
    """The same draws lead to the same games, whether they are looked up or worked out."""
    arguments = {"opponent": name, "first_player": first_player, "heaps": (2, 5, 4), "max_take": 4}
    envs = [make(300, **arguments)]
    for limit in ("TABULATED_MOVES", "TABLES"):
        many_games._tabulated.clear()
        monkeypatch.setattr(many_games, limit, 0)
        envs.append(make(300, **arguments))
    many_games._tabulated.clear()
    assert (
        len({(type(env.unwrapped._games), getattr(env.unwrapped._games, "_moves", 0) is None) for env in envs})
        == 3
    )
    generator = np.random.default_rng(0)
    (_, infos), *_ = [env.reset(seed=5) for env in envs]
    for _ in range(100):
        actions = legal_actions(infos["action_mask"], generator, 0.1)
        first, *others = (env.step(actions) for env in envs)
        infos = first[-1]
        for other in others:
            assert all((a == b).all() for a, b in zip(first[:-1], other[:-1], strict=True))
            assert all((infos[key] == other[-1][key]).all() for key in infos)


# --- Seeds, copies, arrays ------------------------------------------------------------------------


def play(env, seed=None, steps=30, spoil=False):
    """Everything that random play brings to light; at will overwriting whatever was handed out or in."""
    generator = np.random.default_rng(0)
    disabled = env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    outcome = env.reset(seed=seed)
    record = [copy.deepcopy(outcome)]
    if spoil:
        ruin(outcome)
    for _ in range(steps):
        mask = env.unwrapped.action_masks()
        illegal = 0.02 if env.unwrapped.illegal_action == "lose" else 0
        actions = legal_actions(mask, generator, illegal)
        outcome = env.step(actions)
        record.append(copy.deepcopy(outcome))
        over = outcome[2].copy()
        if spoil:
            ruin((actions, mask, *outcome))
        if disabled and over.any():
            outcome = env.reset(options={"reset_mask": over})
            record.append(copy.deepcopy(outcome))
            if spoil:
                ruin((over, *outcome))
    return record


def ruin(value):
    if isinstance(value, dict):
        for part in value.values():
            ruin(part)
    elif isinstance(value, tuple):
        for part in value:
            ruin(part)
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            for part in value:
                ruin(part)
        value[...] = None if value.dtype == object else 77


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) or (isinstance(one, np.ndarray) and one.dtype == object):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return one == other


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", GYM)
def test_seeds_and_returned_arrays(name, mode):
    arguments = {"autoreset_mode": mode, **GYM[name]}
    record = play(make(20, **arguments), seed=3)
    assert same(record, play(make(20, **arguments), seed=3))
    env = make(20, **arguments)
    play(env, seed=8, steps=3)
    assert same(record, play(env, seed=3, spoil=True))
    if name in ("standard", "expert", "seven heaps", "random start", "random start self-play"):
        assert not same(record, play(make(20, **arguments), seed=4))


@pytest.mark.parametrize("name", GYM)
def test_copies_go_on_alike_in_the_middle_of_games(name):
    env = make(10, **GYM[name])
    _, infos = env.reset(seed=0)
    env.step(infos["action_mask"].argmax(axis=1))
    for copied in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert same(rest_of(copied), rest_of(env))


def rest_of(env, steps=10):
    """How an environment goes on, itself left as it is."""
    env = copy.deepcopy(env)
    generator = np.random.default_rng(1)
    record = []
    for _ in range(steps):
        actions = legal_actions(env.unwrapped.action_masks(), generator)
        record.append(env.step(actions))
    record.append(env.reset())
    return record


def test_generators_are_made_at_reset_at_the_latest():
    env = make(5)
    env.reset()
    assert same(rest_of(env), rest_of(env))
    assert env.unwrapped.np_random_seed is not None


# --- Options --------------------------------------------------------------------------------------


def test_starts_for_all_games_or_one_for_each():
    env = make(3)
    options = {"heaps": np.array([1, 0, 2, 0])}
    observations, infos = env.reset(seed=0, options=options)
    assert observations.tolist() == [[1, 0, 2, 0]] * 3
    assert infos["action_mask"].tolist() == env.unwrapped.rules.action_mask(observations).tolist()
    rows = [(0, 0, 0, 7), (1, 3, 5, 7), (0, 1, 0, 0)]
    assert env.reset(options={"heaps": rows})[0].tolist() == [list(row) for row in rows]
    assert list(options) == ["heaps"]
    assert options["heaps"].tolist() == [1, 0, 2, 0]


def test_who_starts_for_all_games_or_one_for_each():
    env = make(4, opponent=first_legal)
    full, opened = [1, 3, 5, 7], [0, 3, 5, 7]
    assert env.reset(options={"first_player": "agent"})[0].tolist() == [full] * 4
    options = {"first_player": ["agent", "opponent", "loser", "opponent"]}
    assert env.reset(options=options)[0].tolist() == [full, opened, full, opened]
    assert options == {"first_player": ["agent", "opponent", "loser", "opponent"]}
    env.reset(options={"heaps": [(0, 1, 0, 1), (0, 2, 0, 0), (0, 1, 0, 1), (0, 2, 0, 0)]})
    _, rewards, terminated, *_ = env.step(np.array([1, 1, 1, 2]))  # misère: won, won, won, lost
    assert rewards.tolist() == [1, 1, 1, -1]
    assert terminated.all()
    assert env.reset(options={"first_player": ("loser", "loser", "agent", "loser")})[0].tolist() == [
        opened,
        opened,
        full,
        full,
    ]
    assert env.reset(seed=1, options={"first_player": np.array(["loser"] * 4)})[0].tolist() == [full] * 4


def test_some_games_are_reset_and_the_others_go_on():
    env = make(4, opponent=None, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(np.array([0, 1, 4, 15]))  # heap 0, heap 1, heap 2, all of heap 3
    options = {"reset_mask": np.array([True, False, False, True]), "heaps": [[0, 0, 0, 0]] * 3 + [[0, 0, 1, 0]]}
    with pytest.raises(ValueError, match="game 0 got all 0"):
        env.reset(options=options)
    options["heaps"][0] = [0, 0, 0, 4]
    before = copy.deepcopy(options)
    observations, infos = env.reset(options=options)
    assert same(options, before)
    assert observations.tolist() == [[0, 0, 0, 4], [1, 2, 5, 7], [1, 3, 4, 7], [0, 0, 1, 0]]
    assert infos["to_play"].tolist() == [0, 1, 1, 0]
    assert (infos["action_mask"] == env.unwrapped.rules.action_mask(observations)).all()
    for key in ("_action_mask", "_illegal_action", "_to_play"):
        assert infos[key].tolist() == [True, False, False, True]


def test_games_that_are_not_reset_stay_what_they_were_when_over():
    env = make(2, opponent=None, autoreset_mode=AutoresetMode.DISABLED, heaps=(1, 1))
    env.reset()
    env.step(np.array([0, 0]))
    *_, terminated, _, infos = env.step(np.array([0, 1]))  # illegal, and the last object
    assert terminated.all()
    observations, infos = env.reset(options={"reset_mask": np.array([False, True])})
    assert observations.tolist() == [[0, 1], [1, 1]]
    assert infos["illegal_action"].tolist() == [True, False]
    assert infos["action_mask"].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(ResetNeeded, match="game 0 is over"):
        env.step(np.array([0, 0]))


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_envs": 0}, ValueError, "num_envs must be 1 or more; got 0"),
        ({"num_envs": -3}, ValueError, "num_envs must be 1 or more; got -3"),
        ({"num_envs": 2.0}, TypeError, "num_envs must be an integer; got 2.0"),
        ({"num_envs": True}, TypeError, "num_envs must be an integer; got True"),
        ({"autoreset_mode": "sometimes"}, ValueError, "autoreset_mode must be one of 'NextStep'.*got 'sometimes'"),
        ({"autoreset_mode": None}, ValueError, "autoreset_mode must be one of .*got None"),
        ({"opponent": "grandmaster"}, ValueError, "opponent must be .*got 'grandmaster'"),
        ({"opponent": 3}, TypeError, "opponent must be a name"),
        ({"opponent": None, "first_player": "agent"}, ValueError, "first_player='agent' has no meaning"),
        ({"first_player": "nobody"}, ValueError, "first_player must be one of"),
        ({"heaps": (0, 0)}, ValueError, "heaps must hold one size or more"),
        ({"max_take": 0}, ValueError, "max_take must be 1 or more"),
        ({"random_start": 1}, TypeError, "random_start must be True or False"),
        ({"illegal_action": "warn"}, ValueError, 'illegal_action must be "lose" or "raise"'),
        ({"render_mode": "human"}, ValueError, "render_mode must be None or one of"),
        ({"heaps": (1,), "opponent": "random"}, ValueError, "needs an opening move that leaves the game alive"),
        ({"memory_limit": 1.5}, TypeError, "memory_limit must be an integer; got 1.5"),
        ({"memory_limit": 100}, ValueError, "num_envs=2 games of 4 heaps, 16 actions, take up to .*memory_limit"),
        (
            {"heaps": (1_000_000,), "num_envs": 10**9},
            ValueError,
            "num_envs=1,000,000,000 games of 1 heaps, 1,000,000 actions, take up to .* MB .*fewer games at once",
        ),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        NimVectorEnv(**{"num_envs": 2, **arguments})


def check_unmoved(env, call, error, message):
    before = copy.deepcopy(env)
    with pytest.raises(error, match=message):
        call()
    assert same(rest_of(env), rest_of(before))


WRONG_ACTIONS = [
    ([0, 1, 16], "game 2 got 16"),
    ([0, -1, 16], "game 1 got -1"),
    (np.array([0, 1, 2**63], dtype=np.uint64), "game 2 got"),
    (np.array([0, 1, 200], dtype=np.uint8), "game 2 got 200|game 2 got np.uint8"),
    (np.array([0.0, 1.0, 2.0]), "game 0 got"),
    ([0, 1.0, 2], "game 1 got 1.0"),
    ([0, True, 2], "game 1 got True"),
    (np.array([True, False, True]), "game 0 got"),
    ([0, None, 2], "game 1 got None"),
    (["1", 2, 3], "game 0 got '1'"),
    ([0, 1], r"shape \(3,\), one for each of the games 0 to 2; got shape \(2,\)"),
    ([0, 1, 2, 3], r"got shape \(4,\)"),
    (np.array(5), r"got shape \(\)"),
    (5, "actions must be an array or a sequence, one for each game; got 5"),
    (None, "actions must be an array or a sequence, one for each game; got None"),
    ({9: 0, 10: 0, 11: 0}, "actions must be an array or a sequence, one for each game; got {9: 0"),
    ({9, 10, 11}, "actions must be an array or a sequence"),
    (b"\x09\x0a\x0b", "actions must be an array or a sequence"),
    (np.zeros((3, 1), dtype=int), r"got shape \(3, 1\)"),
    ([[0], [1, 2], [3]], r"game 0 got \[0\]|must have shape"),
    ("012", "actions must be an array or a sequence"),
]


@pytest.mark.parametrize(("actions", "message"), WRONG_ACTIONS, ids=str)
@pytest.mark.parametrize("opponent", ["random", None, first_legal], ids=["random", "self-play", "callable"])
def test_other_things_are_no_actions(actions, message, opponent):
    env = make(3, opponent=opponent)
    env.reset(seed=0)
    check_unmoved(env, lambda: env.step(actions), InvalidAction, message)


@pytest.mark.parametrize(
    "actions", [(9, 10, 11), [9, np.int16(10), np.array(11)], np.array([9, 10, 11], np.uint8)]
)
def test_kinds_of_integers_are_actions(actions):
    env = make(3, opponent=None)
    env.reset()
    assert env.step(actions)[0][:, 3].tolist() == [6, 5, 4]


def test_illegal_actions_lose_and_the_rest_go_on():
    env = make(3, first_player="agent", opponent=first_legal)
    env.reset(options={"heaps": (0, 3, 0, 7)})
    observations, rewards, terminated, truncated, infos = env.step(np.array([1, 0, 15]))
    assert observations.tolist() == [[0, 1, 0, 7], [0, 3, 0, 7], [0, 2, 0, 0]]
    assert rewards.tolist() == [0, -1, 0]
    assert terminated.tolist() == infos["illegal_action"].tolist() == [False, True, False]
    assert not truncated.any()
    assert infos["action_mask"][1].all()


def test_illegal_actions_raise():
    env = make(3, illegal_action="raise", heaps=(2, 3), opponent=None)
    env.reset(options={"heaps": [(2, 3), (1, 1), (1, 0)]})
    message = r"game 1: action 1, take 2 from heap 0, is illegal at heaps \[1, 1\]; legal are \[0, 2\]"
    check_unmoved(env, lambda: env.step(np.array([1, 1, 1])), InvalidAction, message)
    env.step(np.array([1, 0, 0]))
    env.step(np.array([2, 2, 4]))  # game 2 is over, and its action without effect


def test_there_must_be_games():
    env = make(3, render_mode="ansi")
    for call in (lambda: env.step(np.zeros(3, int)), env.unwrapped.action_masks, env.render):
        with pytest.raises(ResetNeeded, match=r"before reset|no games to step"):
            call()
    with pytest.raises(ResetNeeded, match="game 1 was never reset"):
        env.reset(options={"reset_mask": np.array([True, False, True])})
    env.reset(options={"reset_mask": np.ones(3, dtype=bool)})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ("heaps", TypeError, "options must be a dictionary"),
        ({"heap": (1, 3, 5, 7)}, ValueError, "options may hold .*got 'heap'"),
        ({"heaps": (1, 3, 5)}, ValueError, "heaps must have shape"),
        ({"heaps": (1, 3, 5, 8)}, ValueError, "got 8 in heap 3"),
        ({"heaps": [(1, 3, 5, 7), (1, 3, 6, 7), (1, 3, 5, 7)]}, ValueError, "got 6 in heap 2 of position 1"),
        ({"heaps": [(1, 3, 5, 7), (0, 0, 0, 0), (1, 3, 5, 7)]}, ValueError, "game 1 got all 0"),
        ({"heaps": [(1, 3, 5, 7)] * 2}, ValueError, r"one for each; got shape \(2, 4\)"),
        ({"heaps": (0, 0, 0, 0)}, ValueError, "game 0 got all 0"),
        ({"heaps": (1.0, 3, 5, 7)}, TypeError, "heaps must hold integers"),
        ({"first_player": "nobody"}, ValueError, r'options\["first_player"\] must be one of'),
        ({"first_player": ["agent"] * 2}, ValueError, "3, one for each; got 2"),
        ({"first_player": ["agent", "me", "agent"]}, ValueError, r'options\["first_player"\]\[1\] must be one of'),
        ({"first_player": 3}, ValueError, "must be one of"),
        ({"reset_mask": [True, False, True]}, TypeError, "must be a NumPy array of booleans"),
        ({"reset_mask": np.array([1, 0, 1])}, TypeError, "must be a NumPy array of booleans"),
        ({"reset_mask": np.array([True, False])}, ValueError, r"must have shape \(3,\)"),
        ({"reset_mask": np.zeros(3, dtype=bool)}, ValueError, "one True or more"),
    ],
    ids=str,
)
def test_wrong_options(options, error, message):
    env = make(3)
    env.reset(seed=0)
    check_unmoved(env, lambda: env.reset(seed=5, options=options), error, message)


def test_wrong_seeds():
    env = make(3)
    env.reset(seed=0)
    for seed in (-1, "0", [1, 2, 3]):
        check_unmoved(
            env, lambda seed=seed: env.reset(seed=seed), (gym.error.Error, TypeError, ValueError), "seed|Seed"
        )


def answers_three(*_):
    return 3


def answers_nothing(*_):
    return None


def illegal_at(heaps):
    """Plays the first legal action, but an illegal one at some position."""

    def answer(observation, action_mask):
        wrong = (np.asarray(observation) == heaps).all(axis=-1)
        return np.where(wrong, np.asarray(action_mask).argmin(axis=-1), first_legal(observation, action_mask))

    return answer


@pytest.mark.parametrize(
    ("opponent", "error", "message"),
    [
        (
            illegal_at((0, 2, 5, 7)),
            ValueError,
            r"game 2: opponent answered action 0 at heaps \[0, 2, 5, 7\]; legal are",
        ),
        (
            answers_three,
            ValueError,
            r"game 0: opponent must answer one action for each position.*\(\)",
        ),
        (lambda _, mask: mask.argmax(axis=-1)[:-1], ValueError, r"game 0: .*got shape \(2,\)"),
        (lambda _, mask: mask.argmax(axis=-1) * 1.0, TypeError, "opponent must answer integer actions"),
        (answers_nothing, TypeError, "opponent must answer integer actions"),
    ],
)
def test_opponents_that_answer_illegally(opponent, error, message):
    env = make(3, opponent=opponent, first_player="agent")
    env.reset(seed=0, options={"heaps": [(1, 3, 5, 7), (1, 3, 5, 7), (0, 3, 5, 7)]})
    before = copy.deepcopy(env.unwrapped.__dict__["_states"])
    state = env.unwrapped.np_random.bit_generator.state
    with pytest.raises(error, match=message):
        env.step(np.array([0, 0, 1]))
    assert (env.unwrapped._states == before).all()
    assert env.unwrapped.np_random.bit_generator.state == state


class Weighted:
    """Answers the same probabilities everywhere."""

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def action_probabilities(self, observation, action_mask):  # noqa: ARG002
        return np.tile(self.probabilities, (len(observation), 1))


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([0.2, 0.2, 0.0], "game 1: opponent answered probabilities not of sum 1"),
        ([-1.0, 1.0, 1.0], "game 1: opponent answered probabilities negative"),
        (
            [1.0, 0.0, 0.0],
            r"game 2: opponent answered probabilities above 0 for an illegal action at heaps \[0, 2\]",
        ),
        ([1.0], "game 1: opponent must answer probabilities of shape"),
    ],
)
def test_policies_that_answer_illegally(probabilities, message):
    env = make(3, opponent=Weighted(probabilities), heaps=(1, 2), first_player="agent")
    env.reset(seed=0, options={"heaps": [(1, 0), (1, 2), (1, 2)]})
    check = copy.deepcopy(env.unwrapped._states)
    with pytest.raises(ValueError, match=message):
        env.step(np.array([0, 1, 0]))  # game 0 ends, so that the opponent is not asked there
    assert (env.unwrapped._states == check).all()


def test_an_opponent_that_can_only_end_the_game():
    env = make(3, opponent=LastLegal(), heaps=(4,), first_player="opponent")
    with pytest.raises(ValueError, match="game 0: first_player='opponent' needs an opening move"):
        env.reset(seed=0)


def test_opponents_are_shown_copies_and_never_a_finished_game():
    shown = []

    def spoiling(observation, action_mask):
        assert observation.any(axis=1).all()
        assert (action_mask == NimRules().action_mask(observation)).all()
        shown.append(len(observation))
        answer = action_mask.argmax(axis=1)
        observation[:], action_mask[:] = 99, 99
        return answer

    record = play(make(20, opponent=spoiling), seed=0, steps=60)
    assert same(record, play(make(20, opponent=first_legal), seed=0, steps=60))
    assert min(shown) < 20
    assert max(shown) > 10


def refusing():
    """An opponent that answers illegally once it has no calls left."""

    class Opponent:
        calls_left = 10**9

        def __call__(self, observation, action_mask):
            self.calls_left -= 1
            if self.calls_left < 0:
                return np.full(len(observation), -1)
            return first_legal(observation, action_mask)

    return Opponent()


def check_nothing_moved(env, opponent, calls_left, call, message):
    """Neither the games nor the generator, nor who lost the last episodes."""

    def everything():
        inner = env.unwrapped
        parts = inner._states, inner._is_over, inner._last_reward, inner._to_play, inner.np_random_seed
        return copy.deepcopy((*parts, inner.np_random.bit_generator.state))

    before = everything()
    opponent.calls_left = calls_left
    with pytest.raises(ValueError, match=message):
        call()
    opponent.calls_left = 10**9
    assert same(everything(), before)


@EVERY_MODE
def test_opponents_that_fail_in_the_middle_change_nothing(mode):
    opponent = refusing()
    env = make(4, heaps=(2, 2), opponent=opponent, first_player="opponent", autoreset_mode=mode)
    env.reset(seed=0, options={"heaps": [(2, 2), (1, 0), (1, 2), (1, 0)]})
    actions = np.array([0, 0, 0, 0])  # games 1 and 3 end
    if mode is AutoresetMode.NEXT_STEP:
        message = "game 0: opponent answered action -1"
        check_nothing_moved(env, opponent, 0, lambda: env.step(actions), message)
        env.step(actions)
        actions = env.unwrapped.action_masks().argmax(axis=1)  # games 1 and 3 open now, and 2 is replied to
        check_nothing_moved(env, opponent, 0, lambda: env.step(actions), "game [012]: opponent answered action -1")
    elif mode is AutoresetMode.SAME_STEP:
        message = "game 0: opponent answered action -1"
        check_nothing_moved(env, opponent, 0, lambda: env.step(actions), message)
        message = "game 1: opponent answered action -1"  # the replies come off, but not the openings
        check_nothing_moved(env, opponent, 1, lambda: env.step(actions), message)
    else:
        env.step(actions)
        options = {"reset_mask": np.array([False, True, False, True])}
        message = "game 1: opponent answered action -1"
        check_nothing_moved(env, opponent, 0, lambda: env.reset(seed=9, options=options), message)


def test_the_first_game_is_named_whether_it_opens_or_replies():
    opponent = refusing()
    env = make(2, heaps=(2, 2), opponent=opponent, first_player="opponent")
    env.reset(seed=0, options={"heaps": [(2, 2), (1, 0)]})
    env.step(np.array([0, 0]))  # game 1 is over, and opens in the next step
    opponent.calls_left = 0
    with pytest.raises(ValueError, match="game 0: opponent answered action -1"):
        env.step(np.array([2, 0]))


def test_who_lost_is_remembered_until_the_next_episode_ends():
    env = make(
        2, heaps=(3, 3), misere=False, opponent=first_legal, first_player="loser", autoreset_mode="Disabled"
    )
    full, opened = [3, 3], [2, 3]
    assert env.reset(seed=0)[0].tolist() == [full, full]
    env.reset(options={"heaps": (1, 0)})
    env.step(np.array([0, 0]))  # both won
    assert env.reset()[0].tolist() == [opened, opened]
    env.step(env.unwrapped.action_masks().argmax(axis=1))
    assert env.reset()[0].tolist() == [opened, opened]  # in the middle of an episode
    mask = np.array([True, False])
    assert env.reset(seed=1, options={"reset_mask": mask})[0].tolist() == [full, opened]
    assert env.reset()[0].tolist() == [full, opened]  # the seed forgot of game 0 alone


def test_actions_of_games_that_start_anew_have_no_effect():
    for wrong in (-1, 99, 1):
        env = make(2, opponent=None, heaps=(1, 1))
        env.reset()
        env.step(np.array([0, 0]))
        assert env.step(np.array([1, 1]))[2].all()
        assert env.step(np.array([wrong, wrong]))[0].tolist() == [[1, 1], [1, 1]]
    env.step([0, 1])
    env.step([1, 0])
    assert env.step([None, "x"])[0].tolist() == [[1, 1], [1, 1]]


def test_options_for_games_that_are_not_reset_do_not_matter():
    env = make(2, heaps=(1,), first_player="agent", autoreset_mode="Disabled")
    env.reset()
    env.step(np.array([0, 0]))
    options = {"reset_mask": np.array([True, False]), "first_player": [None, "opponent"]}
    env.reset(options=options)  # from a heap of 1 the opponent cannot open
    with pytest.raises(ValueError, match="needs an opening move"):
        env.reset(options={"first_player": ["agent", "opponent"]})
    assert make(1).reset(options={"first_player": np.array("agent")})[0].tolist() == [[1, 3, 5, 7]]


@dataclass
class Unhashable(UniformPolicy):
    """Of one's own, and without a hash."""

    n: int = 1

    def choices(self, observation, action_mask):  # noqa: ARG002
        return np.asarray(action_mask).astype(np.int8)


def test_policies_of_ones_own_need_no_hash():
    make(3, opponent=Unhashable()).reset(seed=0)
    gym.make("Nim-v0", opponent=Unhashable()).reset(seed=0)


# --- Memory ---------------------------------------------------------------------------------------

LARGE = [  # heaps, max_take, opponent
    ((100_000,), None, "expert"),
    ((100_000,), None, "random"),
    ((100_000,), None, "take-5"),
    ((100_000,), None, first_legal),
    ((100_000,), None, None),
    ((50,) * 1000, 20, "expert"),
    ((1,) * 5000, None, "expert"),
    ((20,) * 4, None, "expert"),
    ((20,) * 4, None, "random"),
    ((1000,), 30, "expert"),
]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize(("heaps", "max_take", "opponent"), LARGE)
def test_a_step_takes_no_more_memory_than_the_limit(heaps, max_take, opponent, mode):
    """The least limit that is accepted is kept to, tables included, but for what the rules themselves take."""
    arguments = {"heaps": heaps, "max_take": max_take, "opponent": opponent, "autoreset_mode": mode}
    NimRules(heaps, max_take).move_heaps  # noqa: B018
    with pytest.raises(ValueError, match="memory_limit") as refused:
        NimVectorEnv(150, memory_limit=1, **arguments)
    limit = int(float(re.search(r"take up to ([\d,.]+) MB", str(refused.value))[1].replace(",", "")) * 1e6) + 10**5
    tracemalloc.start()
    try:
        env = NimVectorEnv(150, memory_limit=limit, **arguments)
        _, infos = env.reset(seed=0)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(3):
            _, _, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
        assert tracemalloc.get_traced_memory()[1] - before < limit
    finally:
        tracemalloc.stop()


def test_tables_live_as_long_as_an_environment_uses_them():
    gc.collect()
    many_games._tabulated.clear()
    env, other = make(2, opponent="expert"), make(5, opponent="expert")
    assert len(many_games._tabulated) == 1
    assert env.unwrapped._games is other.unwrapped._games
    assert copy.deepcopy(env).unwrapped._games is env.unwrapped._games
    del env, other
    gc.collect()
    assert not many_games._tabulated


def test_tables_are_left_out_where_they_do_not_fit():
    free = NimVectorEnv(2, opponent="expert", heaps=(20, 20, 20))
    tight = NimVectorEnv(2, opponent="expert", heaps=(20, 20, 20), memory_limit=10**6)
    assert isinstance(free._games, TabulatedGames)
    assert isinstance(tight._games, ComputedGames)


# --- Other ways of looking at it ------------------------------------------------------------------


def test_an_agent_as_opponent():
    env = gym.make("Nim-v0")
    agent = agents.QLearningAgent(env.observation_space, env.action_space)
    vector = make(100, opponent=agent, first_player="agent")
    vector.reset(seed=0)
    observations, *_ = vector.step(np.full(100, 15))
    assert observations.tolist() == [[0, 3, 5, 0]] * 100  # it knows nothing, and takes the first


def test_large_games():
    heaps = (200, 300, 499_000)
    for opponent in ("random", "take-7", "expert", None):
        env = make(3, heaps=heaps, opponent=opponent)
        assert env.unwrapped.single_action_space.n == sum(heaps)
        _, infos = env.reset(seed=0)
        assert infos["action_mask"].shape == (3, sum(heaps))
        env.step(infos["action_mask"].argmax(axis=1))
    many = make(2, heaps=(10**15,) * 6, max_take=4, opponent="expert", random_start=True)
    observations, infos = many.reset(seed=0)
    assert (observations > 10**9).any()
    many.step(infos["action_mask"].argmax(axis=1))


def test_rendering():
    env = make(2, opponent=None, heaps=(1, 2), render_mode="ansi")
    env.reset()
    single = gym.make("Nim-v0", opponent=None, heaps=(1, 2), render_mode="ansi")
    single.reset()
    for action in (1, 0, 1):
        assert env.render() == (single.render(),) * 2
        env.step(np.array([action, action]))
        single.step(action)
    assert env.render() == (single.render(),) * 2
    env = make(2, heaps=(1, 2), opponent="take-1", first_player="agent", render_mode="ansi", misere=False)
    env.reset()
    env.step(np.array([1, 2]))  # 1-1, where the opponent takes one; 1-0, where it wins
    first, second = env.render()
    assert first.endswith("agent to move")
    assert second.endswith("opponent won")


def test_rendering_without_a_mode(monkeypatch):
    env = make(2)
    env.reset()
    warned = []
    monkeypatch.setattr(gym.logger, "warn", warned.append)
    assert env.render() is None
    assert len(warned) == 1
