"""A game against the human at the terminal, for all scripts that play one.

A move is a heap and a number of blocks, such as C 3. At every question q, -1 and Ctrl-D leave.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from nim_env import NimRules
from nim_env.appearance import heap_name
from nim_env.policies import checked_player, sample
from nim_env.rendering import bars


def play_game(
    env: AECEnv,
    opponent: Any,
    human: int,
    generator: np.random.Generator,
    name: str = "AI",
    show: Callable[[list[int], bool], Any] = lambda heaps, is_human: None,  # noqa: ARG005
) -> None:
    """Plays one game against the human.

    Args:
        env: A PettingZoo environment of Nim.
        opponent: An agent or a policy.
        human: 0 if the human moves first, else 1.
        generator: Draws the opponent's actions.
        name: What the opponent is called.
        show: Called with the heaps and whether it is the human's turn, at every position.

    Raises:
        Leave: The human leaves.
    """
    env.reset()
    rules = env.unwrapped.rules
    opponent_player = checked_player(opponent, rules, "raise", "opponent")
    print(f"\nYou play against {name}. The player who takes the last block {'loses' if rules.misere else 'wins'}.")
    for player in env.agent_iter():
        observation, _, terminated, *_ = env.last()
        heaps = observation["observation"].tolist()
        is_human = player == f"player_{human}"
        show(heaps, is_human and not terminated)
        if terminated:
            break
        print()
        for heap, (left, size) in enumerate(zip(heaps, rules.heaps, strict=True)):
            blocks = bars(left, size).replace("|", "■").replace("·", "□")
            print(f"Heap {heap_name(heap)}: {left}  {blocks}".rstrip())
        if is_human:
            action = ask_move(rules, heaps)
        else:
            moves = opponent_player.query(observation["observation"], observation["action_mask"])
            action = int(sample(moves.probabilities, generator))
            heap, count = rules.moves[action]
            print(f"{name} takes {count} from {heap_name(heap)}.")
        env.step(action)
    players = ["You", name] if env.rewards[f"player_{human}"] > 0 else [name, "You"]
    print(f"\n{players[0]} won: {players[rules.misere]} took the last block.")


class Leave(Exception):  # noqa: N818  it is not an error
    """The human has entered q, -1 or Ctrl-D."""


def ask_move(rules: NimRules, heaps: Sequence[int]) -> int:
    """The human's move as an action; asks until it is legal. A single heap need not be named."""
    names = [heap_name(heap) for heap in range(rules.n_heaps)]
    limit = "of 1 or more" if rules.max_take is None else f"from 1 to {rules.max_take}"
    while True:
        answer = ask(f"Choose heap and count, such as {names[int(np.argmax(heaps))]} 1: ").upper()
        match = re.fullmatch(r"([A-Z]*) *(\d{1,9})", answer)
        name = match and (match[1] or names[0] * (rules.n_heaps == 1))
        if match and name in names:
            move = names.index(name), int(match[2])
            if move in rules.legal_moves(heaps):
                return rules.action(*move)
            print(f"{name} has {heaps[move[0]]}.", end=" ")
        print(f"A move is a heap and a count {limit}; q leaves.")


def ask_number(question: str, minimum: int, maximum: int) -> int:
    """A whole number from ``minimum`` to ``maximum``; asks until it gets one."""
    while True:
        answer = ask(question)
        if answer.isdecimal() and minimum <= int(answer) <= maximum:
            return int(answer)
        print(f"{answer!r} is not a whole number from {minimum} to {maximum}; try again, or q to leave.")


def ask_choice(question: str, choices: Sequence[str]) -> str:
    """One of the choices, by its name or its beginning; asks until it gets one."""
    while True:
        answer = ask(question).lower()
        found = [choice for choice in choices if answer and choice.startswith(answer)]
        if len(found) == 1:
            return found[0]
        print(f"{answer!r} is not one of {', '.join(choices)}; try again, or q to leave.")


def ask(question: str) -> str:
    """The human's answer; raises Leave for q, -1 and Ctrl-D."""
    try:
        answer = input(question).strip()
    except EOFError:
        answer = "q"
    if answer.lower() in ("q", "-1"):
        raise Leave
    return answer
