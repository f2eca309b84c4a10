"""Policies that call a function to choose the action.

The function takes one position, a batch of positions, a list of heap sizes or, on a board with one heap, the size
of the heap.
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
    """A policy that plays the action chosen by a function ``(observation, action_mask) -> action``.

    The function is called with one position at a time. If its answer is not a legal action, all probabilities of
    the position are 0, which a :class:`Player` refuses or counts as a lost game.

    Args:
        function: The function.

    Attributes:
        function: The function.
        illegal_answer: The first answer in the last query that is not a legal action. ``None`` if all are legal.
        fault: A description of this answer, or ``None``.
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
        """Returns a float64 array, ``(..., n_actions)``: 1 for the action of the function, 0 for others."""
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
        """Calls the function once for each of ``n`` positions, and returns the ``n`` answers unchanged."""
        return [self.function(*position) for position in zip(observations, masks, strict=True)]

    def to_actions(self, answers: Sequence[Any]) -> NDArray[np.int64]:
        """Converts ``n`` answers to actions, int64 of shape ``(n,)``.

        An answer that is not an action becomes -1.
        """
        if isinstance(answers, np.ndarray) and answers.ndim == 1 and answers.dtype.kind in "iu":
            return answers.astype(np.int64)
        return np.array([self._to_action_or_illegal(answer) for answer in answers], dtype=np.int64)

    def _to_action_or_illegal(self, answer: Any) -> np.int64:
        """Converts one answer to an action, or to -1 if it is not an action."""
        try:
            return np.int64(self.to_action(answer))
        except (TypeError, ValueError, OverflowError):
            return np.int64(-1)

    def to_action(self, answer: Any) -> int:
        """Converts one answer to an action. Raises TypeError or ValueError if it is not an action."""
        return checked_integer("action", answer)


class BatchedPolicy(FunctionPolicy):
    """A policy that calls a function ``(observations, action_masks) -> actions`` on a batch of positions.

    :func:`batched` describes the function.
    """

    _expected_answer = "one legal action, an integer, for each position"

    def call_function(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:
        """Calls the function once for all ``n`` positions, and returns the ``n`` answers.

        Raises InvalidPolicyOutput if the number of answers is not ``n``.
        """
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
    """Wraps a function that chooses actions for a batch of positions as a policy.

    The function takes observations of shape ``(n, n_heaps)`` and action masks of shape ``(n, n_actions)``, and
    returns ``n`` legal actions. For example, ``batched(lambda observations, masks: masks.argmax(axis=1))`` plays
    the first legal action in every position.
    """
    return BatchedPolicy(function)


class MovesPolicy(FunctionPolicy):
    """A policy that calls a function from heap sizes to a pair ``(heap, count)``; see :func:`from_moves`."""

    _expected_answer = "a pair (heap, count) that is a legal move; the first heap is 0"

    def __init__(self, rules: NimRules, function: Callable[[list[int]], Any]) -> None:
        super().__init__(function)
        self.rules = rules

    def call_function(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:  # noqa: ARG002
        """Calls the function with the list of heap sizes of each position, and returns the ``n`` answers."""
        return [self.function(heaps) for heaps in observations.tolist()]

    def to_action(self, answer: Any) -> int:
        """Converts a pair ``(heap, count)`` to an action. Raises TypeError or ValueError if it is not a move."""
        return self.rules.action(*answer)


def from_moves(rules: NimRules, choose: Callable[[list[int]], Any]) -> FunctionPolicy:
    """Wraps a function that chooses a move as a policy.

    The function takes a list of heap sizes and returns a pair ``(heap, count)``: take ``count`` objects from the
    heap with the number ``heap``, starting at 0. For example,
    ``from_moves(rules, lambda heaps: (heaps.index(max(heaps)), 1))`` takes one object from the largest heap.
    """
    return MovesPolicy(rules, choose)


class HeapPolicy(FunctionPolicy):
    """A policy for boards with one heap, whose function takes the heap size and returns how many objects to take.

    If the number is above the heap size, the policy takes what is left.
    """

    _expected_answer = "the number of objects to take"

    def __init__(self, rules: NimRules, function: Callable[[int], Any]) -> None:
        super().__init__(function)
        self.rules = rules

    def call_function(self, observations: NDArray[Any], masks: NDArray[Any]) -> Sequence[Any]:  # noqa: ARG002
        """Calls the function with the heap size of each of ``n`` positions, and returns the answers.

        A number above the heap size is replaced by the heap size.
        """
        sizes = observations[:, 0].tolist()
        answers = [self.function(size) for size in sizes]
        return [
            min(answer, size) if isinstance(answer, Integral) else answer
            for answer, size in zip(answers, sizes, strict=True)
        ]

    def to_action(self, answer: Any) -> int:
        """Converts a number of objects to the action that takes this many.

        Raises TypeError or ValueError if there is no such action.
        """
        return self.rules.action(0, answer)


def from_heap_size(rules: NimRules, function: Any) -> FunctionPolicy | None:
    """Wraps a function from a heap size to a number of objects as a policy, for boards with one heap.

    ``function`` can also be an object whose method ``getMove`` is such a function. Returns ``None`` for a board
    with several heaps and for functions of any other kind. A function of this kind has one required argument, and
    none with "mask" in its name. Called with the starting size of the heap, it returns a single object, such as a
    number, and raises no error.
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
    except Exception:  # a function of another kind can raise any error
        return None
    return HeapPolicy(rules, function)
