"""Systems 1 and 5 as programs that work alone: no environment API, for one game, each with its own loop.

They are written from the authors' descriptions, with the authors' data structures, and stand beside the
benchmark to show what the standard API costs.
"""

from __future__ import annotations

import random

import numpy as np

State = tuple[int, ...]
Move = tuple[int, int]


def q_learning_self_play(games: int, seed: int) -> dict[tuple[State, Move], float]:
    """System 1: Q-learning by self-play on 1-3-5-7, misère. Returns the values by state and move."""
    draw = random.Random(seed)
    values: dict[tuple[State, Move], float] = {}

    def available(piles: list[int]) -> list[Move]:
        return [(pile, count) for pile, size in enumerate(piles) for count in range(1, size + 1)]

    def best_future(piles: list[int]) -> float:
        return max((values.get((tuple(piles), move), 0.0) for move in available(piles)), default=0.0)

    def update(state: list[int], move: Move, piles: list[int], reward: float) -> None:
        old = values.get((tuple(state), move), 0.0)
        values[tuple(state), move] = old + 0.5 * ((reward + best_future(piles)) - old)

    def choose(piles: list[int]) -> Move:
        moves = available(piles)
        if draw.random() < 0.1:
            return draw.choice(moves)
        worth = {move: values.get((tuple(piles), move), 0.0) for move in moves}
        best = max(worth.values())
        return draw.choice([move for move in moves if worth[move] == best])

    for _ in range(games):
        piles, player = [1, 3, 5, 7], 0
        last: dict[int, tuple[list[int], Move]] = {}
        while any(piles):
            if player in last:
                update(*last[player], piles, 0.0)
            move = choose(piles)
            last[player] = piles, move
            piles = piles.copy()
            piles[move[0]] -= move[1]
            player = 1 - player
        update(*last[1 - player], piles, -1.0)  # whoever took the last object
        if player in last:
            update(*last[player], piles, 1.0)
    return values


def win_counting(games: int, seed: int) -> list[bool]:
    """System 5: win counting on a heap of 21 against the expert. Returns who won, game by game."""
    draw = random.Random(seed)
    counts = np.ones((22, 3))
    won, learner_starts = [], True
    for _ in range(games):
        heap, learner_moves, moves = 21, learner_starts, []
        while True:
            if learner_moves:
                row = counts[heap]
                take = 1 + int((row.cumsum() <= draw.random() * row.sum()).sum())
                moves.append((heap, take - 1))
            else:
                take = heap % 4 or draw.randint(1, 3)
            heap -= min(take, heap)
            if heap == 0:
                break
            learner_moves = not learner_moves
        for size, move in moves:
            if learner_moves:
                counts[size, move] += 1
            else:
                counts[size] += 1
                counts[size, move] -= 1
            if counts[size].sum() > 1000:
                counts[size] -= counts[size].min() - 1
        won.append(learner_moves)
        learner_starts = not learner_moves
    return won
