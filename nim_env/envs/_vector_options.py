"""The arguments of the vector environment and of its methods, validated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from nim_env.envs._options import checked_options
from nim_env.rules import NimRules, checked_integer

_MAX_MASK_ENTRIES = 2**32  # of all environments: 4 GiB


class ResetOptions(NamedTuple):
    """The options of ``reset``.

    Attributes:
        reset_mask: The environments to reset, bool of shape ``(num_envs,)``.
        heaps: The positions to start from, int64 of shape ``(num_envs, n_heaps)``.
        has_heaps: Where they were given, bool of shape ``(num_envs,)``.
        first_players: One value for all environments, or ``num_envs`` of them; None stands for the default.
    """

    reset_mask: NDArray[np.bool_]
    heaps: NDArray[np.int64]
    has_heaps: NDArray[np.bool_]
    first_players: list[Any]


def checked_num_envs(num_envs: Any, rules: NimRules) -> int:
    """``num_envs`` as an int, if it is 1 or more and the arrays of a step can fit into memory."""
    number = checked_integer("num_envs", num_envs, 1)
    if number * rules.n_actions > _MAX_MASK_ENTRIES:
        raise ValueError(
            f"num_envs={number:,} with {rules.n_actions:,} actions needs more than 4 GiB for the action masks; "
            "use fewer environments, smaller heaps or a smaller max_take"
        )
    return number


def checked_max_episode_steps(max_episode_steps: Any) -> int | None:
    """``max_episode_steps`` as an int of 1 or more, or None."""
    if max_episode_steps is None:
        return None
    return checked_integer("max_episode_steps", max_episode_steps, 1, ", or None")


def checked_autoreset_mode(mode: Any) -> AutoresetMode:
    """Resolves ``mode`` to an autoreset mode."""
    if isinstance(mode, str | AutoresetMode):
        for known in AutoresetMode:
            if mode in (known, known.value, known.name):
                return known
    names = ", ".join(repr(known.value) for known in AutoresetMode)
    raise ValueError(f"autoreset_mode must be one of {names}, or an AutoresetMode; got {mode!r}")


def checked_actions(actions: Any, n_actions: int, is_ignored: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The actions as int64, 0 where they are ignored and not in the action space."""
    num_envs = len(is_ignored)
    array: NDArray[Any] = actions
    if not isinstance(actions, np.ndarray):
        if not isinstance(actions, Sequence) or isinstance(actions, str | bytes | bytearray):
            raise InvalidAction(f"actions must be an array or a sequence of {num_envs} integers; got {actions!r}")
        array = np.fromiter(actions, dtype=object, count=len(actions))
    if array.shape != (num_envs,):
        raise InvalidAction(
            f"actions must have shape ({num_envs},), one action for each environment; got shape {array.shape}"
        )
    if array.dtype.kind in "iu":
        numbers: NDArray[np.int64] = array.astype(np.int64, copy=False)
    else:
        numbers = np.array([_as_action(action) for action in array])
    is_wrong = numbers.view(np.uint64) >= n_actions  # as unsigned, negative numbers are large
    if is_wrong.any():
        numbers = np.where(is_wrong, 0, numbers)
        is_wrong &= ~is_ignored
    if is_wrong.any():
        env = int(is_wrong.argmax())
        raise InvalidAction(
            f"actions must be integers from 0 to {n_actions - 1}; environment {env} got {array[env]!r}"
        )
    return numbers


def _as_action(action: Any) -> int:
    """An action as an integer of 64 bits, -1 for anything else."""
    try:
        number = checked_integer("action", action)
    except TypeError:
        return -1
    return number if abs(number) < 2**63 else -1


def checked_reset_options(
    options: Mapping[str, Any] | None, num_envs: int, rules: NimRules, is_first_reset: bool
) -> ResetOptions:
    """The options of ``reset``, arrays broadcast to all environments."""
    options = checked_options(options, ("heaps", "first_player", "reset_mask"))
    reset_mask = _checked_reset_mask(options.get("reset_mask"), num_envs, is_first_reset)
    heaps, has_heaps = _checked_heaps(options.get("heaps"), reset_mask, rules)
    first_players = _checked_first_players(options.get("first_player"), num_envs)
    return ResetOptions(reset_mask, heaps, has_heaps, first_players)


def _checked_reset_mask(mask: Any, num_envs: int, is_first_reset: bool) -> NDArray[np.bool_]:
    if mask is None:
        return np.ones(num_envs, dtype=np.bool_)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f'options["reset_mask"] must be a NumPy array of booleans; got {mask!r}')
    if mask.shape != (num_envs,) or not mask.any():
        raise ValueError(f'options["reset_mask"] must have shape ({num_envs},) and one True or more; got {mask!r}')
    if is_first_reset and not mask.all():
        raise ResetNeeded(f"environment {mask.argmin()} was never reset: reset all environments first")
    return mask.copy()


def _checked_heaps(
    heaps: Any, reset_mask: NDArray[np.bool_], rules: NimRules
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The positions to start from, and which of them were given."""
    num_envs = len(reset_mask)
    if heaps is None:
        full = np.broadcast_to(np.array(rules.heaps, dtype=np.int64), (num_envs, rules.n_heaps))
        return full, np.zeros(num_envs, dtype=np.bool_)
    has_heaps = np.ones(num_envs, dtype=np.bool_)
    if isinstance(heaps, list | tuple) and len(heaps) == num_envs and any(row is None for row in heaps):
        has_heaps = np.array([row is not None for row in heaps])
        heaps = [rules.heaps if row is None else row for row in heaps]
    positions = rules.positions(heaps)
    shape = num_envs, rules.n_heaps
    if positions.shape not in (shape, shape[1:]):
        raise ValueError(
            f'options["heaps"] must have shape {shape[1:]}, one position for all environments, or {shape}, one '
            f"for each; got shape {positions.shape}"
        )
    positions = np.broadcast_to(positions, shape)
    is_empty = reset_mask & ~positions.any(axis=1)
    if is_empty.any():
        raise ValueError(
            f'options["heaps"] must be unfinished positions; environment {is_empty.argmax()} got all 0'
        )
    return positions, has_heaps


def _checked_first_players(players: Any, num_envs: int) -> list[Any]:
    if isinstance(players, np.ndarray):
        players = players.tolist()
    if isinstance(players, str) or not isinstance(players, Sequence):
        return [players]
    if len(players) != num_envs:
        raise ValueError(
            f'options["first_player"] must be one for all environments, or {num_envs}, one for each; '
            f"got {len(players)}"
        )
    return list(players)
