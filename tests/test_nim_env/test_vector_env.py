"""The vector environment against single environments, Gymnasium's SyncVectorEnv and exact probabilities."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from configurations import GYM, SIMPLE, first_legal
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from scipy import stats

from nim_env import NimRules, NimVectorEnv
from nim_env.policies import batched, checked_policy

EVERY_MODE = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
LAST_LEGAL = batched(lambda _, masks: masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1))


class Wrapped:
    """A built-in policy in a separate class, so that the environment has to query it."""

    def __init__(self, policy):
        self.policy = policy

    def action_probabilities(self, observation, action_mask):
        return self.policy.action_probabilities(observation, action_mask)


def make(num_envs=4, **arguments):
    return gym.make_vec("Nim-v0", num_envs=num_envs, **arguments)


SMALL_GYM = {name: GYM[name] for name in GYM if name != "seven heaps"}  # whose tables take a second to make


def draw_actions(mask, generator, illegal=0.0):
    """Random legal actions, and with probability ``illegal`` any action of the space."""
    weights = generator.random(mask.shape) * mask
    is_any = generator.random(len(mask)) < illegal
    return np.where(is_any, generator.integers(mask.shape[1], size=len(mask)), weights.argmax(axis=1))


# --- Game for game --------------------------------------------------------------------------------

DETERMINISTIC = {  # apart from the starts, which the single environments get as options
    "zero heaps self-play": {"opponent": None, "heaps": (0, 3, 0, 2), "illegal_action": "raise"},
    "random start self-play": {"opponent": None, "heaps": (3, 4, 5), "random_start": True},
    "subtracted self-play": {"opponent": None, "heaps": (9, 11, 13, 30), "random_start": True, "misere": False},
    "direct self-play": {"opponent": None, "heaps": (1,) * 21, "random_start": True},
    "take-3, loser first": {"opponent": "take-3", "first_player": "loser", **SIMPLE},
    "take-3, random first": {"opponent": "take-3", **SIMPLE},
    "subtracted take-2": {"opponent": "take-2", "heaps": (1100,), "max_take": 500, "random_start": True},
    "callable, loser first": {"opponent": first_legal, "first_player": "loser"},
    "callable, random first": {"opponent": first_legal, "illegal_action": "raise"},
    "policy, random start": {"opponent": LAST_LEGAL, "random_start": True, "misere": False},
    "truncated, loser first": {"opponent": LAST_LEGAL, "first_player": "loser", **SIMPLE, "max_episode_steps": 4},
    "truncated, random start": {"opponent": "take-3", **SIMPLE, "random_start": True, "max_episode_steps": 3},
}


class Singles:
    """The same games in single environments, in each autoreset mode."""

    def __init__(self, number, mode, arguments):
        self.envs = [gym.make("Nim-v0", disable_env_checker=True, **arguments) for _ in range(number)]
        self.mode, self.arguments = mode, arguments
        self.is_over = np.zeros(number, dtype=bool)

    def reset(self, game, heaps):
        """Starts a game where the vector environment has started it."""
        env, options = self.envs[game], None
        if self.arguments.get("random_start"):
            options = {"heaps": heaps}
        elif self.arguments["opponent"] is not None and "first_player" not in self.arguments:
            is_full = tuple(heaps) == env.unwrapped.rules.heaps
            options = {"first_player": "agent" if is_full else "opponent"}
        return env.reset(options=options)

    def step(self, actions, observations):
        """The rows that the vector environment should return, and the final ones by game."""
        rows, final = [], {}
        for game, env in enumerate(self.envs):
            if self.is_over[game] and self.mode is AutoresetMode.NEXT_STEP:
                observation, info = self.reset(game, observations[game])
                rows.append((observation, 0.0, False, False, info))
                continue
            observation, *results, info = env.step(int(actions[game]))
            if (results[1] or results[2]) and self.mode is AutoresetMode.SAME_STEP:
                final[game] = observation, info
                observation, info = self.reset(game, observations[game])
            rows.append((observation, *results, info))
        self.is_over = np.array([row[2] or row[3] for row in rows])
        return rows, final


def check_rows(games, rows, observations, infos):
    """Rows of observation and info against those of the vector environment."""
    assert [observations[game].tolist() for game in games] == [row[0].tolist() for row in rows]
    names = rows[0][-1].keys()
    assert {name for name in infos if "final" not in name} == names | {f"_{name}" for name in names}
    for name in names:
        np.testing.assert_array_equal(infos[name][games], [row[-1][name] for row in rows])
        assert infos[f"_{name}"][games].all()


@EVERY_MODE
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_equal_to_single_environments(name, mode):
    arguments, number = DETERMINISTIC[name], 40
    env = make(number, autoreset_mode=mode, **arguments)
    generator, singles, games = np.random.default_rng(0), Singles(number, mode, arguments), list(range(number))
    observations, infos = env.reset(seed=1)
    check_rows(games, [singles.reset(game, observations[game]) for game in games], observations, infos)
    episodes = n_truncated = 0
    while episodes < 150:
        illegal = 0.0 if arguments.get("illegal_action") == "raise" else 0.05
        actions = draw_actions(infos["action_mask"], generator, illegal)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        rows, final = singles.step(actions, observations)
        check_rows(games, rows, observations, infos)
        assert [rewards.tolist(), terminated.tolist(), truncated.tolist()] == [
            [row[part] for row in rows] for part in (1, 2, 3)
        ]
        assert list(final) == np.flatnonzero(infos.get("_final_obs", [])).tolist()
        if final:
            check_rows(list(final), list(final.values()), infos["final_obs"], infos["final_info"])
        is_over = terminated | truncated
        episodes, n_truncated = episodes + is_over.sum(), n_truncated + truncated.sum()
        if mode is AutoresetMode.DISABLED and is_over.any():
            observations, infos = env.reset(options={"reset_mask": is_over})
            ended = np.flatnonzero(is_over).tolist()
            check_rows(ended, [singles.reset(game, observations[game]) for game in ended], observations, infos)
            assert (infos["_action_mask"] == is_over).all()
    assert (n_truncated > 5) == ("max_episode_steps" in arguments)


def plain(value):
    """Nested results in a form that == compares."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    return plain(value.tolist()) if isinstance(value, np.ndarray) else value


