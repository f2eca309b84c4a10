"""What makes a player of something else: of a function, of a policy on encoded observations, of a name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space
from numpy.typing import ArrayLike, NDArray

from nim_env.encodings import Encoding
from nim_env.policies.players import ExpertPolicy, RandomPolicy, TakePolicy
from nim_env.policies.queries import InvalidPolicyOutput, Policy
from nim_env.rules import NimRules, checked_integer

PolicyLike: TypeAlias = str | Policy | Callable[[Any, Any], Any]
"""A name, an object with ``action_probabilities``, or a callable on one position."""


class FunctionPolicy:
    """A function ``(observation, action_mask) -> action`` on one position as a policy.

    Args:
        function: Takes one observation and its mask, shape ``(n_actions,)``. Returns a legal action, an integer.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"FunctionPolicy({getattr(self.function, '__name__', self.function)})"

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


class BatchedPolicy:
    """A function ``(observations, action_masks) -> actions`` on batches as a policy; :func:`batched` makes one."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"BatchedPolicy({getattr(self.function, '__name__', self.function)})"

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Probability 1 for the function's action in each position: float64 of shape ``(..., n_actions)``."""
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
    made_for = getattr(policy, "rules", None)
    if isinstance(made_for, NimRules) and made_for != rules:
        raise ValueError(f"{name} was made for {made_for}, but the game is {rules}")
    space = getattr(policy, "observation_space", None)  # of an agent
    if isinstance(space, Space) and not _holds_heaps(space, rules):
        raise ValueError(
            f"{name} must observe heap sizes such as {rules.heaps}, but it observes {space}; pass "
            "EncodedPolicy(policy, encoding) with the encoding it was trained on, env.unwrapped.encoding"
        )
    return _as_policy(name, policy)


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
