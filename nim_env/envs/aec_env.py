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

The players take turns, and each turn removes one or more objects, up to `max_take`, from a single heap. In misère
play (the default), the player who takes the last object loses. In normal play, that player wins. You control both
players, and each step is one move. To play against an opponent that is part of the environment, use
`nim_env.NimEnv`.

### Example
Both players play the first legal move:

```python
import nim_env  # registers nim-v0
import pettingzoo

env = pettingzoo.make("aec", "nim-v0", heaps=(1, 2))
env.reset(seed=0)
for player in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    if terminated:
        print(player, "has the reward", reward)
        action = None  # removes the player
    else:
        action = int(observation["action_mask"].argmax())
        heap, count = env.unwrapped.rules.moves[action]
        print(player, "takes", count, "from heap", heap)
    env.step(action)
```

```text
player_0 takes 1 from heap 0
player_1 takes 1 from heap 1
player_0 takes 1 from heap 1
player_1 has the reward 1.0
player_0 has the reward -1.0
```

### Observation space
An observation is a dictionary with two entries. `"observation"` holds the heap sizes (int64, the same for both
players), or another encoding of them that the argument `observation` selects. `"action_mask"` shows the legal
actions (int8, shape `(n_actions,)`, 1 if the action is legal). The mask is all zeros for the player who is not to
move, and for both players when the game is over.

### Action space
An action is the number of a move in `env.unwrapped.rules.moves`, as in `nim_env.NimEnv`. A player who makes an
illegal action loses at once: that player's reward is −1, the other player's reward is 0, and
`infos[player]["illegal_action"]` is True.

### Rewards
The players receive their rewards when the game ends. All earlier rewards are 0.

| Winner | Loser |
| :----: | :---: |
| +1     | -1    |

### Arguments
The arguments `heaps`, `max_take`, `misere`, `random_start`, `observation`, `illegal_action` and `render_mode` are
the same as in `nim_env.NimEnv`.

`reset(options={"heaps": ...})` starts a single game from another position. Other options are ignored, as in
PettingZoo's own environments.

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

from nim_env.encodings import ObservationLike
from nim_env.envs._config import EnvConfig
from nim_env.envs._single_game import SingleGame
from nim_env.policies import IllegalAction
from nim_env.rendering import FRAMES_PER_SECOND
from nim_env.rules import NimRules

_PLAYERS = ("player_0", "player_1")


def env(**kwargs: Any) -> raw_env:
    """Creates the environment with the arguments of :class:`raw_env`.

    PettingZoo's stock wrappers are not needed, since :class:`raw_env` itself checks that an action is in the
    action space and legal, and that methods are called in the right order.
    """
    return raw_env(**kwargs)


class raw_env(SingleGame, AECEnv[str, dict[str, NDArray[Any]], int]):  # type: ignore[misc]  # noqa: N801  PettingZoo has no types, and names it so
    """Nim for two players, who are called agents in PettingZoo.

    The docstring of the module describes the spaces, the rewards, the arguments and the options of ``reset``.

    A method that needs a game raises ``ResetNeeded`` if ``reset`` has not been called. So do ``step`` and ``last``
    once both players have been removed from a finished game. ``step`` raises ``InvalidAction`` if the action is
    not in the action space, if it is illegal and ``illegal_action="raise"``, or if it is not ``None`` although the
    game is over. After an error the game is unchanged.
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
        rules = NimRules(heaps, max_take, misere)
        super().__init__(EnvConfig(rules, observation, random_start, illegal_action), render_mode)
        self.agents: list[str] = []  # none before the first reset
        self._calls = 0  # the number of calls of reset and step, which agent_iter watches
        self._np_random: np.random.Generator | None = None
        self.possible_agents = list(_PLAYERS)
        mask_space = Box(0, 1, (self._n_actions,), np.int8)
        self.observation_spaces = {
            player: Dict({"observation": self.encoding.space, "action_mask": mask_space}) for player in _PLAYERS
        }
        self.action_spaces = {player: Discrete(self._n_actions) for player in _PLAYERS}
        self.state_space = MultiDiscrete(np.append(self.rules.shape, 2))

    def observation_space(self, agent: str) -> Dict:
        """Returns the observation space of a player, always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """Returns the action space of a player, always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Starts a game.

        The game starts with full heaps. With ``random_start`` it starts from a random position, and with
        ``options["heaps"]`` from the given one. Other options are ignored. ``seed`` determines the random
        positions of this and later games.
        """
        state = self._state_of_start((options or {}).get("heaps"))
        self._display.open()
        if seed is not None or self._np_random is None:
            self._np_random = seeding.np_random(seed)[0]
        if state is None:
            is_random = self._config.random_start
            state = int(self._board.sample_indices(self._np_random)) if is_random else self._board.full_heaps
        self._current = self._results[state]
        self._last_states = (state, state)
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
        """Plays ``action``, an integer, for the player ``agent_selection``.

        When the game is over, the only possible action is ``None``, which removes the player from ``agents``.
        """
        result = self._current
        if result is None or not self.agents:
            raise ResetNeeded("no game is in progress; call reset() before the first step and after each game")
        if result.is_over:
            if action is not None:
                raise InvalidAction(f"action must be None, since the game is over; got {action!r}")
            self._was_dead_step(None)  # PettingZoo's method for an agent that has terminated
            self._calls += 1
            return
        state = self._state_after(action, result)
        mover = self.agent_selection
        other = _PLAYERS[mover == _PLAYERS[0]]
        self._last_states = (result.state, state)
        self._current = result = self._results[state]
        if result.is_over:
            self.rewards = {mover: result.reward, other: 0.0 if result.is_illegal else -result.reward}
            self._cumulative_rewards = self.rewards.copy()  # all earlier rewards were 0
            self.terminations = dict.fromkeys(_PLAYERS, True)
            self.infos[mover]["illegal_action"] = result.is_illegal
        self._to_play ^= 1
        self._calls += 1
        self.agent_selection = other
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """Returns the observation of a player.

        It is a dictionary with ``"observation"``, the encoded heap sizes, and ``"action_mask"``, int8 of shape
        ``(n_actions,)``. The mask is all zeros unless it is the player's turn.
        """
        result = self._current_result()
        if agent == self.agent_selection and not result.is_over:
            mask = result.action_mask.copy()
        elif agent in _PLAYERS:
            mask = np.zeros(self._n_actions, dtype=np.int8)
        else:
            raise ValueError(f"agent must be one of {_PLAYERS}; got {agent!r}")
        return {"observation": result.observation.copy(), "action_mask": mask}

    def last(
        self, observe: bool = True
    ) -> tuple[dict[str, NDArray[Any]] | None, float, bool, bool, dict[str, Any]]:
        """Returns what the player ``agent_selection`` gets before its move.

        This is its observation (``None`` if ``observe`` is False), the sum of its rewards since its last move,
        whether it has terminated, whether it was truncated (always False), and its information.
        """
        if not self.agents:
            raise ResetNeeded("there is no player to move; call reset() before the first game and after each game")
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yields the player to move until both players have been removed.

        Raises AssertionError if the loop calls neither ``step`` nor ``reset``, since it would never end.
        """
        self._current_result()  # raises an error before the first reset
        while self.agents and max_iter > 0:
            calls = self._calls
            yield self.agent_selection
            if self._calls == calls:
                raise AssertionError("call step() or reset() in every iteration over agent_iter()")
            max_iter -= 1

    def state(self) -> NDArray[np.int64]:
        """Returns the heap sizes, then the player to move (0 or 1): int64 of shape ``(n_heaps + 1,)``."""
        return np.append(self._current_result().heaps, self._to_play)
