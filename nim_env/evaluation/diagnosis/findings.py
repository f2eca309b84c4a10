"""What a diagnosis can find, and how it is put into words.

The constants are the names of the findings. Users' programs compare and store these names, so they must stay as
they are. ``KNOWN_BUGS`` describes the known bugs, each of which changes one part of Bellman's equation. The
functions build diagnoses and their verdicts, which describe known bugs in these words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from nim_env.rules import heap_name, position_name

BELLMAN = "Bellman's equation"
"""The values satisfy the equation of a correct learner."""

OTHER_SCALE = "rewards of a scale other than 1"
"""The values satisfy the equation of a correct learner whose rewards for a win and a loss are not 1 and -1."""

PERFECT_PLAY = "perfect play"
"""The player makes every move right. Its values, if it has any, have not all settled."""

TRAIN_LONGER = "train longer"
"""The player makes mistakes, but nothing shows a bug."""

UNTRAINED = "untrained"
"""All values are still the initial one."""

SORTED_ONLY = "sorted positions"
"""Only the positions with sorted heaps have values."""

OTHER_INITIAL = "another initial value"
"""The entries for illegal actions hold another value than the initial one that was passed."""

OTHER_DISCOUNT = "another discount"
"""The values satisfy Bellman's equation with another discount, which is in the ``discount`` of the diagnosis."""

NOT_FINITE = "values that are not finite"
"""The value of a legal action is infinite or undefined."""

FUTURE_AT_END = "future of a finished game"
"""The learner adds a large future return to the last reward, although the game is over."""

OUT_OF_RANGE = "values out of range"
"""Some values are larger than every return."""

MIXED_SIGNS = "last moves of both signs"
"""Last moves have values of both signs although they all have the same reward, or values have both signs although
one of the rewards is 0. The rewards are always from the same player's point of view."""

OTHER_REWARD = "last moves of another reward"
"""Last moves have a reward of 0, but their values have moved away from it."""

OLD_VALUE_IGNORED = "old value ignored"
"""The update never finds the old value, so each value is a fixed fraction of its last target."""

UNKNOWN_BUG = "a bug in no list"
"""No correct learner can have the values, but they do not prove any known bug."""

NO_MASK = "no mask at prediction"
"""The player can play illegal actions."""

OPPONENTS_REWARD = "opponent's reward"
NO_MINUS_SIGN = "no minus sign"
NO_FUTURE = "no future"
MAXIMUM_FROM_0 = "maximum that starts from 0"
MAXIMUM_OVER_ILLEGAL = "maximum over illegal actions"
MINIMUM = "minimum instead of the maximum"
MEAN = "mean instead of the maximum"
LAST_MOVER_DROPPED = "last mover's reward dropped"
OTHER_PLAYER_DROPPED = "other player's reward dropped"

KNOWN_BUGS = {
    OPPONENTS_REWARD: "the learner gets the opponent's reward, or follows the rules of the other variant",
    NO_MINUS_SIGN: "a minus sign is missing before the next value, or the bootstrap comes one ply too late",
    NO_FUTURE: "the next values are left out: the bootstrap is always 0",
    MAXIMUM_FROM_0: "the maximum starts from 0, or a stale mask lets it run over illegal actions",
    MAXIMUM_OVER_ILLEGAL: "the maximum runs over illegal actions",
    MINIMUM: "the minimum of the next values instead of the maximum, or a bootstrap one ply too late",
    MEAN: "the mean of the next values instead of the maximum",
    LAST_MOVER_DROPPED: "the reward of the player who takes the last object is dropped",
    OTHER_PLAYER_DROPPED: "the reward of the player who does not take the last object is dropped",
}
"""The description of each known bug by its name. It includes other bugs that lead to the same values."""


def distinct_findings(findings: Sequence[str]) -> list[str]:
    """Leaves out one of two findings that describe the same bug in a table.

    In a table the values of illegal actions stay 0. So a maximum over illegal actions is left out if a maximum
    that starts from 0 is also among the findings.
    """
    is_covered = MAXIMUM_FROM_0 in findings
    return [name for name in findings if not (is_covered and name == MAXIMUM_OVER_ILLEGAL)]


