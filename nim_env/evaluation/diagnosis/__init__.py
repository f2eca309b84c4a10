"""The diagnosis of a learner: do its values satisfy Bellman's equation, or the equation of a known bug?

A learner moves each value toward a target that follows from its values of the next positions. So each value tests
the equation of its learner, whether or not the value itself is right yet. The proofs are in
docs/how_the_diagnosis_works.md.

:func:`diagnose`, in ``decision``, arranges what was given (``learner``). Values do not say how they were made,
so something is assumed: the rewards, the initial value and the kind of target (``assumptions``). What the user did
not pass is inferred from the values (``inference``). Under these assumptions, Bellman's equation and the equation
of each known bug (``equations``) give targets for each value (``case``), which explain the values or contradict
them (``evidence``). One test after another then looks for a symptom of a bug (``symptoms``). If no test finds one,
and the values have settled or every move is right, there is no bug. Otherwise other assumptions are tried, unless
the user has excluded them (``alternatives``). If a correct learner can have the values under one of them, the
diagnosis is undecided, and says what would decide. If not, the diagnosis is the bug, or to train longer.

``findings`` names everything that can be found, ``verdicts`` has the sentences, and ``thresholds`` has the numbers
with which the diagnosis decides.

:func:`diagnose_moves`, in ``moves``, judges a player that has no values. The package imports the game and the
policies, and nothing else of the evaluation.
"""

from nim_env.evaluation.diagnosis.decision import diagnose
from nim_env.evaluation.diagnosis.findings import Diagnosis, Witness, distinct_findings
from nim_env.evaluation.diagnosis.moves import diagnose_moves

__all__ = ["Diagnosis", "Witness", "diagnose", "diagnose_moves", "distinct_findings"]
