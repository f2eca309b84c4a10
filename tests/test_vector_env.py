"""The vector environment beside the single one, beside Gymnasium's own vector environments, and under abuse."""


import gymnasium as gym
import numpy as np
import pytest
from configurations import GYM, SIMPLE, first_legal
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from scipy import stats

from nim_env import NimRules, RandomPolicy, many_games
from nim_env.many_games import ComputedGames, TabulatedGames
from nim_env.vector_env import NimVectorEnv

MODES = list(AutoresetMode)
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
    if mode is AutoresetMode.SAME_STEP and not hasattr(
        gym.wrappers.vector.RecordEpisodeStatistics, "_autoreset_mode"
    ):
        pass
    env = gym.wrappers.vector.RecordEpisodeStatistics(make(50, opponent="take-3", autoreset_mode=mode, **SIMPLE))
    env = gym.wrappers.vector.TransformReward(env, lambda reward: 10 * reward)
    generator = np.random.default_rng(0)
    _, infos = env.reset(seed=0)
    lengths, episodes = np.zeros(50, dtype=int), 0
    over = np.zeros(50, dtype=bool)
    for _ in range(100):
        lengths += ~over if mode is AutoresetMode.NEXT_STEP else 1
        _, rewards, terminated, _, infos = env.step(legal_actions(infos["action_mask"], generator))
        over = terminated.copy()
        assert set(np.abs(rewards[terminated])) <= {10.0}
        if terminated.any():
            assert (infos["episode"]["l"][terminated] == lengths[terminated]).all()
            assert (infos["episode"]["r"][terminated] == rewards[terminated] / 10).all()
        episodes += terminated.sum()
        lengths[terminated] = 0
        if mode is AutoresetMode.DISABLED and terminated.any():
            _, infos = env.reset(options={"reset_mask": terminated})
    assert env.env.episode_count == episodes > 500


def test_other_wrappers():
    env = gym.wrappers.vector.DictInfoToList(make(3, autoreset_mode="SameStep"))
    _, infos = env.reset(seed=0)
    assert [sorted(info) for info in infos] == [["action_mask", "illegal_action"]] * 3
    env = (
        gym.wrappers.vector.VectorizeTransformObservation(
            make(3), gym.wrappers.RescaleObservation, min_obs=np.float64(0), max_obs=np.float64(1)
        )
        if False
        else gym.wrappers.vector.NormalizeReward(make(3))
    )
    env.reset(seed=0)
    assert env.step(np.array([0, 1, 4]))[1].shape == (3,)


# --- Random opponents and starts ------------------------------------------------------------------


def chi_squared(counts, probabilities):
    """How likely so uneven a draw is; what is impossible must not have happened."""
    possible = probabilities > 0
    assert not counts[~possible].any()
    return stats.chisquare(counts[possible], probabilities[possible] * counts.sum()).pvalue


POSITIONS = [(1, 3, 5, 7), (0, 3, 5, 7), (1, 0, 3, 7), (1, 1, 5, 1), (0, 0, 2, 5)]


@pytest.mark.parametrize("tabulated", [True, False])
@pytest.mark.parametrize("misere", [True, False])
@pytest.mark.parametrize("name", ["random", "expert", "take-2"])
def test_replies_are_drawn_as_the_policy_says(name, misere, tabulated, monkeypatch):
    if not tabulated:
        monkeypatch.setattr(many_games, "TABULATED", 0)
    number = 20_000
    env = make(number, opponent=name, misere=misere)
    assert isinstance(env.unwrapped._games, TabulatedGames if tabulated else ComputedGames)
    rules, policy = env.unwrapped.rules, env.unwrapped._policy
    for seed, heaps in enumerate(POSITIONS):
        env.reset(seed=seed, options={"heaps": heaps})
        action = int(np.flatnonzero(rules.action_mask(heaps))[seed])
        left = rules.apply(heaps, action)
        mask = rules.action_mask(left)
        expected = policy.action_probabilities(left, mask)
        observations, *_ = env.step(np.full(number, action))
        replies = {tuple(rules.apply(left, reply)): reply for reply in np.flatnonzero(mask)}
        counts = np.zeros(rules.n_actions)
        for after, count in zip(*np.unique(observations, axis=0, return_counts=True), strict=True):
            counts[replies[tuple(after)]] += count
        assert chi_squared(counts, expected) > 0.001


@pytest.mark.parametrize("opponent", ["random", "expert", RandomPolicy().action_probabilities, "policy"])
@pytest.mark.parametrize("tabulated", [True, False])
def test_who_starts_and_how(opponent, tabulated, monkeypatch):
    if not tabulated:
        monkeypatch.setattr(many_games, "TABULATED", 0)