@EVERY_MODE
@pytest.mark.parametrize(
    "arguments",
    [
        {"opponent": first_legal, "first_player": "loser"},
        {"opponent": LAST_LEGAL, "first_player": "loser", **SIMPLE},
        {"opponent": "take-3", "first_player": "loser", **SIMPLE, "heaps": (9,)},
        {"opponent": first_legal, "first_player": "opponent"},
        {"opponent": None},
        {"opponent": None, "heaps": (3, 1), "illegal_action": "raise"},
    ],
    ids=["callable, loser", "policy, loser", "take-3, loser", "callable, opponent", "self-play", "raising"],
)
def test_equal_to_sync_vector_env(arguments, mode):
    """Value for value, dtypes and truncation by TimeLimit included."""
    for max_episode_steps in (1, 3, None):
        check_against_sync_vector_env(arguments, max_episode_steps, mode)


def check_against_sync_vector_env(arguments, max_episode_steps, mode):
    arguments = {**arguments, "max_episode_steps": max_episode_steps}
    sync = gym.make_vec(
        "Nim-v0", 6, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **arguments
    )
    ours = make(6, autoreset_mode=mode, **arguments)
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, space) == getattr(sync, space)
    assert ours.metadata["autoreset_mode"] is sync.metadata["autoreset_mode"] is mode
    generator, is_truncated = np.random.default_rng(0), False
    results = [env.reset(seed=0) for env in (sync, ours)]
    assert plain(results[0]) == plain(results[1])
    for _ in range(30):
        mask = ours.unwrapped.action_masks()
        illegal = 0.0 if "illegal_action" in arguments else 0.1
        actions = draw_actions(mask, generator, illegal)
        results = [env.step(actions) for env in (sync, ours)]
        assert plain(results[0]) == plain(results[1])
        is_over = results[0][2] | results[0][3]
        is_truncated |= results[0][3].any()
        if mode is AutoresetMode.DISABLED and is_over.any():
            results = [env.reset(options={"reset_mask": is_over.copy()}) for env in (sync, ours)]
            assert plain(results[0][0]) == plain(results[1][0])
            for name, value in results[0][1].items():  # other rows are 0 there, and as they were here
                rows = slice(None) if name[0] == "_" else is_over
                np.testing.assert_array_equal(results[1][1][name][rows], value[rows])
    assert is_truncated == (max_episode_steps is not None)


