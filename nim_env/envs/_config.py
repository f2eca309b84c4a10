"""Checks the arguments that the environments share, the options of ``reset``, and actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from nim_env._internal.checks import checked_bool, checked_choice, checked_integer
from nim_env.encodings import Encoding, ObservationLike, checked_encoding
from nim_env.envs._reply_distribution import Start
from nim_env.policies import IllegalAction, OpponentPool, Policy, PolicyLike, checked_player
from nim_env.policies.weighted import checked_pool
from nim_env.rules import NimRules

FirstPlayer: TypeAlias = Literal["random", "agent", "opponent"]


@dataclass(frozen=True)
class EnvConfig:
    """The arguments of an environment. The constructor checks them.

    They mean the same as in :class:`nim_env.envs.gym_env.NimEnv`. In PettingZoo's environment there is no
    opponent, so ``opponent`` and ``first_player`` are ``None``.
    """

    rules: NimRules
    observation: ObservationLike
    random_start: bool
    illegal_action: IllegalAction
    opponent: PolicyLike | OpponentPool | None = None
    first_player: FirstPlayer | None = None

    def __post_init__(self) -> None:
        checked_bool("random_start", self.random_start)
        checked_choice("illegal_action", self.illegal_action, get_args(IllegalAction))
        if self.opponent is None:
            if self.first_player is not None:
                raise ValueError(f"first_player={self.first_player!r} needs an opponent; omit it in self-play")
            return
        if self.first_player is None:
            object.__setattr__(self, "first_player", "agent" if self.random_start else "random")
        checked_choice("first_player", self.first_player, get_args(FirstPlayer))
        if self.random_start and self.first_player != "agent":
            raise ValueError(
                f"first_player={self.first_player!r} cannot be combined with random_start=True, since the agent "
                "moves first from a random position; omit one of them"
            )

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding of the observations."""
        return checked_encoding(self.observation, self.rules)

    @cached_property
    def opponent_policy(self) -> Policy | OpponentPool | None:
        """The opponent, converted to a policy or a pool; ``None`` in self-play."""
        if self.opponent is None:
            return None
        if isinstance(self.opponent, OpponentPool):
            return checked_pool(self.opponent, self.rules, "opponent")
        return checked_player(self.opponent, self.rules, illegal_action="raise", name="opponent").policy

    @cached_property
    def start(self) -> Start:
        """How episodes begin: the agent, the opponent or either of them moves first, or the position is random."""
        if self.random_start:
            return "random_position"
        return "random_player" if self.first_player == "random" else self.first_player or "agent"

    def with_opponent(self, opponent: PolicyLike | OpponentPool) -> EnvConfig:
        """Returns the same arguments with another opponent.

        Raises ValueError if the old or the new opponent is ``None``, since an environment cannot switch to or from
        self-play.
        """
        if self.opponent is None or opponent is None:
            raise ValueError(
                f"opponent={opponent!r} cannot replace opponent={self.opponent!r}; create a new environment to "
                "switch to or from self-play"
            )
        return replace(self, opponent=opponent)

    def start_of_episode(self, reset_options: Mapping[str, Any], allowed: Sequence[str]) -> Start:
        """Returns how the next episode begins, which is :attr:`start` unless ``reset_options`` change it.

        Raises ValueError if the name of an option is not in ``allowed``, or if ``first_player`` and ``heaps`` are
        both given.
        """
        for key in reset_options:
            checked_choice("each key of options", key, allowed)
        first_player = reset_options.get("first_player")
        if first_player is not None and reset_options.get("heaps") is not None:
            raise ValueError('options["first_player"] has no effect with options["heaps"]; omit one of them')
        return self.start if first_player is None else replace(self, first_player=first_player).start


def checked_start_states(heaps: Any, rules: NimRules, is_reset: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Checks the option ``heaps`` of ``reset``, and returns the states in which the games start.

    ``heaps`` holds one position for all games, or one for each game. ``is_reset`` is True for each game that is to
    be reset. The result, int64, has the index of the first position (:meth:`NimRules.index`) of each of these
    games. Raises ValueError if ``heaps`` has the wrong shape, or if a game would start with empty heaps.
    """
    indices = np.asarray(rules.index(heaps))
    fits = indices.shape in ((), is_reset.shape)
    starts = np.broadcast_to(indices, is_reset.shape)[is_reset] if fits else indices
    if not fits or not starts.all():
        shape = (*is_reset.shape, rules.n_heaps)
        raise ValueError(
            f'options["heaps"] must hold heap sizes of shape {shape[-1:]} or {shape}, with an object in each '
            f"position; got {heaps!r}"
        )
    return starts


def checked_action(action: Any, n_actions: int) -> int:
    """Returns ``action`` as an int. Raises InvalidAction if it is not in the action space."""
    try:
        number = checked_integer("action", action)
    except TypeError:
        number = -1
    if not 0 <= number < n_actions:
        raise InvalidAction(f"action must be an integer from 0 to {n_actions - 1}; got {action!r}")
    return number


def checked_actions(actions: Any, n_actions: int, is_ignored: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Returns the actions of ``n`` games as an array, np.intp of shape ``(n,)``.

    Raises InvalidAction if ``actions`` are not ``n`` integers in the action space. ``is_ignored`` is True for each
    game in which the action has no effect and can be any integer.
    """
    array = np.asarray(actions)
    if array.shape != is_ignored.shape or array.dtype.kind not in "iu":
        n = len(is_ignored)
        raise InvalidAction(f"actions must be an array of {n} integers; got {array.dtype} of shape {array.shape}")
    numbers = np.asarray(array, dtype=np.int64)
    is_wrong = numbers.view(np.uint64) >= n_actions  # as unsigned numbers, negative ones are large
    if np.count_nonzero(is_wrong):
        numbers = np.where(is_wrong, 0, numbers)
        is_wrong &= ~is_ignored
        if is_wrong.any():
            env = int(is_wrong.argmax())
            raise InvalidAction(f"actions[{env}] must be 0 to {n_actions - 1}; got {array[env]}")
    return np.asarray(numbers, dtype=np.intp)
