"""What the values themselves show about the training: the rewards and the initial value.

This comes before the values are judged. If they rule out what is assumed, the diagnosis ends here.
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
    """Looks for an initial value other than the assumed one in the entries for illegal actions.

    No update changes these entries. If they are 0, they show nothing.
    """
    found, assumed = learner.initial, assumptions.initial
    if assumed is None or found is None or found in (0, assumed):
        return None
    return verdicts.other_initial(found, assumed)


def _future_at_end(learner: Learner, assumptions: Assumptions) -> Diagnosis | None:
    """Checks whether the learner adds a huge future return to the reward of last moves, which end the game."""
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
    """Infers the size of the rewards from the values of last moves.

    Last moves that still have the initial value are left out. The result is 1 if the others do not agree.
    """
    last = np.abs(learner.last_moves[learner.last_moves != (learner.initial or 0)])
    if len(last) < thresholds.MIN_COUNT:
        return 1.0
    size = float(np.median(last))
    agrees = (np.abs(last - size) <= thresholds.SAME_REWARD * size).all()
    # if other values are larger than those of last moves, the last moves are still on their way from 0
    is_largest = learner.largest_value(Assumptions()) <= thresholds.MAX_VALUE * size
    is_other = size > 1 + thresholds.NEAR or (0 < size < 1 - thresholds.NEAR and is_largest)
    return size if agrees and is_other else 1.0
