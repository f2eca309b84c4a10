"""Policies made of others: mixtures, players on encoded observations, and measured frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._internal.checks import checked_integer
from nim_env.encodings import Encoding
from nim_env.policies.arguments import as_policy
from nim_env.policies.functions import FunctionPolicy, from_heap_size
from nim_env.policies.player import Policy, answers_of
from nim_env.policies.pool import WeightedPolicies
from nim_env.rules import NimRules


class _CompositePolicy:
    policies: Any  # a list or a tuple of policies

    @property
    def fault(self) -> str | None:
        """What was wrong with the last answer of a function among ``policies``."""
        return next(filter(None, (getattr(policy, "fault", None) for policy in self.policies)), None)


class MixturePolicy(WeightedPolicies, _CompositePolicy):
    """A weighted mixture of policies: at each move one member, drawn by weight, chooses.

    It is a behavior strategy, a policy with probabilities. :class:`OpponentPool` draws a member for each game.

    Args:
        rules: The game.
        policies: The first members.
        weights: The weight of each member, 0 or more. They need not sum to 1. ``None`` for equal weights.
    """

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The weighted mean of the members' probabilities. Members of weight 0 are not queried."""
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        total = np.zeros(mask.shape)
        for policy, probability in zip(self.policies, self.probabilities.tolist(), strict=True):
            if probability:
                total += probability * answers_of(policy, heaps, mask)
        return total


class SampledPolicy(_CompositePolicy):
    """Measures a function that draws random numbers: in each position the frequencies of ``n`` answers.

    The standard error of a frequency p is √(p (1 − p) / n), at most 0.5 / √n. A mean over positions, as expert
    mastery, is right on average. A maximum over replies, as exploitability, is too high on average: a best
    response also exploits the chance of the sample. Every exact figure measures anew;
    :func:`tabulate` keeps one measurement for several figures, or for a member of a mixture.

    Args:
        function: A callable on one position or on the size of one heap, or a policy such as
            ``from_moves(rules, choose)``.
        n: The number of answers, 1 or more.
    """

    is_measurement = True

    def __init__(self, function: Policy | Callable[[Any, Any], Any], n: int) -> None:
        self.policies = [as_policy("function", getattr(function, "getMove", function))]
        self.n = checked_integer("n", n, minimum=1)
        self.rules = getattr(self.policies[0], "rules", None)

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The fraction of each action among the answers: float64 of shape ``(..., n_actions)``."""
        heaps = np.asarray(observation)
        mask = np.asarray(action_mask)
        policy = self.policies[0]
        if type(policy) is FunctionPolicy and heaps.shape[-1] == 1:  # the board is known only now
            n_actions = mask.shape[-1]
            board = NimRules((max(int(heaps.max(initial=1)), n_actions),), n_actions)
            self.policies = [from_heap_size(board, policy.function) or policy]
        total = np.zeros(mask.shape)
        for _ in range(self.n):
            total += answers_of(self.policies[0], heaps, mask)
        return total / self.n


class EncodedPolicy(_CompositePolicy):
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
        TypeError: The encoding is not an :class:`Encoding`; a name does not say which game it encodes.
        ValueError: The policy has an ``observation_space`` other than that of the encoding.
    """

    def __init__(self, policy: Policy | Callable[[Any, Any], Any], encoding: Encoding) -> None:
        if not isinstance(encoding, Encoding):
            raise TypeError(f"encoding must be an Encoding, as env.unwrapped.encoding; got {encoding!r}")
        space = getattr(policy, "observation_space", encoding.space)
        if space != encoding.space:
            raise ValueError(f"policy observes {space}, but encoding makes observations of {encoding.space}")
        self.policies = [as_policy("policy", policy)]
        self.encoding = encoding
        self.action_space = getattr(policy, "action_space", None)
        self.rules = getattr(encoding, "rules", None)  # of a named encoding

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[Any]:
        """The policy's probabilities: shape ``(..., n_actions)``."""
        return self.policies[0].action_probabilities(self.encoding(observation), action_mask)
