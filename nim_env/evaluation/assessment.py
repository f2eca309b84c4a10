"""The assessment of a trained player, by its moves and by its values."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from nim_env.evaluation.accuracy import Mastery, mastery, mistake_sentences
from nim_env.evaluation.diagnosis import Diagnosis, diagnose, diagnose_moves, findings, verdicts
from nim_env.policies import TabularPolicy
from nim_env.rules import NimRules


class Assessment(NamedTuple):
    """What a player's moves and values show.

    Attributes:
        mastery: How well it plays. Illegal moves lose.
        mistakes: Its five mistakes with the fewest objects, in words.
        diagnosis: What its values show about its training, or its moves if it has no values.
    """

    mastery: Mastery
    mistakes: list[str]
    diagnosis: Diagnosis


def assess(
    rules: NimRules, policy: TabularPolicy, values: ArrayLike | None, *, is_mask_required: bool, **told: Any
) -> Assessment:
    """Assesses a trained player.

    Args:
        rules: The game.
        policy: The player's moves.
        values: Its values, as :func:`diagnose` takes them. None if it has none.
        is_mask_required: Whether the values of a player that plays illegal actions do not count. The diagnosis is
            then the missing mask.
        **told: The other arguments of :func:`diagnose`.

    Returns:
        The assessment. Its verdict is never "train longer" if the player makes no mistake.
    """
    found = mastery(rules, policy, illegal_action="lose")
    diagnosis = diagnose_moves(rules, policy)
    if values is not None and not (is_mask_required and findings.NO_MASK in diagnosis.findings):
        diagnosis = diagnose(rules, values, **told)
    if findings.TRAIN_LONGER in diagnosis.findings and not len(found.mistake_indices):
        text = "every move is right, although not all values have settled"
        diagnosis = verdicts.no_bug(text, findings.PERFECT_PLAY)
    return Assessment(found, mistake_sentences(rules, policy, illegal_action="lose"), diagnosis)
