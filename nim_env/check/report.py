"""The report of the command ``check``: an entry for each player, and how the entries are printed."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FailedEntry:
    """The entry in the report for a player that could not be judged.

    Attributes:
        player: The player's name on the command line.
        error: What went wrong.
    """

    player: str
    error: str

    def to_json(self) -> dict[str, Any]:
        """Returns the entry as a dictionary, for the file of the option ``--json``."""
        return dict(vars(self))


@dataclass(frozen=True)
class Entry:
    """The entry in the report for a player that was judged.

    Attributes:
        player: The player's name on the command line.
        game: The game in words.
        metrics: The exact metrics by name, as :meth:`nim_env.evaluation.Report.to_dict` returns them.
        share: Expert mastery, the average probability of a winning move in winning positions, rescaled so that
            random play has 0 and perfect play has 1.
        won_positions: The number of winning positions.
        mistakes: The number of winning positions in which the player can play a losing move.
        first_mistakes: The five mistakes with the fewest objects, in words.
        remarks: Sentences about the player's values and answers.
        result: The result of the verdict: ``"no bug found"``, ``"bug"`` or ``"undecided"``.
        bugs_in: Where the bugs are, empty if there are none. It has the name of each function with a bug,
            ``"choice"`` if the player does not choose the move with its best value, and the names of the bugs that
            its values show.
        findings: The findings of the diagnosis, as :class:`nim_env.evaluation.Diagnosis` names them.
        verdict: What the examination found, in words.
    """

    player: str
    game: str
    metrics: dict[str, float | bool]
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
        """Returns the entry as a dictionary, for the file of the option ``--json``.

        Its keys are the names of the attributes, but instead of ``"metrics"`` it has a key for each metric. Like
        the dictionary of a :class:`FailedEntry`, it has a key ``"error"``, whose value is ``None`` here.
        """
        attributes = dict(vars(self))
        player, game, metrics = (attributes.pop(name) for name in ("player", "game", "metrics"))
        return {"player": player, "error": None, "game": game, **metrics, **attributes}


def full_report(entry: Entry) -> str:
    """Returns the text that the command prints for a player if no other player is judged."""
    metrics = {**entry.metrics, "share": entry.share}
    lines = [f"{entry.player} on {entry.game}"]
    lines += [f"{name:24} {number:.4f}" for name, number in metrics.items()]
    lines += [f"mistakes in {entry.mistakes} of {entry.won_positions} winning positions", *entry.first_mistakes]
    lines += [textwrap.fill(sentence, 80) for sentence in (*entry.remarks, f"verdict: {entry.verdict}")]
    return "\n".join(lines)


def summary_line(entry: Entry) -> str:
    """Returns the line that the command prints for each player if there are several players.

    The line has the player's name, expert mastery and share, then either the places of the bugs or, if there are
    none, the first sentence of the verdict, and finally the remarks.
    """
    is_bug = entry.result == "bug"
    result = f"bug: {', '.join(entry.bugs_in)}" if is_bug else entry.verdict.partition(".")[0].lower()
    sentences = " ".join([f"{result}.", *entry.remarks])
    return f"{entry.player:24} {entry.metrics['expert']:.3f} {entry.share:7.1%}  {sentences}"
