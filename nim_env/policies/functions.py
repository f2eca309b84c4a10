"""Functions as policies: on one position, on batches, from heap sizes to pairs, or from one heap to a number."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env.policies.player import InvalidPolicyOutput
from nim_env.rules import NimRules


class FunctionPolicy:
    """A function ``(observation, action_mask) -> action`` on one position as a policy. It returns an integer.

    If an answer is not a legal action, its row is all zeros, and the :class:`Player` judges it. ``illegal_answer``
    is the first such answer of the last query, and ``fault`` describes it; ``fault`` is None if all were legal.
    """

    wanted = (
        "a legal action, one integer (policies.from_moves takes pairs of heap and count, batched takes batches)"
    )

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.fault: str | None = None
        self.illegal_answer: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.function, '__name__', self.function)})"

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Probability 1 for the function's action in each position: float64 of shape ``(..., n_actions)``."""
        masks = np.reshape(action_mask, (-1, np.shape(action_mask)[-1]))
        observations = np.reshape(observation, (len(masks), *np.shape(observation)[np.ndim(action_mask) - 1 :]))
        answers = self.answers(observations.copy(), masks.copy())
        actions = self.actions(answers)
        rows = np.flatnonzero((actions >= 0) & (actions < masks.shape[1]))
        rows = rows[masks[rows, actions[rows]] != 0]
        probabilities = np.zeros(masks.shape)
        probabilities[rows, actions[rows]] = 1.0
        self.fault = None
        if len(rows) < len(masks):
            row = int(probabilities.any(axis=1).argmin())
            at = observations[row].tolist()
            self.illegal_answer = answers[row]
            self.fault = f"its function must return {self.wanted}; got {self.illegal_answer!r} at {at}"
        return probabilities.reshape(np.shape(action_mask))

    def answers(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:
        """What the function returns for each of ``n`` positions."""
        return [self.function(*position) for position in zip(observations, masks, strict=True)]

    def actions(self, answers: Sequence[Any]) -> NDArray[np.int64]:
        """The answers as integers, int64 of shape ``(n,)``; -1 for what is none."""
        if isinstance(answers, np.ndarray) and answers.ndim == 1 and answers.dtype.kind in "iu":
            return answers.astype(np.int64)
        return np.array([self._action(answer) for answer in answers], dtype=np.int64)

    def _action(self, answer: Any) -> np.int64:
        try:
            return np.int64(self.action(answer))
        except (TypeError, ValueError, OverflowError):
            return np.int64(-1)

    def action(self, answer: Any) -> int:
        """An answer as an integer; a TypeError or ValueError if it is none."""
        return checked_integer("action", answer)


class BatchedPolicy(FunctionPolicy):
    """A function ``(observations, action_masks) -> actions`` on batches as a policy; :func:`batched` makes one."""

    wanted = "one legal action, an integer, for each position"

    def answers(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:
        """The same with one call of the function."""
        answers = self.function(observations, masks)
        if not isinstance(answers, list | tuple):
            answers = np.atleast_1d(answers)
        if len(answers) != len(observations):
            message = f"{self!r} must return {self.wanted}; got {answers!r} for {len(observations)} positions"
            raise InvalidPolicyOutput(message)
        return answers


def batched(function: Callable[[Any, Any], Any]) -> BatchedPolicy:
    """Wraps a function on batches as a policy, which calls it once for each batch.

    It takes observations of shape ``(n, n_heaps)`` and masks of shape ``(n, n_actions)``, and returns ``n`` legal
    actions, integers: ``batched(lambda observations, masks: masks.argmax(axis=1))`` plays the first legal ones.
    """
    return BatchedPolicy(function)


class MovesPolicy(FunctionPolicy):
    """A function from heap sizes to a pair ``(heap, count)`` as a policy; :func:`from_moves` makes one."""

    wanted = "a pair (heap, count) that is a legal move, where the first heap is 0"

    def __init__(self, rules: NimRules, function: Callable[[list[int]], Any]) -> None:
        super().__init__(function)
        self.rules = rules

    def answers(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:  # noqa: ARG002
        """What the function returns for each list of heap sizes."""
        return [self.function(heaps) for heaps in observations.tolist()]

    def action(self, answer: Any) -> int:
        """A pair as an action; a TypeError or ValueError if it is no move of the game."""
        return self.rules.action(*answer)


def from_moves(rules: NimRules, choose: Callable[[list[int]], Any]) -> FunctionPolicy:
    """Wraps a function from a list of heap sizes to a pair ``(heap, count)`` as a policy; the first heap is 0.

    ``from_moves(rules, lambda heaps: (heaps.index(max(heaps)), 1))`` takes one object from the largest heap.
    """
    return MovesPolicy(rules, choose)


class HeapPolicy(FunctionPolicy):
    """A function from the size of the only heap to the number of objects that it takes, at most what is left."""

    wanted = "the number of objects to take"

    def __init__(self, rules: NimRules, function: Callable[[int], Any]) -> None:
        super().__init__(function)
        self.rules = rules

    def answers(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:  # noqa: ARG002
        """What the function returns for each heap size; a number above the heap size counts as the heap size."""
        sizes = observations[:, 0].tolist()
        answers = [self.function(size) for size in sizes]
        return [
            min(answer, size) if _is_number(answer) else answer
            for answer, size in zip(answers, sizes, strict=True)
        ]

    def action(self, answer: Any) -> int:
        """A number of objects as an action; a TypeError or ValueError if no move takes as many."""
        return self.rules.action(0, answer)


def from_heap_size(rules: NimRules, function: Any) -> HeapPolicy | None:
    """Wraps a function ``heap -> number of objects`` as a policy, or returns ``None`` for any other function.

    It must have exactly one required argument and no argument for a mask, and must neither fail nor return a pair
    for the size of the only heap. It is called once to find out. An object with a method ``getMove`` counts as
    this method.
    """
    function = getattr(function, "getMove", function)
    if rules.n_heaps > 1 or inspect.isclass(function) or not callable(function):
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
        is_optional = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
        n_required = sum(p.default is p.empty and p.kind not in is_optional for p in parameters)
        if n_required != 1 or any("mask" in p.name for p in parameters) or np.ndim(function(rules.heaps[0])) > 0:
            return None
    except Exception:  # a function of another form may raise anything
        return None
    return HeapPolicy(rules, function)


def _is_number(answer: Any) -> bool:
    return isinstance(answer, Integral) and not isinstance(answer, bool)
