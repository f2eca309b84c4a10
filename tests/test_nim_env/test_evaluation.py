"""Exact evaluation is compared with a recursion over all lines of play, and sampled matches with exact results."""

import json
from functools import partial
from types import SimpleNamespace

import brute_force
import numpy as np
import pytest
from configurations import SIMPLE, first_legal
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import binomtest
from strategies import few_examples, seeds, tiny_rules
from strategies import rules as any_rules
from table_policies import as_player, random_table, with_mistakes

from nim_env import (
    ExpertPolicy,
    NimRules,
    OpponentPool,
    TabularPolicy,
    evaluation,
    solver,
    theory,
)
from nim_env._internal import limits
from nim_env.evaluation import MatchResult
from nim_env.policies import batched, tabulate

SIMPLE = NimRules(**SIMPLE)
STANDARD, BOUNDED = NimRules(), NimRules((4, 5, 6), max_take=2, misere=False)
SEVERAL_BATCHES = NimRules((60, 120), misere=False)  # too large for one batch


@given(st.integers(1, 10_000), st.floats(0, 1), st.sampled_from([0.5, 0.95, 0.99]))
def test_the_interval_is_wilsons_and_ends_at_0_and_1_exactly(games, fraction, confidence):
    wins = round(games * fraction)
    expected = binomtest(wins, games).proportion_ci(confidence, method="wilson")
    found = MatchResult(wins, games).interval(confidence)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert MatchResult(0, games).interval()[0] == 0
    assert MatchResult(games, games).interval()[1] == 1


@pytest.mark.parametrize(("moves_first", "games", "wins"), [(True, 100, 100), (False, 100, 0), (None, 101, 51)])
def test_matches_between_experts_are_decided_by_who_starts(moves_first, games, wins):
    match = evaluation.play_match(SIMPLE, "expert", "expert", games, moves_first=moves_first)
    assert match == MatchResult(wins, games)
    # a game with so many actions that 101 games are played in two parts
    wide = NimRules((30_000,), max_take=20_000, misere=False)
    assert evaluation.play_match(wide, "expert", "expert", games, moves_first=moves_first) == match


@pytest.mark.parametrize(
    ("rules", "policy", "opponent", "moves_first"),
    [
        (STANDARD, "random", "take-2", False),
        (BOUNDED, batched(lambda _, masks: masks.argmax(axis=1)), "random", None),
        (STANDARD, random_table(STANDARD, 1, illegal=True), random_table(STANDARD, 2, illegal=True), None),
    ],
)
def test_matches_agree_with_the_exact_probability(rules, policy, opponent, moves_first):
    options = {"moves_first": moves_first, "illegal_action": "lose"}
    exact = evaluation.win_probability(rules, policy, opponent, **options)
    matches = [evaluation.play_match(rules, policy, opponent, 20_000, seed=seed, **options) for seed in (1, 1, 2)]
    assert matches[0] == matches[1] != matches[2]
    for match in matches:
        assert binomtest(match.wins, match.games, exact).pvalue > 1e-4


@few_examples
@given(tiny_rules, st.booleans())
def test_sampled_positions_are_uniform(rules, won):
    n, generator = 20_000, np.random.default_rng(0)
    sample = evaluation.sample_winning_positions if won else evaluation.sample_losing_positions
    is_drawn = np.array(brute_force.winners(rules)) == won
    is_drawn[0] = False
    if not is_drawn.any():
        with pytest.raises(ValueError, match=str(rules)):
            sample(rules, n, generator)
        return
    positions = sample(rules, n, generator)
    numbers = np.bincount(rules.index(positions), minlength=rules.n_positions)
    assert numbers.sum() == n
    assert not numbers[~is_drawn].any()
    expected = n / is_drawn.sum()
    np.testing.assert_allclose(numbers[is_drawn], expected, atol=6 * np.sqrt(expected))


def test_rare_positions_are_refused():
    rules = NimRules((999_999,), misere=False)  # only the empty position is losing
    for n in (1, 20_000):
        with pytest.raises(ValueError, match="losing"):
            evaluation.sample_losing_positions(rules, n, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("rules", "policy"),
    [
        (BOUNDED, first_legal),
        (SEVERAL_BATCHES, "take-3"),
        (STANDARD, random_table(STANDARD, 3, illegal=True)),
    ],
)
def test_sampled_mastery_is_that_of_all_positions(rules, policy):
    exact = evaluation.mastery(rules, policy, illegal_action="lose")
    found = [evaluation.sampled_mastery(rules, policy, 3_000, seed, illegal_action="lose") for seed in (1, 1, 2)]
    assert found[0].expert == found[1].expert != found[2].expert
    for sample in found:
        lower, upper = sample.interval(0.9999)
        assert lower < exact.expert < upper
        np.testing.assert_array_equal(
            sample.winning_probabilities, exact.winning_probabilities[rules.index(sample.positions)]
        )
        assert sample.expert == pytest.approx(sample.winning_probabilities.mean())


