"""The arguments that the environments share, and the options of ``reset``, checked."""

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
from nim_env.policies import IllegalAction, OpponentPool, Policy, PolicyLike, checked_player, checked_pool
from nim_env.rules import NimRules

FirstPlayer: TypeAlias = Literal["random", "agent", "opponent"]


@dataclass(frozen=True)
class Options:
    """The checked arguments of an environment. In PettingZoo's environment there is no opponent.

    ``first_player`` becomes ``"random"`` where there is an opponent and it was not given.
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
            object.__setattr__(self, "first_player", "random")
        checked_choice("first_player", self.first_player, get_args(FirstPlayer))

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding of the observations."""
        return checked_encoding(self.observation, self.rules)

    @cached_property
    def policy(self) -> Policy | OpponentPool | None:
        """The opponent as a policy or a pool; ``None`` in self-play."""
        if self.opponent is None:
            return None
        if isinstance(self.opponent, OpponentPool):
            return checked_pool(self.opponent, self.rules, "opponent")
        return checked_player(self.opponent, self.rules, illegal_action="raise", name="opponent").policy

    @cached_property
    def start(self) -> str:
        """How an episode begins, one of the four starts of :mod:`nim_env.envs._replies`."""
        return "anywhere" if self.random_start else self.first_player or "agent"

    def with_opponent(self, opponent: PolicyLike | OpponentPool) -> Options:
        """The options after ``set_opponent``."""
        if self.opponent is None or opponent is None:
            raise ValueError(f"opponent={opponent!r} cannot replace opponent={self.opponent!r}; make another env")
        return replace(self, opponent=opponent)

    def for_episode(self, reset_options: Mapping[str, Any], allowed: Sequence[str]) -> Options:
        """The options of one episode, given those of ``reset``; one that is not ``allowed`` is an error."""
        for key in reset_options:
            checked_choice("each key of options", key, allowed)
        first_player = reset_options.get("first_player")
        return self if first_player is None else replace(self, first_player=first_player)


def checked_starts(heaps: Any, rules: NimRules, is_reset: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The indices of ``options["heaps"]``, one position for all games or one for each, where a game is reset.

    ``is_reset`` has a bool for each game. A position that is over is a ValueError.
    """
    indices = np.asarray(rules.index(heaps))
    fits = indices.shape in ((), is_reset.shape)
    starts = np.broadcast_to(indices, is_reset.shape)[is_reset] if fits else indices
    if not fits or not starts.all():
        shape = (*is_reset.shape, rules.n_heaps)
        raise ValueError(
            f'options["heaps"] must be heap sizes of shape {shape[-1:]} or {shape}, not all 0; got {heaps!r}'
        )
    return starts


def checked_action(action: Any, n_actions: int) -> int:
    """``action`` as an int of the action space."""
    try:
        number = checked_integer("action", action)
    except TypeError:
        number = -1
    if not 0 <= number < n_actions:
        raise InvalidAction(f"action must be an integer from 0 to {n_actions - 1}; got {action!r}")
    return number
