"""Players of Nim as distributions over actions.

A policy has one method, ``action_probabilities(observation, action_mask)``. It takes observations of shape
``(..., n_heaps)`` and masks of shape ``(..., n_actions)`` and returns probabilities of shape ``(..., n_actions)``.
It is never queried on a finished game.

Where a function or an environment takes a policy, it takes a name (``"random"``, ``"take-N"``, ``"expert"``), an
object with ``action_probabilities``, or a callable ``(observation, action_mask) -> action``. A callable gets one
position at a time, shapes ``(n_heaps,)`` and ``(n_actions,)``. :func:`batched` wraps a batched function as a
policy, and :func:`from_moves` a function from heap sizes to a pair ``(heap, count)``.
"""

from nim_env.policies.built_in import (
    ExpertPolicy,
    MixturePolicy,
    PolicyLike,
    RandomPolicy,
    TabularPolicy,
    TakePolicy,
    checked_player,
    checked_policy,
    tabulate,
)
from nim_env.policies.functions import (
    BatchedPolicy,
    EncodedPolicy,
    FunctionPolicy,
    SampledPolicy,
    batched,
    from_moves,
    q_values_of,
)
from nim_env.policies.player import (
    IllegalAction,
    InvalidPolicyOutput,
    MoveProbabilities,
    Player,
    Policy,
    TabulatedPlayer,
    sample,
)

__all__ = [
    "BatchedPolicy",
    "EncodedPolicy",
    "ExpertPolicy",
    "FunctionPolicy",
    "IllegalAction",
    "InvalidPolicyOutput",
    "MixturePolicy",
    "MoveProbabilities",
    "Player",
    "Policy",
    "PolicyLike",
    "RandomPolicy",
    "SampledPolicy",
    "TabularPolicy",
    "TabulatedPlayer",
    "TakePolicy",
    "batched",
    "checked_player",
    "checked_policy",
    "from_moves",
    "q_values_of",
    "sample",
    "tabulate",
]
