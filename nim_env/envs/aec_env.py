"""Nim for two players as a PettingZoo AEC environment.

| Creation           | `pettingzoo.make("aec", "nim-v0")`, `"simple_nim-v0"`, or `aec_env.env(...)` |
|--------------------|------------------------------------------------------------------------------|
| Actions            | Discrete                                                                     |
| Parallel API       | No                                                                           |
| Manual control     | No                                                                           |
| Agents             | `["player_0", "player_1"]`; `player_0` moves first                           |
| Action shape       | ()                                                                           |
| Action values      | [0, n_actions - 1]; 16 for 1-3-5-7                                           |
| Observation shape  | (n_heaps,)                                                                   |
| Observation values | [0, starting heap sizes]                                                     |

### Observation space
A dictionary: `"observation"`, the heap sizes (int64, the same for both players) or another encoding of them, and
`"action_mask"`, int8, 1 where the action is legal. The mask is all zeros for the player who is not to move, and
for both players in a finished game.

### Action space
An index into `env.unwrapped.rules.moves`, as in `nim_env.envs.gym_env.NimEnv`. A player who makes an illegal action
loses at once: −1 for that player, 0 for the other, and `infos[player]["illegal_action"]` is True.

### Rewards
| Winner | Loser |
| :----: | :---: |
| +1     | -1    |

### Arguments
`heaps`, `max_take`, `misere`, `random_start`, `observation`, `illegal_action` and `render_mode`, as in
`nim_env.envs.gym_env.NimEnv`. `reset(options={"heaps": ...})` starts one game from another position. Unknown options
are ignored, as in PettingZoo's own environments.

### Version history
* v0: initial version
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv

from nim_env.encodings import ObservationLike, checked_encoding
from nim_env.envs._options import (
    IllegalAction,
    checked_action,
    checked_choice,
    checked_heaps,
    checked_options,
    illegal_move,
)
from nim_env.envs._positions import Position, positions_of, random_heaps
from nim_env.rendering import FRAMES_PER_SECOND, PLAYER_NAMES, Display, Move, View
from nim_env.rules import NimRules, checked_bool

_PLAYERS = ("player_0", "player_1")
_EPISODE_ATTRIBUTES = (
    "agents",
    "agent_selection",
    "rewards",
    "terminations",
    "truncations",
    "infos",
    "num_agents",
    "_cumulative_rewards",
)


def env(**kwargs: Any) -> raw_env:
    """Makes the environment; the module lists its arguments.

    It needs none of PettingZoo's stock wrappers: :class:`raw_env` checks order, range and legality itself.

    Args:
        **kwargs: The arguments of :class:`raw_env`.

    Returns:
        The environment.

    Raises:
        TypeError, ValueError: An argument is wrong.
        gymnasium.error.DependencyNotInstalled: ``render_mode="human"`` without pygame.
    """
    return raw_env(**kwargs)


class raw_env(AECEnv[str, dict[str, NDArray[Any]], int]):  # type: ignore[misc]  # noqa: N801  PettingZoo has no types, and names it so
    """Two-player Nim; the module describes spaces, rewards and the options of ``reset``.

    Args:
        heaps: Starting heap sizes, integers of 0 or more, not all 0.
        max_take: The maximum number of objects that one move may take, 1 or more; ``None`` for no limit.
        misere: Whether the player who takes the last object loses.
        random_start: Whether every game starts from a uniformly drawn position other than the empty one.
        observation: ``"heaps"``, ``"one_hot"``, ``"bits"``, ``"unary"`` or an :class:`nim_env.encodings.Encoding`.
        illegal_action: What an illegal action does: ``"lose"`` ends the game as a loss, ``"raise"`` raises an
            error and leaves the game unchanged.
        render_mode: ``"ansi"`` (text), ``"rgb_array"`` (pixels), ``"human"`` (a window) or ``None``.

    Raises:
        TypeError, ValueError: An argument is wrong.
        gymnasium.error.DependencyNotInstalled: ``render_mode="human"`` without pygame.
        gymnasium.error.ResetNeeded: A call before ``reset`` that needs a game, or a step after the end.
        gymnasium.error.InvalidAction: An action is outside the space, not None in a finished game, or illegal with
            ``illegal_action="raise"``.
    """

    metadata: dict[str, Any] = {
        "name": "nim_v0",
        "render_modes": ["human", "ansi", "rgb_array"],
        "render_fps": FRAMES_PER_SECOND,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        heaps: Sequence[int] = (1, 3, 5, 7),
        max_take: int | None = None,
        misere: bool = True,
        *,
        random_start: bool = False,
        observation: ObservationLike = "heaps",
        illegal_action: IllegalAction = "lose",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.rules = rules = NimRules(heaps, max_take, misere)  # type: ignore[arg-type]  # it makes the tuple
        self.random_start = checked_bool("random_start", random_start)
        self.encoding = checked_encoding(observation, rules)
        self.illegal_action = checked_choice("illegal_action", illegal_action, ("lose", "raise"))
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self._display = Display(self.render_mode)
        self._n_actions = rules.n_actions
        self._positions = positions_of(rules, self.encoding)
        self._position: Position | None = None  # None before the first reset
        self._is_over = False
        self.possible_agents = list(_PLAYERS)
        self.observation_spaces = {
            player: Dict(
                {
                    "observation": self.encoding.space,
                    "action_mask": Box(0, 1, (self._n_actions,), np.int8),
                }
            )
            for player in _PLAYERS
        }
        self.action_spaces = {player: Discrete(self._n_actions) for player in _PLAYERS}
        self.state_space = MultiDiscrete(np.append(rules.shape, 2))
        self._np_random: np.random.Generator | None = None
        self._to_play = 0  # 0 or 1
        self._calls = 0  # resets and steps so far; agent_iter checks that one was made

    def __getattr__(self, name: str) -> Any:
        if name in _EPISODE_ATTRIBUTES:
            raise AttributeError(f"{name} cannot be accessed before reset(); call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> Dict:
        """The observation space of a player, always the same object.

        Args:
            agent: ``"player_0"`` or ``"player_1"``.

        Returns:
            The space, the same for both players.

        Raises:
            KeyError: ``agent`` is not a player.
        """
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """The action space of a player, always the same object.

        Args:
            agent: ``"player_0"`` or ``"player_1"``.

        Returns:
            The space, the same for both players.

        Raises:
            KeyError: ``agent`` is not a player.
        """
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Starts a game.

        Args:
            seed: Seeds the generator of ``random_start``. ``None`` continues with it.
            options: ``heaps``, the position to start from. Other keys are ignored.

        Raises:
            TypeError, ValueError: ``options`` is not a dictionary, or ``options["heaps"]`` is not an unfinished
                position of this game.
            gymnasium.error.Error: ``seed`` is not a Python integer of 0 or more.
            RuntimeError: ``render_mode="human"`` without a display.
        """
        heaps = checked_heaps(checked_options(options).get("heaps"), self.rules)
        self._display.open()
        if seed is not None or self._np_random is None:
            self._np_random = seeding.np_random(seed)[0]
        if heaps is None:
            heaps = random_heaps(self.rules, self._np_random) if self.random_start else self.rules.heaps
        self._position = self._last_position = self._positions[heaps]
        self._is_over, self._to_play = False, 0
        self.agents = list(_PLAYERS)
        self.agent_selection = _PLAYERS[0]
        self.rewards = dict.fromkeys(_PLAYERS, 0.0)
        self._cumulative_rewards = dict.fromkeys(_PLAYERS, 0.0)
        self.terminations = dict.fromkeys(_PLAYERS, False)
        self.truncations = dict.fromkeys(_PLAYERS, False)
        self.infos = {player: {"illegal_action": False} for player in _PLAYERS}
        self._skip_agent_selection: str | None = None
        self._calls += 1
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        """Plays ``action`` for ``agent_selection``. In a finished game ``None`` removes the player.

        Args:
            action: An integer of the action space; ``None`` in a finished game.

        Raises:
            gymnasium.error.ResetNeeded: There is no game yet, or both players have been removed.
            gymnasium.error.InvalidAction: ``action`` is outside the space, not None in a finished game, or illegal
                with ``illegal_action="raise"``.
        """
        position = self._position
        if position is None or not self.agents:
            raise ResetNeeded("there is no game to step: call reset() first, and again when a game is over")
        if self._is_over:
            if action is not None:
                raise InvalidAction(f"the game is over, the only action left is None; got {action!r}")
            self._was_dead_step(None)  # PettingZoo's own method for a terminated agent
            self._calls += 1
            return
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = checked_action(action, self._n_actions)
        mover = self.agent_selection
        other = _PLAYERS[mover == _PLAYERS[0]]
        if not position.is_legal[action]:
            if self.illegal_action == "raise":
                raise InvalidAction(illegal_move(self.rules, action, position.heaps))
            self.infos[mover]["illegal_action"] = True
            self._end({mover: -1.0, other: 0.0}, winner=other)
        else:
            self._position = after = position.after[action]
            if after.is_empty:
                reward = self.rules.terminal_reward
                self._end({mover: reward, other: -reward}, winner=mover if reward > 0 else other)
        self._last_position = position
        self._to_play ^= 1
        self._calls += 1
        self.agent_selection = other
        if self.render_mode == "human":
            self.render()

    def _end(self, rewards: dict[str, float], winner: str) -> None:
        self._is_over, self._winner = True, winner
        self.rewards = rewards
        self._cumulative_rewards = rewards.copy()  # all rewards before were 0
        self.terminations = dict.fromkeys(_PLAYERS, True)

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """The observation of a player.

        Args:
            agent: ``"player_0"`` or ``"player_1"``.

        Returns:
            A dictionary of ``"observation"``, the encoded heap sizes, and ``"action_mask"``, int8 of shape
            ``(n_actions,)``, all zeros unless the player is to move.

        Raises:
            gymnasium.error.ResetNeeded: There is no game yet.
            ValueError: ``agent`` is not a player.
        """
        if self._position is None:
            raise ResetNeeded("there is nothing to observe before reset(); call reset() first")
        position = self._position
        if agent == self.agent_selection and not self._is_over:
            mask = position.action_mask.copy()
        elif agent in _PLAYERS:
            mask = np.zeros(self._n_actions, dtype=np.int8)
        else:
            raise ValueError(f"agent must be one of {_PLAYERS}; got {agent!r}")
        return {"observation": position.observation.copy(), "action_mask": mask}

    def last(
        self, observe: bool = True
    ) -> tuple[dict[str, NDArray[Any]] | None, float, bool, bool, dict[str, Any]]:
        """What ``agent_selection`` observes and has received.

        Args:
            observe: Whether to make the observation.

        Returns:
            Observation (that of :meth:`observe`; None if not ``observe``), cumulative reward, terminated,
            truncated and info.

        Raises:
            gymnasium.error.ResetNeeded: There is no game yet, or both players have been removed.
        """
        if self._position is None or not self.agents:
            raise ResetNeeded("there is no player to move: call reset() first, and again when a game is over")
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Iterates over the player to move, until both players are removed.

        Args:
            max_iter: The maximum number of players to yield.

        Returns:
            An iterator over ``agent_selection``.

        Raises:
            gymnasium.error.ResetNeeded: There is no game yet.
            AssertionError: The loop called neither ``step`` nor ``reset`` since the last player was yielded.
        """
        if self._position is None:
            raise ResetNeeded("there is no player to iterate over before reset(); call reset() first")
        return self._agent_iter(max_iter)

    def _agent_iter(self, max_iter: int) -> Iterator[str]:
        while self.agents and max_iter > 0:
            calls = self._calls
            yield self.agent_selection
            if self._calls == calls:
                raise AssertionError("call step() or reset() in every iteration over agent_iter()")
            max_iter -= 1

    def state(self) -> NDArray[np.int64]:
        """The heap sizes and the player to move (0 or 1).

        Returns:
            int64 of shape ``(n_heaps + 1,)``.

        Raises:
            gymnasium.error.ResetNeeded: There is no game yet.
        """
        if self._position is None:
            raise ResetNeeded("there is no state before reset(); call reset() first")
        return np.append(self._position.heaps, self._to_play)

    def render(self) -> str | NDArray[np.uint8] | None:
        """The position in the form of ``render_mode``; a warning and None without one.

        Returns:
            ``"ansi"``: a text. ``"rgb_array"``: RGB values, uint8 of shape ``(400, 600, 3)``. ``"human"``: None;
            the window, which ``reset`` and ``step`` update, is drawn again.

        Raises:
            gymnasium.error.ResetNeeded: The environment was not reset yet.
            gymnasium.error.DependencyNotInstalled: ``"rgb_array"`` without pygame.
            RuntimeError: ``"human"`` without a display.
        """
        if self._position is None:
            raise ResetNeeded("there is nothing to render before reset(); call reset() first")
        return self._display.render(self._view())

    def close(self) -> None:
        """Closes the window of ``render_mode="human"``; the next frame opens another."""
        self._display.close()

    def _view(self) -> View:
        assert self._position is not None
        heaps, before = self._position.heaps, self._last_position.heaps
        player = _PLAYERS.index(self._winner) if self._is_over else self._to_play
        moves = [Move(1 - self._to_play, before, heaps)] if before != heaps else []
        return View(heaps, self.rules, PLAYER_NAMES, player, self._is_over, moves)
