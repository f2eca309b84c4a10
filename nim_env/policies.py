"""Players of Nim as distributions over actions.

A policy has one method, ``action_probabilities(observation, action_mask)``. It takes observations of shape
``(..., n_heaps)`` and masks of shape ``(..., n_actions)`` and returns probabilities of shape ``(..., n_actions)``.
It is never asked about a finished game.

Where a function or an environment takes a policy, it takes a name (``"random"``, ``"take-N"``, ``"expert"``), an
object with ``action_probabilities``, or a callable ``(observation, action_mask) -> action``. A callable gets one
position, shapes ``(n_heaps,)`` and ``(n_actions,)``, and is called once for each. :func:`batched` makes a policy
of a function on batches.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env._chunks import chunks
from nim_env.rules import NimRules, as_integer, check_rules

_MAX_TABLE_ENTRIES = 100_000_000  # of tabulate: 400 MB
_TOLERANCE = 1e-5  # of the sum of the probabilities of a float32 policy


@runtime_checkable
class Policy(Protocol):
    """Anything with ``action_probabilities``: the policies of this module, an agent, or your own class."""

    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[Any]:
        """The probability of each action.

        Args:
            observation: Heap sizes of unfinished positions, int64 of shape ``(..., n_heaps)``.
            action_mask: Their legal actions, int8 of shape ``(..., n_actions)``.

        Returns:
            Numbers of shape ``(..., n_actions)``, in each position a distribution over its legal actions.
        """
        ...


PolicyLike: TypeAlias = str | Policy | Callable[[Any, Any], Any]
"""A name, an object with ``action_probabilities``, or a callable on one position."""


class InvalidPolicyOutput(ValueError):  # noqa: N818  it names the fault, as gymnasium.error.InvalidAction does
    """A policy returned something that is not a legal action or not a distribution over legal actions.

    Args:
        message: The error message.
        index: The value of the attribute.

    Attributes:
        index: The index of the first such position in the batch; ``()`` for a single position.
    """

    def __init__(self, message: str, index: tuple[int, ...]) -> None:
        super().__init__(message)
        self.index = index


class UniformPolicy(ABC):
    """A policy that draws uniformly from its :meth:`support`, a set of legal actions."""

    @abstractmethod
    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The actions of positive probability.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: The legal actions, shape ``(..., n_actions)``.

        Returns:
            int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: ``observation`` holds anything but positions of the policy's game.
        """

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of each action.

        Args:
            observation: Heap sizes of unfinished positions, shape ``(..., n_heaps)``.
            action_mask: Their legal actions, shape ``(..., n_actions)``.

        Returns:
            float64 of shape ``(..., n_actions)``.

        Raises:
            TypeError: As :meth:`support`.
            ValueError: As :meth:`support`; or ``action_mask`` has a position without a legal action.
        """
        support = self.support(observation, action_mask)
        number = support.sum(axis=-1, keepdims=True)
        if not number.all():
            raise ValueError("action_mask has a position without a legal action; ask only about unfinished games")
        probabilities: NDArray[np.float64] = support / number
        return probabilities


@dataclass(frozen=True)
class RandomPolicy(UniformPolicy):
    """Draws uniformly from the legal actions."""

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """The legal actions: int8, shape ``(..., n_actions)``."""
        return np.asarray(action_mask).astype(np.int8)


@dataclass(frozen=True)
class TakePolicy(UniformPolicy):
    """Takes ``n`` objects, or as many as are left or allowed, from a non-empty heap drawn uniformly.

    Args:
        rules: The game.
        n: The number of objects to take, 1 or more.

    Raises:
        TypeError: ``rules`` is not a NimRules, or ``n`` is not an integer.
        ValueError: ``n`` is below 1.
    """

    rules: NimRules
    n: int

    def __post_init__(self) -> None:
        check_rules(self.rules)
        if as_integer("n", self.n) < 1:
            raise ValueError(f"n must be 1 or more; got {self.n}")

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """One action for each non-empty heap.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: Unused; the legal moves follow from the heap sizes.

        Returns:
            int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: As :meth:`NimRules.positions`.
        """
        limit = min(self.n, max(self.rules.heaps), self.rules.max_take or self.n)
        count = np.minimum(self.rules.positions(observation), limit)
        support: NDArray[np.int8] = (count[..., self.rules.move_heaps] == self.rules.move_counts).astype(np.int8)
        return support


@dataclass(frozen=True)
class ExpertPolicy(UniformPolicy):
    """Plays perfectly: draws a winning action, or any legal action where no action wins.

    On one heap in normal play with takes of up to 3 it takes ``heap % 4``, or a random number where that is 0.
    :mod:`nim_env.theory` names the sources.

    Args:
        rules: The game.

    Raises:
        TypeError: ``rules`` is not a NimRules.
    """

    rules: NimRules

    def __post_init__(self) -> None:
        check_rules(self.rules)

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The winning actions, or all legal actions where none wins.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: The legal actions, shape ``(..., n_actions)``.

        Returns:
            int8 ones and zeros, shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: As :meth:`NimRules.positions`.
        """
        winning = theory.winning_action_mask(self.rules, observation)
        return np.where(winning.any(axis=-1, keepdims=True), winning, np.asarray(action_mask)).astype(np.int8)


