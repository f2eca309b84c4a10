"""Nim in words, for language models: prompts, the moves of answers, and a model as a player.

For example, with any function from a list of prompts to a list of answers::

    player = LanguageModelPolicy(rules, complete)
    evaluation.report(rules, player, illegal_action="lose")

An answer that names no move, or an illegal one, loses the game at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._checks import checked_integer
from nim_env.appearance import heap_name
from nim_env.rules import NimRules

Style: TypeAlias = Literal["nim", "rules", "numbers"]
"""The words of a prompt. They name the game, state its rules alone, or tell another story of the same game."""

_PROMPTS = {
    "nim": (
        "We play Nim, {play} play{limit}. The heaps are {heaps}. It is your turn. End your answer with your move: "
        "the letter of the heap and the number of objects that you take, separated by a space."
    ),
    "rules": (
        "Objects lie in heaps. Two players take turns. In each turn the player takes one or more objects from a "
        "single heap{limit}. The player who takes the last object of all {result}. The heaps are {heaps}. It is "
        "your turn. End your answer with your move: the letter of the heap and the number of objects that you "
        "take, separated by a space."
    ),
    "numbers": (
        "There is a list of numbers with names: {heaps}. Two people change it in turns. In each turn a person "
        "makes a single number smaller, by 1 or more{limit}, but not below 0. The person after whose turn all "
        "numbers are 0 {result}. It is your turn. End your answer with your change: the name of the number and by "
        "how much you make it smaller, separated by a space."
    ),
}
_NAME = r"(?<![A-Za-z0-9])([A-Z]{1,4})(?![A-Za-z])"
_COUNT = r"(?<![0-9-])(?<![0-9][.,])([0-9]{1,18})(?![0-9]|[.,][0-9])"
_MOVE = re.compile(  # "B 3", "heap B: take 3", "B smaller by 3"; "3 from B", "take 3 objects from heap B"
    rf"{_NAME}(?:[:,] take |[\s:,]{{0,4}}(?:(?:smaller )?by )?){_COUNT}"
    rf"|{_COUNT}(?: [a-z]{{1,20}})? from (?:the )?(?:heap |pile |number )?{_NAME}"
)
_MARKUP = re.compile(r"\\[a-z]+|[*`${}]")  # of Markdown and LaTeX


def describe(rules: NimRules, heaps: ArrayLike, style: Style = "nim") -> str:
    """The rules and a position, shape ``(n_heaps,)``, as a prompt that asks for a move."""
    if style not in get_args(Style):
        raise ValueError(f"style must be one of {', '.join(get_args(Style))}; got {style!r}")
    sizes = rules.checked_positions(heaps).tolist()
    limit = "" if rules.max_take is None else f", at most {rules.max_take} in a turn"
    return _PROMPTS[style].format(
        play="misère" if rules.misere else "normal",
        result="loses" if rules.misere else "wins",
        limit=limit,
        heaps=", ".join(f"{heap_name(heap)}: {size}" for heap, size in enumerate(sizes)),
    )


def parse_move(rules: NimRules, text: str) -> int | None:
    """The action that an answer names last, or ``None``.

    "B 3", "3 from B", "take 3 from heap B" and "make B smaller by 3" are read, in Markdown and LaTeX too. A move
    that is not in ``rules.moves`` is ``None``. The move may be illegal in a position.
    """
    named = _MOVE.findall(_MARKUP.sub("", text))
    if not named:
        return None
    name, count, count_first, name_last = named[-1]
    heap = 0
    for letter in name or name_last:  # the inverse of heap_name
        heap = 26 * heap + ord(letter) - ord("A") + 1
    try:
        return rules.action(heap - 1, int(count or count_first))
    except ValueError:
        return None


def move_reward(rules: NimRules) -> Callable[..., list[float]]:
    """A reward function for training a model on single moves, as the trainers of ``trl`` take it.

    It maps ``completions``, texts or lists of chat messages, and the dataset's column ``heaps``, a position for
    each, to 1.0 for a winning move, 0.0 for another legal move and -1.0 for anything else.
    """

    def reward(completions: Sequence[Any], heaps: Sequence[Sequence[int]], **_: Any) -> list[float]:
        texts = [text if isinstance(text, str) else text[-1]["content"] for text in completions]
        legal = rules.action_mask(heaps)
        winning = theory.winning_action_mask(rules, heaps)
        actions = [parse_move(rules, text) for text in texts]
        return [
            -1.0 if action is None or not legal[row, action] else float(winning[row, action])
            for row, action in enumerate(actions)
        ]

    return reward


class LanguageModelPolicy:
    """A language model as a player. It is queried once on each position, and its answers are kept.

    Args:
        rules: The game.
        complete: Maps a list of prompts to the list of their answers, or to a generator of pairs of a prompt and
            its answer in any order, which are kept as they come.
        samples: The number of answers for each position. The probability of a move is its fraction of them. An
            answer without a move counts too, so the probabilities may sum to less than 1.
        style: The words of the prompts.
        path: A file of JSON lines to which each answer is added. Answers that it holds are not asked for again,
            so use one file for each model. ``None`` keeps the answers in memory only.

    Attributes:
        answers: The answers to each prompt so far.
    """

    def __init__(
        self,
        rules: NimRules,
        complete: Callable[[list[str]], list[str] | Iterable[tuple[str, str]]],
        samples: int = 1,
        style: Style = "nim",
        path: str | PathLike[str] | None = None,
    ) -> None:
        self.rules = rules
        self.complete = complete
        self.samples = checked_integer("samples", samples, 1)
        describe(rules, rules.heaps, style)  # raises if there is no such style
        self.style: Style = style
        self.path = None if path is None else Path(path)
        self.answers: dict[str, list[str]] = {}
        if self.path is not None and self.path.exists():
            for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise ValueError(
                        f"{path}, line {number}, is no JSON and has to be deleted: {error}"
                    ) from error
                self.answers.setdefault(row["prompt"], []).append(row["answer"])

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The fraction of each action among the answers: float64 of shape ``(..., n_actions)``."""
        positions = self.rules.checked_positions(observation)
        prompts = [describe(self.rules, heaps, self.style) for heaps in positions.reshape(-1, self.rules.n_heaps)]
        self._ask(prompts)
        counts = np.zeros((len(prompts), self.rules.n_actions))
        for row, prompt in enumerate(prompts):
            for answer in self.answers[prompt][: self.samples]:
                action = parse_move(self.rules, answer)
                if action is not None:
                    counts[row, action] += 1
        return (counts / self.samples).reshape(np.shape(action_mask))

    def _ask(self, prompts: Sequence[str]) -> None:
        """Asks for the answers that are missing, and adds each to the file when it comes."""
        missing = [
            prompt
            for prompt in dict.fromkeys(prompts)
            for _ in range(self.samples - len(self.answers.get(prompt, [])))
        ]
        if not missing:
            return
        answers = self.complete(missing)
        if isinstance(answers, list):
            if len(answers) != len(missing):
                raise TypeError(
                    f"{len(answers)} answers to {len(missing)} prompts, the first of which is: {missing[0]}"
                )
            answers = zip(missing, answers, strict=True)
        for prompt, answer in answers:
            if not isinstance(answer, str):
                raise TypeError(f"an answer must be a text; got {answer!r} to: {prompt}")
            self.answers.setdefault(prompt, []).append(answer)
            if self.path is not None:
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"prompt": prompt, "answer": answer}) + "\n")
        for prompt in missing:
            if len(self.answers.get(prompt, [])) < self.samples:
                raise TypeError(f"complete gave no answer to: {prompt}")
