"""Players of Nim as distributions over actions.

A policy has one method, ``action_probabilities(observation, action_mask)``. It takes observations of shape
``(..., n_heaps)`` and masks of shape ``(..., n_actions)`` and returns probabilities of shape ``(..., n_actions)``.
It is never queried on a finished game.

Where a function or an environment takes a policy, it takes a name (``"random"``, ``"take-N"``, ``"expert"``), an
object with ``action_probabilities``, or a callable ``(observation, action_mask) -> action``. A callable gets one
position at a time, shapes ``(n_heaps,)`` and ``(n_actions,)``. :func:`batched` wraps a batched function as a
policy.
"""

from nim_env.policies.adapters import (
    BatchedPolicy,
    EncodedPolicy,
    FunctionPolicy,
    PolicyLike,
    batched,
    checked_policy,
)
from nim_env.policies.mixture import MixturePolicy
from nim_env.policies.players import (
    ExpertPolicy,
    RandomPolicy,
    TakePolicy,
    UniformPolicy,
    is_built_in,
)
from nim_env.policies.queries import InvalidPolicyOutput, Policy, query_policy, sample, uniform_sample
from nim_env.policies.tabular import TabularPolicy, tabulate

__all__ = [
    "BatchedPolicy",
    "EncodedPolicy",
    "ExpertPolicy",
    "FunctionPolicy",
    "InvalidPolicyOutput",
    "MixturePolicy",
    "Policy",
    "PolicyLike",
    "RandomPolicy",
    "TabularPolicy",
    "TakePolicy",
    "UniformPolicy",
    "batched",
    "checked_policy",
    "is_built_in",
    "query_policy",
    "sample",
    "tabulate",
    "uniform_sample",
]
