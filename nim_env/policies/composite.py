"""Policies made from other policies: mixtures, measured frequencies, and policies on encoded observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env.encodings import Encoding
from nim_env.policies.arguments import PolicyLike, as_policy, checked_policy
from nim_env.policies.base import Policy, PolicyAttributes, attributes_of
from nim_env.policies.player import checked_probabilities
from nim_env.policies.pool import WeightedPolicies
from nim_env.rules import NimRules


class _CompositePolicy(PolicyAttributes):
    """A policy made from ``policies``, a list or a tuple."""

    policies: Any

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """What was wrong with the last answer of one of its policies, or ``None``."""
        return next(filter(None, (attributes_of(policy).fault for policy in self.policies)), None)


class MixturePolicy(WeightedPolicies, _CompositePolicy):
    """A weighted mixture of policies: a member is drawn at each move and chooses the action.

    Its probabilities are the weighted mean of its members' probabilities, so it is a policy itself (in game
    theory, a behavior strategy). To draw one member for a whole game instead, use :class:`OpponentPool`. For
    example, an opponent that makes one move in ten at random::

        opponent = MixturePolicy(rules, ["expert", "random"], weights=[0.9, 0.1])

    Args:
        rules: The game.
        policies: The first members. Each can be anything that a function takes as a policy.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
    """

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the weighted mean of the members' probabilities. Members with weight 0 are not asked."""
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for policy, probability in zip(self.policies, self.probabilities.tolist(), strict=True):
            if probability:
                total += probability * checked_probabilities(policy, heaps, mask)
        return total


class SampledPolicy(_CompositePolicy):
    """Measures a function that draws its moves: it asks ``n`` times in each position and counts the answers.

    The standard error of a frequency p is √(p (1 − p) / n), at most 0.5 / √n. A mean over positions, such as
    expert mastery, is right on average. A maximum over replies, such as exploitability, is too high on average,
    because a best response also exploits the chance in the sample. Each exact figure makes a new measurement. To
    use one measurement for several figures, or for a member of a mixture, pass the result of :func:`tabulate`.

    Args:
        rules: The game.
        function: A callable on one position or on the size of the only heap, or a policy such as
            ``from_moves(rules, choose)``.
        n: The number of answers per position, 1 or more.
    """

    is_measurement = True

    def __init__(self, rules: NimRules, function: PolicyLike, n: int) -> None:
        self.rules = rules
        self.policies = [checked_policy(function, rules, "function")]
        self.n = checked_integer("n", n, minimum=1)

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the fraction of answers that gave each action: float64 of shape ``(..., n_actions)``."""
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for _ in range(self.n):
            total += checked_probabilities(self.policies[0], heaps, mask)
        return total / self.n


class EncodedPolicy(_CompositePolicy):
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
        self.policies = [as_policy(policy, "policy")]
        self.encoding = encoding
        self.action_space = attributes.action_space
        self.rules = getattr(encoding, "rules", None)  # a named encoding has a game

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[Any]:
        """Returns the policy's probabilities, shape ``(..., n_actions)``."""
        return self.policies[0].action_probabilities(self.encoding(observation), action_mask)
