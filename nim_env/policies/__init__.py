"""Policies that play Nim: functions from a position to a distribution over actions.

A policy has one method, ``action_probabilities(observation, action_mask)``. It takes observations of shape
``(..., n_heaps)`` and masks of shape ``(..., n_actions)`` and returns probabilities of shape ``(..., n_actions)``.
It is never queried about a finished game.

Functions and environments that take a policy accept any of these:

- a name: ``"random"``, ``"take-N"`` or ``"expert"``;
- an object with ``action_probabilities``, such as an agent or a policy of this package;
- a callable ``(observation, action_mask) -> action``, which gets one position at a time, shapes ``(n_heaps,)`` and
  ``(n_actions,)``;
- on a board with one heap, a function from the heap size to the number of objects to take, such as
  ``lambda heap: heap % 4 or 1``, or an object whose method ``getMove`` is such a function. If the number is above
  the heap size, the policy takes what is left.

:func:`batched` wraps a function on batches as a policy. :func:`from_moves` does the same for a function from heap
sizes to a pair ``(heap, count)``.

The modules are:

- ``base``: what a policy is, and the attributes that it can have.
- ``built_in``: random play, perfect play, and taking a fixed number of objects.
- ``functions``: policies that call a function.
- ``player``: a policy whose probabilities are checked, and what its illegal actions do.
- ``policy_like``: what functions accept as a policy, and its conversion to a policy or a player.
- ``tables``: policies and Q-values as tables.
- ``weighted``: mixtures and pools, which draw one of several policies.
- ``wrappers``: a policy that observes another encoding, and measured frequencies of moves.

This package imports only the modules of the game itself. The solver, the environments, the evaluation and most
other parts import this package.
"""

from nim_env.policies.base import Policy, PolicyAttributes
from nim_env.policies.built_in import ExpertPolicy, RandomPolicy, TakePolicy
from nim_env.policies.functions import BatchedPolicy, FunctionPolicy, batched, from_moves
from nim_env.policies.player import IllegalAction, InvalidPolicyOutput, MoveProbabilities, Player, sample
from nim_env.policies.policy_like import PolicyLike, checked_player, checked_policy
from nim_env.policies.tables import TabularPolicy, greedy, q_values_of, tabulate
from nim_env.policies.weighted import MixturePolicy, OpponentPool
from nim_env.policies.wrappers import EncodedPolicy, SampledPolicy

__all__ = [
    "BatchedPolicy",
    "EncodedPolicy",
    "ExpertPolicy",
    "FunctionPolicy",
    "IllegalAction",
    "InvalidPolicyOutput",
    "MixturePolicy",
    "MoveProbabilities",
    "OpponentPool",
    "Player",
    "Policy",
    "PolicyAttributes",
    "PolicyLike",
    "RandomPolicy",
    "SampledPolicy",
    "TabularPolicy",
    "TakePolicy",
    "batched",
    "checked_player",
    "checked_policy",
    "from_moves",
    "greedy",
    "q_values_of",
    "sample",
    "tabulate",
]
