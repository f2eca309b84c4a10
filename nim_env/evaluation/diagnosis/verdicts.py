"""What a diagnosis returns, and the sentences of its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nim_env.evaluation.diagnosis.findings import LISTED_BUGS, distinct_findings
from nim_env.evaluation.diagnosis.witness import Witness


@dataclass(frozen=True)
class Diagnosis:
    """What the values or the moves of a player show about its training.

    Attributes:
        result: ``"no bug found"``, ``"bug"`` or ``"undecided"``.
        verdict: The result and what to do next, in a few sentences.
        findings: The names of what was found. There are several if values cannot tell them apart.
        witness: The first value that its own next values do not explain. None if there is none, and
            in a diagnosis of moves.
        discount: The discount that the values satisfy, if it is another one than the given: per move or per own
            turn, as the verdict says. None in all other diagnoses.
    """

    result: Literal["no bug found", "bug", "undecided"]
    verdict: str
    findings: tuple[str, ...]
    witness: Witness | None = None
    discount: float | None = None


def no_bug(text: str, *findings: str) -> Diagnosis:
    """Returns the diagnosis that there is no bug; ``text`` says how this shows, without a full stop."""
    return Diagnosis("no bug found", f"No bug found. {text[0].upper()}{text[1:]}.", findings)


def undecided(text: str, *findings: str, discount: float | None = None) -> Diagnosis:
    """Returns the diagnosis that the values do not decide; ``text`` says what would, without a full stop."""
    return Diagnosis("undecided", f"Undecided: {text}.", findings, discount=discount)


def bug(text: str, *findings: str, place: str = "", witness: Witness | None = None) -> Diagnosis:
    """Returns the diagnosis of a bug; ``text`` describes it, and ``place`` says where it is ("in the update")."""
    title = f"Bug {place}" if place else "Bug"
    example = f" Look at its update: {witness}." if witness else ""
    return Diagnosis("bug", f"{title}: {text}.{example}", findings, witness)


def undecided_between(premise: str, otherwise: Diagnosis, *findings: str) -> Diagnosis:
    """Returns the diagnosis that the learner is correct under a premise, and has a bug otherwise."""
    second = otherwise.verdict[0].lower() + otherwise.verdict[1:].removesuffix(".")
    return undecided(f"{premise}. Otherwise: {second}", *findings, *otherwise.findings)


def in_words(names: Sequence[str]) -> str:
    """Describes bugs of the list that values cannot tell apart."""
    return "; or ".join(LISTED_BUGS[name] for name in distinct_findings(names))