def test_sampled_mastery_on_a_board_too_large_to_list_and_of_a_player_that_draws():
    rules = NimRules((40,) * 30, max_take=7)
    assert evaluation.sampled_mastery(rules, "expert", n=50).expert == 1.0
    avoid = batched(lambda heaps, masks: (masks > theory.winning_action_mask(rules, heaps)).argmax(axis=1))
    assert evaluation.sampled_mastery(rules, avoid, n=50).interval()[0] == 0.0
    generator = np.random.default_rng(0)
    draws = batched(lambda _, masks: (generator.random(masks.shape) * masks).argmax(axis=1))
    lower, upper = evaluation.sampled_mastery(STANDARD, draws, 3_000, seed=0).interval(0.9999)
    assert lower < evaluation.mastery(STANDARD, "random").expert < upper


@few_examples
@given(tiny_rules, seeds, st.sampled_from(["raise", "lose"]))
def test_win_probabilities_and_payoffs_are_those_of_recursion(rules, seed, illegal_action):
    options = {"illegal": illegal_action == "lose"}
    policies = [random_table(rules, seed + i, deterministic=i == 1, **options) for i in range(3)]
    matrix = evaluation.payoff_matrix(rules, policies, illegal_action=illegal_action)
    for i, j in np.ndindex(3, 3):
        players = as_player(rules, policies[i]), as_player(rules, policies[j])
        first, second = (brute_force.win_probability(rules, rules.heaps, players, to_move) for to_move in (0, 1))
        assert matrix[i, j] == pytest.approx(2 * first - 1, abs=1e-12)
        for order, expected in ((True, first), (False, second), (None, (first + second) / 2)):
            found = evaluation.win_probability(
                rules, policies[i], policies[j], moves_first=order, illegal_action=illegal_action
            )
            assert found == pytest.approx(expected, abs=1e-12)
    part = evaluation.payoff_matrix(rules, policies[:1], policies[1:], illegal_action=illegal_action)
    np.testing.assert_array_equal(part, matrix[:1, 1:])


@few_examples
@given(tiny_rules, seeds, st.booleans(), st.sampled_from(["raise", "lose"]))
@example(NimRules((2, 2)), 0, True, "raise")  # no champion, although it wins against itself on the winning side
def test_champions_and_exploitability_by_recursion(rules, seed, deterministic, illegal_action):
    """The recursion tries all moves of the best response, and averages over moving first and second."""
    option = {"illegal_action": illegal_action}
    policy = random_table(rules, seed, deterministic=deterministic, illegal=illegal_action == "lose")
    players, positions = (as_player(rules, policy), min), rules.all_positions()
    found = np.mean(solver.response_values(rules, policy, **option), axis=0)
    for heaps, exploitability in zip(positions.tolist(), found, strict=True):
        orders = [brute_force.win_probability(rules, heaps, players, to_move) for to_move in (0, 1)]
        assert exploitability == pytest.approx(1 - sum(orders), abs=1e-12)
    in_its_role = orders[0 if theory.is_winning(rules, rules.heaps) else 1]
    mastery = evaluation.mastery(rules, policy, **option)
    assert mastery.champion is (in_its_role > 1 - 1e-12) is bool(found[-1] == 0)
    assert found[-1] == evaluation.exploitability(rules, policy, **option)
    response = solver.best_response(rules, policy, **option)
    wins = evaluation.win_probabilities(rules, response, policy, illegal_action=illegal_action).going_first
    np.testing.assert_allclose(response.values(positions[1:]), 2 * wins[1:] - 1, atol=1e-12)
    going_first = solver.response_values(rules, policy, **option).going_first
    np.testing.assert_allclose(going_first[1:], 2 * wins[1:] - 1, atol=1e-12)
    assert not deterministic or illegal_action == "lose" or set(found) <= {0, 1}


