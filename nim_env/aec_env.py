"""Nim for two players, as a PettingZoo AEC environment.

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
A dictionary: `"observation"`, the heap sizes (int64, both players see the same), and `"action_mask"`, int8,
1 where the action is legal. The mask is all zeros for the player who is not to move, and for both in a
finished game.

### Action space
An index into `env.unwrapped.rules.moves`, as in `nim_env.gym_env.NimEnv`. An illegal action loses: −1 for
the player who made it, 0 for the other, and `infos[player]["illegal_action"]` is True.

### Rewards
| Winner | Loser |
| :----: | :---: |
| +1     | -1    |

### Arguments
`heaps`, `max_take`, `misere`, `random_start`, `illegal_action` and `render_mode`, as in
`nim_env.gym_env.NimEnv`. `reset(options={"heaps": ...})` starts one game elsewhere; options that mean nothing
here are ignored, as everywhere in PettingZoo.

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

from nim_env.arguments import EMPTY, IllegalAction
from nim_env.rendering import FRAMES_PER_SECOND, Move, View
from nim_env.single_game import SingleGame

PLAYERS = ("player_0", "player_1")
OF_A_GAME = (
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
    """The environment; see the module for its arguments.

    PettingZoo's stock wrappers are not needed: :class:`raw_env` checks order, range and legality itself.
    """
    return raw_env(**kwargs)


class raw_env(SingleGame, AECEnv[str, dict[str, NDArray[Any]], int]):  # type: ignore[misc]  # noqa: N801  PettingZoo has no types, and names it so
    """Two-player Nim, checked: the table of this module says what it takes and gives.

    Raises:
        TypeError, ValueError: A wrong argument; it is named.
        gymnasium.error.ResetNeeded: A call that needs a game before ``reset``, or a step after the end.
        gymnasium.error.InvalidAction: An action outside the space, any action but None for a player whose
            game is over, or an illegal one with ``illegal_action="raise"``.
    """

    metadata = {
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
        illegal_action: IllegalAction = "lose",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self._set_up(heaps, max_take, misere, random_start, illegal_action, render_mode)
        shape = self.rules.shape
        self.possible_agents = list(PLAYERS)
        self.observation_spaces = {
            player: Dict(
                {
                    "observation": MultiDiscrete(np.array(shape)),
                    "action_mask": Box(0, 1, (self._n_actions,), np.int8),
                }
            )
            for player in PLAYERS
        }
        self.action_spaces = {player: Discrete(self._n_actions) for player in PLAYERS}
        self.state_space = MultiDiscrete(np.array([*shape, 2]))
        self._np_random: np.random.Generator | None = None
        self._plies = 0
        self._changes = 0  # resets and steps so far, by which agent_iter knows that one was made

    def __getattr__(self, name: str) -> Any:
        if name in OF_A_GAME:
            raise AttributeError(f"{name} cannot be accessed before reset(); call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> Dict:
        """The observation space of ``agent``, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """The action space of ``agent``, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Starts a game.

        Args:
            seed: Seeds the generator behind ``random_start``; ``None`` goes on with it.
            options: ``heaps`` starts this game from another position; other keys are ignored.

        Raises:
            TypeError, ValueError: ``options["heaps"]`` is not an unfinished position of this game.
            RuntimeError: ``render_mode="human"`` without a display.
        """
        start = None if options is None else self._start_in(options)
        if self._is_shown:
            self._open()
        if seed is not None or self._np_random is None:
            self._np_random = seeding.np_random(seed)[0]
        if start is None:
            start = self._random_start(self._np_random) if self.random_start else self._first_index
        self._index, self._is_over, self._plies = start, False, 0
        self._before = start  # the position that the last move was made from
        self.agents = list(PLAYERS)
        self.agent_selection = PLAYERS[0]
        self.rewards = dict.fromkeys(PLAYERS, 0.0)
        self._cumulative_rewards = dict.fromkeys(PLAYERS, 0.0)
        self.terminations = dict.fromkeys(PLAYERS, False)
        self.truncations = dict.fromkeys(PLAYERS, False)
        self.infos = {player: {"illegal_action": False} for player in PLAYERS}
        self._skip_agent_selection: str | None = None
        self._changes += 1
        if self._is_shown:
            self.render()

    def step(self, action: Any) -> None:
        """Plays ``action`` for ``agent_selection``; in a finished game takes None and removes that player."""
        index = self._index
        if index is None or not self.agents:
            raise ResetNeeded("there is no game to step: call reset() first, and again when a game is over")
        if self._is_over:
            if action is not None:
                raise InvalidAction(f"the game is over, the only action left is None; got {action!r}")
            self._was_dead_step(None)  # the API's own way to step a dead agent
            self._changes += 1
            return
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = self._checked_action(action)
        mover = self.agent_selection
        other = PLAYERS[mover == PLAYERS[0]]
        if not self._positions[index].legal[action]:
            if self.illegal_action == "raise":
                raise self._illegal(action, index)
            self.infos[mover]["illegal_action"] = True
            self._end({mover: -1.0, other: 0.0}, winner=other)
        else:
            self._index = after = index - self._offsets[action]
            if after == EMPTY:
                reward = 1.0 if self.rules.last_mover_wins else -1.0
                self._end({mover: reward, other: -reward}, winner=mover if reward > 0 else other)
        self._before = index
        self._plies += 1
        self._changes += 1
        self.agent_selection = other
        if self._is_shown:
            self.render()

    def _end(self, rewards: dict[str, float], winner: str) -> None:
        self._is_over, self._winner = True, winner
        self.rewards = {player: rewards[player] for player in PLAYERS}
        self._cumulative_rewards = self.rewards.copy()
        self.terminations = dict.fromkeys(PLAYERS, True)

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """What ``agent`` sees: heap sizes and action mask, the mask all zeros unless it is to move."""
        if self._index is None:
            raise ResetNeeded("there is nothing to observe before reset(); call reset() first")
        position = self._positions[self._index]
        if agent == self.agent_selection and not self._is_over:
            mask = position.action_mask.copy()
        elif agent in PLAYERS:
            mask = np.zeros(self._n_actions, dtype=np.int8)
        else:
            raise ValueError(f"agent must be one of {PLAYERS}; got {agent!r}")
        return {"observation": position.heaps.copy(), "action_mask": mask}

    def last(
        self, observe: bool = True
    ) -> tuple[dict[str, NDArray[Any]] | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last move, terminated, truncated and info of ``agent_selection``."""
        if self._index is None or not self.agents:
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
        """Yields the player to move, at most ``max_iter`` times, until both have left the finished game.

        Raises:
            gymnasium.error.ResetNeeded: There is no game yet.
            AssertionError: Neither ``step`` nor ``reset`` was called since the last player was yielded.
        """
        if self._index is None:
            raise ResetNeeded("there is no player to iterate over before reset(); call reset() first")
        return self._turns(max_iter)

    def _turns(self, max_iter: int) -> Iterator[str]:
        while self.agents and max_iter > 0:
            changes = self._changes
            yield self.agent_selection
            if self._changes == changes:
                raise AssertionError("call step() or reset() in every round of a loop over agent_iter()")
            max_iter -= 1

    def state(self) -> NDArray[np.int64]:
        """The heap sizes and the player to move (0 or 1), int64 of shape ``(n_heaps + 1,)``."""
        if self._index is None:
            raise ResetNeeded("there is no state before reset(); call reset() first")
        return np.append(self._positions[self._index].heaps, self._plies % 2)

    def _view(self) -> View:
        assert self._index is not None
        heaps, before = self._heaps_at(self._index), self._heaps_at(self._before)
        to_play = self._plies % 2
        player = PLAYERS.index(self._winner) if self._is_over else to_play
        moves = [Move(1 - to_play, before, heaps)] if before != heaps else []
        return View(heaps, self.rules.heaps, PLAYERS, player, self._is_over, moves)
