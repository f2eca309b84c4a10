"""What adapts policies and queries them: functions and encoded observations, checks of outputs, and sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env.encodings import Encoding
from nim_env.rules import checked_integer

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


class FunctionPolicy:
    """A function ``(observations, action_masks) -> actions`` on batches as a policy; :func:`batched` makes one.

    Args:
        function: Takes observations of shape ``(n, n_heaps)`` and masks of shape ``(n, n_actions)``. Returns ``n``
            legal actions, integers.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

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
            InvalidPolicyOutput: The function returns anything but one legal action for each position.
        """
        observations, masks = np.array(observation), np.array(action_mask)
        leading, n_actions = masks.shape[:-1], masks.shape[-1]
        flat_masks = masks.reshape(-1, n_actions)
        flat_observations = observations.reshape(len(flat_masks), *observations.shape[len(leading) :])
        output = self.function(flat_observations.copy(), flat_masks.copy())
        actions = _as_array(output)
        if actions.dtype.kind not in "iu" or actions.shape != (len(flat_masks),):
            index: tuple[int, ...] = (0,) * len(leading)
            needed = f"one integer action for each position, shape {(len(flat_masks),)}"
            if isinstance(self.function, _ByPosition):
                first = next(n for n, each in enumerate(output) if not _is_int64(each))
                index, output = tuple(map(int, np.unravel_index(first, leading))), output[first]
                shown = _shortened(flat_observations[first].tolist())
                needed = f"an integer from 0 to {n_actions - 1} for observation {shown}"
            raise InvalidPolicyOutput(
                f"{self!r} must return {needed}; got {_shortened(output)}{_hint(self.function, output)}", index
            )
        chosen = np.arange(n_actions) == actions[:, None]
        is_legal = (chosen & (flat_masks != 0)).any(axis=-1)
        if not is_legal.all():
            first = int(is_legal.argmin())
            shown = _shortened(flat_observations[first].tolist())
            legal = np.flatnonzero(flat_masks[first]).tolist()
            raise InvalidPolicyOutput(
                f"{self!r} returned action {actions[first]} for observation {shown}; legal are {legal}",
                tuple(map(int, np.unravel_index(first, leading))),
            )
        probabilities: NDArray[np.float64] = chosen.reshape(masks.shape).astype(np.float64)
        return probabilities


class _ByPosition:
    """A function on one position as a function on batches."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", repr(function))

    def __call__(self, observations: NDArray[Any], action_masks: NDArray[Any]) -> Any:
        outputs = [self.function(*position) for position in zip(observations, action_masks, strict=True)]
        if all(map(_is_int64, outputs)):
            return np.array(outputs, dtype=np.int64)
        return np.fromiter(outputs, dtype=object, count=len(outputs))  # which FunctionPolicy refuses


def batched_by_position(function: Callable[[Any, Any], Any]) -> FunctionPolicy:
    """Wraps a function on one position as a policy.

    Args:
        function: Takes one observation and its mask, shape ``(n_actions,)``. Returns a legal action, an integer.

    Returns:
        The policy, which calls the function once for each position.
    """
    return FunctionPolicy(_ByPosition(function))


