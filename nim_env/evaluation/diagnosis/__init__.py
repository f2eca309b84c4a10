"""The diagnosis of a learner: do its values satisfy Bellman's equation, or the equation of a known bug?

A learner moves each value toward a target, which it computes from its own values of the next positions. So each
value can be compared with its target at any time of the training, even if both are still far from the exact value.
The proofs are in docs/how_the_diagnosis_works.md.

The steps of :func:`diagnose`, in ``decision``:

1. Collect what the user passed: the values and facts about the training (``inputs``).
2. Assume what the user did not pass and the values do not show: the rewards, the initial value, and whether the
   learner is on-policy. Bellman's equation and the equation of each known bug (``equations``) then give a target
   to each value (``learner``).
3. Run one test after another, each for one symptom of a bug (``symptoms``). The tests measure how well the values
   agree with the targets, and which bugs they prove (``evidence``).
4. No bug is found if no test finds a symptom, and if nearly all values have reached their targets or every move is
   right. Otherwise, try other assumptions (``alternatives``). If a correct learner can have the values under one
   of them, the diagnosis is undecided and asks the user which assumption is right. If not, the diagnosis is the
   bug that a test has found, or that the learner should train longer.

``findings`` names everything that can be found and puts it into words, and ``thresholds`` has the numbers with
which the diagnosis decides.

:func:`diagnose_moves`, in ``moves``, judges a player that has no values. The package imports the game and the
policies, and nothing else of the evaluation.
"""

from nim_env.evaluation.diagnosis.decision import diagnose
from nim_env.evaluation.diagnosis.findings import Diagnosis, Witness, distinct_findings
from nim_env.evaluation.diagnosis.moves import diagnose_moves

__all__ = ["Diagnosis", "Witness", "diagnose", "diagnose_moves", "distinct_findings"]
