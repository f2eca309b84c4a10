"""The diagnosis of a learner from its values: :func:`diagnose`, and the order of its steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nim_env.evaluation.diagnosis import evidence, thresholds, verdicts
from nim_env.evaluation.diagnosis.alternatives import diagnosis_under_other_assumptions
from nim_env.evaluation.diagnosis.assumptions import Assumptions
from nim_env.evaluation.diagnosis.case import Case
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.inference import contradiction, reward_size
from nim_env.evaluation.diagnosis.learner import Learner, checked_values, first_undefined, judged_pairs
from nim_env.evaluation.diagnosis.symptoms import first_symptom
from nim_env.policies import PolicyLike
from nim_env.rules import NimRules


def diagnose(
    rules: NimRules,
    q_values: ArrayLike,
    opponent: PolicyLike | None = None,
    *,
    discount: float = 1.0,
    earlier: ArrayLike | None = None,
    rewards: tuple[float, float] | None = None,
    initial: float | None = None,
    on_policy: bool | None = None,
    behavior_policy: PolicyLike | None = None,
) -> Diagnosis:
    """Finds out whether a player's values satisfy Bellman's equation, or the equation of a known bug.

    A bug is named only if no correct learner can have the values. For example, this diagnoses a table that was
    learned against random play with a discount of 0.9::

        diagnosis = evaluation.diagnose(rules, table, opponent="random", discount=0.9)
        print(diagnosis.verdict)

    Anything that you do not pass about the training is inferred from the values if possible. If a verdict depends
    on something that the values do not show, it says which argument to pass.

    The values of a network can start anywhere, so no initial value helps to judge them. A network is recognized by
    its entries for illegal actions, which are not all equal. Games of more than 50,000 positions are judged by the
    positions with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, with the row
            of a position at its index; or the value of each position for the player to move, shape
            ``(n_positions,)``. If there is an opponent, the learner is the player to move in every position.
        opponent: The policy that the player learned against. ``None`` if it played both sides, in self-play.
        discount: The discount of the training, from 0 to 1. It applies to each move, or to each own turn if the
            learner only sees its own turns.
        earlier: The values of the same training at an earlier time, in one of the two shapes. A value shows
            a bug if it was off its target at both times and has not moved, although another value of its position
            has.
        rewards: The rewards of a win and of a loss. ``None`` to infer them.
        initial: The value of a pair of position and action that was never updated. ``None`` to infer it.
        on_policy: True if the targets follow the learner's own moves, as in SARSA, expected SARSA and Monte Carlo.
            False for Q-learning. ``None`` to infer it.
        behavior_policy: The policy with which an on-policy learner made its moves in training: for a critic, the
            actor to which its values belong. If you pass it, you need not pass ``on_policy``. ``None`` if it is
            not known; ε-greedy play is then fitted to the values of an on-policy learner.

    Returns:
        The diagnosis. Its ``findings`` are names from the table of findings in docs/api/nim_env.evaluation.md.

    Raises:
        ValueError: If ``q_values`` or ``earlier`` has another shape, if ``discount`` is not from 0 to 1, if
            ``rewards`` or ``initial`` is not finite, if a win is not worth more than a loss, if ``on_policy`` is
            not a bool or ``None``, or if it is False although there is a ``behavior_policy``.
    """
    _check_training(discount, rewards, initial)
    is_on_policy = _checked_on_policy(on_policy, behavior_policy)
    values_before = None if earlier is None else checked_values(rules, "earlier", earlier)
    values = checked_values(rules, "q_values", q_values)
    if undefined := first_undefined(rules, values):
        return verdicts.not_finite(undefined)
    pairs = judged_pairs(rules)
    learner = Learner(
        pairs,
        values[pairs.indices],
        discount,
        earlier=None if values_before is None else values_before[pairs.indices],
        opponent=None if opponent is None else pairs.probabilities(opponent),
        behavior=None if behavior_policy is None else pairs.probabilities(behavior_policy),
    )
    win, loss = (1.0, -1.0) if rewards is None else rewards
    first_value = learner.initial if initial is None or not learner.has_action_values else float(initial)
    assumptions = Assumptions(float(win), float(loss), first_value, bool(is_on_policy))
    if found := contradiction(learner, assumptions):
        return found
    if rewards is None:
        size = reward_size(learner)
        assumptions = assumptions._replace(win=size, loss=-size)
    passed = {"rewards": rewards, "initial": initial, "on_policy": is_on_policy}
    return _decide(Case(learner, assumptions), {name for name, value in passed.items() if value is None})


def _decide(case: Case, not_passed: set[str]) -> Diagnosis:
    """Decides whether the values show a correct learner under the first assumptions or under others, or a bug.

    The steps are made in order, and the first that finds something ends the diagnosis. ``not_passed`` are the
    arguments of :func:`diagnose` that the user did not pass. Only these are varied for the other assumptions.
    """
    if early := _untrained(case) or _only_sorted(case):
        return early
    suspected = first_symptom(case)
    if suspected is None:
        if correct := _settled(case) or _plays_perfectly(case):
            return correct
    elif suspected.result == "undecided":
        return suspected
    return diagnosis_under_other_assumptions(case, not_passed, suspected) or suspected or _train_longer(case)


def _untrained(case: Case) -> Diagnosis | None:
    """Checks whether all values are still the initial one, perhaps because a bug keeps them there."""
    if case.is_trained.any():
        return None
    stays = [bug for bug in case.bugs if np.all(bug.target.mean == case.scaled.initial)]
    return verdicts.untrained(evidence.nearest_bug(case, stays))


def _only_sorted(case: Case) -> Diagnosis | None:
    """Checks whether only positions with sorted heaps have values, although the board has many others."""
    learner, pairs = case.learner, case.pairs
    if not learner.has_action_values:
        return None
    is_trained = ((learner.given != (learner.initial or 0)) & pairs.legal).any(axis=1)
    steps = np.diff(pairs.positions, axis=1)
    for is_unsorted in ((steps < 0).any(axis=1), (steps > 0).any(axis=1)):  # not ascending, not descending
        is_enough = min(is_unsorted.sum(), is_trained.sum()) >= thresholds.MIN_COUNT
        if is_enough and not is_trained[is_unsorted].any():
            return verdicts.sorted_only()
    return None


def _settled(case: Case) -> Diagnosis | None:
    """Returns the diagnosis that the values satisfy Bellman's equation, or ``None`` if they do not."""
    if not evidence.satisfies_bellman(case):
        return None
    explores_always = False
    if case.learner.is_self_play and case.exploration == 1:
        by_move, by_turn = (evidence.share_explained(case, [target]) for target in case.targets)
        explores_always = by_turn > by_move
    return verdicts.settled(_share_settled(case), case.assumptions.unit, explores_always)