def batched(function: Callable[[Any, Any], Any]) -> FunctionPolicy:
    """Wraps a batched function as a policy.

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


class EncodedPolicy:
    """A policy on encoded observations as a player.

    For example::

        env = gym.make("Nim-v0", observation="bits", opponent=None)
        agent = agents.QLearningAgent(env.observation_space, env.action_space)
        agents.train(agent, env, episodes=5000)
        evaluation.mastery(NimRules(), EncodedPolicy(agent, env.unwrapped.encoding))

    Args:
        policy: An object with ``action_probabilities``, such as an agent, or a callable
            ``(observation, action_mask) -> action`` on one observation. It gets encoded observations.
        encoding: The encoding that the policy was trained on: ``env.unwrapped.encoding``.

    Raises:
        TypeError: ``policy`` is not a policy, or ``encoding`` is not an encoding.
        ValueError: The policy has an ``observation_space`` other than that of the encoding.
    """

    def __init__(self, policy: Policy | Callable[[Any, Any], Any], encoding: Encoding) -> None:
        if not isinstance(encoding, Encoding):
            raise TypeError(f"encoding must be an Encoding, such as env.unwrapped.encoding; got {encoding!r}")
        if isinstance(policy, type) or not (isinstance(policy, Policy) or callable(policy)):
            raise TypeError(
                "policy must have action_probabilities or be a callable (a Stable-Baselines3 model needs "
                f"nim_env.sb3.ModelPolicy); got {policy!r}"
            )
        space = getattr(policy, "observation_space", encoding.space)
        if space != encoding.space:
            raise ValueError(f"policy observes {space}, but encoding makes observations of {encoding.space}")
        self.policy, self.encoding = policy, encoding
        self._queried = policy if isinstance(policy, Policy) else batched_by_position(policy)
        if hasattr(policy, "action_space"):
            self.action_space = policy.action_space  # of an agent
        if hasattr(encoding, "rules"):
            self.rules = encoding.rules  # of a named encoding

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[Any]:
        """The policy's probabilities.

        Args:
            observation: Heap sizes of unfinished positions, shape ``(..., n_heaps)``.
            action_mask: Their legal actions, shape ``(..., n_actions)``.

        Returns:
            Shape ``(..., n_actions)``.
        """
        return self._queried.action_probabilities(self.encoding(observation), action_mask)


def query_policy(policy: Policy, observation: NDArray[Any], action_mask: NDArray[np.int8]) -> NDArray[np.float64]:
    """A policy's probabilities, validated. The policy gets copies of the arrays.

    An error that the policy raises is raised unchanged.

    Args:
        policy: The policy.
        observation: Unfinished positions, shape ``(..., n_heaps)``.
        action_mask: Their legal actions, shape ``(..., n_actions)``.

    Returns:
        float64 of shape ``(..., n_actions)``.

    Raises:
        InvalidPolicyOutput: The policy returns anything but numbers of the right shape, or a row is negative, not
            finite, positive for an illegal action or does not sum to 1. The message names the first such position.
    """
    output = policy.action_probabilities(observation.copy(), action_mask.copy())
    probabilities = _as_array(output)
    if probabilities.dtype.kind not in "biuf" or probabilities.shape != action_mask.shape:
        raise InvalidPolicyOutput(
            f"{_shortened(policy)} must return probabilities of shape {action_mask.shape}, one for each action; "
            f"got {_shortened(output)} of shape {probabilities.shape} at heaps {_formatted(observation)}",
            (0,) * (action_mask.ndim - 1),
        )
    probabilities = probabilities.astype(np.float64, order="C")  # sums over rows round alike in every layout
    checks = {
        "a negative or undefined probability": (probabilities >= 0).all(axis=-1),
        "a positive probability for an illegal action": ~((probabilities > 0) & (action_mask == 0)).any(axis=-1),
        "probabilities that do not sum to 1": np.abs(probabilities.sum(axis=-1) - 1) <= _TOLERANCE,
    }
    for fault, is_valid in checks.items():
        if not np.all(is_valid):
            index = tuple(np.argwhere(~np.asarray(is_valid))[0])
            heaps, row = observation[index].tolist(), _formatted(probabilities[index])
            raise InvalidPolicyOutput(f"{_shortened(policy)} returned {fault} at heaps {heaps}: {row}", index)
    return probabilities


def query_opponent(
    policy: Policy, observation: NDArray[Any], action_mask: NDArray[np.int8]
) -> NDArray[np.float64]:
    """:func:`query_policy` of an opponent: its errors say so."""
    try:
        return query_policy(policy, observation, action_mask)
    except InvalidPolicyOutput as error:
        raise InvalidPolicyOutput(f"opponent: {error}", error.index) from None


def query_each(
    policies: Sequence[Policy],
    observation: NDArray[Any],
    action_mask: NDArray[np.int8],
    query: Callable[[Policy, NDArray[Any], NDArray[np.int8]], NDArray[np.float64]] = query_policy,
) -> NDArray[np.float64]:
    """The probabilities of a policy for each position. The positions of one policy are one batch.

    Args:
        policies: ``n`` policies.
        observation: Unfinished positions, shape ``(n, n_heaps)``.
        action_mask: Their legal actions, shape ``(n, n_actions)``.
        query: :func:`query_policy` or :func:`query_opponent`.

    Returns:
        float64 of shape ``(n, n_actions)``.

    Raises:
        InvalidPolicyOutput: See :func:`query_policy`, for the first such position.
    """
    rows_of: dict[int, list[int]] = {}
    for row, policy in enumerate(policies):
        rows_of.setdefault(id(policy), []).append(row)
    probabilities, errors = np.empty(action_mask.shape), {}
    for rows in rows_of.values():
        try:
            probabilities[rows] = query(policies[rows[0]], observation[rows], action_mask[rows])
        except InvalidPolicyOutput as error:
            if len(error.index) != 1 or error.index[0] >= len(rows):
                raise  # of another policy, which this one queried on other positions
            errors[rows[error.index[0]]] = error
    if errors:
        raise InvalidPolicyOutput(str(errors[min(errors)]), (min(errors),))
    return probabilities


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws one action from each distribution.

    Args:
        probabilities: Shape ``(..., n_actions)``. Each row may sum to any positive number.
        generator: Draws the actions. An action of probability 0 is never drawn.

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


def _as_array(output: Any) -> NDArray[Any]:
    """A policy's output as an array, of dtype object where it is not a regular array."""
    try:
        return np.asarray(output)
    except ValueError:
        return np.array(None)


def _is_int64(output: Any) -> bool:
    """Whether the output of a function on one position is an integer of 64 bits."""
    try:
        return -(2**63) <= checked_integer("action", output) < 2**63
    except TypeError:
        return False


def _hint(function: Any, output: Any) -> str:
    """The remedy for an output of ``model.predict``, or of a function on batches, at one position."""
    if not isinstance(function, _ByPosition):
        return ""
    if isinstance(output, tuple):
        return "; return the action alone, such as model.predict(...)[0]"
    if isinstance(output, list | np.ndarray):
        return "; wrap a function on batches with nim_env.policies.batched"
    return ""


def _shortened(output: Any) -> str:
    text = " ".join(repr(output).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _formatted(array: NDArray[Any]) -> str:
    """An array on one line."""
    return " ".join(np.array2string(array, precision=4, threshold=64, edgeitems=2).split())
