"""The decision about values: no bug found, a bug, or undecided."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nim_env.evaluation.diagnosis import evidence, findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.case import Bug, Case
from nim_env.evaluation.diagnosis.known_bugs import likely_bugs, nearest_bug
from nim_env.evaluation.diagnosis.other_readings import diagnosis_under_other_readings
from nim_env.evaluation.diagnosis.symptoms import first_symptom
from nim_env.evaluation.diagnosis.verdicts import Diagnosis


def decide(case: Case, not_told: set[str]) -> Diagnosis:
    """Decides between a correct learner under the reading of the case, one under another reading, and a bug.

    Args:
        case: The learner under the first reading.
        not_told: The arguments of :func:`diagnose` that the user did not pass. Only these have other readings.

    Returns:
        The diagnosis.
    """
    if early := _untrained(case) or _only_sorted(case):
        return early
    suspected = first_symptom(case)
    if suspected is None:
        if correct := _settled(case) or _plays_perfectly(case):
            return correct
    elif suspected.result == "undecided":
        return suspected
    return diagnosis_under_other_readings(case, not_told, suspected) or suspected or _train_longer(case)


def _untrained(case: Case) -> Diagnosis | None:
    """Values that never moved, unless a bug keeps all values where they start."""
    if case.learned.is_trained.any():
        return None
    stays = [bug for bug in case.bugs if np.all(bug.target.mean == case.scaled.initial)]
    text = "all values are still the initial one: nothing was learned"
    return _unless_bug(case, stays, verdicts.undecided, text, findings.UNTRAINED)


def _only_sorted(case: Case) -> Diagnosis | None:
    """Values of positions with sorted heaps alone, although the board has many others."""
    learner, pairs = case.learner, case.pairs
    if not learner.has_action_values:
        return None
    is_trained = ((learner.given != (learner.initial or 0)) & pairs.legal).any(axis=1)
    steps = np.diff(pairs.positions, axis=1)
    for is_unsorted in ((steps < 0).any(axis=1), (steps > 0).any(axis=1)):  # not ascending, not descending
        n_unsorted, n_trained = is_unsorted.sum(), is_trained.sum()
        if min(n_unsorted, n_trained) >= thresholds.MIN_COUNT and not is_trained[is_unsorted].any():
            text = "only positions with sorted heaps have values. Copy these values to the other positions"
            return verdicts.undecided(text, findings.SORTED_ONLY)
    return None


def _settled(case: Case) -> Diagnosis | None:
    """Values that satisfy Bellman's equation."""
    if not evidence.satisfies_bellman(case):
        return None
    text = f"{_share_settled(case)} where {findings.BELLMAN} puts them"
    if case.reading.unit != 1:
        text += f", for rewards of {case.reading.unit:.3g} instead of 1"
        return verdicts.no_bug(text, findings.OTHER_SCALE)
    if case.learner.is_self_play and case.moves.exploration == 1:
        by_move, by_turn = (evidence.share_explained(case, [target]) for target in case.targets)
        if by_turn > by_move:
            text += ", for replies drawn at random: explore less"
    return verdicts.no_bug(text, findings.BELLMAN)


def _plays_perfectly(case: Case) -> Diagnosis | None:
    """Right moves, although not all values have settled. Of several best moves the player makes the first."""
    pairs = case.pairs
    can_win = pairs.sums(pairs.wins)[pairs.row] > 0
    best = np.flatnonzero(case.learned.is_greedy)
    played = best[np.unique(pairs.row[best], return_index=True)[1]]
    if (can_win & ~pairs.wins)[played].any():
        return None
    text = f"every move is right; {_share_settled(case)} so far"
    return _unless_bug(case, likely_bugs(case), verdicts.no_bug, text, findings.PERFECT_PLAY)


def _train_longer(case: Case) -> Diagnosis:
    """Values that show no bug and have not settled yet."""
    values = case.learned.values
    text = f"train longer: {_share_settled(case)} so far"
    never = "win" if values.max() <= 0 else "loss" if values.min() >= 0 else ""
    if never and not case.learner.is_self_play:
        text = f"no {never} was ever seen. Let both sides start, and {text}"
    if np.abs(case.last_moves - case.bellman.last_mover).min() > thresholds.NEAR:
        text += ". No last move has reached its reward yet, though these values are learned first"
    return _unless_bug(case, likely_bugs(case), verdicts.undecided, text, findings.TRAIN_LONGER)


def _share_settled(case: Case) -> str:
    return f"{evidence.share_explained(case, case.targets):.0%} of the trained values have settled"


def _unless_bug(
    case: Case, bugs: list[Bug], diagnosis: Callable[[str, str], Diagnosis], text: str, finding: str
) -> Diagnosis:
    """The diagnosis with this text. If there are bugs, it is undecided between the text and the nearest bug."""
    second = nearest_bug(case, bugs)
    return verdicts.undecided_between(text, second, finding) if second else diagnosis(text, finding)
