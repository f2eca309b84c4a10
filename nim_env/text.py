"""Nim in words, for language models: prompts, the moves of answers, and a model as a player.

With ``illegal_action="lose"`` in :mod:`nim_env.evaluation` an answer without a legal move loses the game at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._checks import checked_choice, checked_integer
from nim_env.appearance import heap_name
from nim_env.rules import NimRules

Style: TypeAlias = Literal["nim", "rules", "numbers"]
"""The words of a prompt. They name the game, state its rules alone, or tell another story of the same game."""
Verdict: TypeAlias = Literal["no_move", "illegal", "mistake", "winning", "lost"]
"""An answer has no move, an illegal, a losing or a winning one, or any legal one in a lost position."""

_PROMPTS = {
    "nim": "We play Nim, {play} play{limit}. The heaps are {heaps}.",
    "rules": "Objects lie in heaps. Two players take turns. In each turn the player takes one or more objects "
    "from a single heap{limit}. The player who takes the last object of all {result}. The heaps are {heaps}.",
    "numbers": "There is a list of numbers with names: {heaps}. Two people change it in turns. In each turn a "
    "person makes one number smaller, by 1 or more{limit}, but not below 0. Who makes all numbers 0 {result}.",
}
_FORM = 'It is your turn. End your answer with a line such as "{noun}: B 3", which takes 3 from B.'
_LATEX = re.compile(r"\\(?:boxed|fbox|(?:text|math)[a-z]*|[()\[\]])")
_MARKUP = "*_`${}"  # of Markdown and LaTeX


def describe(rules: NimRules, heaps: ArrayLike, style: Style = "nim") -> str:
    """The rules and a position, shape ``(n_heaps,)``, as a prompt that asks for a move."""
    checked_choice("style", style, list(_PROMPTS))
    sizes = rules.checked_positions(heaps).tolist()
    return f"{_PROMPTS[style]} {_FORM}".format(
        play="misère" if rules.misere else "normal",
        result="loses" if rules.misere else "wins",
        limit="" if rules.max_take is None else f", at most {rules.max_take} in a turn",
        heaps=", ".join(f"{heap_name(heap)}: {size}" for heap, size in enumerate(sizes)),
        noun="Change" if style == "numbers" else "Move",
    )


def parse_move(text: str) -> tuple[int, int] | None:
    """The pair ``(heap, count)`` of the last line "Move: ..." or "Change: ...", legal or not, or ``None``.

    Only "B 3" is a move, in Markdown and LaTeX too, and "b 3". The answer begins after the last ``</think>``.
    """
    answer = text.rpartition("</think>")[2]
    move = ""
    for line in _LATEX.sub("$", answer.replace("\\ ", " ")).splitlines():
        noun, _, words = line.partition(":")
        if noun.strip(_MARKUP + "#>+- \t") in ("Move", "Change"):
            move = " ".join(filter(None, (word.strip(_MARKUP) for word in words.split())))
    match = re.fullmatch("([A-Za-z]{1,3}) ([0-9]{1,18})", move)
    if match is None or "<think>" in answer:
        return None
    letters = enumerate(reversed(match[1].upper()))
    return sum(26**place * (ord(letter) - 64) for place, letter in letters) - 1, int(match[2])  # as in heap_name


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


def move_reward(rules: NimRules) -> Callable[..., list[float]]:
    """A reward function for training a model on single moves, as the trainers of ``trl`` take it.

    It maps ``completions``, texts or lists of chat messages, and the dataset's column ``heaps``, a position for
    each, to 1.0 for a winning move, 0.0 for another legal move and -1.0 for anything else.
    """
    rewards = {"winning": 1.0, "mistake": 0.0, "lost": 0.0}

    def reward(completions: Sequence[Any], heaps: Sequence[Sequence[int]], **_: Any) -> list[float]:
        contents = [chat[-1].get("content") if isinstance(chat, list) and chat else chat for chat in completions]
        answers = [content if isinstance(content, str) else "" for content in contents]
        return [rewards.get(judge(rules, *pair), -1.0) for pair in zip(heaps, answers, strict=True)]

    return reward


@dataclass(eq=False)
class LanguageModelPolicy:
    """A language model as a player. It is queried once on each position; ``answers`` keeps those to each prompt.

    Args:
        rules: The game.
        complete: Maps a list of prompts to pairs of a prompt and its answer in any order. Those of a generator are
            kept as they come. A prompt left out has no answer.
        samples: The number of answers for each position. The probability of a move is its fraction of them. No
            answer and an answer without a move count too, so the probabilities may sum to less than 1.
        style: The words of the prompts.
        path: A file of JSON lines to which each answer is added. Answers that it holds are not asked for again.
        source: The first line of the file, which names the model and its server. Another one is a ValueError.
    """

    rules: NimRules
    complete: Callable[[list[str]], Iterable[tuple[str, str]]]
    samples: int = 1
    style: Style = "nim"
    path: str | Path | None = None
    source: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        checked_integer("samples", self.samples, 1)
        if self.path is None or not Path(self.path).exists():
            return
        for number, line in enumerate(Path(self.path).read_text(encoding="utf-8").splitlines(), start=1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{self.path}, line {number}, is no JSON and has to be deleted") from error
            if number > 1:
                self.answers.setdefault(row["prompt"], []).append(row["answer"])
            elif row != self.source:
                raise ValueError(f"{self.path} has the answers of {row}, not of {self.source}; use another file")

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The fraction of each action among the answers: float64 of shape ``(..., n_actions)``."""
        positions = self.rules.checked_positions(observation).reshape(-1, self.rules.n_heaps)
        prompts = [describe(self.rules, heaps, self.style) for heaps in positions]
        self._ask(prompts)
        counts = np.zeros((len(prompts), self.rules.n_actions))
        for row, prompt in enumerate(prompts):
            for move in map(parse_move, self.answers[prompt][: self.samples]):
                if move in self.rules.moves:
                    counts[row, self.rules.action(*move)] += 1
        return (counts / self.samples).reshape(np.shape(action_mask))

    def _ask(self, prompts: list[str]) -> None:
        """Asks for the answers that are missing, and adds each to the file when it comes."""
        missing = []
        for prompt in dict.fromkeys(prompts):
            missing += [prompt] * (self.samples - len(self.answers.setdefault(prompt, [])))
        for prompt, answer in self.complete(missing) if missing else ():
            if not isinstance(answer, str):
                raise TypeError(f"an answer must be a text; got {answer!r} to: {prompt}")
            self.answers[prompt].append(answer)
            if self.path is not None:
                with open(self.path, "a", encoding="utf-8") as file:
                    if file.tell() == 0:
                        file.write(json.dumps(self.source) + "\n")
                    file.write(json.dumps({"prompt": prompt, "answer": answer}) + "\n")

    def judged_answers(self) -> list[tuple[tuple[int, ...], str, Verdict]]:
        """The position, the text and the verdict of each answer so far, in the order of the positions' indices."""
        return [
            (tuple(heaps), answer, judge(self.rules, heaps, answer))
            for heaps in self.rules.all_positions()[1:].tolist()
            for answer in self.answers.get(describe(self.rules, heaps, self.style), [])[: self.samples]
        ]
