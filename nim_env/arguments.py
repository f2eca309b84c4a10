"""The arguments that the environments share, checked: a mistake gets one error that names it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from nim_env.policies import Policy, PolicyLike, as_policy, is_built_in
from nim_env.rendering import check_pygame
from nim_env.rules import NimRules

FirstPlayer: TypeAlias = Literal["random", "agent", "opponent", "loser"]
IllegalAction: TypeAlias = Literal["lose", "raise"]
EMPTY = 0  # the index of the empty position


class GameArguments:
    """Which game it is: the arguments of every environment."""

    metadata: dict[str, Any]

    def _set_game(
        self,
        heaps: Sequence[int],
        max_take: int | None,
        misere: bool,
        random_start: bool,
        illegal_action: IllegalAction,
        render_mode: str | None,
    ) -> None:
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
    """Who the learner plays against and who starts: the arguments of Gymnasium's environments."""

    _np_random: np.random.Generator | None
    _np_random_seed: int | None

    def _set_opponent(self, opponent: PolicyLike | None, first_player: FirstPlayer | None) -> None:
        self.opponent = opponent
        self._policy: Policy | None = None if opponent is None else as_policy(opponent, self.rules, "opponent")
        self._opponent_may_fail = not (self._policy is None or is_built_in(self._policy))
        opening_moves = mask = self.rules.action_mask(self.rules.heaps)
        if is_built_in(self._policy):
            opening_moves = self._policy.choices(self.rules.heaps, mask)
        self._leaves_alive = self.rules.move_counts < sum(self.rules.heaps)
        self._opening_moves: tuple[int, ...] = tuple(np.flatnonzero(opening_moves & self._leaves_alive).tolist())
        """The moves that the opponent may open with: those that leave the game alive."""
        if first_player is None:
            self.first_player: FirstPlayer | None = None if self._policy is None else "random"
        else:
            self.first_player = self._checked_first_player(first_player, "first_player")
        if self.first_player not in (None, "agent") and not self.random_start:
            self._check_opening("first_player", self.first_player)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Restores the generator when the opponent cannot play."""
        generator, seed = self._np_random, self._np_random_seed
        state: Any = None if generator is None else generator.bit_generator.state
        try:
            yield
        except BaseException:
            self._np_random, self._np_random_seed = generator, seed
            if generator is not None:
                generator.bit_generator.state = state
            raise

    def _check_opening(self, name: str, first_player: str | None) -> None:
        if not self._opening_moves:
            raise no_opening(name, first_player, self.opponent, self.rules)

    def _checked_first_player(self, first_player: Any, name: str) -> FirstPlayer:
        if self._policy is None:
            raise ValueError(f"{name}={first_player!r} has no meaning with opponent=None; leave it out")
        if not isinstance(first_player, str) or first_player not in get_args(FirstPlayer):
            raise ValueError(f"{name} must be one of {get_args(FirstPlayer)}; got {first_player!r}")
        player: FirstPlayer = first_player  # type: ignore[assignment]  # it is one of them
        return player


def no_opening(name: str, first_player: str | None, opponent: Any, rules: NimRules) -> ValueError:
    """The error for an opponent that is to open but cannot without ending the game."""
    return ValueError(
        f"{name}={first_player!r} needs an opening move that leaves the game alive, and "
        f'opponent={opponent!r} has none from heaps {rules.heaps}; use {name}="agent"'
    )


def illegal_move(rules: NimRules, action: int, heaps: Sequence[int]) -> str:
    """What is wrong with an action of the space that is illegal in a position."""
    heap, count = rules.moves[action]
    legal = np.flatnonzero(rules.action_mask(heaps)).tolist()
    return f"action {action}, take {count} from heap {heap}, is illegal at heaps {list(heaps)}; legal are {legal}"
