"""Evaluation of any policy: exact by sweeps over all positions, or estimated from samples on large boards.

The package has mastery, win probabilities and exploitability, the report with all of these metrics, matches,
learning curves, and the diagnosis of a learner's values. It imports the game and the policies. The command
``python -m nim_env check``, :mod:`nim_env.testing`, the map of positions and the modules for other libraries
import it; the environments do not.
"""

from nim_env.evaluation.diagnosis import Diagnosis, answers, diagnose, diagnose_moves
from nim_env.evaluation.evidence import Witness
from nim_env.evaluation.exact import (
    Mastery,
    ValueAccuracy,
    ValueFunction,
    exploitability,
    mastery,
    mistake_sentences,
    mixed_exploitability,
    payoff_matrix,
    value_accuracy,
    win_probabilities,
    win_probability,
)
from nim_env.evaluation.matches import (
    MatchResult,
    SampledMastery,
    play_match,
    sample_positions,
    sampled_mastery,
)
from nim_env.evaluation.reports import LearningCurve, PositionGroup, Report, report

__all__ = [
    "Diagnosis",
    "LearningCurve",
    "Mastery",
    "MatchResult",
    "PositionGroup",
    "Report",
    "SampledMastery",
    "ValueAccuracy",
    "ValueFunction",
    "Witness",
    "answers",
    "diagnose",
    "diagnose_moves",
    "exploitability",
    "mastery",
    "mistake_sentences",
    "mixed_exploitability",
    "payoff_matrix",
    "play_match",
    "report",
    "sample_positions",
    "sampled_mastery",
    "value_accuracy",
    "win_probabilities",
    "win_probability",
]
