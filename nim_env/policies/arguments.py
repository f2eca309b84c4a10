"""What a function or an environment takes as a policy: a name, a policy or a callable, checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space

from nim_env.policies.built_in import ExpertPolicy, RandomPolicy, TakePolicy
from nim_env.policies.functions import FunctionPolicy, from_heap_size
from nim_env.policies.player import IllegalAction, Player, Policy
from nim_env.rules import NimRules

PolicyLike: TypeAlias = str | Policy | Callable[[Any, Any], Any]
"""A name, an object with ``action_probabilities``, or a callable on one position or on the size of one heap."""


def checked_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """Makes a :class:`Policy` of a name, a policy, or a callable; errors name the argument.

    It refuses an unknown name, a policy of another game, and an agent that observes anything but heap sizes.
    """
    if isinstance(policy, str):
        return _named_policy(name, policy, rules)
    of_heap = None if isinstance(policy, Policy) else from_heap_size(rules, policy)
    checked = of_heap or as_policy(name, policy)
    made_for = getattr(policy, "rules", None)
    if isinstance(made_for, NimRules) and made_for != rules:
        raise ValueError(f"{name} was made for {made_for}, but the game is {rules}")
    n_actions = getattr(getattr(policy, "action_space", None), "n", rules.n_actions)  # an agent has spaces
    if n_actions != rules.n_actions:
        raise ValueError(f"{name} was made for {n_actions} actions, but {rules} has {rules.n_actions}")
    space = getattr(policy, "observation_space", None)
    full = np.array(rules.heaps)
    if isinstance(space, Space) and not (space.shape == full.shape and full.astype(space.dtype) in space):
        raise ValueError(
            f"{name} must observe heap sizes such as {rules.heaps}, but it observes {space}; pass "
            "EncodedPolicy(policy, encoding) with the encoding it was trained on, env.unwrapped.encoding"
        )
    return checked


def _named_policy(name: str, policy: str, rules: NimRules) -> Policy:
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')


def checked_player(
    policy: PolicyLike, rules: NimRules, *, illegal_action: IllegalAction | None = None, name: str = "policy"
) -> Player:
    """A checked policy and what its illegal actions do: ``None`` for a :class:`Player`'s own, else ``"raise"``.

    A Player that disagrees with ``illegal_action`` is a ValueError.
    """
    if isinstance(policy, Player):
        if illegal_action not in (None, policy.illegal_action):
            raise ValueError(f"{name} has illegal_action={policy.illegal_action!r}; got {illegal_action!r}")
        illegal_action = policy.illegal_action
        policy = policy.policy
    return Player(checked_policy(policy, rules, name), "raise" if illegal_action is None else illegal_action)


def as_policy(name: str, policy: Any) -> Policy:
    """A policy as it is, a callable on one position as a :class:`FunctionPolicy`; an error names the argument."""
    if isinstance(policy, type) or not (isinstance(policy, Policy) or callable(policy)):
        reason = getattr(policy, "not_a_policy", "a model of Stable-Baselines3 needs nim_env.sb3.ModelPolicy")
        raise TypeError(
            f"{name} must have action_probabilities or be a callable (observation, action_mask) -> action, no "
            f"class; got {policy!r} ({reason})"
        )
    return policy if isinstance(policy, Policy) else FunctionPolicy(policy)
