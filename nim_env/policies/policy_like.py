"""What functions and environments accept as a policy, and its conversion to a policy or a player."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from nim_env.policies.base import MixedStrategy, Policy, attributes_of, game_of
from nim_env.policies.built_in import ExpertPolicy, RandomPolicy, TakePolicy
from nim_env.policies.functions import FunctionPolicy, from_heap_size
from nim_env.policies.player import IllegalAction, Player
from nim_env.rules import NimRules

PolicyLike: TypeAlias = str | Policy | Callable[..., Any]
"""A name, an object with ``action_probabilities``, or a callable on one position or on the size of the only
heap."""


def checked_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """Returns the :class:`Policy` for a name, a policy or a callable.

    Raises an error that mentions ``name`` if the name of the policy is unknown, if the policy was made for another
    game, or if it is an agent that observes anything but heap sizes.
    """
    if isinstance(policy, str):
        return _named_policy(policy, rules, name)
    of_heap = None if isinstance(policy, Policy) else from_heap_size(rules, policy)
    checked = of_heap or as_policy(policy, name)
    _check_game(policy, rules, name)
    return checked


def _named_policy(policy: str, rules: NimRules, name: str) -> Policy:
    """Returns the built-in policy of this name."""
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')


def _check_game(policy: Any, rules: NimRules, name: str) -> None:
    """Raises ValueError if a policy was made for another game, other actions or other observations."""
    attributes = attributes_of(policy)
    game = game_of(policy)
    if game not in (None, rules):
        raise ValueError(f"{name} was made for {game}, but the game is {rules}")
    n_actions = getattr(attributes.action_space, "n", rules.n_actions)
    if n_actions != rules.n_actions:
        raise ValueError(f"{name} was made for {n_actions} actions, but {rules} has {rules.n_actions}")
    space = attributes.observation_space
    full = np.array(rules.heaps)
    if space is not None and not (space.shape == full.shape and full.astype(space.dtype) in space):
        raise ValueError(
            f"{name} must observe heap sizes such as {rules.heaps}, but it observes {space}; pass "
            "EncodedPolicy(policy, encoding) with the encoding it was trained on, env.unwrapped.encoding"
        )


def checked_player(
    policy: PolicyLike, rules: NimRules, *, illegal_action: IllegalAction | None = None, name: str = "policy"
) -> Player:
    """Returns the :class:`Player` of a policy, checked as by :func:`checked_policy`.

    ``illegal_action=None`` keeps the setting of a Player and means ``"raise"`` for any other policy. Raises
    ValueError if a Player has another setting than ``illegal_action``.
    """
    if isinstance(policy, Player):
        if illegal_action not in (None, policy.illegal_action):
            raise ValueError(f"{name} has illegal_action={policy.illegal_action!r}; got {illegal_action!r}")
        illegal_action = policy.illegal_action
        policy = policy.policy
    return Player(checked_policy(policy, rules, name), "raise" if illegal_action is None else illegal_action)


def as_policy(policy: Any, name: str) -> Policy:
    """Returns a policy unchanged, and a callable on one position as a :class:`FunctionPolicy`.

    Raises TypeError for anything else, such as a class or an opponent pool; the message mentions ``name``.
    """
    if isinstance(policy, MixedStrategy):
        raise TypeError(
            f"{name} must be a policy, but {policy!r} draws a policy for each game; mixed_exploitability, "
            "payoff_matrix, win_probability and play_match take it"
        )
    if isinstance(policy, type) or not (isinstance(policy, Policy) or callable(policy)):
        raise TypeError(
            f"{name} must have action_probabilities or be a callable (observation, action_mask) -> action, not a "
            f"class; got {policy!r} (a model of Stable-Baselines3 needs nim_env.sb3.ModelPolicy)"
        )
    return policy if isinstance(policy, Policy) else FunctionPolicy(policy)