def test_registered():
    for name, n_actions in (("Nim-v0", 16), ("SimpleNim-v0", 3), ("nim_env:Nim-v0", 16)):
        env = gym.make_vec(name, num_envs=3)
        assert isinstance(env.unwrapped, NimVectorEnv)
        assert env.reset(seed=0)[1]["action_mask"].shape == (3, n_actions)
        assert isinstance(gym.make_vec(name, num_envs=3, vectorization_mode="sync"), SyncVectorEnv)
        env.close()


SAME_STEP_IS_COUNTED = tuple(map(int, gym.__version__.split(".")[:2])) >= (1, 3)  # earlier ones lose the lengths


@EVERY_MODE
@pytest.mark.parametrize("max_episode_steps", [None, 4])
def test_episode_statistics(mode, max_episode_steps):
    arguments = {"opponent": "take-3", "max_episode_steps": max_episode_steps, **SIMPLE}
    env = gym.wrappers.vector.RecordEpisodeStatistics(make(50, autoreset_mode=mode, **arguments))
    env = gym.wrappers.vector.TransformReward(env, lambda reward: 10 * reward)
    generator, episodes = np.random.default_rng(0), 0
    _, infos = env.reset(seed=0)
    while episodes < 300:
        _, rewards, terminated, truncated, infos = env.step(draw_actions(infos["action_mask"], generator))
        is_over = terminated | truncated
        if is_over.any():
            statistics = infos["episode"]
            assert (10 * statistics["r"][is_over] == rewards[is_over]).all()
            if mode is not AutoresetMode.SAME_STEP or SAME_STEP_IS_COUNTED:
                assert (statistics["l"][truncated] == max_episode_steps).all()
                assert (statistics["l"][is_over] > 1).all()
                assert (statistics["l"][is_over] <= (max_episode_steps or 11)).all()
        episodes += is_over.sum()
        if mode is AutoresetMode.DISABLED and is_over.any():
            _, infos = env.reset(options={"reset_mask": is_over})
    assert env.env.episode_count == episodes


# --- Opponents and starts are drawn as they should ------------------------------------------------

NUMBER = 5_000
DYNAMICS = {  # heaps of games in which a step is computed in each of the ways there are
    "transition table": (1, 3, 5, 7),
    "tables": (1, 3, 5, 7, 30),
    "direct": (1, 3, 5, 7, *[1] * 12),
    "asked": (1, 3, 5, 7),
}
POSITIONS = [(1, 3, 5, 7), (0, 3, 5, 7), (1, 0, 3, 7), (1, 1, 5, 1), (0, 0, 2, 5)]


@pytest.fixture(params=DYNAMICS)
def dynamics(request):
    """Makes an environment whose steps are computed in one of the ways, and its opponent as a policy."""

    def make_so(opponent, **arguments):
        heaps = DYNAMICS[request.param]
        rules = NimRules(heaps, misere=arguments.get("misere", True))
        policy = checked_policy(opponent, rules)
        opponent = Wrapped(policy) if request.param == "asked" else opponent
        return make(NUMBER, opponent=opponent, heaps=heaps, **arguments).unwrapped, policy

    return make_so


def p_value(counts, probabilities):
    """The chi-squared test of counts, in which nothing impossible may have happened."""
    possible = probabilities > 0
    assert not counts[~possible].any()
    if possible.sum() == 1:
        return 1.0
    return stats.chisquare(counts[possible], probabilities[possible] * counts.sum()).pvalue


def count_actions(rules, heaps, observations):
    """How often each action led from a position to the observations."""
    actions = {tuple(rules.apply(heaps, action)): action for action in np.flatnonzero(rules.action_mask(heaps))}
    counts = np.zeros(rules.n_actions)
    for after, number in zip(*np.unique(observations, axis=0, return_counts=True), strict=True):
        counts[actions[tuple(after)]] += number
    return counts


def check_replies(env, policy, seed, heaps):
    rules = env.rules
    heaps = np.pad(heaps, (0, rules.n_heaps - len(heaps)))
    env.reset(seed=seed, options={"heaps": heaps})
    action = int(np.flatnonzero(rules.action_mask(heaps))[seed])
    left = rules.apply(heaps, action)
    expected = policy.action_probabilities(left, rules.action_mask(left))
    observations, *_ = env.step(np.full(NUMBER, action))
    assert p_value(count_actions(rules, left, observations), expected) > 0.001


