import itertools

import brute_force
import gymnasium as gym
import numpy as np
import pytest
from brute_force import all_positions, chance_to_win
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from strategies import rules as any_rules
from strategies import seeds, tiny_rules
from table_policies import TablePolicy, planted, plays_of

import agents
from nim_env import ExpertPolicy, NimRules, RandomPolicy, TakePolicy, evaluation, solver, theory

SIMPLE = NimRules((21,), max_take=3, misere=False)
GAMES = [
    NimRules(heaps, max_take, misere)
    for heaps, max_take, misere in itertools.product(
        [(1,), (21,), (7, 7), (0, 3, 4), (3, 4, 5), (1, 3, 5, 7), (2, 2, 2, 2, 2)], (None, 1, 3), (False, True)
    )
]


# --- Matches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wins", "games"), [(0, 1), (1, 1), (0, 10), (5, 10), (37, 100), (9_999, 10_000)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_the_interval_is_wilsons(wins, games, confidence):
    expected = binomtest(wins, games).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose(
        evaluation.MatchResult(wins, games).interval(confidence), expected, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("confidence", [0, 1, 1.5, float("nan")])
def test_a_bad_confidence_is_named(confidence):
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1; got"):
        evaluation.MatchResult(1, 2).interval(confidence)


def test_matches_between_experts_are_decided_by_who_starts():
    assert theory.is_winning(SIMPLE, (21,))
    assert evaluation.play_match(SIMPLE, "expert", "expert", 100, seed=0, first=True).wins == 100
    assert evaluation.play_match(SIMPLE, "expert", "expert", 100, seed=0, first=False).wins == 0
    assert evaluation.play_match(SIMPLE, "expert", "expert", 100, seed=0) == evaluation.MatchResult(50, 100)
    assert evaluation.play_match(SIMPLE, "expert", "expert", 101, seed=0).wins == 51
    assert evaluation.play_match(NimRules(), "expert", "expert", 100, seed=0, first=True).wins == 0


def test_one_seed_gives_one_match():
    matches = [evaluation.play_match(NimRules(), "random", "take-3", 500, seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert matches[0] == matches[1]
    assert len({match.wins for match in matches}) > 1


def test_batches_of_games_add_up(monkeypatch):
    policy = TablePolicy(NimRules(), 3)
    whole = evaluation.mastery(NimRules(), policy)
    chances = evaluation.win_probability(NimRules(), policy, "take-2")
    monkeypatch.setattr(solver, "BATCH_ENTRIES", 16 * 7)
    result = evaluation.play_match(NimRules(), "expert", "expert", 100, seed=0)
    assert result == evaluation.MatchResult(50, 100)
    assert evaluation.mastery(NimRules(), "expert").expert == 1.0
    parts = evaluation.mastery(NimRules(), policy)
    assert parts.expert == pytest.approx(whole.expert, abs=1e-12)
    np.testing.assert_array_equal(parts.mistakes, whole.mistakes)
    assert evaluation.win_probability(NimRules(), policy, "take-2") == pytest.approx(chances, abs=1e-12)


def test_policies_are_not_asked_about_finished_games_and_see_batches():
    asked = []

    def first_legal(observation, action_mask):
        assert observation.ndim == action_mask.ndim == 2
        assert observation.any(axis=1).all()
        asked.append(len(observation))
        return action_mask.argmax(axis=1)

    evaluation.play_match(NimRules(), first_legal, first_legal, 50, seed=0)
    assert 1 < max(asked) <= 50
    for sweep, positions in (
        (lambda: evaluation.mastery(NimRules(), first_legal), 335),
        (lambda: evaluation.exploitability(NimRules(), first_legal), 383),
        (lambda: evaluation.win_probability(NimRules(), first_legal, "random"), 383),
        (lambda: evaluation.win_probability(NimRules(), "random", first_legal), 383),
    ):
        asked.clear()
        sweep()
        assert asked == [positions]  # all at once, each once


# --- Win probabilities ----------------------------------------------------------------------------


@given(tiny_rules, seeds)
def test_win_probabilities_are_those_of_plain_recursion(rules, seed):
    policies = TablePolicy(rules, seed), TablePolicy(rules, seed + 1, deterministic=True)
    plays = [plays_of(rules, policy) for policy in policies]
    orders = [chance_to_win(rules, rules.heaps, plays, to_move) for to_move in (0, 1)]
    assert evaluation.win_probability(rules, *policies, first=True) == pytest.approx(orders[0], abs=1e-12)
    assert evaluation.win_probability(rules, *policies, first=False) == pytest.approx(orders[1], abs=1e-12)
    assert evaluation.win_probability(rules, *policies) == pytest.approx(sum(orders) / 2, abs=1e-12)


@pytest.mark.parametrize("misere", [False, True])
def test_random_play_and_take_2_by_their_words(misere):
    rules = NimRules((3, 2), misere=misere)

    def at_random(heaps):
        moves = [rules.action(*move) for move, _ in brute_force.moves(heaps, None)]
        return dict.fromkeys(moves, 1 / len(moves))

    def take_2(heaps):
        moves = [rules.action(heap, min(2, size)) for heap, size in enumerate(heaps) if size]
        return dict.fromkeys(moves, 1 / len(moves))

    for first in (True, False):
        expected = chance_to_win(rules, (3, 2), (at_random, take_2), 0 if first else 1)
        assert evaluation.win_probability(rules, "random", "take-2", first) == pytest.approx(expected, abs=1e-12)


def learnt(rules):
    env = gym.make_vec(
        "Nim-v0", 64, heaps=rules.heaps, max_take=rules.max_take, misere=rules.misere, opponent=None
    )
    spaces = env.single_observation_space, env.single_action_space
    agent = agents.MinimaxQAgent(*spaces, seed=0)
    agents.train(agent, env, 300, seed=0)
    return agent


STANDARD, BOUNDED = NimRules(), NimRules((4, 5, 6), max_take=2, misere=False)


@pytest.mark.parametrize(
    ("rules", "policy", "opponent", "first"),
    [
        (STANDARD, "random", "random", True),
        (STANDARD, "random", "take-2", False),
        (STANDARD, "expert", "random", None),
        (STANDARD, TablePolicy(STANDARD, 1), TablePolicy(STANDARD, 2), True),
        (STANDARD, "take-1", TablePolicy(STANDARD, 3, deterministic=True), None),
        (STANDARD, learnt(STANDARD), TablePolicy(STANDARD, 4), False),
        (BOUNDED, lambda observation, action_mask: action_mask.argmax(axis=1), "random", None),  # noqa: ARG005
        (BOUNDED, TablePolicy(BOUNDED, 1), "expert", True),
        (BOUNDED, solver.best_response(BOUNDED, TablePolicy(BOUNDED, 5)), "take-2", None),
        (SIMPLE, "random", "take-3", True),
    ],
)
def test_matches_agree_with_the_exact_probability(rules, policy, opponent, first):
    exact = evaluation.win_probability(rules, policy, opponent, first)
    assert 0.001 < exact < 0.999
    sampled = evaluation.play_match(rules, policy, opponent, 200_000, seed=1, first=first).win_rate
    assert abs(sampled - exact) < 4 * (exact * (1 - exact) / 200_000) ** 0.5


@given(any_rules, seeds)
def test_the_two_players_and_the_two_orders_add_up(rules, seed):
    policies = TablePolicy(rules, seed), TablePolicy(rules, seed + 1)
    positions = all_positions(rules)
    first = evaluation.win_probability(rules, *policies, True, positions)
    second = evaluation.win_probability(rules, *policies, False, positions)
    np.testing.assert_allclose(first + evaluation.win_probability(rules, *policies[::-1], False, positions), 1)
    np.testing.assert_allclose(second + evaluation.win_probability(rules, *policies[::-1], True, positions), 1)
    np.testing.assert_allclose((first + second) / 2, evaluation.win_probability(rules, *policies, None, positions))
    assert ((first >= 0) & (first <= 1) & (second >= 0) & (second <= 1)).all()
    assert evaluation.win_probability(rules, *policies, True) == first[-1]


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_between_experts_whoever_is_in_the_winning_position_wins(rules):
    positions = all_positions(rules)
    winning = theory.is_winning(rules, positions)
    np.testing.assert_array_equal(evaluation.win_probability(rules, "expert", "expert", True, positions), winning)
    np.testing.assert_array_equal(
        evaluation.win_probability(rules, "expert", "expert", False, positions), ~winning
    )
    assert evaluation.win_probability(rules, "expert", "expert") == 0.5


def test_positions_come_in_any_shape():
    rules = NimRules((2, 3))
    batch = all_positions(rules).reshape(3, 4, 2)
    together = evaluation.win_probability(rules, "random", "take-2", True, batch)
    assert together.shape == (3, 4)
    assert together.dtype == np.float64
    for where in np.ndindex(3, 4):
        assert (
            evaluation.win_probability(rules, "random", "take-2", True, batch[where].tolist()) == together[where]
        )
    assert together[0, 0] == 1  # nothing is left and the other player took the last one
    assert isinstance(evaluation.win_probability(rules, "random", "take-2"), float)


def test_rounded_probabilities_still_add_up():
    """Float32 weights sum to 1 but for their rounding."""
    rules = NimRules()
    table = TablePolicy(rules, 0)

    class Rounded:
        def action_probabilities(self, observation, action_mask):
            return table.action_probabilities(observation, action_mask).astype(np.float32) * np.float32(1 + 5e-6)

    exact = evaluation.win_probability(rules, table, "random", True)
    assert evaluation.win_probability(rules, Rounded(), "random", True) == pytest.approx(exact, abs=1e-7)
    assert evaluation.mastery(rules, Rounded()).expert == pytest.approx(
        evaluation.mastery(rules, table).expert, abs=1e-7
    )


# --- Mastery and exploitability -------------------------------------------------------------------


@pytest.mark.parametrize("rules", GAMES, ids=str)
def test_the_expert_has_mastered_every_game(rules):
    found = evaluation.mastery(rules, "expert")
    assert found.expert == 1.0
    assert found.champion is True
    assert found.winning_positions == theory.is_winning(rules, all_positions(rules)[1:]).sum()
    assert found.mistakes.shape == (0, rules.n_heaps)
    assert evaluation.exploitability(rules, "expert") == 0.0


@given(tiny_rules, seeds, st.booleans())
def test_champions_and_exploitability_by_plain_recursion(rules, seed, deterministic):
    """Against all that the other player may do."""
    policy = TablePolicy(rules, seed, deterministic=deterministic)
    plays = plays_of(rules, policy)
    going_first, going_second = (
        chance_to_win(rules, rules.heaps, (plays, min), 0),
        chance_to_win(rules, rules.heaps, (plays, min), 1),
    )
    in_its_role = going_first if theory.is_winning(rules, rules.heaps) else going_second
    assert evaluation.mastery(rules, policy).champion is (in_its_role > 1 - 1e-12)
    exploitability = 1 - going_first - going_second  # in rewards of 1 and -1, the mean of both orders
    assert evaluation.exploitability(rules, policy) == pytest.approx(exploitability, abs=1e-12)


@given(any_rules, seeds)
def test_masters_are_not_to_be_exploited(rules, seed):
    policy = TablePolicy(rules, seed)
    found = evaluation.mastery(rules, policy)
    exploitability = evaluation.exploitability(rules, policy)
    assert 0 <= exploitability <= 1
    if found.expert == 1:
        assert found.champion
    assert found.champion is (exploitability == 0)


def test_mastery_of_known_policies():
    assert evaluation.mastery(NimRules(), "expert").expert == 1.0
    assert evaluation.mastery(NimRules(), "expert").winning_positions == 335
    assert evaluation.mastery(NimRules(), ExpertPolicy(NimRules())).mistakes.shape == (0, 4)
    simple = evaluation.mastery(SIMPLE, TakePolicy(SIMPLE, 3))
    # 16 heaps are no multiple of 4; taking 3 is right at 3, 7, 11, 15, 19, taking what is left at 1 and 2
    assert simple.expert == 7 / 16
    assert simple.mistakes.ravel().tolist() == [5, 6, 9, 10, 13, 14, 17, 18, 21]


@given(any_rules)
def test_mastery_of_random_play(rules):
    """By hand: the mean share of winning moves among the legal ones, over the positions that have any."""
    positions = np.stack(np.unravel_index(np.arange(1, rules.n_positions), rules.shape), axis=-1)
    shares = [
        theory.winning_action_mask(rules, heaps).sum() / rules.action_mask(heaps).sum() for heaps in positions
    ]
    shares = [share for share in shares if share]
    found = evaluation.mastery(rules, RandomPolicy())
    assert found.expert == pytest.approx(np.mean(shares) if shares else 1.0, abs=1e-12)
    assert len(found.mistakes) == sum(share < 1 for share in shares)


@given(any_rules, st.data())
def test_a_planted_mistake_is_named(rules, data):
    winning = [heaps for heaps in all_positions(rules)[1:] if theory.is_winning(rules, heaps)]
    wrongs = {
        tuple(heaps): np.flatnonzero(rules.action_mask(heaps) > theory.winning_action_mask(rules, heaps)).tolist()
        for heaps in winning
    }
    wrongs = {heaps: actions for heaps, actions in wrongs.items() if actions}
    if not wrongs:
        return
    heaps = data.draw(st.sampled_from(sorted(wrongs)))
    policy = planted(ExpertPolicy(rules), {heaps: data.draw(st.sampled_from(wrongs[heaps]))})
    found = evaluation.mastery(rules, policy)
    assert found.mistakes.tolist() == [list(heaps)]
    assert found.expert == pytest.approx(1 - 1 / len(winning), abs=1e-12)
    plays = plays_of(rules, policy)
    is_first = theory.is_winning(rules, rules.heaps)
    if sum(rules.heaps) <= 7:
        assert found.champion is (
            chance_to_win(rules, rules.heaps, (plays, min), 0 if is_first else 1) > 1 - 1e-12
        )


def test_a_mistake_where_the_champion_never_comes():
    rules = NimRules((2, 3), misere=False)  # the expert makes 2-2 of it, then answers alike
    elsewhere = planted(ExpertPolicy(rules), {(1, 3): rules.action(0, 1)})
    found = evaluation.mastery(rules, elsewhere)
    assert found.mistakes.tolist() == [[1, 3]]
    assert found.champion is True
    assert evaluation.exploitability(rules, elsewhere) == 0
    on_the_way = planted(ExpertPolicy(rules), {(1, 2): rules.action(0, 1)})
    found = evaluation.mastery(rules, on_the_way)
    assert found.mistakes.tolist() == [[1, 2]]
    assert found.champion is False
    assert evaluation.exploitability(rules, on_the_way) == 1  # it is certain to go wrong, in a game it has won


def test_mistakes_come_in_the_order_of_their_indices():
    rules = NimRules()
    mistakes = evaluation.mastery(rules, "random").mistakes
    indices = np.ravel_multi_index(mistakes.T, rules.shape)
    assert len(indices) == 328
    assert (np.diff(indices) > 0).all()


def test_games_of_many_heaps():
    rules = NimRules((0,) * 70 + (5,), misere=False)
    assert evaluation.mastery(rules, "expert").winning_positions == 5
    assert evaluation.mastery(rules, "random").expert == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5)


@pytest.mark.parametrize("rules", [NimRules(), NimRules((3, 4, 5, 6), misere=False)], ids=str)
def test_certainties_are_exact_however_the_answer_lies_in_memory(rules):
    positions = all_positions(rules)

    class Transposed:
        def __init__(self, dtype):
            self.dtype = dtype

        def action_probabilities(self, observation, action_mask):
            wins = theory.winning_action_mask(rules, observation)
            weights = np.where(wins.any(axis=1, keepdims=True), wins, action_mask) * np.arange(
                1, rules.n_actions + 1
            )
            return np.asfortranarray((weights / weights.sum(axis=1, keepdims=True)).astype(self.dtype))

    for dtype in (np.float32, np.float64):
        policy = Transposed(dtype)
        assert evaluation.exploitability(rules, policy) == 0
        assert evaluation.mastery(rules, policy).expert == 1
        chances = evaluation.win_probability(rules, policy, policy, True, positions)
        np.testing.assert_array_equal(chances, theory.is_winning(rules, positions))


def test_mistakes_count_however_improbable_they_are():
    rules = NimRules((2, 3), misere=False)

    class Careless:
        def action_probabilities(self, observation, action_mask):
            wins = theory.winning_action_mask(rules, observation)
            best = np.where(wins.any(axis=1, keepdims=True), wins, action_mask)
            best = best / best.sum(axis=1, keepdims=True)
            return (1 - 1e-9) * best + 1e-9 * action_mask / action_mask.sum(axis=1, keepdims=True)

    found = evaluation.mastery(rules, Careless())
    assert 1 - 1e-8 < found.expert < 1
    assert found.champion is False
    losing = rules.action_mask(all_positions(rules)) > theory.winning_action_mask(rules, all_positions(rules))
    can_win = theory.winning_action_mask(rules, all_positions(rules)).any(axis=1)
    assert len(found.mistakes) == (losing.any(axis=1) & can_win).sum() > 0
    assert 0 < evaluation.exploitability(rules, Careless()) < 1e-7


def test_boolean_one_hots_are_probabilities():
    def one_hot(observation, action_mask):  # noqa: ARG001
        return np.arange(action_mask.shape[1]) == action_mask.argmax(axis=1)[:, None]

    policy = type("OneHot", (), {"action_probabilities": staticmethod(one_hot)})()
    found = evaluation.mastery(NimRules(), policy)
    assert found.expert == evaluation.mastery(NimRules(), lambda _, mask: mask.argmax(axis=1)).expert


def test_a_game_without_winning_positions_is_mastered():
    found = evaluation.mastery(NimRules((1,)), lambda *_: 1 / 0)  # and nobody is asked
    assert found.expert == 1.0
    assert found.champion is True
    assert found.winning_positions == 0


def test_on_21_an_optimal_learner_wins_exactly_the_games_it_starts():
    env = gym.make_vec("SimpleNim-v0", 64, opponent=None)
    agent = agents.QLearningAgent(
        env.single_observation_space, env.single_action_space, learning_rate=0.5, epsilon=0.3, seed=0
    )
    agents.train(agent, env, 5_000, seed=0)
    assert evaluation.mastery(SIMPLE, agent).champion
    assert evaluation.win_probability(SIMPLE, agent, "expert", first=True) == 1
    assert evaluation.win_probability(SIMPLE, agent, "expert", first=False) == 0


# --- Bad input ------------------------------------------------------------------------------------


SWEEPS = [
    lambda policy: evaluation.mastery(NimRules(), policy),
    lambda policy: evaluation.exploitability(NimRules(), policy),
    lambda policy: evaluation.win_probability(NimRules(), policy, "random"),
    lambda policy: evaluation.play_match(NimRules(), policy, "random", 5, seed=0),
]


class Answers:
    """A policy that is random, but for what ``change`` does to its answers."""

    def __init__(self, change):
        self.change = change

    def action_probabilities(self, observation, action_mask):
        return self.change(RandomPolicy().action_probabilities(observation, action_mask))


def with_all_on_the_first_action(probabilities):
    probabilities[:] = np.eye(16)[0]
    return probabilities


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda p: p / 2, ValueError, r"probabilities not of sum 1 at heaps \[\d, \d, \d, \d\]: \[.*0\."),
        (lambda p: p * (1 + 3e-5), ValueError, "not of sum 1 at heaps"),
        (lambda p: -p, ValueError, r"negative or not a number at heaps \[\d, \d, \d, \d\]: \[.*-"),
        (lambda p: p * np.nan, ValueError, r"negative or not a number at heaps .*: \[nan"),
        (lambda p: np.where(p > 0, np.inf, 0), ValueError, "at heaps"),
        (
            lambda p: p[:, :-1],
            ValueError,
            r"of shape \(\d+, 16\), one per action; got shape \(\d+, 15\), \[\[.*for heaps",
        ),
        (lambda p: p[0], ValueError, r"of shape \(\d+, 16\), one per action; got shape \(16,\), \[.*for heaps"),
        (lambda p: p.astype(str), TypeError, "policy must answer numbers as probabilities"),
        (lambda p: None, TypeError, "policy must answer numbers as probabilities; got None"),  # noqa: ARG005
    ],
)
def test_a_policy_that_answers_no_distribution_is_named(sweep, change, error, message):
    with pytest.raises(error, match=message):
        sweep(Answers(change))