@few_examples
@given(tiny_rules, seeds, st.sampled_from(["raise", "lose"]))
def test_a_best_response_to_a_mixed_strategy_by_recursion(rules, seed, illegal_action):
    option = {"illegal": illegal_action == "lose"}
    members = [random_table(rules, seed + i, deterministic=i == 1, **option) for i in range(3)]
    weights, players = [0.2, 0.3, 0.5], [as_player(rules, member) for member in members]
    pool = OpponentPool(rules, members, weights)
    found = evaluation.mixed_exploitability(rules, pool, illegal_action=illegal_action)
    orders = [brute_force.best_response_to_draw(rules, rules.heaps, players, weights, first) for first in (0, 1)]
    assert found == pytest.approx(sum(orders) - 1, abs=1e-12)


@few_examples
@given(any_rules, st.data())
def test_a_single_mistake_is_named(rules, data):
    positions = rules.all_positions()
    winning = theory.winning_action_mask(rules, positions)
    wrong = (rules.action_mask(positions) > winning) & winning.any(axis=1, keepdims=True)
    assume(wrong.any())
    index, action = data.draw(st.sampled_from(np.argwhere(wrong).tolist()))
    heaps = tuple(positions[index].tolist())
    player = with_mistakes(rules, ExpertPolicy(rules), {heaps: action})
    found = evaluation.mastery(rules, player)
    assert found.mistakes.tolist() == [list(heaps)]
    names = [f"{count} from {'ABCD'[heap]}" for heap, count in rules.moves]
    [sentence] = evaluation.mistake_sentences(rules, player)
    mistake, better = sentence.split("; ")
    assert "-".join(map(str, heaps)) in mistake
    assert f"takes {names[action]}" in mistake
    assert {name for name in names if name in better} == {names[i] for i in winning[index].nonzero()[0]}
    n_won = winning.any(axis=1).sum()
    assert found.expert == pytest.approx(1 - 1 / n_won, abs=1e-12)
    right = evaluation.mastery(rules, "expert")
    assert (right.expert, right.champion, right.won_positions, len(right.mistakes)) == (1.0, True, n_won, 0)
    assert evaluation.exploitability(rules, "expert") == 0.0


def test_a_board_without_won_positions_is_mastered():
    rules = NimRules((1,))  # misère, so the player to move loses
    for found in (evaluation.mastery(rules, "random"), evaluation.report(rules, "random")):
        assert (found.expert, found.champion) == (1.0, True)


@few_examples
@given(any_rules, st.sampled_from([1 - 1e-7, 1 + 1e-7]), st.sampled_from(["raise", "lose"]))
def test_a_row_rounded_by_a_player_is_no_mistake(rules, rounded, illegal_action):
    player = TabularPolicy(rules, rounded * tabulate(rules, "expert", np.float64).probabilities)
    found = evaluation.mastery(rules, player, illegal_action=illegal_action)
    assert (found.expert, found.champion, len(found.mistakes)) == (1.0, True, 0)
    assert not np.nansum(found.illegal_probabilities)


def test_mistakes_in_words_begin_with_the_fewest_objects():
    rules = NimRules((1, 2, 3))
    mistakes = evaluation.mastery(rules, "random").mistakes
    sentences = evaluation.mistake_sentences(rules, "random", n=len(mistakes) + 1)
    positions = [[int(size) for size in sentence.split()[1].split("-")] for sentence in sentences]
    assert sorted(positions) == sorted(mistakes.tolist())
    assert [sum(heaps) for heaps in positions] == sorted(sum(heaps) for heaps in positions)
    assert all("may take" in sentence for sentence in sentences)
    assert evaluation.mistake_sentences(rules, "random", n=2) == sentences[:2]
    assert "illegal" in evaluation.mistake_sentences(rules, lambda *_: 99, 1, illegal_action="lose")[0]


@few_examples
@given(any_rules, seeds)
def test_value_accuracy_by_recount(rules, seed):
    table = np.random.default_rng(seed).choice([-2.5, -1e-300, 0, 1, np.inf], rules.n_positions)

    def values(positions):
        indices = rules.index(positions)
        positions[:] = 0  # a copy
        return table[indices]

    found = evaluation.value_accuracy(rules, values)
    is_won, given_values = np.array(brute_force.winners(rules)[1:]), table[1:]
    right = np.where(is_won, given_values > 0, given_values < 0)
    errors = np.abs(given_values - np.where(is_won, 1, -1))
    for rows, fraction, error in ((is_won, found.won, found.error_won), (~is_won, found.lost, found.error_lost)):
        assert fraction == pytest.approx(right[rows].mean() if rows.any() else 1)
        assert error == pytest.approx(errors[rows].mean() if rows.any() else 0)
    assert found.overall == pytest.approx(right.mean())
    np.testing.assert_array_equal(found.values[1:], given_values)


