"""What the command says about a player: the entries of its report, and of the file that ``--json`` writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FailedEntry:
    """The entry of a player that could not be judged.

    Attributes:
        player: The player, as the command line names it.
        error: What went wrong.
    """

    player: str
    error: str

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes by name."""
        return dict(vars(self))


@dataclass(frozen=True)
class Entry:
    """The entry of a player that was judged.

    Attributes:
        player: The player, as the command line names it.
        game: The game in words.
        figures: The exact metrics by name, as :meth:`nim_env.evaluation.Report.to_dict` returns them.
        share: Expert mastery on a scale on which random play has 0 and perfect play has 1.
        won_positions: The number of winning positions.
        mistakes: The number of winning positions in which the player can play a losing move.
        first_mistakes: The five mistakes with the fewest objects, in words.
        remarks: Sentences about the player's values and answers.
        result: What the verdict says: ``"no bug found"``, ``"bug"`` or ``"undecided"``.
        bugs_in: The names of what the bugs were found in. Empty if there are none.
        findings: The findings of the diagnosis, as :class:`nim_env.evaluation.Diagnosis` names them.
        verdict: What was found, in words.
    """

    player: str
    game: str
    figures: dict[str, float | bool]
    share: float
    won_positions: int
    mistakes: int
    first_mistakes: list[str]
    remarks: list[str]
    result: str
    bugs_in: list[str]
    findings: tuple[str, ...]
    verdict: str

    def to_json(self) -> dict[str, Any]:
        """Returns the attributes by name, with the figures among them, and ``error``, which is ``None``."""
        attributes = dict(vars(self))
        player, game, figures = (attributes.pop(name) for name in ("player", "game", "figures"))
        return {"player": player, "error": None, "game": game, **figures, **attributes}
