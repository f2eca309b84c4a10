"""Players of Nim as distributions over actions.

A policy has one method, ``action_probabilities(observation, action_mask)``. It takes observations of shape
``(..., n_heaps)`` and masks of shape ``(..., n_actions)`` and returns probabilities of shape ``(..., n_actions)``.
It is never queried on a finished game.

Where a function or an environment takes a policy, it takes a name (``"random"``, ``"take-N"``, ``"expert"``), an
object with ``action_probabilities``, or a callable ``(observation, action_mask) -> action``. A callable gets one
position at a time, shapes ``(n_heaps,)`` and ``(n_actions,)``. :func:`batched` wraps a batched function as a
policy.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard, runtime_checkable

import numpy as np
from gymnasium import Space
from numpy.typing import ArrayLike, DTypeLike, NDArray

from nim_env import theory
from nim_env._chunks import chunks
from nim_env.encodings import Encoding
from nim_env.rules import NimRules, checked_integer

_TOLERANCE = 1e-5  # of the sum of the probabilities of a float32 policy
_ROUNDING = 1e-12  # of the sum of a row of float64 numbers that were divided by their sum
_MAX_TABLE_ENTRIES = 100_000_000  # of tabulate: 400 MB of float32


@runtime_checkable
class Policy(Protocol):
    """Anything with ``action_probabilities``: the policies of this module, an agent, or your own class."""

    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[Any]:
        """In each position a distribution over its legal actions: numbers of shape ``(..., n_actions)``.

        ``observation`` holds the heap sizes of unfinished positions, int64 of shape ``(..., n_heaps)``, and
        ``action_mask`` their legal actions, int8 of shape ``(..., n_actions)``.
        """
        ...


IllegalAction: TypeAlias = Literal["raise", "lose"]
"""Whether an illegal action of a policy is an error or loses the game at once."""


class InvalidPolicyOutput(ValueError):  # noqa: N818  it names the fault, as gymnasium.error.InvalidAction does
    """A policy returned something that is not a legal action or not a distribution over legal actions."""


def query_policy(
    policy: Policy,
    observation: NDArray[Any],
    action_mask: NDArray[np.int8],
    illegal_action: IllegalAction = "raise",
) -> NDArray[np.float64]:
    """A policy's probabilities, float64 of shape ``(..., n_actions)``. The policy gets copies of the arrays.

    Anything but a distribution over legal actions for each position is an :class:`InvalidPolicyOutput`. With
    ``illegal_action="lose"`` a row may name illegal actions and sum to less than 1. The rows returned hold the
    legal actions alone; :func:`illegal_probability` is what they lack to 1.
    """
    if illegal_action not in ("raise", "lose"):
        raise ValueError(f'illegal_action must be "raise" or "lose"; got {illegal_action!r}')
    output = np.asarray(policy.action_probabilities(observation.copy(), action_mask.copy()))
    if output.dtype.kind not in "biuf" or output.shape != action_mask.shape:
        raise InvalidPolicyOutput(
            f"{policy!r} must return probabilities of shape {action_mask.shape}, one for each action; "
            f"got {output.dtype} of shape {output.shape} at heaps {observation.tolist()}"
        )
    probabilities = output.astype(np.float64, order="C")  # sums over rows round alike in every layout
    sums = probabilities.sum(axis=-1)
    is_complete = np.abs(sums - 1) <= _TOLERANCE
    checks = {"a negative or undefined probability": (probabilities >= 0).all(axis=-1)}
    if illegal_action == "raise":
        is_illegal = (probabilities > 0) & (action_mask == 0)
        checks["a positive probability for an illegal action"] = ~is_illegal.any(axis=-1)
        checks["probabilities that do not sum to 1"] = is_complete
    else:
        checks["probabilities of a sum above 1"] = is_complete | (sums < 1)
    for fault, is_valid in checks.items():
        if not np.all(is_valid):
            is_wrong = ~np.asarray(is_valid)
            heaps = observation[is_wrong][0].tolist()
            row = probabilities[is_wrong][0].tolist()
            raise InvalidPolicyOutput(f"{policy!r} returned {fault} at heaps {heaps}: {row}")
    if illegal_action == "lose":
        probabilities *= action_mask
        probabilities /= np.where(is_complete, sums, 1.0)[..., None]
    return probabilities


def illegal_probability(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of losing by an illegal action: what rows ``(..., n_actions)`` lack to 1, shape ``(...)``.

    The rows are those of :func:`query_policy` with ``illegal_action="lose"``. Less than 1e-12 counts as 0.
    """
    lack = 1 - probabilities.sum(axis=-1)
    return np.where(lack > _ROUNDING, lack, 0.0)


