"""Ways to play Nim, as distributions over actions.

A policy has one method, ``action_probabilities(observation, action_mask)``: observations of shape
``(..., n_heaps)`` and masks of shape ``(..., n_actions)`` in, float64 probabilities of shape
``(..., n_actions)`` out. It is never asked about a finished position.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env import theory
from nim_env.rules import NimRules, as_integer

ROUNDING = 1e-5  # how far from 1 the probabilities of a float32 policy may sum


@runtime_checkable
class Policy(Protocol):
    """Anything with ``action_probabilities``: the policies below, the agents, or your own."""

    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[Any]:
        """The probability of every action, shape ``(..., n_actions)``."""
        ...


PolicyLike: TypeAlias = str | Policy | Callable[[Any, Any], Any]
"""A name (``"random"``, ``"take-3"``, ``"expert"``), a policy, or ``(observation, action_mask) -> action``."""


class AnswerError(ValueError):
    """A policy answered what cannot be played; ``where`` indexes the first position concerned."""

    def __init__(self, message: str, where: tuple[int, ...]) -> None:
        super().__init__(message)
        self.where = where


class UniformPolicy(ABC):
    """A fixed policy that draws uniformly among some of the legal actions: its :meth:`choices`."""

    @abstractmethod
    def choices(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The actions drawn from: int8 ones and zeros, shape ``(..., n_actions)``."""

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of every action, float64 of shape ``(..., n_actions)``.

        Raises:
            ValueError: ``action_mask`` leaves a position without a legal action.
        """
        choices = self.choices(observation, action_mask)
        number = choices.sum(axis=-1, keepdims=True)
        if not number.all():
            raise ValueError("action_mask leaves a position without a legal action; ask about unfinished games")
        probabilities: NDArray[np.float64] = choices / number
        return probabilities


@dataclass(frozen=True)
class RandomPolicy(UniformPolicy):
    """Every legal action is equally likely."""

    def choices(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """All legal actions, int8 of shape ``(..., n_actions)``."""
        return np.asarray(action_mask).astype(np.int8)


@dataclass(frozen=True)
class TakePolicy(UniformPolicy):
    """Takes ``n`` objects, or what is left or allowed, from a non-empty heap drawn uniformly.

    Args:
        rules: The game.
        n: How many objects to take, 1 or more.

    Raises:
        TypeError: ``rules`` are no NimRules, or ``n`` is not an integer.
        ValueError: ``n`` is below 1.
    """

    rules: NimRules
    n: int

    def __post_init__(self) -> None:
        _check_rules(self.rules)
        if as_integer("n", self.n) < 1:
            raise ValueError(f"n must be 1 or more; got {self.n}")

    def choices(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """One action for each non-empty heap, int8 of shape ``(..., n_actions)``."""
        most = min(self.n, max(self.rules.heaps), self.rules.max_take or self.n)
        taken = np.minimum(self.rules.positions(observation), most)
        choices: NDArray[np.int8] = (taken[..., self.rules.move_heaps] == self.rules.move_counts).astype(np.int8)
        return choices


@dataclass(frozen=True)
class ExpertPolicy(UniformPolicy):
    """Perfect play: a winning action drawn uniformly, or any legal action where none wins.

    On one heap in normal play with takes of up to 3 that is ``heap % 4``, or random where that is 0.
    See :mod:`nim_env.theory` for the source.

    Args:
        rules: The game.

    Raises:
        TypeError: ``rules`` are no NimRules.
    """

    rules: NimRules

    def __post_init__(self) -> None:
        _check_rules(self.rules)

    def choices(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The winning actions, or all legal ones where none wins, int8 of shape ``(..., n_actions)``."""
        winning = theory.winning_action_mask(self.rules, observation)
        return np.where(winning.any(axis=-1, keepdims=True), winning, np.asarray(action_mask)).astype(np.int8)


