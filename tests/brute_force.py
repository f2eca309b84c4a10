"""The plain recursive truth about Nim, written from the rules as a person states them."""

from functools import cache

import numpy as np


@cache
def mover_wins(heaps, max_take, misere):
    """Whether the player to move can win, by trying every move; ``heaps`` is a sorted tuple."""
    if not any(heaps):
        return misere  # the other player has just taken the last object
    return any(not mover_wins(tuple(sorted(after)), max_take, misere) for _, after in moves(heaps, max_take))


@cache
def grundy(heaps, max_take):
    """The least number that is not the Grundy value of a successor; ``heaps`` is a sorted tuple."""
    reached = {grundy(tuple(sorted(after)), max_take) for _, after in moves(heaps, max_take)}
    return next(value for value in range(len(reached) + 1) if value not in reached)


@cache
def best_reward(heaps, max_take, misere, gamma):
    """What the player to move gets under perfect play, each ply before the last discounting it."""
    return max(
        (-1 if misere else 1)
        if not any(after)
        else -gamma * best_reward(tuple(sorted(after)), max_take, misere, gamma)
        for _, after in moves(heaps, max_take)
    )


def moves(heaps, max_take):
    """Every ``(heap, count), heaps after`` of a tuple of heaps, in the order of heaps and counts."""
    for heap, size in enumerate(heaps):
        for count in range(1, size + 1):
            if max_take is None or count <= max_take:
                yield (heap, count), (*heaps[:heap], size - count, *heaps[heap + 1 :])


def chance_to_win(rules, heaps, plays, to_move):
    """How probably player 0 wins; ``plays[player](heaps)`` is its distribution, ``{action: probability}``.

    Where a player is ``max`` or ``min`` it takes the action that is best, or worst, for player 0.
    """
    if not any(heaps):
        return float((to_move == 1) != rules.misere)  # player 0 made the last move if player 1 is to move

    def after(action):
        heap, count = rules.moves[action]
        left = (*heaps[:heap], heaps[heap] - count, *heaps[heap + 1 :])
        return chance_to_win(rules, left, plays, 1 - to_move)

    play = plays[to_move]
    if play in (max, min):
        return play(after(rules.action(*move)) for move, _ in moves(heaps, rules.max_take))
    return sum(float(probability) * after(action) for action, probability in play(heaps).items())


def all_positions(rules):
    """The positions of a game, by index: the empty one first, the full heaps last; shape ``(n, n_heaps)``."""
    return np.stack(np.unravel_index(np.arange(rules.n_positions), rules.shape), axis=-1)
