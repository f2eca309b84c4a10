"""The first reading of a learner: what the user said about its training, and what its values show of the rest."""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import case_of
from nim_env.evaluation.diagnosis.learner import Learner, Reading
from nim_env.evaluation.diagnosis.verdicts import Diagnosis


def first_reading(
    learner: Learner, rewards: tuple[float, float] | None, initial: float | None, on_policy: bool
) -> Reading | Diagnosis:
    """Finds the rewards and the initial value of a learner, if the user did not pass them.

    Args:
        learner: The learner.
        rewards: The rewards of a win and of a loss. None to find them.
        initial: The initial value. None to find it. Values of positions and networks have none.
        on_policy: Whether the targets follow the learner's own moves.

    Returns:
        The reading; or the diagnosis, if the values contradict the initial value that was passed, or if no reading
        explains the values of last moves.
    """
    found = learner.initial
    first_value = found if initial is None or not learner.has_action_values else float(initial)
    if first_value is not None and found not in (None, 0, first_value):
        text = f"the entries for illegal actions hold {found:g}, not the initial value {first_value:g}"
        return verdicts.undecided(text, findings.OTHER_INITIAL)
    win, loss = (1.0, -1.0) if rewards is None else rewards
    reading = Reading(float(win), float(loss), first_value, on_policy)
    if future := _future_at_end(learner, reading):
        text = f"a finished game has a future of {future:.3g} instead of 0"
        return verdicts.bug(text, findings.FUTURE_AT_END)
    if rewards is None:
        scale = _reward_scale(learner)
        reading = reading._replace(win=scale, loss=-scale)
    return reading


def _future_at_end(learner: Learner, reading: Reading) -> float:
    """The future that a learner adds to the last reward, if it is far larger than the rewards; otherwise 0."""
    last = learner.last_moves
    typical = float(np.median(last))
    future = typical - reading.bellman(learner.pairs.rules).last_mover
    agrees = (np.abs(last - typical) <= thresholds.SAME_REWARD * abs(future)).all()
    is_far_larger = abs(future) >= thresholds.FAR_LARGER * reading.unit
    if reading.initial is None or not (agrees and is_far_larger):
        return 0.0
    shifted = case_of(learner, reading._replace(win=reading.win + future, loss=reading.loss + future))
    is_explained = evidence.share_explained(shifted, shifted.targets) >= thresholds.MIN_EXPLAINED
    return future if is_explained else 0.0


def _reward_scale(learner: Learner) -> float:
    """The size of the rewards, if all last moves that were learned agree on one other than 1; otherwise 1."""
    last = np.abs(learner.last_moves[learner.last_moves != (learner.initial or 0)])
    if len(last) < thresholds.MIN_COUNT:
        return 1.0
    scale = float(np.median(last))
    agrees = (np.abs(last - scale) <= thresholds.SAME_REWARD * scale).all()
    # the largest value is a reward; if others are larger, last moves of a small value are on their way from 0
    is_largest = learner.largest_value(Reading()) <= thresholds.MAX_VALUE * scale
    is_other = scale > 1 + thresholds.NEAR or (0 < scale < 1 - thresholds.NEAR and is_largest)
    return scale if agrees and is_other else 1.0
