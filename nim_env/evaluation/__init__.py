"""Evaluation of any policy: exact by sweeps over all positions, or estimated from samples on large boards.

- ``accuracy``: how well a player moves and judges positions, compared with perfect play.
- ``outcomes``: exact win probabilities and payoffs of games between known policies.
- ``best_responses``: exploitability, of a policy and of a pool.
- ``reports``: all exact metrics of one player, also as a learning curve during training.
- ``matches``: estimates from sampled games and positions, for boards that are too large for exact evaluation.
- ``diagnosis``: what the values or the moves of a learner show about its training.
- ``assessment``: the mastery and the diagnosis of one player, for ``check`` and :mod:`nim_env.testing`.

An exact function raises ValueError if the game has too many positions, if a policy is unknown or was made for
another game, or if a policy returns anything but a legal action or a distribution over legal actions. It queries a
policy twice on each position and raises ValueError if the two answers differ: a policy that draws its moves has to
return their probabilities. A policy whose answers are known to be fixed is queried once.

The argument ``illegal_action`` says what happens if a policy can play an illegal action. With ``"raise"`` this is
an error. With ``"lose"`` an illegal action loses the game at once, and any probability that is missing from a sum
of 1 counts as an illegal action. The default ``None`` means ``"raise"``, except for a
:class:`nim_env.policies.Player`, which has a setting of its own.

The package imports the game, the solver and the policies. The command ``python -m nim_env check``,
:mod:`nim_env.testing`, the map of positions and the modules for other libraries import it; the environments do
not.
"""

from nim_env.evaluation.accuracy import (
    Mastery,
    ValueAccuracy,
    ValueFunction,
    mastery,
    mistake_sentences,
    value_accuracy,
)
from nim_env.evaluation.best_responses import exploitability, mixed_exploitability
from nim_env.evaluation.diagnosis import Diagnosis, Witness, diagnose, diagnose_moves, distinct_findings
from nim_env.evaluation.matches import (
    MatchResult,
    SampledMastery,
    play_match,
    sample_losing_positions,
    sample_winning_positions,
    sampled_mastery,
)
from nim_env.evaluation.outcomes import payoff_matrix, win_probabilities, win_probability
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
    "diagnose",
    "diagnose_moves",
    "distinct_findings",
    "exploitability",
    "mastery",
    "mistake_sentences",
    "mixed_exploitability",
    "payoff_matrix",
    "play_match",
    "report",
    "sample_losing_positions",
    "sample_winning_positions",
    "sampled_mastery",
    "value_accuracy",
    "win_probabilities",
    "win_probability",
]