@pytest.mark.parametrize("name", ["random", "expert", "take-2"])
def test_replies_are_drawn_from_the_policy(dynamics, name):
    for misere in (True, False):
        env, policy = dynamics(name, misere=misere)
        for seed, heaps in enumerate(POSITIONS):
            check_replies(env, policy, seed, heaps)


def check_openings(rules, observations, policy, probability):
    full = np.array(rules.heaps)
    is_full = (observations == full).all(axis=1)
    assert stats.binomtest(int(is_full.sum()), len(is_full), 1 - probability).pvalue > 0.001
    if not is_full.all():
        expected = policy.action_probabilities(full, rules.action_mask(full))
        assert p_value(count_actions(rules, full, observations[~is_full]), expected) > 0.001


@pytest.mark.parametrize("name", ["random", "expert", "take-2"])
def test_openings_are_drawn_from_the_policy(dynamics, name):
    for first_player, probability in (("random", 0.5), ("agent", 0.0), ("opponent", 1.0)):
        env, policy = dynamics(name, first_player=first_player, misere=False)
        check_openings(env.rules, env.reset(seed=0)[0], policy, probability)
        env.reset(options={"heaps": np.eye(env.rules.n_heaps, dtype=int)[1]})
        assert env.step(np.zeros(NUMBER, dtype=int))[2].all()  # illegal, so that all games end
        check_openings(env.rules, env.step(np.zeros(NUMBER, dtype=int))[0], policy, probability)


@pytest.mark.parametrize("wrap", [lambda policy: policy, Wrapped], ids=["tables", "asked"])
def test_openings_do_not_end_the_game(wrap):
    opponent = wrap(checked_policy("random", NimRules((3,))))
    observations, _ = make(NUMBER, opponent=opponent, heaps=(3,), first_player="opponent").reset(seed=0)
    counts = np.bincount(observations[:, 0], minlength=4)
    assert not counts[[0, 3]].any()
    assert stats.chisquare(counts[1:3]).pvalue > 0.001


@pytest.mark.parametrize("opponent", ["expert", None, first_legal], ids=["expert", "self-play", "callable"])
def test_random_starts_are_uniform(opponent):
    env = make(NUMBER, opponent=opponent, heaps=(2, 0, 3), random_start=True)
    starts = [env.reset(seed=0)[0]]
    env.reset(options={"heaps": (1, 0, 1)})
    assert env.step(np.full(NUMBER, 4))[2].all()  # illegal, so that all games end
    starts.append(env.step(np.zeros(NUMBER, dtype=int))[0])
    for observations in starts:
        counts = np.bincount(observations @ [4, 4, 1], minlength=12)
        assert p_value(counts, np.array([0] + [1 / 11] * 11)) > 0.001


# --- set_opponent ---------------------------------------------------------------------------------

OPPONENTS = {
    "random": "random",
    "take-2": "take-2",
    "expert": "expert",
    "callable": first_legal,
    "policy": LAST_LEGAL,
    "wrapped": Wrapped(checked_policy("expert", NimRules())),
}


def rest_of(env, ended=()):
    """How an environment continues, itself left as it is; first it resets those that have ended."""
    env, generator = copy.deepcopy(env), np.random.default_rng(1)
    record = [env.render(), env.unwrapped.action_masks()]
    if len(ended):
        record.append(env.reset(options={"reset_mask": np.isin(np.arange(env.num_envs), ended)}))
    for _ in range(8):
        result = env.step(draw_actions(env.unwrapped.action_masks(), generator, 0.1))
        record += [result, env.render()]
        is_over = result[2] | result[3]
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and is_over.any():
            record.append(env.reset(options={"reset_mask": is_over}))
    return plain([*record, env.reset()])


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
@pytest.mark.parametrize("after", OPPONENTS)
def test_set_opponent_in_the_middle_of_games(after, mode):
    """Games that run, and games that have ended in each way, continue as with the new opponent from the start."""
    arguments = {"first_player": "loser", "autoreset_mode": mode, "render_mode": "ansi", "max_episode_steps": 4}
    running = [(1, 3, 5, 7), (1, 2, 3, 4), (0, 3, 3, 7), (1, 1, 1, 1)]
    ended = range(3) if mode == "Disabled" else ()
    envs = [make(7, opponent=opponent, **arguments) for opponent in (OPPONENTS[after], *OPPONENTS.values())]
    for env in envs:
        env.reset(seed=3, options={"heaps": [(0, 0, 0, 2)] * 3 + running})
        env.step([10, 9, 15, 0, 0, 0, 0])  # the agent takes the last objects, or the opponent; an illegal action
        env.reset(seed=4, options={"reset_mask": np.arange(7) > 2, "heaps": [(1, 0, 0, 0)] * 3 + running})
        env.unwrapped.set_opponent(OPPONENTS[after])
        assert env.unwrapped.opponent is OPPONENTS[after]
        assert rest_of(env, ended) == rest_of(envs[0], ended)