def sample(probabilities: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Draws one action from each distribution ``(..., n_actions)``: int64 of shape ``(...)``.

    Each row may sum to any positive number. An action of probability 0 is never drawn.
    """
    cumulative = probabilities.cumsum(axis=-1)
    drawn = generator.random(probabilities.shape[:-1]) * cumulative[..., -1]
    return np.asarray((cumulative <= drawn[..., None]).sum(axis=-1))


def uniform_sample(support: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Draws one action uniformly from the nonzero entries of each row, by ``draws`` of [0, 1): shape ``(n,)``."""
    candidates = np.flatnonzero(support)
    number = np.count_nonzero(support, axis=1)
    nth = number.cumsum() - number + (draws * number).astype(np.int64)
    return np.asarray(candidates[nth] - np.arange(len(support)) * support.shape[1])


class UniformPolicy(ABC):
    """A policy that draws uniformly from its :meth:`support`, a set of legal actions."""

    @abstractmethod
    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The actions of positive probability: int8 ones and zeros of shape ``(..., n_actions)``."""

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of each action in unfinished positions: float64 of shape ``(..., n_actions)``."""
        support = self.support(observation, action_mask)
        number = support.sum(axis=-1, keepdims=True)
        if not number.all():
            raise ValueError("action_mask has a position without a legal action; query unfinished games only")
        return np.asarray(support / number)


@dataclass(frozen=True)
class RandomPolicy(UniformPolicy):
    """Draws uniformly from the legal actions."""

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """The legal actions."""
        return np.asarray(action_mask).astype(np.int8)


@dataclass(frozen=True)
class TakePolicy(UniformPolicy):
    """Takes ``n`` objects, or as many as are left or allowed, from a non-empty heap drawn uniformly.

    Args:
        rules: The game.
        n: The number of objects to take, 1 or more.
    """

    rules: NimRules
    n: int

    def __post_init__(self) -> None:
        checked_integer("n", self.n, minimum=1)

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:  # noqa: ARG002
        """One action for each non-empty heap; it follows from the heap sizes alone."""
        limit = min(self.n, max(self.rules.heaps), self.rules.max_take or self.n)
        count = np.minimum(self.rules.positions(observation), limit)
        takes = count[..., self.rules.move_heaps] == self.rules.move_counts
        return np.asarray(takes, dtype=np.int8)


@dataclass(frozen=True)
class ExpertPolicy(UniformPolicy):
    """Plays perfectly: draws a winning action, or any legal action where no action wins.

    On one heap in normal play with takes of up to 3 it takes ``heap % 4``, or a random number where that is 0.
    :mod:`nim_env.theory` names the sources.

    Args:
        rules: The game.
    """

    rules: NimRules

    def support(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int8]:
        """The winning actions, or all legal actions where none wins."""
        winning = theory.winning_action_mask(self.rules, observation)
        return np.where(winning.any(axis=-1, keepdims=True), winning, np.asarray(action_mask)).astype(np.int8)


def is_built_in(policy: Any) -> TypeGuard[UniformPolicy]:
    """Whether ``policy`` is a RandomPolicy, TakePolicy or ExpertPolicy, which the environments tabulate."""
    return type(policy) in (RandomPolicy, TakePolicy, ExpertPolicy)


PolicyLike: TypeAlias = str | Policy | Callable[[Any, Any], Any]
"""A name, an object with ``action_probabilities``, or a callable on one position."""


class FunctionPolicy:
    """A function ``(observation, action_mask) -> action`` on one position as a policy. It returns an integer."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.function, '__name__', self.function)})"

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Probability 1 for the function's action in each position: float64 of shape ``(..., n_actions)``."""
        observations, masks = _flattened(observation, action_mask)
        probabilities = np.zeros(masks.shape)
        for row, (position, mask) in enumerate(zip(observations, masks, strict=True)):
            action = self.function(position, mask)
            if not _is_action(action, len(mask)):
                raise InvalidPolicyOutput(
                    f"{self!r} must return one integer from 0 to {len(mask) - 1}, such as model.predict(...)[0]; "
                    f"got {action!r} for {position.tolist()}. A function on batches needs policies.batched"
                )
            probabilities[row, action] = 1.0
        return probabilities.reshape(np.shape(action_mask))


def _is_action(action: Any, n_actions: int) -> bool:
    try:
        return 0 <= checked_integer("action", action) < n_actions
    except TypeError:
        return False


class BatchedPolicy(FunctionPolicy):
    """A function ``(observations, action_masks) -> actions`` on batches as a policy; :func:`batched` makes one."""

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The same with one call of the function."""
        observations, masks = _flattened(observation, action_mask)
        actions = np.asarray(self.function(observations, masks))
        if actions.dtype.kind not in "iu" or actions.shape != (len(observations),):
            raise InvalidPolicyOutput(
                f"{self!r} must return one integer action for each of {len(observations)} positions; "
                f"got {actions.dtype} of shape {actions.shape}"
            )
        chosen: NDArray[np.bool_] = np.arange(masks.shape[1]) == actions[:, None]
        return chosen.astype(np.float64).reshape(np.shape(action_mask))


def batched(function: Callable[[Any, Any], Any]) -> BatchedPolicy:
    """Wraps a function on batches as a policy, which calls it once for each batch.

    It takes observations of shape ``(n, n_heaps)`` and masks of shape ``(n, n_actions)``, and returns ``n`` legal
    actions, integers: ``batched(lambda observations, masks: masks.argmax(axis=1))`` plays the first legal ones.
    """
    return BatchedPolicy(function)


def _flattened(observation: ArrayLike, action_mask: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Copies of the arrays with one leading dimension."""
    observations = np.array(observation)
    masks = np.array(action_mask)
    features = observations.shape[masks.ndim - 1 :]
    return observations.reshape(-1, *features), masks.reshape(-1, masks.shape[-1])


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
        ValueError: The policy has an ``observation_space`` other than that of the encoding.
    """

    def __init__(self, policy: Policy | Callable[[Any, Any], Any], encoding: Encoding) -> None:
        space = getattr(policy, "observation_space", encoding.space)
        if space != encoding.space:
            raise ValueError(f"policy observes {space}, but encoding makes observations of {encoding.space}")
        self.policy = policy
        self.encoding = encoding
        self.rules = getattr(encoding, "rules", None)  # of a named encoding
        self._queried = _as_policy("policy", policy)

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[Any]:
        """The policy's probabilities: shape ``(..., n_actions)``."""
        return self._queried.action_probabilities(self.encoding(observation), action_mask)


def checked_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """Makes a :class:`Policy` of a name, a policy, or a callable on one position; errors name the argument.

    It refuses an unknown name, a policy of another game, and an agent that observes anything but heap sizes.
    """
    if isinstance(policy, str):
        return _named_policy(name, policy, rules)
    checked = _as_policy(name, policy)
    made_for = getattr(policy, "rules", None)
    if isinstance(made_for, NimRules) and made_for != rules:
        raise ValueError(f"{name} was made for {made_for}, but the game is {rules}")
    n_actions = getattr(getattr(policy, "action_space", None), "n", rules.n_actions)  # an agent has spaces
    if n_actions != rules.n_actions:
        raise ValueError(f"{name} was made for {n_actions} actions, but {rules} has {rules.n_actions}")
    space = getattr(policy, "observation_space", None)
    if isinstance(space, Space) and not _holds_heaps(space, rules):
        raise ValueError(
            f"{name} must observe heap sizes such as {rules.heaps}, but it observes {space}; pass "
            "EncodedPolicy(policy, encoding) with the encoding it was trained on, env.unwrapped.encoding"
        )
    return checked


def _as_policy(name: str, policy: Any) -> Policy:
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        return FunctionPolicy(policy)
    raise TypeError(
        f"{name} must have action_probabilities or be a callable (observation, action_mask) -> action; got "
        f"{policy!r} (a model of Stable-Baselines3 needs nim_env.sb3.ModelPolicy)"
    )


def _holds_heaps(space: Space[Any], rules: NimRules) -> bool:
    return space.shape == (rules.n_heaps,) and space.contains(np.array(rules.heaps).astype(space.dtype))


def _named_policy(name: str, policy: str, rules: NimRules) -> Policy:
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')


class TabularPolicy:
    """A policy that looks its probabilities up in a table.

    Args:
        rules: The game.
        probabilities: The distribution of each position by its index, shape ``(n_positions, n_actions)``.
    """

    def __init__(self, rules: NimRules, probabilities: ArrayLike) -> None:
        self.rules = rules
        self.probabilities = np.asarray(probabilities)
        expected = rules.n_positions, rules.n_actions
        if self.probabilities.shape != expected:
            raise ValueError(f"probabilities must have shape {expected}; got {self.probabilities.shape}")

    def action_probabilities(self, observation: ArrayLike, action_mask: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """The rows of the table; the mask is not used."""
        return self.probabilities.take(self.rules.index(observation), axis=0)  # a copy


def tabulate(
    rules: NimRules,
    policy: PolicyLike,
    dtype: DTypeLike = np.float32,
    illegal_action: IllegalAction = "raise",
) -> TabularPolicy:
    """A copy of a policy as a table, which does not change when the policy learns more.

    The policy is queried on each position once, as by :func:`query_policy`. A table has up to 100 million entries,
    of the given dtype.
    """
    player = checked_policy(policy, rules)
    if rules.n_positions * rules.n_actions > _MAX_TABLE_ENTRIES:
        raise ValueError(f"{rules} has more than {_MAX_TABLE_ENTRIES:,} entries in a table; use a smaller game")
    heaps = rules.all_positions()
    table = np.zeros((len(heaps), rules.n_actions), dtype=dtype)
    for rows in chunks(rules, len(heaps) - 1, start=1):
        table[rows] = query_policy(player, heaps[rows], rules.action_mask(heaps[rows]), illegal_action)
    return TabularPolicy(rules, table)


class MixturePolicy:
    """A weighted mixture of policies: at each move one member, drawn by weight, chooses.

    It serves as the opponent pool of self-play: :meth:`add` a snapshot of the learner at intervals
    (:func:`tabulate` makes one) and pass the mixture as ``opponent``.

    Args:
        rules: The game.
        policies: The first members, the oldest first.
        max_size: The maximum number of members. :meth:`add` removes the oldest beyond it. ``None`` for no limit.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
    """

    def __init__(
        self,
        rules: NimRules,
        policies: Iterable[PolicyLike] = (),
        max_size: int | None = None,
        weights: Iterable[float] | None = None,
    ) -> None:
        self.rules = rules
        self.max_size = None if max_size is None else checked_integer("max_size", max_size, minimum=1)
        self.policies: list[Policy] = []
        self.weights: list[float] = []
        members = list(policies)
        for policy, weight in zip(members, [1.0] * len(members) if weights is None else weights, strict=True):
            self.add(policy, weight)

    def add(self, policy: PolicyLike, weight: float = 1.0) -> None:
        """Adds a member of a weight of 0 or more, and removes the oldest beyond ``max_size``."""
        member = checked_policy(policy, self.rules)
        if not 0 <= weight < np.inf:
            raise ValueError(f"weight must be 0 or more and finite; got {weight!r}")
        self.policies.append(member)
        self.weights.append(float(weight))
        if self.max_size is not None:
            del self.policies[: -self.max_size]
            del self.weights[: -self.max_size]

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The weighted mean of the members' probabilities. Members of weight 0 are not queried."""
        if not any(self.weights):
            raise ValueError(f"the mixture needs a member of positive weight, add one first; got {self.weights}")
        weights = np.array(self.weights) / max(self.weights)  # so that their sum is finite
        total = np.zeros(np.shape(action_mask))
        for policy, weight in zip(self.policies, weights.tolist(), strict=True):
            if weight:
                total += weight * query_policy(policy, np.asarray(observation), np.asarray(action_mask))
        return total / float(weights.sum())
