import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binomtest
from strategies import rules as any_rules

from nim_env import ExpertPolicy, NimRules, RandomPolicy, TakePolicy, evaluation, theory

SIMPLE = NimRules((21,), max_take=3, misere=False)


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


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_win_rates_are_the_probabilities(misere, first):
    rules = NimRules((4, 2), misere=misere)
    exact = probability_random_wins(rules, (4, 2), first)
    result = evaluation.play_match(rules, "random", "take-2", 40_000, seed=1, first=first)
    assert abs(result.win_rate - exact) < 4 * (exact * (1 - exact) / 40_000) ** 0.5


def probability_random_wins(rules, heaps, random_moves):
    """By plain recursion, from the words "random" and "take 2, or what is left, from a heap drawn uniformly"."""
    if not any(heaps):
        last_mover_is_random = not random_moves
        return float(last_mover_is_random != rules.misere)
    if random_moves:
        moves = [(heap, count) for heap, size in enumerate(heaps) for count in range(1, size + 1)]
    else:
        moves = [(heap, min(2, size)) for heap, size in enumerate(heaps) if size]
    after = [tuple(size - count * (i == heap) for i, size in enumerate(heaps)) for heap, count in moves]
    return sum(probability_random_wins(rules, position, not random_moves) for position in after) / len(moves)


def test_one_seed_gives_one_match():
    matches = [evaluation.play_match(NimRules(), "random", "take-3", 500, seed=seed) for seed in (1, 1, 2, 3, 4)]
    assert matches[0] == matches[1]
    assert len({match.wins for match in matches}) > 1


def test_batches_of_games_add_up(monkeypatch):
    monkeypatch.setattr(evaluation, "BATCH_ENTRIES", 16 * 7)
    result = evaluation.play_match(NimRules(), "expert", "expert", 100, seed=0)
    assert result == evaluation.MatchResult(50, 100)
    assert evaluation.mastery(NimRules(), "expert").expert == 1.0
    assert len(evaluation.mastery(NimRules(), "random").mistakes) == 328


def test_policies_are_not_asked_about_finished_games_and_see_batches():
    asked = []

    def first_legal(observation, action_mask):
        assert observation.ndim == action_mask.ndim == 2
        assert observation.any(axis=1).all()
        asked.append(len(observation))
        return action_mask.argmax(axis=1)

    evaluation.play_match(NimRules(), first_legal, first_legal, 50, seed=0)
    evaluation.mastery(NimRules(), first_legal)
    assert max(asked) > 1


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


def test_a_planted_mistake_is_named():
    rules = NimRules()
    expert = ExpertPolicy(rules)

    class Planted:
        def action_probabilities(self, observation, action_mask):
            probabilities = expert.action_probabilities(observation, action_mask)
            wrong = (observation == [0, 1, 2, 0]).all(axis=1)
            probabilities[wrong] = np.eye(16)[rules.action(1, 1)]
            return probabilities

    found = evaluation.mastery(rules, Planted())
    assert found.mistakes.tolist() == [[0, 1, 2, 0]]
    assert found.expert == 334 / 335


def test_games_of_many_heaps():
    rules = NimRules((0,) * 70 + (5,), misere=False)
    assert evaluation.mastery(rules, "expert").winning_positions == 5
    assert evaluation.mastery(rules, "random").expert == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5)


def test_a_game_without_winning_positions_is_mastered():
    assert evaluation.mastery(NimRules((1,)), "random").expert == 1.0


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
        (
            lambda: evaluation.mastery(NimRules(), lambda *_: 0),
            ValueError,
            "policy must answer one action for each",
        ),
        (
            lambda: evaluation.mastery(NimRules((99,) * 9), "random"),
            ValueError,
            "positions, more than .*play_match",
        ),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