@pytest.mark.parametrize("before", ["random", first_legal], ids=["random", "callable"])
def test_set_opponent_draws_replies_from_the_new_policy(before):
    for after in ("random", "expert", Wrapped(checked_policy("expert", NimRules()))):
        env = make(NUMBER, opponent=before, first_player="opponent").unwrapped
        env.set_opponent(after)
        policy = checked_policy(after, env.rules)
        check_openings(env.rules, env.reset(seed=0)[0], policy, 1.0)
        for seed, heaps in enumerate(POSITIONS):
            check_replies(env, policy, seed, heaps)


def test_set_opponent_is_refused():
    env = make(5, heaps=(3,), misere=False, render_mode="ansi")
    env.reset(seed=0)
    before = rest_of(env)
    for opponent in ("take-3", "master", None):  # take-3 can only open by ending the game
        with pytest.raises(ValueError, match="opponent"):
            env.unwrapped.set_opponent(opponent)
        assert rest_of(env) == before
    with pytest.raises(ValueError, match="opponent='random'"):
        make(opponent=None).unwrapped.set_opponent("random")


# --- Seeds, copies, arrays ------------------------------------------------------------------------


def play(env, seed=None, steps=20, overwrite=False):
    """Everything that random play returns; on request, it overwrites arrays that were returned or passed."""
    generator, record = np.random.default_rng(0), []

    def keep(*results):
        record.append(plain(results))
        if overwrite:
            fill(results)

    keep(*env.reset(seed=seed))
    for _ in range(steps):
        mask = env.unwrapped.action_masks()
        actions = draw_actions(mask, generator, 0.02 if env.unwrapped.illegal_action == "lose" else 0)
        results = env.step(actions)
        is_over = results[2] | results[3]
        keep(actions, mask, *results)
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and is_over.any():
            keep(*env.reset(options={"reset_mask": is_over}), is_over)
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


@pytest.mark.parametrize("name", SMALL_GYM)
def test_seeds_and_returned_arrays(name):
    for mode in AutoresetMode:
        arguments = {"autoreset_mode": mode, **GYM[name]}
        env, other = make(20, **arguments), make(20, **arguments)
        record = play(env, seed=3)
        play(other, seed=8, steps=3)
        assert record == play(other, seed=3, overwrite=True)
        assert record == play(env, seed=3)
        if name in ("standard", "expert", "random start", "random start self-play"):
            assert record != play(env, seed=4)


@pytest.mark.parametrize("name", SMALL_GYM)
def test_copies_continue_identically(name):
    for seed in (0, None):
        env = make(10, render_mode="ansi", **{**GYM[name], "illegal_action": "lose"})
        _, infos = env.reset(seed=seed)
        env.step(infos["action_mask"].argmax(axis=1))
        assert rest_of(env) == rest_of(pickle.loads(pickle.dumps(env)))
        expected = rest_of(env)
        env.step(env.unwrapped.action_masks().argmax(axis=1))
        assert rest_of(env) != expected


def test_large_games():
    for opponent in ("random", "take-7", "expert", None):
        for arguments in ({"heaps": (200, 300, 99_000)}, {"heaps": (10**15,) * 6, "max_take": 4}):
            env = make(3, opponent=opponent, random_start=True, **arguments)
            observations, infos = env.reset(seed=0)
            assert observations.max() > arguments["heaps"][-1] / 3
            assert (env.step(infos["action_mask"].argmax(axis=1))[0].sum(axis=1) < observations.sum(axis=1)).all()


def test_text():
    env = make(2, opponent=None, heaps=(1, 2), render_mode="ansi")
    single = gym.make("Nim-v0", opponent=None, heaps=(1, 2), render_mode="ansi")
    for each in (env, single):
        each.reset()
    for action in (1, 0, 1):
        assert env.render() == (single.render(),) * 2
        env.step(np.array([action, action]))
        single.step(action)
    assert env.render() == (single.render(),) * 2
    env = make(2)
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
