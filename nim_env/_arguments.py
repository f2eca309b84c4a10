"""The constructor arguments that the environments share, validated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nim_env.policies import Policy, PolicyLike, as_policy, is_built_in
from nim_env.rendering import check_pygame
from nim_env.rules import NimRules

FirstPlayer: TypeAlias = Literal["random", "agent", "opponent", "loser"]
IllegalAction: TypeAlias = Literal["lose", "raise"]


class GameArguments:
    """The game: the arguments of every environment."""

    metadata: dict[str, Any]

    def __init__(
        self,
        heaps: Sequence[int],
        max_take: int | None,
        misere: bool,
        random_start: bool,
        illegal_action: IllegalAction,
        render_mode: str | None,
    ) -> None:
        super().__init__()
        self.rules = NimRules(heaps, max_take, misere)  # type: ignore[arg-type]  # it makes the tuple
        if not isinstance(random_start, bool | np.bool_):
            raise TypeError(f"random_start must be True or False; got {random_start!r}")
        if not isinstance(illegal_action, str) or illegal_action not in get_args(IllegalAction):
            raise ValueError(f'illegal_action must be "lose" or "raise"; got {illegal_action!r}')
        render_modes = self.metadata["render_modes"]
        if render_mode is not None and (not isinstance(render_mode, str) or render_mode not in render_modes):
            raise ValueError(f"render_mode must be None or one of {render_modes}; got {render_mode!r}")
        if render_mode == "human":
            check_pygame(render_mode)
        self.random_start = bool(random_start)
        self.illegal_action = illegal_action
        self.render_mode = render_mode
        self._n_actions = self.rules.n_actions


class OpponentArguments(GameArguments):
    """The opponent and the player who starts: the arguments of Gymnasium's environments."""

    def __init__(self, *arguments: Any, opponent: PolicyLike | None, first_player: FirstPlayer | None) -> None:
        super().__init__(*arguments)
        self._opponent = opponent
        self._policy = None if opponent is None else as_policy(opponent, self.rules, "opponent")
        self._opening_mask = opening_mask(self.rules, self._policy)
        if first_player is None:
            self.first_player: FirstPlayer | None = None if self._policy is None else "random"
        else:
            self.first_player = self._checked_first_player(first_player, "first_player")
        if not self.random_start:
            self._check_opening("first_player", self.first_player, opponent, self._opening_mask)

    @property
    def opponent(self) -> PolicyLike | None:
        """The opponent as it was given, ``None`` in self-play. :meth:`set_opponent` changes it."""
        return self._opponent

    def set_opponent(self, opponent: PolicyLike) -> None:
        """Changes the opponent. It makes all moves from now on, also in games in progress.

        A wrapped environment offers it as ``env.unwrapped.set_opponent``, and a ``VecEnv`` of Stable-Baselines3 by
        ``env_method("set_opponent", policy)``.

        Args:
            opponent: As in the constructor, but not ``None``.

        Raises:
            TypeError: ``opponent`` is not a policy.
            ValueError: The opponent is unknown, was made for another game, or cannot open the game although
                ``first_player`` lets it; or the environment is one of self-play. Nothing has changed then.
        """
        if self._policy is None or opponent is None:
            raise ValueError(
                f"opponent={opponent!r} cannot replace opponent={self._opponent!r}: an environment is either for "
                "self-play or for play against an opponent, so make another one"
            )
        policy = as_policy(opponent, self.rules, "opponent")
        openings = opening_mask(self.rules, policy)
        if not self.random_start:
            self._check_opening("first_player", self.first_player, opponent, openings)
        self._opponent, self._policy, self._opening_mask = opponent, policy, openings

    def _check_opening(
        self, name: str, first_player: str | None, opponent: Any, openings: NDArray[np.int8]
    ) -> None:
        if first_player not in (None, "agent") and not openings.any():
            raise no_opening(name, first_player, opponent, self.rules)

    def _checked_first_player(self, first_player: Any, name: str) -> FirstPlayer:
        if self._policy is None:
            raise ValueError(f"{name}={first_player!r} has no meaning with opponent=None; leave it out")
        if not isinstance(first_player, str) or first_player not in get_args(FirstPlayer):
            raise ValueError(f"{name} must be one of {get_args(FirstPlayer)}; got {first_player!r}")
        player: FirstPlayer = first_player  # type: ignore[assignment]  # it is one of them
        return player


def opening_mask(rules: NimRules, policy: Policy | None) -> NDArray[np.int8]:
    """The actions that may open an episode: int8, shape ``(n_actions,)``.

    They are the actions from the full heaps that do not end the game; of a built-in policy, those it draws from.
    """
    mask = rules.action_mask(rules.heaps) & (rules.move_counts < sum(rules.heaps))
    if is_built_in(policy):
        mask &= policy.support(rules.heaps, rules.action_mask(rules.heaps))
    return mask


def finished_mask(rules: NimRules) -> NDArray[np.int8]:
    """The action mask of a finished game in Gymnasium: int8 ones of shape ``(n_actions,)``.

    A row of zeros would turn a masked softmax into NaN. The environments of pgx return ones too.
    """
    return np.ones(rules.n_actions, dtype=np.int8)


def no_opening(name: str, first_player: str | None, opponent: Any, rules: NimRules) -> ValueError:
    """The error for an opponent that starts but whose every opening move ends the game."""
    return ValueError(
        f"{name}={first_player!r} needs an opening move that does not end the game, and "
        f'opponent={opponent!r} has none from heaps {rules.heaps}; use {name}="agent"'
    )


def illegal_move(rules: NimRules, action: int, heaps: Sequence[int]) -> str:
    """The error message for an action of the action space that is illegal in a position."""
    heap, count = rules.moves[action]
    legal = np.flatnonzero(rules.action_mask(heaps)).tolist()
    return f"action {action}, take {count} from heap {heap}, is illegal at heaps {list(heaps)}; legal are {legal}"
