"""A game against the human at the terminal, for all scripts that play one.

A move is a heap and a number of objects, given one after the other or on one line. At every question q, -1 and
Ctrl-D leave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pettingzoo import AECEnv

from nim_env import NimRules
from nim_env.appearance import heap_name
from nim_env.policies import Player, checked_policy, sample
from nim_env.rendering import bars


@dataclass(frozen=True)
class Words:
    """What a game calls its things."""

    human: str
    opponent: str
    heap: str
    block: str
    heap_name: Callable[[int], str]
    """The name of a heap, from its number."""
    reply: str
    """What the opponent did: count, heap."""
    end: str
    """Who won: winner, last (who took the last block), goal."""

    def goal(self, rules: NimRules) -> str:
        return f"the player who takes the last {self.block} {'loses' if rules.misere else 'wins'}"

    def move_form(self, rules: NimRules) -> str:
        limit = "" if rules.max_take is None else f" of {rules.max_take} at most"
        example = self.heap_name(rules.n_heaps - 1)
        return f"A move is a {self.heap} and a count{limit}, such as {example} 1; q leaves."


PUBLISHED = Words(
    human="Human",
    opponent="AI",
    heap="pile",
    block="object",
    heap_name=str,
    reply="AI chose to take {count} object(s) from pile {heap}.",
    end="Winner is {winner}",
)
"""The words of the published systems."""

OURS = Words(
    human="You",
    opponent="Opponent",
    heap="heap",
    block="block",
    heap_name=heap_name,
    reply="Opponent takes {count} from {heap}.",
    end="{winner} won: {last} took the last block, and {goal}.",
)
"""The words of the page."""


def play_game(
    env: AECEnv,
    opponent: Any,
    human: int,
    generator: np.random.Generator,
    words: Words = PUBLISHED,
    show: Callable[[list[int], bool], Any] = lambda heaps, is_human: None,  # noqa: ARG005
) -> None:
    """Plays one game against the human.

    Args:
        env: A PettingZoo environment of Nim.
        opponent: An agent or a policy.
        human: 0 if the human moves first, else 1.
        generator: Draws the opponent's actions.
        words: What the game calls its things.
        show: Called with the heaps and whether it is the human's turn, at every position.

    Raises:
        Leave: The human leaves.
    """
    env.reset()
    rules = env.unwrapped.rules
    opponent_player = Player(checked_policy(opponent, rules), "raise")
    heap_word = words.heap.capitalize()
    print(f"\nIn this game {words.goal(rules)}.\n{words.move_form(rules)}")
    for player in env.agent_iter():
        observation, _, terminated, *_ = env.last()
        heaps = observation["observation"].tolist()
        is_human = player == f"player_{human}"
        show(heaps, is_human and not terminated)
        if terminated:
            break
        print(f"\n{heap_word}s:")
        for heap, (left, size) in enumerate(zip(heaps, rules.heaps, strict=True)):
            print(f"{heap_word} {words.heap_name(heap)}: {left}  {bars(left, size)}".rstrip())
        print("\nYour turn" if is_human else f"\n{words.opponent}'s turn")
        if is_human:
            action = ask_move(rules, heaps, words)
        else:
            moves = opponent_player.query(observation["observation"], observation["action_mask"])
            action = int(sample(moves.probabilities, generator))
            heap, count = rules.moves[action]
            print(words.reply.format(count=count, heap=words.heap_name(heap)))
        env.step(action)
    human_won = env.rewards[f"player_{human}"] > 0
    winner, loser = (words.human, words.opponent) if human_won else (words.opponent, words.human)
    last = loser if rules.misere else winner
    print("\nGAME OVER", words.end.format(winner=winner, last=last, goal=words.goal(rules)), sep="\n")


class Leave(Exception):  # noqa: N818  it is not an error
    """The human has entered q, -1 or Ctrl-D."""


def ask_move(rules: NimRules, heaps: Sequence[int], words: Words = PUBLISHED) -> int:
    """The human's move as an action; asks until it is legal. A single heap need not be chosen."""
    names = [words.heap_name(heap) for heap in range(rules.n_heaps)]
    while True:
        answer = ask(f"Choose {words.heap}: ") if rules.n_heaps > 1 else names[0]
        if answer.upper() in names:
            answer += f" {ask('Choose count: ')}"
        match = re.fullmatch(r"([A-Z]+ ?|\d+ )(\d{1,9})", " ".join(answer.upper().split()))
        if match and match[1].strip() in names:
            move = names.index(match[1].strip()), int(match[2])
            if move in rules.legal_moves(heaps):
                return rules.action(*move)
        print(f"Invalid move, try again. {words.move_form(rules)}")


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
    """The human's answer.

    Raises:
        Leave: The answer is q, -1 or Ctrl-D.
    """
    try:
        answer = input(question).strip()
    except EOFError:
        answer = "q"
    if answer.lower() in ("q", "-1"):
        raise Leave
    return answer