class CallablePolicy:
    """A function ``(observation, action_mask) -> action`` on one position or a batch, as a policy.

    Args:
        function: Takes what a policy takes; answers an integer action for each position, shape ``(...)``.
        name: What to call the function in an error.
    """

    def __init__(self, function: Callable[[Any, Any], Any], name: str = "policy") -> None:
        self.function, self.name = function, name

    def __repr__(self) -> str:
        return f"CallablePolicy({getattr(self.function, '__name__', self.function)})"

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Probability 1 for the action that the function answers, float64 of shape ``(..., n_actions)``.

        Raises:
            TypeError: The function answers anything but integers.
            ValueError: It answers the wrong number of actions, or an illegal one.
        """
        mask = np.array(action_mask)
        positions = np.array(observation)
        answer = self.function(observation, action_mask)
        actions = _as_array(answer)
        if actions.dtype.kind not in "iu":
            hint = ", a tuple: leave out all but the actions" if isinstance(answer, tuple) else ""
            raise TypeError(f"{self.name} must answer integer actions; got {_shortened(answer)}{hint}")
        if actions.shape != mask.shape[:-1]:
            raise AnswerError(
                f"{self.name} must answer one action for each position, shape {mask.shape[:-1]}; "
                f"got shape {actions.shape}",
                (0,) * (mask.ndim - 1),
            )
        chosen = np.arange(mask.shape[-1]) == actions[..., None]
        illegal = ~(chosen & (mask != 0)).any(axis=-1)
        if illegal.any():
            where = tuple(np.argwhere(illegal)[0])
            raise AnswerError(
                f"{self.name} answered action {actions[where]} at heaps {positions[where].tolist()}; "
                f"legal are {np.flatnonzero(mask[where]).tolist()}",
                where,
            )
        probabilities: NDArray[np.float64] = chosen.astype(np.float64)
        return probabilities


def as_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """The policy that ``policy`` names, is or wraps; ``name`` is the argument to blame in an error.

    Raises:
        TypeError: ``policy`` is not a name, a policy or a callable.
        ValueError: No policy has that name, or the policy was made for another game.
    """
    _check_rules(rules)
    if isinstance(policy, str):
        return _named_policy(policy, rules, name)
    if isinstance(policy, type):
        raise TypeError(f"{name} must be a policy, not a class; got {policy!r}, make an instance of it")
    made_for = getattr(policy, "rules", rules)
    if isinstance(made_for, NimRules) and made_for != rules:
        raise ValueError(f"{name} was made for {made_for}, but the game is {rules}")
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        return CallablePolicy(policy, name)
    raise TypeError(
        f"{name} must be a name, an object with action_probabilities, or a callable "
        f"(observation, action_mask) -> action; got {policy!r}"
    )


def is_built_in(policy: Any) -> TypeGuard[UniformPolicy]:
    """Whether a policy is one of this module's own: its choices are legal, and say all about it."""
    return type(policy) in (RandomPolicy, TakePolicy, ExpertPolicy)


def _check_rules(rules: Any) -> None:
    if not isinstance(rules, NimRules):
        raise TypeError(f"rules must be NimRules; got {rules!r}")


def _named_policy(policy: str, rules: NimRules, name: str) -> Policy:
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')