@pytest.mark.parametrize("sweep", SWEEPS[:3])
def test_weight_on_an_illegal_move_is_named(sweep):
    with pytest.raises(ValueError, match=r"above 0 for an illegal action at heaps \[0, \d, \d, \d\]: \[1\. 0\."):
        sweep(Answers(with_all_on_the_first_action))


@pytest.mark.parametrize("sweep", SWEEPS[:3])
def test_a_tuple_of_actions_is_named(sweep):
    """What is forgotten most easily: the [0] behind model.predict(...)."""
    message = r"policy must answer integer actions; got \(array\(\[.*, a tuple: leave out all but the actions"
    with pytest.raises(TypeError, match=message):
        sweep(lambda observation, action_mask: (action_mask.argmax(axis=1), None))  # noqa: ARG005


@pytest.mark.parametrize("rules", [None, (1, 3, 5, 7), "1-3-5-7"])
@pytest.mark.parametrize("policy", ["random", "expert", RandomPolicy()])
def test_rules_of_another_kind_are_named(rules, policy):
    for call in (
        lambda: evaluation.mastery(rules, policy),
        lambda: evaluation.exploitability(rules, policy),
        lambda: evaluation.win_probability(rules, policy, policy),
        lambda: evaluation.play_match(rules, policy, policy, 3),
        lambda: solver.solve(rules),
        lambda: solver.best_response(rules, policy),
    ):
        with pytest.raises(TypeError, match="rules must be NimRules; got"):
            call()


