"""Policies that wrap another policy. One measures how often it makes each move; the other encodes what it sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env.encodings import Encoding
from nim_env.policies.base import CompositePolicy, Policy, attributes_of
from nim_env.policies.player import checked_probabilities
from nim_env.policies.policy_like import PolicyLike, as_policy, checked_policy
from nim_env.rules import NimRules


class SampledPolicy(CompositePolicy):
    """Measures the probabilities of a function that draws its moves, by calling it ``n`` times in each position.

    The standard error of a frequency p is √(p (1 − p) / n), at most 0.5 / √n. A mean over positions, such as
    expert mastery, is right on average. A maximum over replies, such as exploitability, is too high on average,
    because a best response also exploits the random errors of the frequencies.

    Each exact metric makes a new measurement. To use one measurement for several metrics, or for a member of a
    mixture, pass the result of :func:`tabulate`.

    Args:
        rules: The game.
        function: A callable on one position or on the size of the only heap, or a policy such as
            ``from_moves(rules, choose)``.
        n: The number of answers per position, 1 or more.
    """

    is_measurement = True

    def __init__(self, rules: NimRules, function: PolicyLike, n: int) -> None:
        self.rules = rules
        self.policy = checked_policy(function, rules, "function")
        self.policies = (self.policy,)
        self.n = checked_integer("n", n, minimum=1)

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the fraction of answers that gave each action: float64 of shape ``(..., n_actions)``."""
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for _ in range(self.n):
            total += checked_probabilities(self.policy, heaps, mask)
        return total / self.n


class EncodedPolicy(CompositePolicy):
    """Wraps a policy that observes encoded positions as a policy that observes heap sizes.

    Opponents and the evaluation get heap sizes. An agent that was trained with another ``observation`` needs this
    wrapper to take part, for example::

        env = gym.make("Nim-v0", observation="bits", opponent=None)
        agent = agents.QLearningAgent(env.observation_space, env.action_space)
        agents.train(agent, env, episodes=5000)
        evaluation.mastery(NimRules(), EncodedPolicy(agent, env.unwrapped.encoding))

    Args:
        policy: An object with ``action_probabilities``, such as an agent, or a callable
            ``(observation, action_mask) -> action`` on one observation. It gets encoded observations.
        encoding: The encoding that the policy was trained on: ``env.unwrapped.encoding``.

    Raises:
        TypeError: If the encoding is not an :class:`Encoding`. A name such as ``"bits"`` is not enough, since it
            does not say which game is encoded.
        ValueError: If the policy has another ``observation_space`` than the encoding.
    """

    def __init__(self, policy: Policy | Callable[[Any, Any], Any], encoding: Encoding) -> None:
        if not isinstance(encoding, Encoding):
            raise TypeError(f"encoding must be an Encoding, as env.unwrapped.encoding; got {encoding!r}")
        attributes = attributes_of(policy)
        space = attributes.observation_space
        if space is not None and space != encoding.space:
            raise ValueError(f"policy observes {space}, but encoding makes observations of {encoding.space}")
        self.policy = as_policy(policy, "policy")
        self.policies = (self.policy,)
        self.encoding = encoding
        self.action_space = attributes.action_space
        self.rules = getattr(encoding, "rules", None)  # a named encoding has a game

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[Any]:
        """Encodes the positions, and returns the wrapped policy's probabilities, shape ``(..., n_actions)``."""
        return self.policy.action_probabilities(self.encoding(observation), action_mask)
