"""Nim in words, for language models: positions as prompts, the moves of answers, and rewards.

With ``illegal_action="lose"`` in :mod:`nim_env.evaluation` an answer without a legal move loses the game at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from nim_env import evaluation, theory
from nim_env._internal.checks import checked_choice
from nim_env.policies import TabularPolicy
from nim_env.rules import NimRules, heap_name

Style: TypeAlias = Literal["nim", "rules", "numbers"]
"""The words of a prompt. They name the game, state its rules alone, or tell another story of the same game."""
Verdict: TypeAlias = Literal["no_move", "illegal", "mistake", "winning", "lost"]
"""An answer has no move, an illegal, a losing or a winning one, or any legal one in a lost position."""

_MOST_HEAPS = 26
_PROMPTS = {
    "nim": "We play Nim, {play} play{limit}. The heaps are {heaps}.",
    "rules": "Objects lie in heaps. Two players take turns. In each turn the player takes one or more objects "
    "from a single heap{limit}. The player who takes the last object of all {result}. The heaps are {heaps}.",
    "numbers": "There is a list of numbers with names: {heaps}. Two people change it in turns. In each turn a "
    "person makes one number smaller, by 1 or more{limit}, but not below 0. Who makes all numbers 0 {result}.",
}
_FORM = 'It is your turn. End your answer with a line of the form "Move: X N", which takes N from X.'
_THOUGHT = re.compile(  # a tag around a thought, or a channel of the harmony format; a group is set where it ends
    r"[<\[◁](/)?(?:\w+:)?(?:think|thinking|thought|reasoning)[>\]▷]|<\|channel\|>(final)?", re.IGNORECASE
)
_TAG = re.compile(r"</?(?:answer|s)>|<\|\w*\|>")
_LATEX = re.compile(r"\\(?:boxed|fbox|quad|(?:text|math)[a-z]*|[()\[\],; ])")
_MARKUP = r"""[\s*_`${}()\[\]<>|"'“”]"""
_MOVE = re.compile(
    rf"(?:{_MARKUP}|[#+-])*(?i:move){_MARKUP}*[:：]{_MARKUP}*([A-Za-z])(?:{_MARKUP}|,)+([0-9]{{1,18}})(?:{_MARKUP}|[.!])*"
)


def describe(rules: NimRules, heaps: ArrayLike, style: Style = "nim") -> str:
    """The rules and a position, shape ``(n_heaps,)``, of at most 26 heaps, as a prompt that asks for a move."""
    checked_choice("style", style, list(_PROMPTS))
    if rules.n_heaps > _MOST_HEAPS:
        raise ValueError(f"a prompt names at most {_MOST_HEAPS} heaps; {rules} has {rules.n_heaps}")
    sizes = rules.checked_positions(heaps).tolist()
    return f"{_PROMPTS[style]} {_FORM}".format(
        play="misère" if rules.misere else "normal",
        result="loses" if rules.misere else "wins",
        limit="" if rules.max_take is None else f", at most {rules.max_take} in a turn",
        heaps=", ".join(f"{heap_name(heap)}: {size}" for heap, size in enumerate(sizes)),
    )


def positions(
    rules: NimRules, style: Style = "nim", number: int | None = None, seed: int | None = None
) -> list[dict[str, Any]]:
    """The positions of a board as data: a row for each, which JSON can hold.

    Args:
        rules: The game, of at most 26 heaps and with a won position.
        style: The words of the prompts.
        number: ``None`` for every position that is not over, in the order of its index. A number draws as many won
            positions, also of a board that is too large to list, as :func:`nim_env.evaluation.sampled_mastery`.
        seed: Seeds the draw.

    Returns:
        Dictionaries of ``prompt``; ``heaps``, the sizes; ``won``; and ``winning_moves``, such as ``["B 3"]``.
    """
    if number is None:
        heaps = rules.all_positions()[1:]
    else:
        heaps = evaluation.sample_positions(rules, number, np.random.default_rng(seed))
    rows = []
    for sizes, wins in zip(heaps.tolist(), theory.winning_action_mask(rules, heaps), strict=True):
        moves = [rules.moves[action] for action in np.flatnonzero(wins)]
        names = [f"{heap_name(heap)} {count}" for heap, count in moves]
        prompt = describe(rules, sizes, style)
        rows.append({"prompt": prompt, "heaps": sizes, "won": bool(names), "winning_moves": names})
    if not any(row["won"] for row in rows):
        raise ValueError(f"{rules} has no won position")
    return rows


def parse_move(text: str) -> tuple[int, int] | None:
    """The pair ``(heap, count)`` of an answer, legal or not, or ``None``.

    The move is the last line with a word, after any thought. It has to be "Move: B 3" as a whole. Case, Markdown,
    LaTeX, quotes, a comma between the two and a full stop do not matter.
    """
    if not isinstance(text, str):
        raise TypeError(f"an answer must be a text; got {text!r}")
    thoughts = list(_THOUGHT.finditer(text))
    if thoughts and not any(thoughts[-1].groups()):
        return None
    answer = text[thoughts[-1].end() :] if thoughts else text
    lines = _LATEX.sub(" ", _TAG.sub("\n", answer)).splitlines()
    last = next((line for line in reversed(lines) if re.search(r"[^\W_]", line)), "")
    match = _MOVE.fullmatch(last)
    return None if match is None else (ord(match[1].upper()) - ord("A"), int(match[2]))


def judge(rules: NimRules, heaps: ArrayLike, answer: str) -> Verdict:
    """What the move of an answer is in one position, shape ``(n_heaps,)``."""
    move = parse_move(answer)
    if move is None:
        return "no_move"
    if move not in rules.legal_moves(heaps):
        return "illegal"
    winning = theory.winning_action_mask(rules, heaps)
    if not winning.any():
        return "lost"
    return "winning" if winning[rules.action(*move)] else "mistake"


def policy_of_answers(rules: NimRules, answers: Iterable[tuple[ArrayLike, str]]) -> TabularPolicy:
    """The player that gives these answers, pairs of a position, shape ``(n_heaps,)``, and a text.

    The probability of a move is its fraction of the answers in the position. Answers without a move count too, so
    probabilities may sum to less than 1. In a position without an answer they are 0.
    """
    counts = np.zeros((rules.n_positions, rules.n_actions))
    n_answers = np.zeros((rules.n_positions, 1))
    for heaps, answer in answers:
        index = rules.index(heaps)
        n_answers[index] += 1
        move = parse_move(answer)
        if move in rules.moves:
            counts[index, rules.action(*move)] += 1
    return TabularPolicy(rules, counts / np.maximum(n_answers, 1))


def move_reward(rules: NimRules) -> Callable[..., list[float]]:
    """A reward function for training a model on single moves, as the trainers of ``trl`` take it.

    It maps ``completions``, texts or lists of chat messages, and the dataset's column ``heaps``, a position for
    each, to 1.0 for a winning move, 0.0 for another legal move and -1.0 for anything else.
    """
    rewards = {"winning": 1.0, "mistake": 0.0, "lost": 0.0}

    def reward(completions: Sequence[Any], heaps: Sequence[Sequence[int]], **_: Any) -> list[float]:
        answers = [chat[-1]["content"] if isinstance(chat, list) else chat for chat in completions]
        return [rewards.get(judge(rules, *pair), -1.0) for pair in zip(heaps, answers, strict=True)]

    return reward
