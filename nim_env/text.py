"""Nim in words, for language models: positions as prompts, moves read from answers, and rewards.

An answer may contain no legal move. With ``illegal_action="lose"`` in :mod:`nim_env.evaluation`, such an answer
loses the game at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import evaluation, theory
from nim_env._internal.checks import checked_choice
from nim_env.policies import TabularPolicy
from nim_env.rules import NimRules, heap_name

Style: TypeAlias = Literal["nim", "rules", "numbers"]
"""The wording of a prompt. ``"nim"`` names the game, ``"rules"`` states its rules without its name, and
``"numbers"`` tells the same game as a story about numbers."""
Judgment: TypeAlias = Literal["no_move", "illegal", "mistake", "winning", "lost"]
"""The verdict on an answer. An answer without a move is ``"no_move"``, and an illegal move is ``"illegal"``. In a
winning position a legal move is ``"winning"`` or a ``"mistake"``. In a losing position it is ``"lost"``, since
every move loses."""

_MAX_HEAPS = 26
_PROMPTS = {
    "nim": "We play Nim, {play} play{limit}. The heaps are {heaps}.",
    "rules": "Objects lie in heaps. Two players take turns. In each turn the player takes one or more objects "
    "from a single heap{limit}. The player who takes the last object of all {result}. The heaps are {heaps}.",
    "numbers": "There is a list of numbers with names: {heaps}. Two people change it in turns. In each turn a "
    "person makes one number smaller, by 1 or more{limit}, but not below 0. Who makes all numbers 0 {result}.",
}
_FORM = 'It is your turn. End your answer with a line of the form "Move: X N", which takes N from X.'
# The tags around a chain of thought, and the channel marks of the harmony format. If a mark ends the thought, one
# of the groups matches.
_THOUGHT = re.compile(
    r"[<\[◁](/)?(?:\w+:)?(?:think|thinking|thought|reasoning)[>\]▷]|<\|channel\|>(final)?", re.IGNORECASE
)
# Tags and LaTeX commands are removed from an answer. Markdown and quotes can surround the parts of a move.
_TAG = re.compile(r"</?(?:answer|s)>|<\|\w*\|>")
_LATEX = re.compile(r"\\(?:boxed|fbox|quad|(?:text|math)[a-z]*|[()\[\],; ])")
_MARKUP = r"""[\s*_`${}()\[\]<>|"'“”]"""
# A line such as "Move: B 3". The groups are the letter of the heap and the number of objects.
_MOVE = re.compile(
    rf"(?:{_MARKUP}|[#+-])*(?i:move){_MARKUP}*[:：]{_MARKUP}*([A-Za-z])(?:{_MARKUP}|,)+([0-9]{{1,18}})(?:{_MARKUP}|[.!])*"
)


def describe(rules: NimRules, heaps: ArrayLike, style: Style = "nim") -> str:
    """Returns a prompt that states the rules and a position, shape ``(n_heaps,)``, and asks for a move.

    Raises ValueError if the game has more than 26 heaps, since each heap is named by a letter.
    """
    checked_choice("style", style, list(_PROMPTS))
    if rules.n_heaps > _MAX_HEAPS:
        raise ValueError(f"rules must have at most {_MAX_HEAPS} heaps, named A to Z; got {rules.n_heaps} heaps")
    sizes = rules.checked_positions(heaps).tolist()
    return f"{_PROMPTS[style]} {_FORM}".format(
        play="misère" if rules.misere else "normal",
        result="loses" if rules.misere else "wins",
        limit="" if rules.max_take is None else f", at most {rules.max_take} in a turn",
        heaps=", ".join(f"{heap_name(heap)}: {size}" for heap, size in enumerate(sizes)),
    )


def questions(rules: NimRules, style: Style = "nim") -> list[dict[str, Any]]:
    """Returns a data set with a question about every unfinished position. It can be stored as JSON.

    Args:
        rules: The game, with at most 26 heaps and at least one winning position.
        style: The wording of the prompts.

    Returns:
        A dictionary for each position, in the order of the indices, with the keys ``prompt``, ``heaps`` (the
        sizes), ``won`` (whether the position is winning) and ``winning_moves``, such as ``["B 3"]``.

    Raises:
        ValueError: If no position is winning, or there are too many heaps or positions.
    """
    return _data_set(rules, rules.all_positions()[1:], style)


def winning_questions(
    rules: NimRules, n: int, style: Style = "nim", *, seed: int | None = None
) -> list[dict[str, Any]]:
    """Returns a data set of questions about a random sample of winning positions, for large boards.

    The positions are the same as in :func:`nim_env.evaluation.sampled_mastery` with this ``n`` and ``seed``, and
    the dictionaries have the same keys as in :func:`questions`.

    Args:
        rules: The game, with at most 26 heaps.
        n: The number of positions, at least 1.
        style: The wording of the prompts.
        seed: The seed of the draw.

    Returns:
        A dictionary for each position.

    Raises:
        ValueError: If fewer than one in 10,000 positions is winning, or there are too many heaps.
    """
    heaps = evaluation.sample_winning_positions(rules, n, np.random.default_rng(seed))
    return _data_set(rules, heaps, style)


def _data_set(rules: NimRules, heaps: NDArray[np.int64], style: Style) -> list[dict[str, Any]]:
    """Returns the dictionaries of :func:`questions` for these positions.

    Raises ValueError if none of the positions is winning.
    """
    rows = []
    for sizes, wins in zip(heaps.tolist(), theory.winning_action_mask(rules, heaps), strict=True):
        moves = [rules.moves[action] for action in np.flatnonzero(wins)]
        names = [f"{heap_name(heap)} {count}" for heap, count in moves]
        prompt = describe(rules, sizes, style)
        rows.append({"prompt": prompt, "heaps": sizes, "won": bool(names), "winning_moves": names})
    if not any(row["won"] for row in rows):
        raise ValueError(f"{rules} has no winning position; use another board")
    return rows


def parse_move(text: str) -> tuple[int, int] | None:
    """Returns the move ``(heap, count)`` of an answer, legal or not, or ``None`` if the answer has none.

    The move is read from the last line that contains a letter or a digit, after any chain of thought. The whole
    line must have the form "Move: B 3". Case, Markdown, LaTeX, quotes, a comma between heap and count, and a final
    period or exclamation mark do not matter.
    """
    if not isinstance(text, str):
        raise TypeError(f"an answer must be a string; got {text!r}")
    thoughts = list(_THOUGHT.finditer(text))
    if thoughts and not any(thoughts[-1].groups()):
        return None
    answer = text[thoughts[-1].end() :] if thoughts else text
    lines = _LATEX.sub(" ", _TAG.sub("\n", answer)).splitlines()
    last = next((line for line in reversed(lines) if re.search(r"[^\W_]", line)), "")
    match = _MOVE.fullmatch(last)
    return None if match is None else (ord(match[1].upper()) - ord("A"), int(match[2]))


def judge(rules: NimRules, heaps: ArrayLike, answer: str) -> Judgment:
    """Judges an answer in one position, shape ``(n_heaps,)``. :data:`Judgment` lists the possible results."""
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
    """Returns a player that makes each move as often as the answers of a language model do.

    The probability of a move is its share of the answers in the position. Answers without a legal move count too,
    so the probabilities may sum to less than 1. In a position without answers, all probabilities are 0.

    Args:
        rules: The game.
        answers: Pairs of a position, shape ``(n_heaps,)``, and the text of an answer in it.

    Returns:
        The player, as a table.
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
    """Returns a reward function for training a model on single moves, in the form that ``trl`` expects.

    The function gets ``completions``, which are texts or lists of chat messages, and ``heaps``, the data set's
    column of positions. It returns 1.0 for a winning move, 0.0 for another legal move and -1.0 for anything else.
    """
    rewards = {"winning": 1.0, "mistake": 0.0, "lost": 0.0}

    def reward(completions: Sequence[Any], heaps: Sequence[Sequence[int]], **_: Any) -> list[float]:
        answers = [chat[-1]["content"] if isinstance(chat, list) else chat for chat in completions]
        return [rewards.get(judge(rules, *pair), -1.0) for pair in zip(heaps, answers, strict=True)]

    return reward
