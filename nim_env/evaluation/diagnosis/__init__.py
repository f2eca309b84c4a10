"""The diagnosis of a learner: does it satisfy Bellman's equation, or the one that a known bug makes of it?

A learner moves each value toward a target that follows from its values of the next positions. So each value tests
the equation of its learner, whether or not the value itself is right yet. If a learner sees each move, a value
never passes its current target, at any learning rate, exploration and time: docs/test_your_agent.md has the proof
and its premises. A bug is named only under premises that were checked. If a correct learner with other rewards,
other initial values or an on-policy target can have the same values, the diagnosis is undecided and says what
would decide it.

:func:`diagnose` goes through these steps, and the first one that decides ends the diagnosis:

1. ``from_values`` checks the arguments, and ``learner`` finds out what the values show about the training. This
   gives the first reading: the rewards, the initial value, and whether the learner is on-policy. Values that are
   not finite, or that no reading explains, end the diagnosis here.
2. ``decision`` gets the learner and its reading as a case. ``values`` arranges the values, ``equations`` has
   Bellman's equation and what each bug makes of it, and ``case`` computes the targets of all these equations. If
   nothing was trained, or only sorted positions were, the diagnosis ends.
3. ``symptoms`` has one test for each symptom of a bug. The tests use ``evidence``, which measures how well values
   agree with targets, and ``known_bugs``, which finds the bugs of the list that the values prove.
4. If there is no symptom, and the values have settled or every move is right, no bug was found.
5. ``other_readings`` tries the readings that the user did not exclude. If a correct learner can have the values
   under one of them, the diagnosis is undecided.
6. Otherwise the diagnosis is the bug of step 3, or that the learner should train longer.

``verdicts`` puts the result into sentences, and ``witness`` finds the value that shows a bug most clearly.
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