def _plays_perfectly(case: Case) -> Diagnosis | None:
    """Returns the diagnosis that every move is right, or ``None`` if one is wrong.

    The player is assumed to make the move with the largest value, and the first of them if there are several.
    """
    pairs = case.pairs
    can_win = pairs.sums(pairs.wins)[pairs.row] > 0
    best = np.flatnonzero(case.is_greedy)
    played = best[np.unique(pairs.row[best], return_index=True)[1]]
    if (can_win & ~pairs.wins)[played].any():
        return None
    return verdicts.perfect_play(_share_settled(case), evidence.likely_bug(case))


def _train_longer(case: Case) -> Diagnosis:
    """Returns the diagnosis that the values show no bug but have not settled yet."""
    never = ""
    if not case.learner.is_self_play:
        never = "win" if case.values.max() <= 0 else "loss" if case.values.min() >= 0 else ""
    is_end_learned = bool(np.abs(case.last_moves - case.bellman.last_mover).min() <= thresholds.NEAR)
    return verdicts.train_longer(_share_settled(case), never, is_end_learned, evidence.likely_bug(case))


def _share_settled(case: Case) -> float:
    """Returns the fraction of the trained values that Bellman's equation explains."""
    return evidence.share_explained(case, case.targets)


def _check_training(discount: float, rewards: tuple[float, float] | None, initial: float | None) -> None:
    """Raises ValueError if the discount, the rewards or the initial value are impossible."""
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be between 0 and 1; got {discount!r}")
    if rewards is not None and not (np.isfinite(rewards).all() and rewards[0] > rewards[1]):
        raise ValueError(f"rewards must be two finite numbers, first the larger one for a win; got {rewards!r}")
    if initial is not None and not np.isfinite(initial):
        raise ValueError(f"initial must be a finite number; got {initial!r}")


def _checked_on_policy(on_policy: bool | None, behavior_policy: PolicyLike | None) -> bool | None:
    """Returns whether the learner is on-policy, or ``None`` if the user did not say.

    It is on-policy if its behavior policy was given.
    """
    if not (on_policy is None or isinstance(on_policy, bool | np.bool_)):
        raise ValueError(f"on_policy must be a bool or None; pass a policy as behavior_policy; got {on_policy!r}")
    if behavior_policy is None:
        return on_policy
    if on_policy is not None and not on_policy:
        raise ValueError("on_policy must be True or None if there is a behavior_policy; got False")
    return True
