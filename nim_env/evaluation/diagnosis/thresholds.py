"""The numbers with which the diagnosis decides: what each decides, and why it has this size.

There are four kinds of reasons for a size: a theorem, which docs/how_the_diagnosis_works.md proves; a definition
of what a word means; an assumption about learners; and the runs of docs/experiments/diagnosis_study.md, in which
learners with and without bugs were diagnosed. Most docstrings name the kind at their end. The page about the runs
also says how many diagnoses change if some of the numbers are changed. Values are divided by the larger reward, so
a return is never larger than 1.
"""

MAX_POSITIONS = 50_000
"""The number of positions that are judged. A diagnosis of this many takes about ten seconds. Larger games are
judged by the positions with the fewest objects, whose values are learned first."""

MIN_COUNT = 3
"""Fewer values than this prove nothing. A definition."""

MAX_VALUE = 1.1
"""A larger value is out of range. By a theorem, no value is larger than the largest return, which is 1. The rest
allows for a small cost per step."""

NEAR = 0.1
"""A value that is closer to its target than this has reached it. A value outside its range by less than this may
still lie within it. A definition."""

APART = 0.2
"""Values can tell two targets apart if the targets are further from each other than this, twice ``NEAR``. A
definition."""

SAME_REWARD = 0.01
"""The values of last moves show the reward if they differ by no more than this fraction of it. Before they reach
the reward they differ by more, since they have had different numbers of updates."""

FAR_LARGER = 10_000
"""If the value of a last move is this many times larger than the rewards, the learner adds a future return to its
reward. A definition."""

NOISE = 0.5
"""The fraction of a sample's standard deviation by which a value may miss its target at the end of the training. A
learning rate of 0.4 keeps this much of the deviation: √(0.4 / 1.6)."""

MAX_IMPOSSIBLE = 0.02
"""The fraction of the trained values that an equation may be unable to produce. From the runs."""

MAX_IMPOSSIBLE_WRONG_SIGN = 5 * MAX_IMPOSSIBLE
"""The same fraction for the equation with the opponent's reward, if all last moves have the wrong sign. It is
larger, since the wrong sign is strong evidence by itself. An assumption."""

MIN_NEARER = 0.85
"""The fraction that must lie nearer to the target of a bug, among the values that can tell the bug from Bellman's
equation. From the runs."""

MIN_EXPLAINED = 0.8
"""The fraction of the trained values that an equation must explain. A definition."""

MAJORITY = 0.5
"""Most values means more than this fraction of them. A bug is likely if it explains most values, and if most lie
nearer to its target than to Bellman's. If most lie nearer to a bug, they do not satisfy Bellman's equation. A
definition."""

MIN_SURPRISAL = 8
"""Something has not happened by chance if its surprisal is larger than this. The surprisal is minus the natural
logarithm of its probability. From the runs."""

TIE_FACTOR = 1.3
"""A diagnosis names two bugs together if the distances of the values from their targets differ by a smaller factor
than this. A definition."""

SAME_DISCOUNT = 0.04
"""Two discounts are the same if they differ by less than this. A definition."""

ENDGAME_OBJECTS = 5
"""In positions with up to this many objects, a correct learner tries the best moves again and again. An
assumption."""

MIN_CHANGE = 0.02
"""A value that moved by less than this between two tables has not moved. A definition."""

LEARNED_LAST_MOVE = 0.25
"""A network has learned a last move if its value is closer to the reward than this. A definition."""

EXPLORATIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""The probabilities of a random move that are tried for a player who otherwise plays its best move (ε-greedy).
They lie closest to each other at the small ones, which most learners use. An assumption."""

ROUNDING = 1e-6
"""Numbers that differ by less are equal, since values of at most 1 in float32 are exact to 6e-8, and a target adds
up several of them."""

MAX_LOST_PROBABILITY = 1e-5
"""A player can play illegal actions if more than this is missing from the sum of the probabilities of its legal
ones. Less is rounding: the sums of 20,000 random softmax distributions over 300 actions in float32 lie within 4e-7
of 1."""

MIN_MISTAKE = 0.001
"""A move that is played less often is not a mistake: a softmax gives some probability to every move. A
definition."""
