"""Plays a game against the human in the terminal, for all scripts that need one.

A move is a heap and a number of blocks, such as C 3. In the programs of the five published systems, the heaps are
piles 0, 1 and 2, as their authors call them, and the same move is 2 3. At every question, q, -1 and Ctrl-D leave.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from nim_env import NimRules
from nim_env.policies import checked_player, sample
from nim_env.rendering import bars
from nim_env.rules import heap_name


def play_game(
    env: AECEnv,
    opponent: Any,
    human: int,
    generator: np.random.Generator,
    name: str = "AI",
    numbered: bool = False,
) -> None:
    """Plays one game against the human, who moves first if ``human`` is 0 and second if it is 1.

    The opponent is an agent or a policy, and the generator draws its actions. If ``numbered``, the heaps are
    called pile 0, pile 1 and so on, instead of heap A, heap B and so on. Raises Leave if the human leaves.
    """
    env.reset()
    rules = env.unwrapped.rules
    opponent_player = checked_player(opponent, rules, illegal_action="raise", name="opponent")
    kind, names = heap_names(rules, numbered)
    print(f"\nYou play against {name}. The player who takes the last block {'loses' if rules.misere else 'wins'}.")
    for player in env.agent_iter():
        observation, _, terminated, *_ = env.last()
        heaps = observation["observation"].tolist()
        if terminated:
            break
        is_human = player == f"player_{human}"
        print("\nYour turn" if is_human else f"\n{name}'s turn")
        for heap, (left, size) in enumerate(zip(heaps, rules.heaps, strict=True)):
            blocks = bars(left, size).replace("|", "■").replace("·", "□")
            print(f"{kind.title()} {names[heap]}: {left}  {blocks}".rstrip())
        if is_human:
            action = ask_move(rules, heaps, numbered)
        else:
            moves = opponent_player.query(observation["observation"], observation["action_mask"])
            action = int(sample(moves.probabilities, generator))
            heap, count = rules.moves[action]
            print(f"{name} takes {count} {'block' if count == 1 else 'blocks'} from {kind} {names[heap]}.")
        env.step(action)
    winner, loser = ("you", name) if env.rewards[f"player_{human}"] > 0 else (name, "you")
    print(f"\nGame over: {winner} won, because {loser if rules.misere else winner} took the last block.")


class Leave(Exception):  # noqa: N818  not an error
    """Raised when the human enters q, -1 or Ctrl-D."""


def heap_names(rules: NimRules, numbered: bool) -> tuple[str, list[str]]:
    """Returns what the heaps are called: "heap" with A, B, C, or "pile" with 0, 1, 2."""
    if numbered:
        return "pile", [str(heap) for heap in range(rules.n_heaps)]
    return "heap", [heap_name(heap) for heap in range(rules.n_heaps)]


def ask_move(rules: NimRules, heaps: Sequence[int], numbered: bool = False) -> int:
    """Asks the human for a move until it is legal, and returns it as an action.

    If there is only one heap, the human can leave out its name. If the heaps are ``numbered``, the human can also
    use their letters.
    """
    kind, names = heap_names(rules, numbered)
    heap_of = {heap_name(heap): heap for heap in range(rules.n_heaps)}
    heap_of |= {name: heap for heap, name in enumerate(names)}
    if rules.n_heaps == 1:
        heap_of[""] = 0
    limit = "of 1 or more" if rules.max_take is None else f"from 1 to {rules.max_take}"
    question = f"Your move, {kind} and count, such as {names[int(np.argmax(heaps))]} 1: "
    while True:
        match = re.fullmatch(r"([A-Z]*|\d+) *(\d{1,9})", ask(question).upper())
        if match and match[1] in heap_of:
            move = heap_of[match[1]], int(match[2])
            if move in rules.legal_moves(heaps):
                return rules.action(*move)
            print(f"{kind.title()} {names[move[0]]} has {heaps[move[0]]} left.", end=" ")
        elif rules.n_heaps > 1:
            print(f"The {kind}s are {names[0]} to {names[-1]}.", end=" ")
        print(f"A move is a {kind} and a count {limit}; q leaves.")


def ask_number(question: str, minimum: int, maximum: int) -> int:
    """Asks the human for a whole number until it is between ``minimum`` and ``maximum``."""
    while True:
        answer = ask(question)
        if answer.isdecimal() and minimum <= int(answer) <= maximum:
            return int(answer)
        print(f"{answer!r} is not a whole number from {minimum} to {maximum}; try again, or q to leave.")


def ask_choice(question: str, choices: Sequence[str]) -> str:
    """Asks the human until the answer is one of the choices, or the beginning of exactly one."""
    while True:
        answer = ask(question).lower()
        found = [choice for choice in choices if answer and choice.startswith(answer)]
        if len(found) == 1:
            return found[0]
        print(f"{answer!r} is not one of {', '.join(choices)}; try again, or q to leave.")


def ask(question: str) -> str:
    """Returns the human's answer to a question. Raises Leave if it is q, -1 or Ctrl-D."""
    try:
        answer = input(question).strip()
    except EOFError:
        answer = "q"
    if answer.lower() in ("q", "-1"):
        raise Leave
    return answer
