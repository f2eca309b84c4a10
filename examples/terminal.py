"""A game of Nim against a person in a terminal. The scripts with one share this module.

At every prompt "q", -1 and Ctrl-D leave.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from hints import hints_of, in_words, kind_of

from nim_env import NimRules, aec_env
from nim_env.policies import sample
from nim_env.rendering import bars

Player = Callable[[Any, Any], int]
Choice = TypeVar("Choice")


class Leave(Exception):  # noqa: N818  it is no error
    """The person has had enough."""


def ask(question: str) -> str:
    """What the person answers; raises Leave at "q", -1 and Ctrl-D."""
    try:
        answer = input(question).strip()
    except EOFError:
        print()
        raise Leave from None
    if answer.lower() in ("q", "quit", "-1"):
        raise Leave
    return answer


def ask_number(question: str, least: int = 0, most: int | None = None) -> int:
    """A whole number from ``least`` to ``most``, asked for until one is given."""
    wanted = f"a whole number of {least} or more" if most is None else f"a whole number from {least} to {most}"
    while True:
        answer = ask(question)
        try:
            number = int(answer)
        except ValueError:
            number = least - 1
        if number >= least and (most is None or number <= most):
            return number
        print(f"{answer!r} is not {wanted}; try again, or q to leave.")


def ask_choice(question: str, choices: dict[str, Choice]) -> Choice:
    """One of the choices, by its name or the beginning of it."""
    while True:
        answer = ask(question).lower()
        found = [choices[name] for name in choices if answer and name.startswith(answer)]
        if len(found) == 1:
            return found[0]
        print(f"{answer!r} is none of {', '.join(choices)}; try again, or q to leave.")


def ask_move(rules: NimRules, heaps: Sequence[int]) -> int:
    """The person's move as an action; an invalid one is refused with the reason, and asked for again."""
    while True:
        try:
            heap = int(ask("Choose pile: ")) if rules.n_heaps > 1 else 0
            count = int(ask("Choose count: "))
        except ValueError:
            print("Invalid move, try again. Pile and count are whole numbers; q leaves.")
            continue
        if (heap, count) in rules.legal_moves(heaps):
            return rules.action(heap, count)
        print(f"Invalid move, try again. {why_invalid(rules, heaps, heap)}")


def why_invalid(rules: NimRules, heaps: Sequence[int], heap: int, word: str = "pile") -> str:
    """Why nothing, or not so much, can be taken from a heap."""
    if not 0 <= heap < rules.n_heaps:
        return f"{word.capitalize()}s are 0 to {rules.n_heaps - 1}."
    if not heaps[heap]:
        return f"{word.capitalize()} {heap} is empty."
    return f"From {word} {heap} take 1 to {min(heaps[heap], rules.max_take or heaps[heap])}."


def play_game(
    rules: NimRules, machine: Player, human: int, *, adviser: Any = None, film: list[np.ndarray] | None = None
) -> bool:
    """Plays one game.

    Args:
        rules: Which game.
        machine: Chooses the other player's actions.
        human: 0 if the person goes first, else 1.
        adviser: An agent or policy whose opinions the person is told at every turn, beside the truth.
        film: A list that gets a picture of every position.

    Returns:
        Whether the person won.
    """
    env = aec_env.env(
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        render_mode=None if film is None else "rgb_array",
    )
    env.reset()
    names = {f"player_{human}": "Human", f"player_{1 - human}": "AI"}
    for player in env.agent_iter():
        observation, _, terminated, *_ = env.last()
        if film is not None:
            film.append(env.render())
        if terminated:
            break
        heaps, mask = observation["observation"], observation["action_mask"]
        print("\nPiles:")
        for heap, size in enumerate(heaps):
            print(pile_shown(heap, int(size), rules.heaps[heap]))
        if names[player] == "Human":
            print("\nYour turn")
            if adviser is not None:
                print(advice(rules, adviser, heaps.tolist()))
            action = ask_move(rules, heaps.tolist())
        else:
            print("\nAI's turn")
            action = machine(heaps, mask)
            heap, count = rules.moves[action]
            print(f"AI chose to take {count} object(s) from pile {heap}.")
        env.step(action)
    human_won = env.rewards[f"player_{human}"] > 0
    print(f"\nGAME OVER\nWinner is {'Human' if human_won else 'AI'}")
    return human_won


def pile_shown(heap: int, left: int, size: int) -> str:
    """A pile as a number and drawn, closely where there is little room."""
    number, drawn = f"Pile {heap}: {left}", bars(left, size)
    if len(number) + 2 + len(drawn) >= shutil.get_terminal_size().columns:
        drawn = drawn.replace(" ", "")
    return f"{number}  {drawn}".rstrip()


def advice(rules: NimRules, adviser: Any, heaps: Sequence[int]) -> str:
    """What an agent or policy thinks of every legal move, pile by pile, the winning ones starred."""
    hints = hints_of(rules, adviser, heaps)
    lines = [f"AI's opinion of each move: {kind_of(adviser)}."]
    for heap in sorted({hint.heap for hint in hints}):
        moves = [
            f"{hint.count}:\N{NO-BREAK SPACE}{in_words(adviser, hint.opinion)}{'*' if hint.wins else ' '}"
            for hint in hints
            if hint.heap == heap
        ]
        pile = f"Pile {heap}  "
        width = shutil.get_terminal_size().columns - 1
        lines.append(textwrap.fill(" ".join(moves), width, initial_indent=pile, subsequent_indent=" " * len(pile)))
    wins = any(hint.wins for hint in hints)
    lines.append("* wins against perfect play." if wins else "No move wins against perfect play.")
    return "\n".join(lines)


def player_of(agent_or_policy: Any, seed: int) -> Player:
    """How an agent or a policy plays against a person: without exploration."""
    if hasattr(agent_or_policy, "act"):
        return lambda observation, action_mask: int(agent_or_policy.act(observation, action_mask))
    generator = np.random.default_rng(seed)

    def draw(observation: Any, action_mask: Any) -> int:
        return int(sample(agent_or_policy.action_probabilities(observation, action_mask), generator))

    return draw
