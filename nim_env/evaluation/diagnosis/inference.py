"""What the values themselves show about the training: the rewards and the initial value.

This comes before the values are judged. Assumptions that the values rule out end the diagnosis.
"""

from __future__ import annotations

import numpy as np

from nim_env.evaluation.diagnosis import evidence, thresholds, verdicts
from nim_env.evaluation.diagnosis.assumptions import Assumptions
from nim_env.evaluation.diagnosis.case import Case
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.learner import Learner


def contradiction(learner: Learner, assumptions: Assumptions) -> Diagnosis | None:
    """Returns the diagnosis if the values rule out the assumptions, and ``None`` if they allow them."""
    return _other_initial(learner, assumptions) or _future_at_end(learner, assumptions)


def _other_initial(learner: Learner, assumptions: Assumptions) -> Diagnosis | None:
    """Looks for entries for illegal actions that hold another initial value than the assumed one, and not 0."""
    found, assumed = learner.initial, assumptions.initial
    if assumed is None or found is None or found in (0, assumed):
        return None
    return verdicts.other_initial(found, assumed)


def _future_at_end(learner: Learner, assumptions: Assumptions) -> Diagnosis | None:
    """Looks for a future that is added to the last reward and is far larger than the rewards."""
    last = learner.last_moves
    typical = float(np.median(last))
    future = typical - assumptions.bellman(learner.pairs.rules).last_mover
    agrees = (np.abs(last - typical) <= thresholds.SAME_REWARD * abs(future)).all()
    is_far_larger = abs(future) >= thresholds.FAR_LARGER * assumptions.unit
    if assumptions.initial is None or not (agrees and is_far_larger):
        return None
    shifted = Case(learner, assumptions._replace(win=assumptions.win + future, loss=assumptions.loss + future))
    if evidence.share_explained(shifted, shifted.targets) < thresholds.MIN_EXPLAINED:
        return None
    return verdicts.future_at_end(future)


def reward_size(learner: Learner) -> float:
    """Returns the size of the rewards that all learned last moves agree on, or 1 if they do not."""
    last = np.abs(learner.last_moves[learner.last_moves != (learner.initial or 0)])
    if len(last) < thresholds.MIN_COUNT:
        return 1.0
    size = float(np.median(last))
    agrees = (np.abs(last - size) <= thresholds.SAME_REWARD * size).all()
    # the largest value is a reward; if others are larger, last moves of a small value are on their way from 0
    is_largest = learner.largest_value(Assumptions()) <= thresholds.MAX_VALUE * size
    is_other = size > 1 + thresholds.NEAR or (0 < size < 1 - thresholds.NEAR and is_largest)
    return size if agrees and is_other else 1.0
