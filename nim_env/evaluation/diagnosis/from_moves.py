"""The diagnosis of a player that has no values, from the pattern of its mistakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nim_env import theory
from nim_env.evaluation.diagnosis import findings, thresholds, verdicts
from nim_env.evaluation.diagnosis.learner import Bools, probabilities
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.policies import PolicyLike
from nim_env.rules import NimRules


def diagnose_moves(rules: NimRules, policy: PolicyLike) -> Diagnosis:
    """Finds out what the mistakes of a player show about its training, if it has no values.

    Args:
        rules: The game.
        policy: The player, which is queried as by :func:`mastery`. It can play illegal actions.

    Returns:
        The diagnosis, without a witness. It has one finding, a name from the same table as the findings of
        :func:`diagnose`: perfect play, a missing mask, the opponent's reward, the minimum instead of the maximum,
        or that the player should train longer.
    """
    plays = probabilities(rules, policy)[1:]
    heaps = rules.all_positions()[1:]
    legal = rules.action_mask(heaps) > 0
    best = theory.winning_action_mask(rules, heaps) > 0
    best_in_other = theory.winning_action_mask(replace(rules, misere=not rules.misere), heaps) > 0
    is_choice = np.logical_and(best.any(axis=1), (legal & ~best).any(axis=1))
    is_swapped = is_choice & np.logical_and(best_in_other.any(axis=1), ~(best & best_in_other).any(axis=1))

    def chooses(moves: Bools, among: Bools) -> bool:
        """Whether it plays these moves in these positions, and not by chance."""
        chance = moves[among].sum(axis=1) / legal[among].sum(axis=1)
        n_others = (1 - (plays * moves)[among].sum(axis=1)).sum()
        is_most = n_others <= (1 - thresholds.MIN_NEARER) * (1 - chance).sum()
        return bool(is_most and -np.log(chance).sum() > thresholds.MIN_SURPRISAL)

    if n_illegal := (plays.sum(axis=1) < 1 - 1e-5).sum():
        text = (
            f"it can play illegal actions in {n_illegal:,} positions. Pass the action mask when a model predicts, "
            "and return a legal move in each position from a function"
        )
        return verdicts.bug(text, findings.NO_MASK, place="in the choice")
    if not ((plays * ~best).sum(axis=1) > 0.001)[is_choice].any():
        return verdicts.no_bug("every move is right", findings.PERFECT_PLAY)
    if chooses(best_in_other, is_swapped):
        text = "it plays the other variant. Look at the sign of the reward and at the rules"
        return verdicts.bug(text, findings.OPPONENTS_REWARD)
    if chooses(legal & ~best, is_choice):
        text = "it plays the worst move instead of the best"
        return verdicts.bug(text, findings.MINIMUM, place="in the choice")
    text = (
        "the mistakes do not have the pattern of a known bug. Train a learner longer, or let a search look deeper"
    )
    return verdicts.undecided(text, findings.TRAIN_LONGER)