def test_the_opponent_is_the_one_to_blame():
    half = Answers(lambda probabilities: probabilities / 2)
    for call in (evaluation.win_probability, lambda *rest: evaluation.play_match(*rest, 3, seed=0)):
        with pytest.raises(ValueError, match="opponent answered probabilities not of sum 1"):
            call(NimRules(), "random", half)


def test_a_policy_gets_copies():
    class Vandal:
        def action_probabilities(self, observation, action_mask):
            probabilities = RandomPolicy().action_probabilities(observation, action_mask)
            observation[:], action_mask[:] = 0, 1
            return probabilities

    rules = NimRules()
    assert evaluation.mastery(rules, Vandal()).expert == evaluation.mastery(rules, "random").expert
    assert evaluation.exploitability(rules, Vandal()) == evaluation.exploitability(rules, "random")
    assert evaluation.win_probability(rules, Vandal(), Vandal()) == 0.5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: evaluation.play_match(NimRules(), "random", "take-0", 5),
            ValueError,
            "opponent must be .*got 'take-0'",
        ),
        (
            lambda: evaluation.play_match(NimRules(), "best", "random", 5),
            ValueError,
            "policy must be .*got 'best'",
        ),
        (
            lambda: evaluation.play_match(NimRules(), "random", "random", 0),
            ValueError,
            "games must be 1 or more; got 0",
        ),
        (
            lambda: evaluation.play_match(NimRules(), "random", "random", 1.5),
            TypeError,
            "games must be an integer",
        ),
        (
            lambda: evaluation.play_match(NimRules(), "random", "random", 5, first=1),
            TypeError,
            "first must be True",
        ),
        (lambda: evaluation.play_match(NimRules(), lambda *_: [99] * 5, "random", 5), ValueError, "policy"),
        (
            lambda: evaluation.play_match(NimRules(), "random", lambda *_: 0, 5),
            ValueError,
            "opponent must answer one",
        ),
        (
            lambda: evaluation.play_match(NimRules(), "random", "random", 5, -1),
            ValueError,
            "seed must be 0 or more",
        ),
        (lambda: evaluation.mastery(NimRules(), "best"), ValueError, "policy must be .*got 'best'"),
        (lambda: evaluation.exploitability(NimRules(), "best"), ValueError, "policy must be .*got 'best'"),
        (
            lambda: evaluation.win_probability(NimRules(), "random", "best"),
            ValueError,
            "opponent must be .*'best'",
        ),
        (
            lambda: evaluation.win_probability(NimRules(), "random", lambda *_: 0),
            ValueError,
            "opponent must answer one",
        ),
        (
            lambda: evaluation.win_probability(NimRules(), "random", "random", first="yes"),
            TypeError,
            "first must be True, False or None; got 'yes'",
        ),
        (
            lambda: evaluation.win_probability(NimRules(), "random", "random", heaps=(1, 3, 5, 8)),
            ValueError,
            "got 8 in heap 3",
        ),
        (
            lambda: evaluation.mastery(NimRules(), lambda *_: 0),
            ValueError,
            "policy must answer one action for each",
        ),
        (
            lambda: evaluation.mastery(NimRules((99,) * 9), "random"),
            ValueError,
            "more than 10\\^18 positions .* too large to sweep .*play_match",
        ),
        (
            lambda: evaluation.exploitability(NimRules((99,) * 9), "random"),
            ValueError,
            "positions .* too large to sweep .*play_match",
        ),
        (
            lambda: evaluation.win_probability(NimRules((99,) * 9), "random", "random"),
            ValueError,
            "positions .* too large to sweep .*play_match",
        ),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
