"""The diagnosis of a player that has no values, from the pattern of its mistakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nim_env import theory
from nim_env.evaluation.diagnosis import findings, thresholds
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.inputs import Bools, Floats
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules


def diagnose_moves(rules: NimRules, policy: PolicyLike) -> Diagnosis:
    """Finds out what the mistakes of a player without values show about its training.

    Args:
        rules: The game.
        policy: The player. It is queried on every position, and can return illegal actions.

    Returns:
        The diagnosis, without a witness. Its one finding is a name from the table of findings that
        :func:`diagnose` uses: perfect play, a missing mask, the opponent's reward, the minimum instead of the
        maximum, or the advice to train longer.
    """
    plays = tabulate(rules, policy, np.float64, illegal_action="lose").probabilities[1:]
    if n_illegal := int((plays.sum(axis=1) < 1 - thresholds.MAX_LOST_PROBABILITY).sum()):
        text = (
            f"it can play illegal actions in {n_illegal:,} positions. Pass the action mask when a model predicts, "
            "and return a legal move in each position from a function"
        )
        return findings.bug(text, findings.NO_MASK, place="in the choice")
    heaps = rules.all_positions()[1:]
    legal = rules.action_mask(heaps) > 0
    best = theory.winning_action_mask(rules, heaps) > 0
    is_choice = best.any(axis=1) & (legal & ~best).any(axis=1)
    if not ((plays * ~best).sum(axis=1) > thresholds.MIN_MISTAKE)[is_choice].any():
        return findings.no_bug("every move is right", findings.PERFECT_PLAY)
    best_in_other = theory.winning_action_mask(replace(rules, misere=not rules.misere), heaps) > 0
    is_swapped = is_choice & best_in_other.any(axis=1) & ~(best & best_in_other).any(axis=1)
    if _are_preferred(best_in_other[is_swapped], plays[is_swapped], legal[is_swapped]):
        text = "it plays the other variant. Look at the sign of the reward and at the rules"
        return findings.bug(text, findings.OPPONENTS_REWARD)
    if _are_preferred((legal & ~best)[is_choice], plays[is_choice], legal[is_choice]):
        text = "it plays the worst move instead of the best"
        return findings.bug(text, findings.MINIMUM, place="in the choice")
    text = (
        "the mistakes do not have the pattern of a known bug. Train a learner longer, or let a search look deeper"
    )
    return findings.undecided(text, findings.TRAIN_LONGER)


def _are_preferred(moves: Bools, plays: Floats, legal: Bools) -> bool:
    """Returns whether a player nearly always plays moves of a certain kind, more often than chance would explain.

    Args:
        moves: Whether each move is of this kind, with a row for each position and a column for each action.
        plays: The probability with which the player plays each move, of the same shape.
        legal: Whether each move is legal, of the same shape.

    Returns:
        Whether the player prefers these moves.
    """
    chance = moves.sum(axis=1) / legal.sum(axis=1)
    n_others = (1 - (plays * moves).sum(axis=1)).sum()
    is_most = n_others <= (1 - thresholds.MIN_NEARER) * (1 - chance).sum()
    return bool(is_most and -np.log(chance).sum() > thresholds.MIN_SURPRISAL)