def move_in_words(heaps: Iterable[int], move: tuple[int, int]) -> str:
    """Describes a move in a position, such as "at 0-0-2, take 1 from C".

    Args:
        heaps: The heap sizes of the position.
        move: The heap and the number of objects to take from it.

    Returns:
        The description, a part of a sentence.
    """
    heap, count = move
    return f"at {position_name(heaps)}, take {count} from {heap_name(heap)}"


class Witness(NamedTuple):
    """An example of a wrong value: the player's own values of the next positions do not explain it.

    Attributes:
        heaps: The heap sizes of the position.
        move: The heap and the number of objects that are taken from it.
        value: The value of the move.
        target: The value that follows from Bellman's equation and the player's values of the next positions.
    """

    heaps: tuple[int, ...]
    move: tuple[int, int]
    value: float
    target: float

    def __str__(self) -> str:
        place = move_in_words(self.heaps, self.move)
        return f"{place} is worth {self.value:.2f}; the next values make it {self.target:.2f}"


@dataclass(frozen=True)
class Diagnosis:
    """What the values or the moves of a player show about its training.

    Attributes:
        result: ``"no bug found"``, ``"bug"`` or ``"undecided"``.
        verdict: The result and what to do next, in a few sentences.
        findings: The names of what was found. There are several names if several bugs can lead to the values.
        witness: The clearest example of a wrong value. ``None`` if there is no example, or if the moves were
            diagnosed and not the values.
        discount: The discount with which the values satisfy Bellman's equation, if they do so with another
            discount than the user passed. The verdict says whether it applies once for each move or once for each
            own turn. ``None`` in all other diagnoses.
    """

    result: Literal["no bug found", "bug", "undecided"]
    verdict: str
    findings: tuple[str, ...]
    witness: Witness | None = None
    discount: float | None = None


# How each of the three results is put into words


def no_bug(text: str, finding: str) -> Diagnosis:
    """Makes a diagnosis with the result "no bug found" and one finding.

    ``text`` is a sentence that says why, without a full stop.
    """
    return Diagnosis("no bug found", f"No bug found. {text[0].upper()}{text[1:]}.", (finding,))


def bug(text: str, *names: str, place: str = "", witness: Witness | None = None) -> Diagnosis:
    """Makes a diagnosis with the result "bug".

    Args:
        text: The description of the bug, without a full stop.
        *names: The names of the findings.
        place: Where in the user's program the bug is, such as "in the update". Empty if this is not known.
        witness: The example of a wrong value, which the verdict quotes.

    Returns:
        The diagnosis.
    """
    title = f"Bug {place}" if place else "Bug"
    example = f" Look at its update: {witness}." if witness else ""
    return Diagnosis("bug", f"{title}: {text}.{example}", names, witness)


def known_bugs(names: Sequence[str], witness: Witness | None = None) -> Diagnosis:
    """Makes the diagnosis of one known bug, or of several if the values do not show which of them it is."""
    return bug(known_bugs_in_words(names), *names, witness=witness)


def known_bugs_in_words(names: Sequence[str]) -> str:
    """Describes known bugs for a verdict, joined by "or".

    If two bugs are the same in a table, only one of them is described.
    """
    return "; or ".join(KNOWN_BUGS[name] for name in distinct_findings(names))


def undecided(
    text: str, *names: str, discount: float | None = None, otherwise: Diagnosis | None = None
) -> Diagnosis:
    """Makes a diagnosis with the result "undecided".

    Args:
        text: What may be the case, and what the user can do to decide it, without a full stop.
        *names: The names of the findings.
        discount: The discount with which the values satisfy Bellman's equation, if the user passed another one.
        otherwise: The diagnosis that holds if ``text`` does not apply to the user's program. The verdict quotes it
            after the word "Otherwise", and its findings are added. ``None`` if there is no such diagnosis.

    Returns:
        The diagnosis.
    """
    if otherwise is not None:
        second = otherwise.verdict[0].lower() + otherwise.verdict[1:].removesuffix(".")
        text = f"{text}. Otherwise: {second}"
        names += otherwise.findings
    return Diagnosis("undecided", f"Undecided: {text}.", names, discount=discount)
