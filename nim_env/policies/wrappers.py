"""Two wrappers of policies.

One measures how often a policy makes each move. The other encodes positions before it passes them to a policy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env.encodings import Encoding
from nim_env.policies.base import CompositePolicy, Policy, observed_space
from nim_env.policies.player import checked_probabilities
from nim_env.policies.policy_like import PolicyLike, as_policy, checked_policy
from nim_env.rules import NimRules


class SampledPolicy(CompositePolicy):
    """A policy with the measured probabilities of a function that chooses its moves at random.

    In each position the function is called ``n`` times. The probability of a move is the fraction of calls that
    chose it.

    The standard error of a fraction p is √(p (1 − p) / n), at most 0.5 / √n. A mean over positions, such as
    expert mastery, is right on average. A maximum over replies, such as exploitability, is too high on average,
    because a best response also exploits the random errors of the fractions.

    Each exact metric makes a new measurement. To use one measurement for several metrics, or for a member of a
    mixture, pass the result of :func:`tabulate`.

    Args:
        rules: The game.
        function: A callable ``(observation, action_mask) -> action`` on one position, a callable on the size of
            the only heap, or a policy such as ``from_moves(rules, choose)``.
        n: The number of calls in each position, 1 or more.
    """

    is_measurement = True

    def __init__(self, rules: NimRules, function: PolicyLike, n: int) -> None:
        self.rules = rules
        self.policy = checked_policy(function, rules, "function")
        self.policies = (self.policy,)
        self.n = checked_integer("n", n, minimum=1)

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the fraction of calls that chose each action, float64 of shape ``(..., n_actions)``."""
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for _ in range(self.n):
            total += checked_probabilities(self.policy, heaps, mask)
        return total / self.n


class EncodedPolicy(CompositePolicy):
    """Wraps a policy that observes encoded positions as a policy that observes heap sizes.

    Opponents, and players in :mod:`nim_env.evaluation`, always get heap sizes. An agent that was trained with
    another ``observation`` needs this wrapper, for example::

        env = gym.make("Nim-v0", observation="bits", opponent=None)
        agent = agents.QLearningAgent(env.observation_space, env.action_space)
        agents.train(agent, env, episodes=5000)
        evaluation.mastery(NimRules(), EncodedPolicy(agent, env.unwrapped.encoding))

    Args:
        policy: An object with ``action_probabilities``, such as an agent, or a callable
            ``(observation, action_mask) -> action`` on one observation. It gets encoded observations.
        encoding: The encoding that the policy was trained on: ``env.unwrapped.encoding``.

    Raises:
        TypeError: If the encoding is not an :class:`Encoding`. A name such as ``"bits"`` is not enough, since an
            encoding also depends on the game.
        ValueError: If the ``observation_space`` of the policy is not the space of the encoding.
    """

    def __init__(self, policy: Policy | Callable[[Any, Any], Any], encoding: Encoding) -> None:
        if not isinstance(encoding, Encoding):
            raise TypeError(f"encoding must be an Encoding, as env.unwrapped.encoding; got {encoding!r}")
        space = observed_space(policy)
        if space is not None and space != encoding.space:
            raise ValueError(f"policy observes {space}, but encoding makes observations of {encoding.space}")
        self.policy = as_policy(policy, "policy")
        self.policies = (self.policy,)
        self.encoding = encoding
        self.action_space = getattr(policy, "action_space", None)
        self.rules = getattr(encoding, "rules", None)  # a named encoding has a game

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[Any]:
        """Encodes heap sizes, and returns the wrapped policy's probabilities, shape ``(..., n_actions)``."""
        return self.policy.action_probabilities(self.encoding(observation), action_mask)