@pytest.mark.parametrize("evaluate", [evaluation.value_accuracy, partial(evaluation.report, policy="random")])
def test_bad_values_are_named(evaluate):
    for wrong in (
        lambda heaps: np.ones((len(heaps), 1)),
        lambda heaps: np.where(heaps.sum(axis=1) == 1, np.nan, 1),
    ):
        with pytest.raises(ValueError, match=r"values.*383"):
            evaluate(STANDARD, values=wrong)


@pytest.mark.parametrize(
    ("rules", "policy"),
    [(STANDARD, "expert"), (BOUNDED, first_legal), (NimRules((1,)), "random"), (SEVERAL_BATCHES, "take-1")],
)
def test_a_report_holds_what_the_functions_give(rules, policy):
    def values(heaps):
        return np.sin(heaps.sum(axis=1))

    found = evaluation.report(rules, policy, values)
    mastery = evaluation.mastery(rules, policy)
    accuracy = evaluation.value_accuracy(rules, values)
    everywhere = np.mean(solver.response_values(rules, policy), axis=0)[1:]
    row = found.to_dict()
    assert row == {
        "expert": mastery.expert,
        "champion": mastery.champion,
        "exploitability": evaluation.exploitability(rules, policy),
        "mean_exploitability": pytest.approx(everywhere.mean(), abs=1e-12),
        "win_probability_random": evaluation.win_probability(rules, policy, "random"),
        "win_probability_take_3": evaluation.win_probability(rules, policy, "take-3"),
        "win_probability_expert": evaluation.win_probability(rules, policy, "expert"),
        "illegal_probability": 0.0,
        "value_accuracy_won": accuracy.won,
        "value_accuracy_lost": accuracy.lost,
        "value_accuracy_overall": accuracy.overall,
        "value_error_won": accuracy.error_won,
        "value_error_lost": accuracy.error_lost,
    }
    assert json.loads(json.dumps(row)) == row
    without = evaluation.report(rules, policy)
    assert without.to_dict() == {name: value for name, value in row.items() if not name.startswith("value_")}
    assert without._repr_html_().count("<tr>") == len(without.to_dict())


@few_examples
@given(any_rules, seeds)
def test_the_groups_of_a_report_say_where_a_player_errs(rules, seed):
    policy = random_table(rules, seed, illegal=True)
    table = np.random.default_rng(seed).choice([-0.5, 0, 0.5], size=rules.n_positions)
    found = evaluation.report(rules, policy, lambda heaps: table[rules.index(heaps)], illegal_action="lose")
    heaps = rules.all_positions()[1:]
    played, values, is_won = policy.probabilities[1:], table[1:], theory.is_winning(rules, heaps)
    right = (played * theory.winning_action_mask(rules, heaps)).sum(axis=1)
    illegal = 1 - (played * rules.action_mask(heaps)).sum(axis=1)
    names = list(zip((heaps > 0).sum(axis=1).tolist(), ((heaps > 1).sum(axis=1) <= 1).tolist(), strict=True))
    assert [(group.n_heaps, group.endgame) for group in found.groups] == sorted(set(names))
    for group in found.groups:
        rows = np.array([name == (group.n_heaps, group.endgame) for name in names])
        won, lost = rows & is_won, rows & ~is_won
        assert (group.won, group.lost, group.mistakes) == (won.sum(), lost.sum(), (right[won] < 1 - 1e-12).sum())
        for metric, fractions in (
            (group.expert, right[won]),
            (group.illegal_probability, illegal[rows]),
            (group.value_accuracy_won, values[won] > 0),
            (group.value_accuracy_lost, values[lost] < 0),
        ):
            assert metric == pytest.approx(np.mean(fractions) if len(fractions) else 1, abs=1e-12)
    assert found.illegal_probability == pytest.approx(illegal.mean(), abs=1e-12)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(1, 12), st.integers(1, 50), seeds)
