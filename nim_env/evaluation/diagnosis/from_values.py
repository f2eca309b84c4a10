"""The diagnosis of a player from its values: the arguments, and the first reading of the learner."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Case
from nim_env.evaluation.diagnosis.decision import decide
from nim_env.evaluation.diagnosis.learner import Floats, Learner, Reading
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.policies import PolicyLike
from nim_env.rules import NimRules, heap_name


def diagnose(
    rules: NimRules,
    q_values: ArrayLike,
    opponent: PolicyLike | None = None,
    discount: float = 1.0,
    earlier: ArrayLike | None = None,
    rewards: tuple[float, float] | None = None,
    initial: float | None = None,
    on_policy: bool | PolicyLike | None = None,
) -> Diagnosis:
    """Finds out whether a player's values satisfy Bellman's equation, or what a known bug makes of it.

    A bug is named only if no correct learner can have the values. For example, this diagnoses a table that was
    learned against random play with a discount of 0.9::

        diagnosis = evaluation.diagnose(rules, table, opponent="random", discount=0.9)
        print(diagnosis.verdict)

    Anything that you do not pass about the training is inferred from the values if possible. If a verdict depends
    on something that they do not show, it says which argument decides.

    The values of a network can start anywhere, so no initial value helps to judge them. A network is recognized by
    its entries for illegal actions, which are not all equal. Games of more than 50,000 positions are judged by the
    positions with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, with the row
            of a position at its index; or the value of each position for the player to move, shape
            ``(n_positions,)``. If there is an opponent, the learner is the player to move in every position.
        opponent: The policy that the player learned against. None for self-play, in which it played both sides.
        discount: The discount of the training, from 0 to 1. It applies to each move, or to each own turn if the
            learner only sees its own turns.
        earlier: The values of the same training at an earlier time, in one of the two shapes. A value shows
            a bug if it was off its target at both times and has not moved, although another value of its position
            has.
        rewards: The rewards of a win and of a loss. None to infer them.
        initial: The value of a pair of position and action that was never updated. None to infer it.
        on_policy: True if the targets follow the learner's own moves, as in SARSA, expected SARSA and Monte Carlo.
            False for Q-learning. For a critic, the policy to which its values belong. None to infer it.

    Returns:
        The diagnosis. Its ``findings`` are names from the table of findings in docs/api/nim_env.evaluation.md.

    Raises:
        ValueError: If ``q_values`` or ``earlier`` has another shape, if ``discount`` is not from 0 to 1, if
            ``rewards`` or ``initial`` is not finite, or if a win is not worth more than a loss.
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be between 0 and 1; got {discount!r}")
    win, loss = (1.0, -1.0) if rewards is None else rewards
    if not (np.isfinite((win, loss)).all() and win > loss):
        raise ValueError(f"rewards must be two finite numbers, first the larger one for a win; got {rewards!r}")
    if initial is not None and not np.isfinite(initial):
        raise ValueError(f"initial must be a finite number; got {initial!r}")
    before = None if earlier is None else _checked_values(rules, "earlier", earlier)
    given = _checked_values(rules, "q_values", q_values)
    if place := _first_undefined(rules, given):
        return verdicts.bug(f"{place} is not finite", findings.NOT_FINITE, place="in the values")
    learner = Learner(rules, given, opponent, discount)
    first_value = learner.initial if initial is None or not learner.has_action_values else float(initial)
    if first_value is not None and learner.initial not in (None, 0, first_value):
        text = f"the entries for illegal actions hold {learner.initial:g}, not the initial value {first_value:g}"
        return verdicts.undecided(text, findings.OTHER_INITIAL)
    reading = Reading(float(win), float(loss), first_value, on_policy or False)
    if future := _future_at_end(learner, reading):
        text = f"a finished game has a future of {future:.3g} instead of 0"
        return verdicts.bug(text, findings.FUTURE_AT_END)
    if rewards is None:
        scale = _reward_scale(learner)
        reading = reading._replace(win=scale, loss=-scale)
    told = {"rewards": rewards, "initial": initial, "on_policy": on_policy}
    return decide(Case(learner, reading, before), {name for name, value in told.items() if value is None})


def _checked_values(rules: NimRules, name: str, given: ArrayLike) -> Floats:
    """A copy of values in one of the two shapes, with 0 for the empty position."""
    array = np.array(given, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if array.shape not in shapes:
        raise ValueError(f"{name} must have the shape {shapes[0]} or {shapes[1]}; got {array.shape}")
    array[0] = 0
    return array


def _first_undefined(rules: NimRules, given: Floats) -> str:
    """The first value that is not finite, in words. Empty if all values of legal actions are finite."""
    heaps = rules.all_positions()
    is_wrong = ~np.isfinite(given)
    if given.ndim == 2:
        is_wrong &= rules.action_mask(heaps) > 0
    if not is_wrong.any():
        return ""
    row, *action = min(np.argwhere(is_wrong).tolist(), key=lambda entry: heaps[entry[0]].sum())
    place = f"the value at {'-'.join(map(str, heaps[row]))}"
    if action:
        heap, count = rules.moves[action[0]]
        place += f", take {count} from {heap_name(heap)},"
    return f"{place} is {given[(row, *action)]}"


def _future_at_end(learner: Learner, reading: Reading) -> float:
    """The future that a learner adds to the last reward, if it is far larger than the rewards; otherwise 0."""
    last = learner.last_moves
    typical = float(np.median(last))
    last_mover, _ = reading.last_rewards(learner.rules)
    future = typical - last_mover
    agrees = (np.abs(last - typical) <= thresholds.SAME_REWARD * abs(future)).all()
    is_far_larger = abs(future) >= thresholds.FAR_LARGER * max(abs(reading.win), abs(reading.loss))
    if reading.initial is None or not (agrees and is_far_larger):
        return 0.0
    shifted = Case(learner, reading._replace(win=reading.win + future, loss=reading.loss + future))
    return future if evidence.explained(shifted, shifted.targets) >= thresholds.MIN_EXPLAINED else 0.0


def _reward_scale(learner: Learner) -> float:
    """The size of the rewards, if all last moves that were learned agree on one other than 1; otherwise 1."""
    last = np.abs(learner.last_moves[learner.last_moves != (learner.initial or 0)])
    if len(last) < thresholds.MIN_COUNT:
        return 1.0
    scale = float(np.median(last))
    agrees = (np.abs(last - scale) <= thresholds.SAME_REWARD * scale).all()
    largest = np.abs(learner.action_values(Reading())[learner.legal]).max()
    is_largest = largest <= thresholds.MAX_VALUE * scale  # otherwise a small one is on its way from 0
    is_other = scale > 1 + thresholds.NEAR or (0 < scale < 1 - thresholds.NEAR and is_largest)
    return scale if agrees and is_other else 1.0
