"""What a player thinks of each move of a position, and which moves truly win."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nim_env import NimRules, theory


class Hint(NamedTuple):
    """A legal move.

    Attributes:
        heap: The heap it takes from.
        count: How many objects it takes.
        opinion: What the player thinks of it, see :func:`kind_of`.
        wins: Whether it wins against perfect play.
    """

    heap: int
    count: int
    opinion: float
    wins: bool


def hints_of(rules: NimRules, player: Any, heaps: Sequence[int]) -> list[Hint]:
    """Every legal move of a position, in the order of the actions."""
    position = np.asarray(heaps)
    mask = rules.action_mask(position)
    if has_values(player):
        opinions = player.q_values(position)
    else:
        opinions = getattr(player, "opinions", player.action_probabilities)(position, mask)
    wins = theory.winning_action_mask(rules, position)
    return [
        Hint(*rules.moves[action], float(opinions[action]), bool(wins[action])) for action in np.flatnonzero(mask)
    ]


def has_values(player: Any) -> bool:
    """Whether a player knows what moves are worth, and not only how likely it makes them."""
    return hasattr(player, "q_values")


def kind_of(player: Any) -> str:
    """What a player's opinions are, in words."""
    if has_values(player):
        return "what it expects, from -1 (lost) to 1 (won)"
    return "how probably it would make it, from 0 to 1"


def in_words(player: Any, opinion: float) -> str:
    """An opinion with two digits after the point, a sign before it where it has one."""
    return f"{opinion:+.2f}" if has_values(player) else f"{opinion:.2f}"