def checked_probabilities(
    probabilities: Any, observation: NDArray[np.int64], action_mask: NDArray[np.int8], name: str = "policy"
) -> NDArray[np.float64]:
    """``probabilities`` as float64 of ``action_mask``'s shape, if they are a distribution over legal actions.

    Args:
        probabilities: What a policy answered, shape ``(..., n_actions)``.
        observation: The positions it was asked about, shape ``(..., n_heaps)``.
        action_mask: Their legal actions, shape ``(..., n_actions)``.
        name: The argument that gave the policy, to blame in an error.

    Raises:
        TypeError: They are not numbers.
        ValueError: The shape is wrong, or a row is negative or not finite, does not sum to 1, or puts
            weight on an illegal action; the message names the first such position.
    """
    weights = _as_array(probabilities)
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"{name} must answer numbers as probabilities; got {_shortened(probabilities)}")
    if weights.shape != action_mask.shape:
        raise AnswerError(
            f"{name} must answer probabilities of shape {action_mask.shape}, one per action; got shape "
            f"{weights.shape}, {_shown(weights)}, for heaps {_shown(observation)}",
            (0,) * (action_mask.ndim - 1),
        )
    weights = weights.astype(np.float64, order="C")  # as sums of rows depend on it in the last digit
    wrongs = {
        "negative or not a number": ~(weights >= 0).all(axis=-1),
        "above 0 for an illegal action": ((weights > 0) & (action_mask == 0)).any(axis=-1),
        "not of sum 1": ~(np.abs(weights.sum(axis=-1) - 1) <= ROUNDING),
    }
    is_wrong = np.any(list(wrongs.values()), axis=0)
    if is_wrong.any():
        where = tuple(np.argwhere(is_wrong)[0])
        what = next(what for what, wrong in wrongs.items() if wrong[where])
        raise AnswerError(
            f"{name} answered probabilities {what} at heaps {observation[where].tolist()}: "
            f"{_shown(weights[where])}",
            where,
        )
    return weights


def _as_array(answer: Any) -> NDArray[Any]:
    """What a policy answered; an object where it is no regular array."""
    try:
        return np.asarray(answer)
    except ValueError:
        return np.array(None)


def _shortened(answer: Any) -> str:
    text = " ".join(repr(answer).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _shown(array: NDArray[Any]) -> str:
    """An array in the one line of an error."""
    return " ".join(np.array2string(array, precision=4, threshold=64, edgeitems=2).split())


def ask(
    policy: Policy, observation: NDArray[np.int64], action_mask: NDArray[np.int8], name: str = "policy"
) -> NDArray[np.float64]:
    """What a policy answers about a batch of positions, checked; it gets copies of what it is shown.

    Raises:
        TypeError, ValueError: As :func:`checked_probabilities`, and what the policy itself raises.
    """
    answer = policy.action_probabilities(observation.copy(), action_mask.copy())
    return checked_probabilities(answer, observation, action_mask, name)


def opponent_probabilities(
    policy: Policy, observation: NDArray[np.int64], action_mask: NDArray[np.int8]
) -> NDArray[np.float64]:
    """What an environment's opponent answers, checked; it gets copies of what it is shown.

    Raises:
        TypeError, ValueError: It cannot answer, or answers anything but distributions over legal actions.
    """
    try:
        answer = policy.action_probabilities(observation.copy(), action_mask.copy())
    except ValueError as error:
        if isinstance(policy, CallablePolicy):
            raise  # it says by itself what was wrong
        where = f" at heaps {observation.tolist()}" if observation.ndim == 1 else ""
        raise ValueError(f"opponent={policy!r} cannot play{where}: {error}") from error
    return checked_probabilities(answer, observation, action_mask, "opponent")


def uniform_sample(choices: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """The chosen action of each row, one uniform draw from [0, 1) choosing evenly among the nonzero entries.

    Args:
        choices: Nonzero where an action may be chosen, one or more in each row, shape ``(n, n_actions)``.
        draws: Shape ``(n,)``.
    """
    chosen_from = np.flatnonzero(choices)
    number = np.count_nonzero(choices, axis=1)
    nth = number.cumsum() - number + (draws * number).astype(np.int64)
    actions: NDArray[np.int64] = chosen_from[nth] - np.arange(len(choices)) * choices.shape[1]
    return actions


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """One action drawn from each distribution, int64 of shape ``(...)`` for ``(..., n_actions)``.

    An action of probability 0 is never drawn, whatever the generator returns.
    """
    cumulative = probabilities.cumsum(axis=-1)
    drawn = generator.random(probabilities.shape[:-1]) * cumulative[..., -1]
    actions: NDArray[np.int64] = (cumulative <= drawn[..., None]).sum(axis=-1)
    return actions