class TabularPolicy:
    """A policy that looks its probabilities up in a table.

    Args:
        rules: The game.
        probabilities: The distribution of each position by its index, shape ``(n_positions, n_actions)``. The row
            of the empty position has no effect.

    Raises:
        TypeError: ``rules`` is not a NimRules.
        ValueError: ``probabilities`` has another shape.
    """

    def __init__(self, rules: NimRules, probabilities: ArrayLike) -> None:
        check_rules(rules)
        self.rules, self.probabilities = rules, np.asarray(probabilities)
        if self.probabilities.shape != (rules.n_positions, rules.n_actions):
            raise ValueError(
                f"probabilities must have shape {(rules.n_positions, rules.n_actions)}, one row for each position "
                f"of {rules}; got {self.probabilities.shape}"
            )

    def action_probabilities(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The probability of each action.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: Unused; the table has the probabilities.

        Returns:
            Shape ``(..., n_actions)``, of the table's dtype.

        Raises:
            TypeError, ValueError: As :meth:`NimRules.index`.
        """
        probabilities: NDArray[Any] = self.probabilities[self.rules.index(observation)]
        return probabilities


def tabulate(rules: NimRules, policy: PolicyLike) -> TabularPolicy:
    """A copy of a policy as a table of float32. It does not change when the policy learns more.

    Args:
        rules: The game.
        policy: The policy. It is asked about each position once.

    Returns:
        The table, whose ``probabilities`` are float32 of shape ``(n_positions, n_actions)``.

    Raises:
        TypeError: ``policy`` is not a policy, or returns something of the wrong type.
        ValueError: The table would have more than 100 million entries, ``policy`` is unknown or was made for
            another game, or it returns anything but a distribution over legal actions.
    """
    asked = as_policy(policy, rules)
    if rules.n_positions * rules.n_actions > _MAX_TABLE_ENTRIES:
        raise ValueError(
            f"the table of {rules} would have more than {_MAX_TABLE_ENTRIES:,} entries; use a smaller game"
        )
    heaps = rules.all_positions()
    table = np.zeros((len(heaps), rules.n_actions), dtype=np.float32)
    for rows in chunks(rules, len(heaps) - 1, start=1):
        table[rows] = query_policy(asked, heaps[rows], rules.action_mask(heaps[rows]))
    return TabularPolicy(rules, table)


class MixturePolicy:
    """A uniform mixture: at each move, a member drawn uniformly chooses the action.

    It serves as the opponent pool of self-play: :meth:`add` a snapshot of the learner at intervals
    (:func:`tabulate` makes one) and pass the mixture as ``opponent``.

    Args:
        rules: The game.
        policies: The first members.
        max_size: The most members. :meth:`add` removes the oldest beyond it. ``None`` for no limit.

    Attributes:
        policies: The members, the oldest first.

    Raises:
        TypeError: A member is not a policy, or ``max_size`` is not an integer.
        ValueError: A member is unknown or was made for another game, or ``max_size`` is below 1.
    """

    def __init__(self, rules: NimRules, policies: Sequence[PolicyLike] = (), max_size: int | None = None) -> None:
        if max_size is not None and as_integer("max_size", max_size) < 1:
            raise ValueError(f"max_size must be 1 or more, or None for no limit; got {max_size}")
        self.rules, self.max_size = rules, max_size
        self.policies: list[Policy] = []
        for policy in policies:
            self.add(policy)

    def add(self, policy: PolicyLike) -> None:
        """Adds a member, and removes the oldest beyond ``max_size``.

        Args:
            policy: A name, a policy, or a callable on one position.

        Raises:
            TypeError, ValueError: ``policy`` is not a policy of this game.
        """
        self.policies.append(as_policy(policy, self.rules))
        if self.max_size is not None:
            del self.policies[: -self.max_size]

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The mean of the members' probabilities.

        Args:
            observation: Heap sizes of unfinished positions, shape ``(..., n_heaps)``.
            action_mask: Their legal actions, shape ``(..., n_actions)``.

        Returns:
            float64 of shape ``(..., n_actions)``.

        Raises:
            TypeError, ValueError: As :func:`query_policy`, for any member; or there are no members.
        """
        if not self.policies:
            raise ValueError("the mixture has no members; add a policy first")
        total = np.zeros(np.shape(action_mask))
        for policy in self.policies:
            total += query_policy(policy, np.asarray(observation), np.asarray(action_mask))
        return total / len(self.policies)


class FunctionPolicy:
    """A function ``(observations, action_masks) -> actions`` on batches as a policy; :func:`batched` makes one.

    Args:
        function: Takes observations of shape ``(n, n_heaps)`` and masks of shape ``(n, n_actions)``. Returns ``n``
            legal actions, integers.
        name: The argument to name in an error.
    """

    def __init__(self, function: Callable[[Any, Any], Any], name: str = "policy") -> None:
        self.function, self.name = function, name

    def __repr__(self) -> str:
        return f"FunctionPolicy({getattr(self.function, '__name__', self.function)})"

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Probability 1 for the function's actions, 0 for all others.

        Args:
            observation: Heap sizes of unfinished positions, shape ``(..., n_heaps)``.
            action_mask: Their legal actions, shape ``(..., n_actions)``.

        Returns:
            float64 of shape ``(..., n_actions)``.

        Raises:
            TypeError: The function returns anything but integers.
            InvalidPolicyOutput: It returns the wrong number of actions, or an illegal one.
        """
        heaps, mask = np.array(observation), np.asarray(action_mask)
        flat_mask = mask.reshape(-1, mask.shape[-1])
        output = self.function(heaps.reshape(-1, heaps.shape[-1]), flat_mask.copy())
        actions = _as_array(output)
        if actions.dtype.kind not in "iu":
            raise TypeError(f"{self.name} must return integer actions; got {_shortened(output)}")
        if actions.shape != (len(flat_mask),):
            raise InvalidPolicyOutput(
                f"{self.name} must return one action for each position, shape {(len(flat_mask),)}; got shape "
                f"{actions.shape}",
                (0,) * (mask.ndim - 1),
            )
        chosen = np.arange(mask.shape[-1]) == actions[:, None]
        is_legal = (chosen & (flat_mask != 0)).any(axis=-1)
        if not is_legal.all():
            first = int(is_legal.argmin())
            index = next(islice(np.ndindex(mask.shape[:-1]), first, None))
            legal = np.flatnonzero(mask[index]).tolist()
            heaps = np.asarray(observation)[index].tolist()
            raise InvalidPolicyOutput(
                f"{self.name} returned action {actions[first]} at heaps {heaps}; legal are {legal}", index
            )
        probabilities: NDArray[np.float64] = chosen.reshape(mask.shape).astype(np.float64)
        return probabilities


class _OneByOne:
    """A function on one position as a function on batches."""

    def __init__(self, function: Callable[[Any, Any], Any], name: str) -> None:
        self.function, self.name = function, name
        self.__name__ = getattr(function, "__name__", repr(function))

    def __call__(self, observations: NDArray[Any], action_masks: NDArray[Any]) -> list[int]:
        outputs = [self.function(*position) for position in zip(observations, action_masks, strict=True)]
        try:
            return [as_integer("action", output) for output in outputs]
        except TypeError as error:
            is_array = any(isinstance(output, list | tuple | np.ndarray) for output in outputs)
            hint = ". Wrap a function on batches with nim_env.policies.batched" if is_array else ""
            raise TypeError(f"{self.name} must return an action for one position; {error}{hint}") from None


def batched(function: Callable[[Any, Any], Any]) -> FunctionPolicy:
    """Makes a policy of a function on batches.

    Args:
        function: Takes observations of shape ``(n, n_heaps)`` and masks of shape ``(n, n_actions)``. Returns ``n``
            legal actions, an integer array of shape ``(n,)``.

    Returns:
        The policy, which calls the function once for each batch.

    Raises:
        TypeError: ``function`` is not callable.

    Example:
        >>> from nim_env.policies import batched
        >>> largest_heap_first = batched(lambda observations, masks: masks.shape[1] - 1 - masks[:, ::-1].argmax(1))
    """
    if not callable(function):
        raise TypeError(f"function must be callable; got {function!r}")
    return FunctionPolicy(function)


def as_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """The policy that ``policy`` names, is or wraps.

    Args:
        policy: A name, a policy, or a callable on one position.
        rules: The game.
        name: The argument to name in an error.

    Returns:
        ``policy`` itself if it has ``action_probabilities``; a :class:`FunctionPolicy` is copied with ``name``.

    Raises:
        TypeError: ``policy`` is not a name, a policy or a callable, or ``rules`` is not a NimRules.
        ValueError: No policy has that name, or the policy was made for another game.
    """
    check_rules(rules)
    if isinstance(policy, str):
        return _named_policy(policy, rules, name)
    if isinstance(policy, type):
        raise TypeError(f"{name} must be a policy, not a class; got {policy!r}, make an instance of it")
    made_for = getattr(policy, "rules", rules)
    if isinstance(made_for, NimRules) and made_for != rules:
        raise ValueError(f"{name} was made for {made_for}, but the game is {rules}")
    n_actions = getattr(getattr(policy, "action_space", None), "n", rules.n_actions)  # an agent has spaces
    if n_actions != rules.n_actions:
        raise ValueError(f"{name} was made for {n_actions} actions, but {rules} has {rules.n_actions}")
    if isinstance(policy, FunctionPolicy):
        return FunctionPolicy(policy.function, name)
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        return FunctionPolicy(_OneByOne(policy, name), name)
    raise TypeError(
        f"{name} must be a name, an object with action_probabilities, or a callable "
        f"(observation, action_mask) -> action; got {policy!r}"
    )


def is_built_in(policy: Any) -> TypeGuard[UniformPolicy]:
    """Whether ``policy`` is a RandomPolicy, TakePolicy or ExpertPolicy, which the environments tabulate."""
    return type(policy) in (RandomPolicy, TakePolicy, ExpertPolicy)


def query_policy(
    policy: Policy, observation: NDArray[np.int64], action_mask: NDArray[np.int8], name: str = "policy"
) -> NDArray[np.float64]:
    """A policy's probabilities, validated. The policy gets copies of the arrays.

    Args:
        policy: The policy.
        observation: Unfinished positions, shape ``(..., n_heaps)``.
        action_mask: Their legal actions, shape ``(..., n_actions)``.
        name: The argument to name in an error.

    Returns:
        float64 of shape ``(..., n_actions)``.

    Raises:
        TypeError: The policy returns anything but numbers.
        InvalidPolicyOutput: The shape is wrong, or a row is negative, not finite, positive for an illegal action
            or does not sum to 1. The message names the first such position.
    """
    output = policy.action_probabilities(observation.copy(), action_mask.copy())
    probabilities = _as_array(output)
    if probabilities.dtype.kind not in "biuf":
        raise TypeError(f"{name} must return numbers as probabilities; got {_shortened(output)}")
    if probabilities.shape != action_mask.shape:
        raise InvalidPolicyOutput(
            f"{name} must return probabilities of shape {action_mask.shape}, one for each action; got shape "
            f"{probabilities.shape} at heaps {_formatted(observation)}",
            (0,) * (action_mask.ndim - 1),
        )
    probabilities = probabilities.astype(np.float64, order="C")  # sums over rows round alike in every layout
    checks = {
        "a negative or undefined probability": (probabilities >= 0).all(axis=-1),
        "a positive probability for an illegal action": ~((probabilities > 0) & (action_mask == 0)).any(axis=-1),
        "probabilities that do not sum to 1": np.abs(probabilities.sum(axis=-1) - 1) <= _TOLERANCE,
    }
    for mistake, is_valid in checks.items():
        if not np.all(is_valid):
            index = tuple(np.argwhere(~np.asarray(is_valid))[0])
            heaps, row = observation[index].tolist(), _formatted(probabilities[index])
            raise InvalidPolicyOutput(f"{name} returned {mistake} at heaps {heaps}: {row}", index)
    return probabilities


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws one action from each distribution.

    Args:
        probabilities: Shape ``(..., n_actions)``. Each row may sum to any positive number.
        generator: Its draws decide. An action of probability 0 is never drawn, whatever they are.

    Returns:
        int64 of shape ``(...)``.
    """
    cumulative = probabilities.cumsum(axis=-1)
    drawn = generator.random(probabilities.shape[:-1]) * cumulative[..., -1]
    actions: NDArray[np.int64] = (cumulative <= drawn[..., None]).sum(axis=-1)
    return actions


def uniform_sample(support: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draws one action uniformly from the nonzero entries of each row.

    Args:
        support: One nonzero entry or more in each row, shape ``(n, n_actions)``.
        draws: One number from [0, 1) for each row, shape ``(n,)``.

    Returns:
        int64 of shape ``(n,)``.
    """
    candidates = np.flatnonzero(support)
    number = np.count_nonzero(support, axis=1)
    nth = number.cumsum() - number + (draws * number).astype(np.int64)
    actions: NDArray[np.int64] = candidates[nth] - np.arange(len(support)) * support.shape[1]
    return actions


def _named_policy(policy: str, rules: NimRules, name: str) -> Policy:
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')


def _as_array(output: Any) -> NDArray[Any]:
    """A policy's output as an array, of dtype object where it is not a regular array."""
    try:
        return np.asarray(output)
    except ValueError:
        return np.array(None)


def _shortened(output: Any) -> str:
    text = " ".join(repr(output).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _formatted(array: NDArray[Any]) -> str:
    """An array on one line."""
    return " ".join(np.array2string(array, precision=4, threshold=64, edgeitems=2).split())
