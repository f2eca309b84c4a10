"""Policies that call a function.

The function takes one position, a batch of positions, a list of heap sizes or, on a board with one heap, its size.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env.policies.base import PolicyAttributes
from nim_env.policies.player import InvalidPolicyOutput
from nim_env.rules import NimRules

_OPTIONAL = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


class FunctionPolicy(PolicyAttributes):
    """Wraps a function ``(observation, action_mask) -> action`` on one position as a policy.

    If an answer is not a legal action, the row of probabilities is all zeros, and the :class:`Player` decides what
    happens. ``illegal_answer`` is the first such answer of the last query, and ``fault`` describes it. ``fault``
    is ``None`` if all answers were legal.
    """

    _expected_answer = (
        "a legal action, one integer (policies.from_moves takes pairs of heap and count, batched takes batches)"
    )

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.fault: str | None = None
        self.illegal_answer: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.function, '__name__', self.function)})"

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Gives probability 1 to the function's action in each position: float64 of shape ``(..., n_actions)``."""
        masks = np.reshape(action_mask, (-1, np.shape(action_mask)[-1]))
        observations = np.reshape(observation, (len(masks), *np.shape(observation)[np.ndim(action_mask) - 1 :]))
        answers = self.call_function(observations.copy(), masks.copy())
        actions = self.to_actions(answers)
        rows = np.flatnonzero((actions >= 0) & (actions < masks.shape[1]))
        rows = rows[masks[rows, actions[rows]] != 0]  # the rows with a legal answer
        probabilities = np.zeros(masks.shape)
        probabilities[rows, actions[rows]] = 1.0
        self.fault = self.illegal_answer = None
        if len(rows) < len(masks):
            row = int(probabilities.any(axis=1).argmin())  # the first row without a legal answer
            at = observations[row].tolist()
            self.illegal_answer = answers[row]
            self.fault = f"its function must return {self._expected_answer}; got {self.illegal_answer!r} at {at}"
        return probabilities.reshape(np.shape(action_mask))

    def call_function(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:
        """Calls the function for each of ``n`` positions and returns its answers."""
        return [self.function(*position) for position in zip(observations, masks, strict=True)]

    def to_actions(self, answers: Sequence[Any]) -> NDArray[np.int64]:
        """Converts each answer to an action, or to -1 if that is impossible: int64 of shape ``(n,)``."""
        if isinstance(answers, np.ndarray) and answers.ndim == 1 and answers.dtype.kind in "iu":
            return answers.astype(np.int64)
        return np.array([self._to_action_or_illegal(answer) for answer in answers], dtype=np.int64)

    def _to_action_or_illegal(self, answer: Any) -> np.int64:
        """Converts an answer to an action, or to -1 if that is impossible."""
        try:
            return np.int64(self.to_action(answer))
        except (TypeError, ValueError, OverflowError):
            return np.int64(-1)

    def to_action(self, answer: Any) -> int:
        """Converts an answer to an action. Raises TypeError or ValueError if that is impossible."""
        return checked_integer("action", answer)


class BatchedPolicy(FunctionPolicy):
    """Calls a function ``(observations, action_masks) -> actions`` on batches; see :func:`batched`."""

    _expected_answer = "one legal action, an integer, for each position"

    def call_function(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:
        """Calls the function once, with all positions, and returns its answers."""
        answers = self.function(observations, masks)
        if not isinstance(answers, list | tuple):
            answers = np.atleast_1d(answers)
        if len(answers) != len(observations):
            message = (
                f"{self!r} must return {self._expected_answer}; got {answers!r} for {len(observations)} positions"
            )
            raise InvalidPolicyOutput(message)
        return answers


def batched(function: Callable[[Any, Any], Any]) -> BatchedPolicy:
    """Wraps a function on batches as a policy, which calls it once for each batch.

    The function takes observations of shape ``(n, n_heaps)`` and masks of shape ``(n, n_actions)``, and returns
    ``n`` legal actions. For example, ``batched(lambda observations, masks: masks.argmax(axis=1))`` plays the first
    legal action everywhere.
    """
    return BatchedPolicy(function)


class MovesPolicy(FunctionPolicy):
    """A policy that calls a function from heap sizes to a pair ``(heap, count)``; see :func:`from_moves`."""

    _expected_answer = "a pair (heap, count) that is a legal move; the first heap is 0"

    def __init__(self, rules: NimRules, function: Callable[[list[int]], Any]) -> None:
        super().__init__(function)
        self.rules = rules

    def call_function(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:  # noqa: ARG002
        """Calls the function for each list of heap sizes and returns its answers."""
        return [self.function(heaps) for heaps in observations.tolist()]

    def to_action(self, answer: Any) -> int:
        """Converts a pair ``(heap, count)`` to an action. Raises TypeError or ValueError if it is not a move."""
        return self.rules.action(*answer)


def from_moves(rules: NimRules, choose: Callable[[list[int]], Any]) -> FunctionPolicy:
    """Wraps a function from a list of heap sizes to a pair ``(heap, count)`` as a policy. The first heap is 0.

    For example, ``from_moves(rules, lambda heaps: (heaps.index(max(heaps)), 1))`` takes one object from the
    largest heap.
    """
    return MovesPolicy(rules, choose)


class HeapPolicy(FunctionPolicy):
    """A policy that calls a function from the size of the only heap to a number of objects.

    If the number is above the heap size, the policy takes what is left.
    """

    _expected_answer = "the number of objects to take"

    def __init__(self, rules: NimRules, function: Callable[[int], Any]) -> None:
        super().__init__(function)
        self.rules = rules

    def call_function(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:  # noqa: ARG002
        """Calls the function for each heap size. Answers above the heap size are lowered to it."""
        sizes = observations[:, 0].tolist()
        answers = [self.function(size) for size in sizes]
        return [
            min(answer, size) if _is_number(answer) else answer
            for answer, size in zip(answers, sizes, strict=True)
        ]

    def to_action(self, answer: Any) -> int:
        """Converts a number of objects to an action. Raises TypeError or ValueError if no move takes this many."""
        return self.rules.action(0, answer)


def from_heap_size(rules: NimRules, function: Any) -> FunctionPolicy | None:
    """Wraps a function ``heap -> number of objects`` as a policy, or returns ``None`` for any other function.

    The function must have exactly one required argument and no argument with "mask" in its name. As a test it is
    called with the starting size of the only heap, and it must neither raise an error nor return a pair. If
    ``function`` is an object with a method ``getMove``, that method is the function.
    """
    function = getattr(function, "getMove", function)
    if rules.n_heaps > 1 or inspect.isclass(function) or not callable(function):
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
        required = [p for p in parameters if p.default is p.empty and p.kind not in _OPTIONAL]
        takes_mask = any("mask" in parameter.name for parameter in parameters)
        if takes_mask or len(required) != 1 or np.ndim(function(rules.heaps[0])) > 0:
            return None
    except Exception:  # any other function can raise anything
        return None
    return HeapPolicy(rules, function)


def _is_number(answer: Any) -> bool:
    return isinstance(answer, Integral) and not isinstance(answer, bool)
