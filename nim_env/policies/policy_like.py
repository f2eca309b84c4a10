"""What functions and environments accept as a policy, and how they convert it to a policy or a player."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from nim_env.policies.base import Policy, observed_space
from nim_env.policies.built_in import ExpertPolicy, RandomPolicy, TakePolicy
from nim_env.policies.functions import FunctionPolicy, from_heap_size
from nim_env.policies.player import IllegalAction, Player
from nim_env.rules import NimRules

PolicyLike: TypeAlias = str | Policy | Callable[..., Any]
"""The name of a policy, an object with ``action_probabilities``, or a callable that chooses an action.

:mod:`nim_env.policies` lists the names and the callables."""


def checked_policy(policy: PolicyLike, rules: NimRules, name: str = "policy") -> Policy:
    """Converts a name such as ``"random"``, a policy or a callable to a :class:`Policy` for the game ``rules``.

    Raises ValueError if no policy has this name, if the policy was made for another game, or if it is an agent
    that does not observe heap sizes. Raises TypeError for anything that is not a policy. The messages call the
    policy ``name``.
    """
    if isinstance(policy, str):
        return _named_policy(policy, rules, name)
    of_heap = None if isinstance(policy, Policy) else from_heap_size(rules, policy)
    checked = of_heap or as_policy(policy, name)
    _check_game(policy, rules, name)
    return checked


def _named_policy(policy: str, rules: NimRules, name: str) -> Policy:
    """Returns the built-in policy that is called ``policy``. Error messages call the argument ``name``."""
    if policy == "random":
        return RandomPolicy()
    if policy == "expert":
        return ExpertPolicy(rules)
    if take := re.fullmatch(r"take-([1-9][0-9]{0,17})", policy):
        return TakePolicy(rules, int(take[1]))
    raise ValueError(f'{name} must be "random", "expert" or "take-N" with N of 1 or more; got {policy!r}')


def _check_game(policy: Any, rules: NimRules, name: str) -> None:
    """Raises ValueError if a policy was made for another game, other actions or other observations.

    The message calls the policy ``name``.
    """
    game = getattr(policy, "rules", None)
    if isinstance(game, NimRules) and game != rules:
        raise ValueError(f"{name} was made for {game}, but the game is {rules}")
    n_actions = getattr(getattr(policy, "action_space", None), "n", rules.n_actions)
    if n_actions != rules.n_actions:
        raise ValueError(f"{name} was made for {n_actions} actions, but {rules} has {rules.n_actions}")
    space = observed_space(policy)
    full = np.array(rules.heaps)
    if space is not None and not (space.shape == full.shape and full.astype(space.dtype) in space):
        raise ValueError(
            f"{name} must observe heap sizes such as {rules.heaps}, but it observes {space}; pass "
            "EncodedPolicy(policy, encoding) with the encoding it was trained on, env.unwrapped.encoding"
        )


def checked_player(
    policy: PolicyLike, rules: NimRules, *, illegal_action: IllegalAction | None = None, name: str = "policy"
) -> Player:
    """Converts a policy to a :class:`Player`: a policy for the game ``rules`` with a rule for illegal actions.

    The rule is ``illegal_action``. If it is ``None``, a Player keeps its own rule, and any other policy gets
    ``"raise"``. Raises ValueError if a Player has another rule than ``illegal_action``, and the errors of
    :func:`checked_policy`.
    """
    if isinstance(policy, Player):
        if illegal_action not in (None, policy.illegal_action):
            raise ValueError(f"{name} has illegal_action={policy.illegal_action!r}; got {illegal_action!r}")
        illegal_action = policy.illegal_action
        policy = policy.policy
    return Player(checked_policy(policy, rules, name), "raise" if illegal_action is None else illegal_action)


def as_policy(policy: Any, name: str) -> Policy:
    """Returns a policy unchanged, and wraps a callable ``(observation, action_mask) -> action`` as a policy.

    Raises TypeError for anything else, such as a class or an :class:`OpponentPool`. The message calls the argument
    ``name``.
    """
    if isinstance(policy, type) or not (isinstance(policy, Policy) or callable(policy)):
        raise TypeError(
            f"{name} must have action_probabilities or be a callable (observation, action_mask) -> action, not a "
            f"class; got {policy!r} (a model of Stable-Baselines3 needs nim_env.sb3.ModelPolicy; an OpponentPool "
            "can be used in mixed_exploitability, payoff_matrix, win_probability and play_match)"
        )
    return policy if isinstance(policy, Policy) else FunctionPolicy(policy)
