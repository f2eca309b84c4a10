"""The constructor arguments and ``reset`` options that the environments share, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from nim_env.policies import Policy, PolicyLike, checked_policy, is_built_in
from nim_env.rules import NimRules, checked_integer

FirstPlayer: TypeAlias = Literal["random", "agent", "opponent", "loser"]
IllegalAction: TypeAlias = Literal["lose", "raise"]


@dataclass(frozen=True)
class Opponent:
    """An opponent.

    Attributes:
        given: The argument.
        policy: The argument resolved to a policy.
        openings: The actions that may open an episode: those from the full heaps that do not end the game; of a
            built-in policy, those it draws from.
    """

    given: PolicyLike
    policy: Policy
    openings: tuple[int, ...]


def checked_opponent(opponent: PolicyLike, rules: NimRules) -> Opponent:
    """The opponent of the argument."""
    policy, mask = checked_policy(opponent, rules, "opponent"), rules.action_mask(rules.heaps)
    openings = mask & (rules.move_counts < sum(rules.heaps))
    if is_built_in(policy):
        openings &= policy.support(rules.heaps, mask)
    return Opponent(opponent, policy, tuple(np.flatnonzero(openings).tolist()))


def checked_new_opponent(before: Opponent | None, opponent: PolicyLike, rules: NimRules) -> Opponent:
    """The opponent of ``set_opponent``."""
    if before is None or opponent is None:
        raise ValueError(
            f"opponent={opponent!r} cannot replace opponent={before and before.given!r}: an environment is either "
            "for self-play or for play against an opponent, so make another one"
        )
    return checked_opponent(opponent, rules)


def checked_first_player(player: Any, opponent: Opponent | None, name: str = "first_player") -> FirstPlayer | None:
    """The player who starts; ``None`` in self-play."""
    if player is None:
        return None if opponent is None else "random"
    if opponent is None:
        raise ValueError(f"{name}={player!r} has no meaning with opponent=None; leave it out")
    checked: FirstPlayer = checked_choice(name, player, get_args(FirstPlayer))
    return checked


def check_opening(
    player: FirstPlayer | None, opponent: Opponent | None, rules: NimRules, name: str = "first_player"
) -> None:
    """Raises a ValueError if the opponent may start, but each of its opening moves ends the game."""
    if opponent is not None and player != "agent" and not opponent.openings:
        raise no_opening(name, player, opponent.given, rules)


def no_opening(name: str, player: str | None, opponent: Any, rules: NimRules) -> ValueError:
    """The error for an opponent that starts although each of its opening moves ends the game."""
    return ValueError(
        f"{name}={player!r} needs an opening move that does not end the game, and "
        f'opponent={opponent!r} has none from heaps {rules.heaps}; use {name}="agent"'
    )


def checked_choice(name: str, value: Any, choices: Sequence[str | None]) -> Any:
    """``value``, one of the choices."""
    if not isinstance(value, str | None) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return value


def checked_options(options: Any, allowed: Sequence[str] | None = None) -> Mapping[str, Any]:
    """The options of ``reset``; an option that is not ``allowed`` is an error, unless all are."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a dictionary or None; got {options!r}")
    for key in options:
        if allowed is not None and key not in allowed:
            raise ValueError(f"options may hold {', '.join(map(repr, allowed))}; got {key!r}")
    return options


def checked_heaps(heaps: Any, rules: NimRules) -> tuple[int, ...] | None:
    """The position of ``options["heaps"]``."""
    if heaps is None:
        return None
    position = rules.positions(heaps)
    if position.ndim != 1 or not position.any():
        raise ValueError(
            f'options["heaps"] must be one unfinished position, {rules.n_heaps} heap sizes not all 0; '
            f"got {heaps!r}"
        )
    return tuple(position.tolist())


def checked_action(action: Any, n_actions: int) -> int:
    """``action`` as an int of the action space."""
    try:
        number = checked_integer("action", action)
    except TypeError:
        number = -1
    if not 0 <= number < n_actions:
        raise InvalidAction(f"action must be an integer from 0 to {n_actions - 1}; got {action!r}")
    return number


def illegal_move(rules: NimRules, action: int, heaps: Sequence[int]) -> str:
    """The error message for an action of the action space that is illegal in a position."""
    heap, count = rules.moves[action]
    legal = np.flatnonzero(rules.action_mask(heaps)).tolist()
    return f"action {action}, take {count} from heap {heap}, is illegal at heaps {list(heaps)}; legal are {legal}"


def finished_mask(rules: NimRules) -> NDArray[np.int8]:
    """The action mask of a finished game in Gymnasium: int8 ones of shape ``(n_actions,)``.

    A row of zeros would turn a masked softmax into NaN. The environments of pgx return ones too.
    """
    return np.ones(rules.n_actions, dtype=np.int8)
