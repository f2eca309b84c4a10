"""Pools of opponents: who plays each game, how often each member is drawn, and the figures of a mixed strategy."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from configurations import Wrapped
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st
from strategies import few_examples, seeds, tiny_rules
from table_policies import random_table

from nim_env import MixturePolicy, NimEnv, NimRules, NimVectorEnv, OpponentPool, evaluation, solver
from nim_env.policies import tabulate

RULES = NimRules()
FULL = np.array(RULES.heaps)
EVERY_MODE = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
EVERY_KIND = pytest.mark.parametrize("kind", ["single", "vector"])


class NthLegal:
    """Plays the legal action with a number, modulo the number of legal actions.

    Players with different numbers reply differently, so a reply shows who made it.
    """

    def __init__(self, number):
        self.number = number

    def __call__(self, observation, action_mask):  # noqa: ARG002
        legal = action_mask.nonzero()[0]
        return int(legal[self.number % len(legal)])


MEMBERS = {  # makes the member with a number, in each form that the environments handle separately
    "table": lambda number: tabulate(RULES, NthLegal(number)),
    "policy": lambda number: Wrapped(tabulate(RULES, NthLegal(number))),
    "function": NthLegal,
    "some queried": lambda number: (NthLegal if number % 2 else MEMBERS["table"])(number),
}


def make(kind, mode, n=12, **arguments):
    if kind == "vector":
        return NimVectorEnv(n, autoreset_mode=mode, **arguments)
    return SyncVectorEnv([lambda: NimEnv(**arguments)] * n, autoreset_mode=mode)


def set_opponent(env, opponent):
    env.call("set_opponent", opponent) if isinstance(env, SyncVectorEnv) else env.set_opponent(opponent)


def once(call, *arguments, **options):
    return call(*arguments, **options)


class Played:
    """Plays random legal moves in all games of an environment, and checks the opponents.

    Each game must keep its opponent to the end, the infos must say which one it is, and each reply must come from
    this opponent. All opponents are objects of :class:`NthLegal`, each with a number of its own.

    Attributes:
        number_of: A function from the number of a pool's member to its number as an NthLegal.
        policy: The number of an opponent that is not in a pool.
        attempt: A function that calls a method of the environment with some arguments.
        games: The number of finished games, by member.
        wins: The number of games won, by member.
    """

    def __init__(
        self,
        env,
        number_of=int,
        policy=None,
        attempt=lambda call, *arguments, **options: call(*arguments, **options),
    ):
        self.env, self.number_of, self.policy, self.attempt = env, number_of, policy, attempt
        self.generator = np.random.default_rng(0)
        self.games, self.wins = np.zeros((2, 20), dtype=int)
        self.told = [None] * env.num_envs  # the member that the infos name, for each game
        self.player = [None] * env.num_envs  # the number of the NthLegal that plays in each game
        self.heaps, self.infos = env.reset(seed=0)
        for index in range(env.num_envs):
            self.begin(index)

    def begin(self, index):
        self.told[index] = self.told_by(self.infos, index)
        self.player[index] = self.policy if self.told[index] is None else self.number_of(self.told[index])
        if self.heaps[index].sum() < FULL.sum():
            self.check_reply(FULL, self.heaps[index], self.player[index])

    @staticmethod
    def told_by(infos, index):
        if "opponent" not in infos:
            return None
        assert infos["_opponent"].any()  # SyncVectorEnv omits a key that no environment has
        if not infos["_opponent"][index]:
            return None
        assert infos["opponent"].dtype in (np.int64, np.intp)  # Gymnasium's SyncVectorEnv has intp
        return int(infos["opponent"][index])

    @staticmethod
    def check_reply(before, after, number):
        action = NthLegal(number)(None, RULES.action_mask(before))
        np.testing.assert_array_equal(after, RULES.apply(before, action))

    def step(self):
        mode, begun = self.env.metadata["autoreset_mode"], []
        before = self.heaps
        masks = RULES.action_mask(before)
        was_over = [told == "over" for told in self.told]
        actions = (masks * self.generator.random(masks.shape)).argmax(axis=1)
        heaps, rewards, terminated, _, infos = self.attempt(self.env.step, actions)
        self.heaps, self.infos = heaps.copy(), infos
        for index, is_over in enumerate(terminated):
            if was_over[index]:
                begun.append(index)
                continue
            is_final = is_over and mode is AutoresetMode.SAME_STEP
            after = infos["final_obs"][index] if is_final else heaps[index]
            told = self.told_by(infos["final_info"] if is_final else infos, index)
            assert told == self.told[index]
            left = RULES.apply(before[index], actions[index])
            if left.any():
                self.check_reply(left, after, self.player[index])
            if is_over and told is not None:
                self.games[told] += 1
                self.wins[told] += rewards[index] > 0
            if is_final:
                begun.append(index)
            elif is_over:
                self.told[index] = "over"
        if mode is AutoresetMode.DISABLED and terminated.any():
            self.heaps, self.infos = self.attempt(self.env.reset, options={"reset_mask": terminated})
            self.heaps = self.heaps.copy()
            begun = terminated.nonzero()[0]
        for index in begun:
            self.begin(index)


@EVERY_MODE
@EVERY_KIND
@pytest.mark.parametrize("form", MEMBERS)
def test_a_member_plays_its_games_to_the_end(kind, mode, form):
    """This holds while members join and leave, weights change, and the environment is pickled."""
    pool = OpponentPool(RULES, map(MEMBERS[form], range(2)), max_size=4)
    played = Played(make(kind, mode, opponent=pool))
    for step in range(1, 91):
        played.step()
        if step % 15 == 0:
            pool.add(MEMBERS[form](pool.numbers.stop), weight=2)
        if step % 20 == 0:
            pool.weights = played.generator.random(len(pool.weights))
            pool.weights[-1] = 1
        if step % 25 == 0 and kind == "vector":
            played.env = pickle.loads(pickle.dumps(played.env))
            pool = played.env.opponent
    assert pool.numbers == range(4, 8)
    assert np.count_nonzero(played.games) > 5


@EVERY_MODE
@EVERY_KIND
def test_set_opponent_leaves_games_in_progress(kind, mode):
    pools = [OpponentPool(RULES, map(MEMBERS["table"], numbers)) for numbers in ((0, 1), (2, 3, 4))]
    played = Played(make(kind, mode, opponent=pools[0]))
    for opponent, first, policy in (
        (MEMBERS["table"](5), 0, 5),
        (pools[1], 2, None),
        (NthLegal(6), 0, 6),
        (pools[0], 0, None),
    ):
        for _ in range(3):
            played.step()
        set_opponent(played.env, "expert")  # replaced before a game begins
        set_opponent(played.env, opponent)
        played.number_of, played.policy = first.__add__, policy
    for _ in range(30):
        played.step()
    assert played.games[:2].min() > 0


@EVERY_MODE
@EVERY_KIND
@pytest.mark.parametrize("form", ["table", "some queried"])
def test_win_rates_by_member_are_the_exact_ones(kind, mode, form):
    """A random agent wins as often against each member as the exact evaluation says. One member joins later."""
    pool = OpponentPool(RULES, [MEMBERS[form](1), MEMBERS[form](0)], weights=[1, 3])
    played = Played(make(kind, mode, 100, opponent=pool, first_player="agent"), [1, 0, 2].__getitem__)
    for step in range(60):
        if step == 20:
            pool.add(MEMBERS[form](2), weight=2)
        played.step()
    for index, number in enumerate((1, 0, 2)):
        n = played.games[index]
        expected = evaluation.win_probability(RULES, "random", NthLegal(number), moves_first=True)
        assert n > 150
        assert abs(played.wins[index] / n - expected) < 4 * (expected * (1 - expected) / n) ** 0.5


@given(
    st.lists(st.sampled_from([0, 1e-300, 0.5, 2, 1e308]), min_size=1, max_size=4).filter(any),
    st.integers(1, 4),
    seeds,
)
def test_members_are_drawn_by_weight(weights, max_size, seed):
    """Only members that are left in the pool are drawn, and members with weight 0 never."""
    pool = OpponentPool(RULES, ["random"] * len(weights), weights, max_size)
    left = [Fraction(weight) for weight in weights[-max_size:]]
    assert pool.weights == left
    assert list(pool.numbers) == list(range(len(weights)))[-max_size:]
    if not any(left):
        with pytest.raises(ValueError, match="weight"):
            pool.draw(np.random.default_rng(seed))
        return
    shares = np.array([float(weight / sum(left)) for weight in left])
    np.testing.assert_allclose(pool.probabilities, shares, atol=1e-15)
    counts = np.bincount(pool.draw(np.random.default_rng(seed), 2_000), minlength=len(left))
    assert (np.abs(counts / 2_000 - shares) <= 6 * np.sqrt(shares * (1 - shares) / 2_000) + 1e-12).all()
    drawn = [pool.draw(generator) for generator in [np.random.default_rng(seed)] for _ in range(50)]
    assert drawn == pool.draw(np.random.default_rng(seed), 50).tolist()


@few_examples
@given(tiny_rules, seeds, st.sampled_from(["raise", "lose"]))
def test_figures_of_a_pool_are_those_of_its_members(rules, seed, illegal_action):
    option = {"illegal_action": illegal_action}
    members = [random_table(rules, seed + i, illegal=illegal_action == "lose") for i in range(4)]
    first, second = OpponentPool(rules, members[:2], [1, 3]), OpponentPool(rules, members[1:], [2, 0, 3])
    matrix = evaluation.payoff_matrix(rules, members, **option)
    own, other = np.array([[0.25, 0.75, 0, 0], [0, 0.4, 0, 0.6]])
    found = evaluation.payoff_matrix(rules, [members[2], first], [second, members[0]], **option)
    expected = [[matrix[2] @ other, matrix[2, 0]], [own @ matrix @ other, own @ matrix[:, 0]]]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    for order, expected in ((True, own @ matrix @ other), (False, -other @ matrix @ own)):
        wins = evaluation.win_probability(rules, first, second, moves_first=order, **option)
        assert wins == pytest.approx((1 + expected) / 2, abs=1e-12)
    wins = evaluation.win_probability(rules, first, second, **option)
    match = evaluation.play_match(rules, first, second, 500, seed=seed, **option)
    assert match == evaluation.play_match(rules, first, second, 500, seed=seed, **option)
    assert abs(match.win_rate - wins) <= 6 * (wins * (1 - wins) / 500) ** 0.5 + 1e-12


@pytest.mark.parametrize("kind", [NimEnv, NimVectorEnv])
def test_what_a_pool_cannot_do(kind):
    """It raises errors that change nothing: an empty pool has no member to draw, and an opening move cannot end a
    game.
    """
    one_heap = NimRules((3,), misere=False)
    pool = OpponentPool(one_heap)
    env = kind(heaps=(3,), misere=False, opponent=pool, first_player="opponent")
    with pytest.raises(ValueError, match=r"weights=\[\]"):
        env.reset(seed=0)
    pool.add("take-1")
    pool.weights[0] = 0
    with pytest.raises(ValueError, match=r"weights=\[0"):
        env.reset(seed=0)
    pool.weights[0] = np.nan
    with pytest.raises(ValueError, match="nan"):
        env.reset(seed=0)
    for weights in ([1, 2], [-1], [np.inf]):
        with pytest.raises(ValueError, match="weights"):
            pool.weights = weights
    pool.weights = [1]
    env.reset(seed=0)
    before = pickle.dumps(env.np_random.bit_generator.state)
    pool.add("take-3")
    with pytest.raises(ValueError, match=r"opponent=.*first_player="):
        env.reset(seed=1)
    assert pickle.dumps(env.np_random.bit_generator.state) == before
    for opponent in (OpponentPool(RULES, ["random"]), OpponentPool(one_heap, ["take-3"])):
        with pytest.raises(ValueError, match="opponent"):
            env.set_opponent(opponent)
        assert env.opponent is pool
    with pytest.raises(ValueError, match="opponent"):
        kind(opponent=None).set_opponent(OpponentPool(RULES, ["random"]))
    with pytest.raises(AttributeError, match=r"opponent=OpponentPool"):
        _ = NimEnv(opponent=OpponentPool(RULES, ["random"]), observation="index").P


@pytest.mark.parametrize(
    "function",
    [
        evaluation.mastery,
        evaluation.exploitability,
        evaluation.report,
        evaluation.sampled_mastery,
        solver.best_response,
        tabulate,
        lambda rules, pool: MixturePolicy(rules, [pool]),
        lambda rules, pool: OpponentPool(rules, [pool]),
    ],
)
def test_functions_of_a_policy_refuse_a_pool(function):
    with pytest.raises(TypeError, match=r"policy.*OpponentPool"):
        function(RULES, OpponentPool(RULES, ["random"]))


class Flaky(NthLegal):
    """An opponent that fails when a test wants it to. The test then calls the same method again."""

    fails = False
    n_failed = 0

    def __call__(self, observation, action_mask):
        if Flaky.fails:
            Flaky.n_failed += 1
            raise RuntimeError
        return super().__call__(observation, action_mask)

    @staticmethod
    def twice(call, *arguments, **options):
        Flaky.fails = True
        try:
            return call(*arguments, **options)
        except RuntimeError:
            pass
        finally:
            Flaky.fails = False
        return call(*arguments, **options)


@EVERY_MODE
def test_a_member_that_fails_changes_no_game(mode):
    """This also holds for games whose opponent has left the pool."""
    pool = OpponentPool(RULES, map(MEMBERS["table"], range(2)), max_size=2)
    played = Played(make("vector", mode, opponent=pool), attempt=Flaky.twice)
    before = Flaky.n_failed
    for number in range(2, 12):
        pool.add((Flaky if number % 2 else MEMBERS["table"])(number))
        for _ in range(4):
            played.step()
    assert Flaky.n_failed > before + 5
    assert np.count_nonzero(played.games) > 5
