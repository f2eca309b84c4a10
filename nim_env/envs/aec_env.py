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
An index into `env.unwrapped.rules.moves`, as in `nim_env.NimEnv`. A player who makes an illegal action loses at
once: −1 for that player, 0 for the other, and `infos[player]["illegal_action"]` is True.

### Rewards
| Winner | Loser |
| :----: | :---: |
| +1     | -1    |

### Arguments
`heaps`, `max_take`, `misere`, `random_start`, `observation`, `illegal_action` and `render_mode`, as in
`nim_env.NimEnv`. `reset(options={"heaps": ...})` starts one game from another position. Unknown options are
ignored, as in PettingZoo's own environments.

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

from nim_env._internal.checks import checked_choice
from nim_env.board import Board, shared
from nim_env.encodings import ObservationLike
from nim_env.envs._options import Options, checked_action, checked_starts
from nim_env.envs._rows import Row, Rows
from nim_env.policies import IllegalAction
from nim_env.rendering import FRAMES_PER_SECOND, Display, view_of
from nim_env.rules import NimRules

_PLAYERS = ("player_0", "player_1")


def env(**kwargs: Any) -> raw_env:
    """Makes the environment with the arguments of :class:`raw_env`.

    It needs none of PettingZoo's stock wrappers: :class:`raw_env` checks order, range and legality itself.
    """
    return raw_env(**kwargs)


class raw_env(AECEnv[str, dict[str, NDArray[Any]], int]):  # type: ignore[misc]  # noqa: N801  PettingZoo has no types, and names it so
    """Two-player Nim; the module describes spaces, rewards, arguments and the options of ``reset``.

    A call that needs a game raises ``ResetNeeded`` before ``reset`` and after the end. An action outside the
    space, other than None in a finished game, or illegal with ``illegal_action="raise"`` raises ``InvalidAction``.
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
        self.rules = NimRules(heaps, max_take, misere)
        self._options = Options(self.rules, observation, random_start, illegal_action)
        self.encoding = self._options.encoding
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self._display = Display(self.render_mode)
        self._n_actions = self.rules.n_actions
        self._board = shared(Board, self.rules)
        self._offsets = self.rules.offsets
        self._rows = shared(Rows, self._board, self.encoding)
        self._row: Row | None = None  # of the state of the game; None before the first reset
        self._last_row: Row  # before the last move
        self._to_play = 0  # 0 or 1
        self.agents: list[str] = []  # none before the first reset
        self._calls = 0  # resets and steps so far; agent_iter checks that one was made
        self._np_random: np.random.Generator | None = None
        self.possible_agents = list(_PLAYERS)
        mask_space = Box(0, 1, (self._n_actions,), np.int8)
        self.observation_spaces = {
            player: Dict({"observation": self.encoding.space, "action_mask": mask_space}) for player in _PLAYERS
        }
        self.action_spaces = {player: Discrete(self._n_actions) for player in _PLAYERS}
        self.state_space = MultiDiscrete(np.append(self.rules.shape, 2))

    def observation_space(self, agent: str) -> Dict:
        """The observation space of a player, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """The action space of a player, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Starts a game, from the position of ``options["heaps"]`` if there is one. Other options are ignored.

        ``seed`` seeds the generator of ``random_start``.
        """
        heaps = (options or {}).get("heaps")
        state = self._board.full if heaps is None else checked_starts(heaps, self.rules, np.array(True)).item()
        self._display.open()
        if seed is not None or self._np_random is None:
            self._np_random = seeding.np_random(seed)[0]
        if heaps is None and self._options.random_start:
            state = int(self._board.random(self._np_random))
        self._row = self._last_row = self._rows[state]
        self._to_play = 0
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
        """Plays ``action``, an integer, for ``agent_selection``. In a finished game ``None`` removes a player."""
        row = self._row
        if row is None or not self.agents:
            raise ResetNeeded("there is no game to step: call reset() first, and again when a game is over")
        if row.is_over:
            if action is not None:
                raise InvalidAction(f"the game is over, the only action left is None; got {action!r}")
            self._was_dead_step(None)  # PettingZoo's own method for a terminated agent
            self._calls += 1
            return
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = checked_action(action, self._n_actions)
        mover = self.agent_selection
        other = _PLAYERS[mover == _PLAYERS[0]]
        if row.is_legal[action]:
            state = row.state - self._offsets[action]
        elif self._options.illegal_action == "lose":
            state = self._board.lost + row.state
        else:
            raise InvalidAction(self.rules.illegal_action_message(action, row.heaps))
        self._last_row = row
        self._row = row = self._rows[state]
        if row.is_over:
            self.rewards = {mover: row.reward, other: 0.0 if row.is_illegal else -row.reward}
            self._cumulative_rewards = self.rewards.copy()  # all rewards before were 0
            self.terminations = dict.fromkeys(_PLAYERS, True)
            self.infos[mover]["illegal_action"] = row.is_illegal
        self._to_play ^= 1
        self._calls += 1
        self.agent_selection = other
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """``"observation"``, the encoded heap sizes, and ``"action_mask"``, int8 of shape ``(n_actions,)``.

        The mask is all zeros unless the player is to move.
        """
        row = self._row
        if row is None:
            raise ResetNeeded("there is nothing to observe before reset(); call reset() first")
        if agent == self.agent_selection and not row.is_over:
            mask = row.action_mask.copy()
        elif agent in _PLAYERS:
            mask = np.zeros(self._n_actions, dtype=np.int8)
        else:
            raise ValueError(f"agent must be one of {_PLAYERS}; got {agent!r}")
        return {"observation": row.observation.copy(), "action_mask": mask}

    def last(
        self, observe: bool = True
    ) -> tuple[dict[str, NDArray[Any]] | None, float, bool, bool, dict[str, Any]]:
        """Observation, cumulative reward, terminated, truncated and info of ``agent_selection``."""
        if not self.agents:
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

        A loop that calls neither ``step`` nor ``reset`` raises an AssertionError, since it would never end.
        """
        self._started()  # raises before the first reset
        while self.agents and max_iter > 0:
            calls = self._calls
            yield self.agent_selection
            if self._calls == calls:
                raise AssertionError("call step() or reset() in every iteration over agent_iter()")
            max_iter -= 1

    def state(self) -> NDArray[np.int64]:
        """The heap sizes and the player to move (0 or 1): int64 of shape ``(n_heaps + 1,)``."""
        return np.append(self._started().heaps, self._to_play)

    def render(self) -> str | NDArray[np.uint8] | None:
        """The position as text, or as RGB values, uint8 of shape ``(400, 600, 3)``, or in the window."""
        row = self._started()
        last_heaps = self._last_row.heaps.tolist()
        view = view_of(self.rules, row.heaps.tolist(), self._to_play, row.is_over, row.reward > 0, [last_heaps])
        return self._display.render(view)

    def close(self) -> None:
        """Closes the window of ``render_mode="human"``; the next frame opens another."""
        self._display.close()

    def _started(self) -> Row:
        if self._row is None:
            raise ResetNeeded("there is no game before reset(); call reset() first")
        return self._row
