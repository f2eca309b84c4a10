"""The diagnosis of a learner: do its values satisfy Bellman's equation, or the equation of a known bug?

A learner moves each value toward a target that follows from its values of the next positions. So each value tests
the equation of its learner, whether or not the value itself is right yet. The proofs are in
docs/how_the_diagnosis_works.md.

The steps of :func:`diagnose`, in ``decision``:

1. Collect what the user passed: the values and facts about the training (``inputs``).
2. Assume what the values do not show: the rewards, the initial value and the kind of target. Under these
   assumptions, Bellman's equation and the equation of each known bug (``equations``) give a target to each value
   (``learner``).
3. Run one test after another, each for one symptom of a bug (``symptoms``). The tests measure how well the values
   agree with the targets, and which bugs they prove (``evidence``).
4. If no test finds anything, and nearly all values have reached their targets or every move is right, there is no
   bug. Otherwise try the other assumptions that the user has not excluded (``alternatives``). If a correct learner
   can have the values under one of them, the diagnosis is undecided, and says what would decide. If not, it is the
   bug, or the advice to train longer.

``findings`` names everything that can be found and puts it into words, and ``thresholds`` has the numbers with
which the diagnosis decides.

:func:`diagnose_moves`, in ``moves``, judges a player that has no values. The package imports the game and the
policies, and nothing else of the evaluation.
"""

from nim_env.evaluation.diagnosis.decision import diagnose
from nim_env.evaluation.diagnosis.findings import Diagnosis, Witness, distinct_findings
from nim_env.evaluation.diagnosis.moves import diagnose_moves

__all__ = ["Diagnosis", "Witness", "diagnose", "diagnose_moves", "distinct_findings"]