def test_a_learning_curve_evaluates_at_growing_intervals(n_ended, n_evals, first, seed):
    rules = NimRules((1, 2))
    returns = np.random.default_rng(seed).choice([-1.0, 1.0], size=sum(n_ended))
    curve, by_hand = (evaluation.LearningCurve(rules, len(returns), n_evals, first) for _ in range(2))
    ends = np.cumsum(n_ended).tolist()  # the numbers of episodes after which `train` calls the curve
    players = {n: random_table(rules, seed + n) for n in ends}
    added = []
    for n in ends:
        curve(players[n], SimpleNamespace(returns=returns[:n]))
        added += by_hand.add(n, players[n])
    first = min(first, len(returns))
    due = {round(len(returns) * (first / len(returns)) ** (k / max(n_evals - 1, 1))) for k in range(n_evals)}
    assert [row["episodes"] for row in curve.rows] == sorted(due)  # however many episodes end at once
    for row in curve.rows:
        n = row["ended"]
        assert n == min(number for number in ends if number >= row["episodes"])
        assert row.pop("mean_return") == pytest.approx(sum(returns[n // 2 : n]) / (n - n // 2))
        figures = evaluation.report(rules, players[n]).to_dict()
        assert row == {"episodes": row["episodes"], "ended": n} | figures
    assert added == by_hand.rows == curve.rows


SWEEPS = {
    "mastery": lambda rules, policy: evaluation.mastery(rules, policy).expert,
    "exploitability": evaluation.exploitability,
    "report": evaluation.report,
    "win_probability": lambda rules, policy: evaluation.win_probability(rules, "random", policy),
    "mixed_exploitability": lambda rules, policy: evaluation.mixed_exploitability(
        rules, OpponentPool(rules, [policy])
    ),
    "payoff_matrix": lambda rules, policy: evaluation.payoff_matrix(rules, [policy, "random"]).tolist(),
}


@pytest.mark.parametrize("rules", [STANDARD, SEVERAL_BATCHES], ids=str)
@pytest.mark.parametrize("sweep", SWEEPS.values(), ids=SWEEPS)
def test_a_sweep_queries_each_position_twice(sweep, rules):
    """The policy gets copies of the positions and masks, so it can overwrite them."""
    asked = []

    def action_probabilities(heaps, mask):
        asked.extend(rules.index(heaps).tolist())
        np.testing.assert_array_equal(mask, rules.action_mask(heaps))
        probabilities = mask / mask.sum(axis=1, keepdims=True)
        heaps[:], mask[:] = 0, 1
        return probabilities

    assert sweep(rules, SimpleNamespace(action_probabilities=action_probabilities)) == sweep(rules, "random")
    assert sorted(asked) == sorted(2 * list(range(1, rules.n_positions)))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (evaluation.play_match, ["random", "random", 0], "games.*0"),
        (partial(evaluation.play_match, moves_first="no"), ["random", "random", 5], "moves_first.*no"),
        (evaluation.win_probability, ["random", "best"], "opponent.*best"),
        (partial(evaluation.win_probability, moves_first="yes"), ["random", "random"], "moves_first.*'yes'"),
        (evaluation.sampled_mastery, ["random", 0], "n must.*0"),
        (evaluation.LearningCurve, [0], "episodes.*0"),
        (evaluation.LearningCurve, [10, 0], "n_evals.*0"),
        (evaluation.LearningCurve, [10, 5, -3], "first.*-3"),
        (evaluation.payoff_matrix, [["random", "best"]], r"rows\[1\]"),
        (evaluation.payoff_matrix, [["random"], ["best"]], r"columns\[0\]"),
        (evaluation.mixed_exploitability, [OpponentPool(SIMPLE, ["random"])], "pool.*21"),
        (evaluation.mixed_exploitability, [OpponentPool(STANDARD)], "weight"),
        (evaluation.win_probability, ["random", OpponentPool(SIMPLE, ["random"])], "opponent.*21"),
        (evaluation.payoff_matrix, [["random", OpponentPool(SIMPLE, ["random"])]], r"rows\[1\].*21"),
        (evaluation.play_match, [OpponentPool(STANDARD, ["random"], [0]), "random", 5], "weight"),
    ],
)
def test_bad_arguments_are_named(function, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        function(STANDARD, *arguments)


def test_too_many_beliefs_are_refused(monkeypatch):
    large = NimRules((100, 100, 100))
    with pytest.raises(ValueError, match="policies"):
        evaluation.mixed_exploitability(large, OpponentPool(large, ["random", "expert"]))
    monkeypatch.setattr(limits, "MOVES_FROM_BELIEFS", 10_000)
    with pytest.raises(ValueError, match=r"beliefs.*10,000"):
        evaluation.mixed_exploitability(STANDARD, OpponentPool(STANDARD, [random_table(STANDARD, 0), "random"]))
