"""The assessment of a trained player, by its moves and by its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from nim_env.evaluation.accuracy import Mastery, mastery, mistake_sentences
from nim_env.evaluation.diagnosis import Diagnosis, diagnose, diagnose_moves, findings
from nim_env.policies import PolicyLike, TabularPolicy
from nim_env.rules import NimRules


@dataclass(frozen=True)
class TrainingFacts:
    """What is known about the training of a player.

    The attributes are the arguments of :func:`nim_env.evaluation.diagnose`, which describes them.
    """

    opponent: PolicyLike | None = None
    discount: float = 1.0
    earlier: ArrayLike | None = None
    rewards: tuple[float, float] | None = None
    initial: float | None = None
    on_policy: bool | None = None
    behavior_policy: PolicyLike | None = None


class Assessment(NamedTuple):
    """What :func:`assess` found out about a trained player.

    Attributes:
        mastery: How well the player plays. An illegal action loses the game.
        mistakes: The player's five mistakes with the fewest objects, in words.
        diagnosis: What the player's values show about its training, or its moves if it has no values.
    """

    mastery: Mastery
    mistakes: list[str]
    diagnosis: Diagnosis


def assess(
    rules: NimRules,
    policy: TabularPolicy,
    values: ArrayLike | None,
    facts: TrainingFacts,
    *,
    is_mask_required: bool,
) -> Assessment:
    """Assesses a trained player by its moves, and by its values if it has any.

    Args:
        rules: The game.
        policy: The player's moves.
        values: The player's values, in a form that :func:`diagnose` takes. ``None`` if it has none.
        facts: What is known about the training.
        is_mask_required: If True, a player that can play illegal actions gets the diagnosis of a missing mask, and
            its values are not judged.

    Returns:
        The assessment. A player without a mistake is never told to train longer.
    """
    found = mastery(rules, policy, illegal_action="lose")
    diagnosis = diagnose_moves(rules, policy)
    if values is not None and not (is_mask_required and findings.NO_MASK in diagnosis.findings):
        diagnosis = diagnose(rules, values, **vars(facts))
    if findings.TRAIN_LONGER in diagnosis.findings and not len(found.mistake_indices):
        text = "every move is right, although not all values have settled"
        diagnosis = findings.no_bug(text, findings.PERFECT_PLAY)
    return Assessment(found, mistake_sentences(rules, policy, illegal_action="lose"), diagnosis)
