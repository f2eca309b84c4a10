"""The diagnosis of a learner: does it satisfy Bellman's equation, or the one that a known bug makes of it?

A learner moves each value toward a target that follows from its values of the next positions. So each value tests
the equation of its learner, whether or not the value itself is right yet. If a learner sees each move, a value
never passes its current target, at any learning rate, exploration and time: docs/test_your_agent.md has the proof
and its premises. A bug is named only under premises that were checked. If a correct learner with other rewards,
other initial values or an on-policy target can have the same values, the diagnosis is undecided and says what
would decide it.

:func:`diagnose` takes these steps, and the first one that decides ends the diagnosis. The modules in this order:

1. What was given. ``from_values`` checks the arguments. ``pairs`` arranges the positions and their legal actions,
   whose values are judged, and ``learner`` holds what was given about the learner.
2. The first reading. ``first_reading`` finds the rewards and the initial value, if they were not passed.
3. The case. ``values`` finds what the values show under a reading: which are trained, and which moves follow.
   ``equations`` has Bellman's equation and what each bug makes of it, and ``case`` computes their targets.
4. Symptoms. ``symptoms`` has a test for each symptom of a bug, and ``other_discount`` one more. The tests use
   ``evidence``, which measures how well values agree with targets, and ``known_bugs``, which finds the bugs of the
   list that the values prove.
5. The decision. ``decision`` puts the steps together. If nothing was trained, the diagnosis ends before step 4. If
   there is no symptom, and the values have settled or every move is right, no bug was found. Otherwise
   ``other_readings`` tries what the user did not exclude. If a correct learner can have the values under another
   reading, the diagnosis is undecided. If not, it is the bug of step 4, or that the learner should train longer.
6. The verdict. ``witness`` finds the value that shows a bug most clearly, and ``verdicts`` writes the sentences.

``findings`` has the names of everything that can be found, and ``thresholds`` the numbers that decide.
:func:`diagnose_moves`, in ``from_moves``, judges a player that has no values, and needs none of these steps.

The package imports the game and the policies, and nothing else of the evaluation.
"""

from nim_env.evaluation.diagnosis.findings import distinct_findings
from nim_env.evaluation.diagnosis.from_moves import diagnose_moves
from nim_env.evaluation.diagnosis.from_values import diagnose
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.evaluation.diagnosis.witness import Witness

__all__ = ["Diagnosis", "Witness", "diagnose", "diagnose_moves", "distinct_findings"]
