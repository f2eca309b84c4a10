"""The dynamics of the vector environment: functions of arrays with one state for each environment.

A step has two halves, :meth:`Dynamics.agent_step` and :meth:`Dynamics.opponent_step`. Autoreset is Gymnasium's
next-step mode: for a finished game, ``agent_step`` ignores the action and returns a reset state, from which
``opponent_step`` draws the first state of the next episode. In self-play the agent makes every move, and
``opponent_step`` only starts episodes. :class:`TabularDynamics` looks both halves up in tables.
:class:`DirectDynamics` computes them from the rules.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from nim_env._chunks import chunks
from nim_env.encodings import Encoding, checked_encoding
from nim_env.envs._options import FirstPlayer, Opponent, finished_mask, no_opening
from nim_env.policies import (
    InvalidPolicyOutput,
    Policy,
    UniformPolicy,
    is_built_in,
    query_each,
    query_opponent,
    sample,
    uniform_sample,
)
from nim_env.rules import NimRules

States = NDArray[np.int64]
"""One state for each environment: shape ``(n,)`` in TabularDynamics, ``(n, n_heaps + 1)`` in DirectDynamics."""

_MAX_TABLE_POSITIONS = 2**20
_MAX_TABLE_ENTRIES = 2**25  # positions times actions; heaps 1-3-5-7-9-11-13 have 31.6 million
_MAX_AGENT_TABLE_ENTRIES = 2**20  # the largest table for agent_step; computing larger ones is as fast
_MAX_MASK_ROWS = 2**16  # action masks kept as separate arrays
_MAX_OBSERVATION_ENTRIES = 2**22  # positions times numbers of an observation; the table has twice as many

PLAYING, AGENT_TOOK_LAST, OPPONENT_TOOK_LAST, ILLEGAL_ACTION = range(4)
"""The status of a game: in progress, or ended by the agent taking the last object, by the opponent taking it, or
by an illegal action of the agent."""
_AGENT_STARTS, _OPPONENT_STARTS, _EITHER_STARTS, _RANDOM_START = _START_KINDS = range(4)
_START_KIND_OF = {
    None: _AGENT_STARTS,
    "agent": _AGENT_STARTS,
    "opponent": _OPPONENT_STARTS,
    "random": _EITHER_STARTS,
}


@dataclass(frozen=True)
class GameConfig:
    """What the games of a vector environment have in common.

    Attributes:
        rules: The game.
        encoding: The encoding of the observations.
        opponent: The opponent; ``None`` in self-play.
        first_player: The player who starts; ``None`` in self-play.
        random_start: Whether episodes start from a random position, the agent to move; ``first_player`` is then
            ignored.
    """

    rules: NimRules
    encoding: Encoding
    opponent: Opponent | None
    first_player: FirstPlayer | None
    random_start: bool

    @property
    def rewards(self) -> NDArray[np.float64]:
        """The agent's reward by status; in self-play that of the player who has just moved."""
        last = self.rules.terminal_reward
        return np.array([0.0, last, -last, -1.0])

    def start_kinds(self, first_player: FirstPlayer | None, agent_won: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How each episode starts (``_AGENT_STARTS``, ...), shape ``(n,)``.

        Args:
            first_player: The player who starts; ``reset(options=...)`` may override the attribute.
            agent_won: Whether the agent won the last game, shape ``(n,)``; it matters for ``"loser"``.
        """
        if self.random_start:
            return np.full(len(agent_won), _RANDOM_START)
        if first_player == "loser":
            return np.where(agent_won, _OPPONENT_STARTS, _AGENT_STARTS)
        return np.full(len(agent_won), _START_KIND_OF[first_player])

    def next_start_kinds(self, status: NDArray[np.int64]) -> NDArray[np.int64]:
        """How the episodes after finished games of some status start, shape ``(n,)``."""
        return self.start_kinds(self.first_player, self.rewards[status] > 0)


class Dynamics(ABC):
    """Batched transitions and observations. The first axis of every array is the environment.

    Attributes:
        is_stochastic: Whether ``opponent_step`` draws numbers: there is an opponent, or a random start.
    """

    def __init__(self, config: GameConfig) -> None:
        self.config, self.rules = config, config.rules
        self.is_stochastic = config.opponent is not None or config.random_start

    @abstractmethod
    def states_of(self, heaps: NDArray[np.int64], status: NDArray[np.int64]) -> States:
        """The states with the given heaps, shape ``(n, n_heaps)``, and status, shape ``(n,)``."""

    @abstractmethod
    def reset_states(self, starts: NDArray[np.int64]) -> States:
        """Reset states, one for each of :meth:`GameConfig.start_kinds`."""

    @abstractmethod
    def agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        """The states after the agent's actions (afterstates); for finished games reset states."""

    @abstractmethod
    def opponent_step(
        self,
        states: States,
        generator: np.random.Generator,
        env_ids: NDArray[np.int64],
        members: Sequence[Policy] | None = None,
    ) -> States:
        """The states after the opponent's actions, which the agent observes next; finished games stay the same.

        Args:
            states: The states after :meth:`agent_step`, or reset states.
            generator: Draws the opponent's actions, and for reset states the player who starts and the position.
            env_ids: The index of each environment.
            members: The policy of each environment's opponent in this game, by the index, where the opponent is a
                mixture drawn per game.

        Raises:
            ValueError: The opponent returned anything but a legal action, or has no opening action.
        """

    @abstractmethod
    def heaps(self, states: States) -> NDArray[np.int64]:
        """The positions: a new array of shape ``(n, n_heaps)``."""

    def observations(self, states: States) -> NDArray[Any]:
        """The encoded positions: a new array, one observation for each state."""
        return self.config.encoding.encode(self.heaps(states))

    @abstractmethod
    def status(self, states: States) -> NDArray[np.int64]:
        """The status of each game, shape ``(n,)``, possibly a view. Its value for reset states has no meaning."""

    @abstractmethod
    def masks(self, states: States) -> NDArray[np.int8]:
        """The action masks, all ones for finished games: a new array of shape ``(n, n_actions)``."""

    def mask_rows(self, states: States) -> list[NDArray[np.int8]]:
        """The action masks as a list of read-only arrays of shape ``(n_actions,)``, in small games shared."""
        masks = self.masks(states)
        masks.flags.writeable = False
        return list(masks)


class TabularDynamics(Dynamics):
    """The dynamics of self-play or of a built-in opponent as tables: each half of a step is a lookup.

    With n positions, by index (0 is the empty position, n - 1 the full heaps), the states are:

    - 1 to n - 1: a game in progress at that position;
    - 0: the agent has taken the last object;
    - n: the opponent has taken the last object;
    - n + i: the agent has made an illegal action at position i;
    - 2n + k: a reset state of start kind k.
    """

    def __init__(self, config: GameConfig) -> None:
        super().__init__(config)
        rules, n = self.rules, self.rules.n_positions
        self._n, self._n_actions, self._offsets = n, rules.n_actions, np.array(rules.offsets)
        has_agent_table = 2 * n * rules.n_actions <= _MAX_AGENT_TABLE_ENTRIES
        # the smallest dtype saves memory in large games
        dtype = np.int64 if has_agent_table else np.min_scalar_type(max(rules.heaps))
        self._heaps = np.tile(rules.all_positions().astype(dtype), (2, 1))
        self._observations: NDArray[Any] | None = None  # None where they are computed
        self._observation_dtype = config.encoding.space.dtype
        if config.encoding == checked_encoding("heaps", rules):
            self._observations = self._heaps
        elif n * math.prod(config.encoding.space.shape or ()) <= _MAX_OBSERVATION_ENTRIES:
            encoded = config.encoding.encode(rules.all_positions())
            self._observations = np.concatenate([encoded, encoded])
        self._masks = np.tile(finished_mask(rules), (2 * n, 1))
        for rows in chunks(rules, n - 1, start=1):
            self._masks[rows] = rules.action_mask(self._heaps[rows])
        self._status = np.full(2 * n + len(_START_KINDS), PLAYING)
        self._status[n + 1 : 2 * n] = ILLEGAL_ACTION
        self._status[[0, n]] = AGENT_TOOK_LAST, OPPONENT_TOOK_LAST
        if self.is_stochastic:
            self._tabulate_opponent()
        self._mask_rows: NDArray[np.object_] | None = None  # made at the first call of mask_rows
        self._agent_table: States | None = None
        if has_agent_table:
            states, actions = np.indices(self._masks.shape).reshape(2, -1)
            self._agent_table = self._compute_agent_step(states, actions)

    def _tabulate_opponent(self) -> None:
        """Concatenates the successors of all states; :meth:`opponent_step` draws one of a state's uniformly.

        ``_successor_offsets`` and ``_successor_counts`` locate those of each state.

        Built-in policies are uniform over their support. A state may be listed more than once: half of the
        successors of ``_EITHER_STARTS`` are the full heaps.
        """
        n, config = self._n, self.config
        playing, finished, full = np.arange(1, n), np.arange(n, 2 * n), n - 1
        number, successors = np.ones_like(playing), playing
        policy, openings = (config.opponent.policy, config.opponent.openings) if config.opponent else (None, ())
        if is_built_in(policy):
            parts = [self._opponent_successors(policy, playing[rows]) for rows in chunks(self.rules, n - 1)]
            number, successors = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        opened = [full - self.rules.offsets[action] for action in openings]
        anywhere: Any = playing if config.random_start else []
        by_start: list[Any] = [
            [full],
            opened,
            [full] * len(opened) + opened,
            anywhere,
        ]  # in the order of _START_KINDS
        self._successor_counts = np.concatenate(
            [[1], number, np.ones(n, np.int64), [len(drawn) for drawn in by_start]]
        )
        self._successor_offsets = self._successor_counts.cumsum() - self._successor_counts
        self._successor_states = np.concatenate([[0], successors, finished, *by_start]).astype(np.int64)

    def _opponent_successors(self, policy: UniformPolicy, positions: States) -> tuple[NDArray[np.int64], States]:
        """The number of actions that a built-in policy draws from at each position, and the states after them."""
        support = policy.support(self._heaps[positions], self._masks[positions])
        row, action = support.nonzero()
        after = positions[row] - self._offsets[action]
        after[after == 0] = self._n
        return np.count_nonzero(support, axis=1), after

    def __reduce__(self) -> Any:
        return make_dynamics, (self.config,)  # a copied or unpickled environment shares the tables

    def states_of(self, heaps: NDArray[np.int64], status: NDArray[np.int64]) -> States:
        index = np.asarray(self.rules.index(heaps))
        cases = [status == AGENT_TOOK_LAST, status == OPPONENT_TOOK_LAST, status == ILLEGAL_ACTION]
        choices = [np.zeros_like(index), np.full_like(index, self._n), self._n + index]
        states: States = np.select(cases, choices, index)
        return states

    def reset_states(self, starts: NDArray[np.int64]) -> States:
        return 2 * self._n + starts if self.is_stochastic else np.full(len(starts), self._n - 1)

    def agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        if self._agent_table is None:
            return self._compute_agent_step(states, actions)
        return self._agent_table.take(states * self._n_actions + actions)

    def _compute_agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        after: States = states - self._offsets.take(actions)
        is_illegal = self._masks.reshape(-1).take(states * self._n_actions + actions) == 0
        if is_illegal.any():
            after[is_illegal] = states[is_illegal] + self._n
        status = self.status(states)
        finished = (status != PLAYING).nonzero()[0]
        after[finished] = self.reset_states(self.config.next_start_kinds(status[finished]))
        return after

    def opponent_step(
        self,
        states: States,
        generator: np.random.Generator,
        env_ids: NDArray[np.int64],  # noqa: ARG002
        members: Sequence[Policy] | None = None,  # noqa: ARG002
    ) -> States:
        if not self.is_stochastic:
            return states
        nth = (generator.random(len(states)) * self._successor_counts.take(states)).astype(np.int64)
        successors: States = self._successor_states.take(self._successor_offsets.take(states) + nth)
        return successors

    def heaps(self, states: States) -> NDArray[np.int64]:
        return self._heaps.take(states, axis=0).astype(np.int64, copy=False)

    def observations(self, states: States) -> NDArray[Any]:
        if self._observations is None:
            return super().observations(states)
        return self._observations.take(states, axis=0).astype(self._observation_dtype, copy=False)

    def status(self, states: States) -> NDArray[np.int64]:
        status: NDArray[np.int64] = self._status.take(states)
        return status

    def masks(self, states: States) -> NDArray[np.int8]:
        return self._masks.take(states, axis=0)

    def mask_rows(self, states: States) -> list[NDArray[np.int8]]:
        if 2 * self._n > _MAX_MASK_ROWS:
            return super().mask_rows(states)
        if self._mask_rows is None:
            rows = super().mask_rows(np.arange(2 * self._n))
            self._mask_rows = np.fromiter(rows, dtype=object, count=len(rows))
        return cast("list[NDArray[np.int8]]", self._mask_rows.take(states).tolist())


class DirectDynamics(Dynamics):
    """The dynamics of any game and any opponent, computed from the rules.

    A state is a row of heap sizes and the status. The status of a reset state of start kind k is ``_RESET + k``.
    """

    _RESET = 4

    def __init__(self, config: GameConfig) -> None:
        super().__init__(config)
        self._opening_mask = np.zeros(self.rules.n_actions, dtype=np.int8)
        if config.opponent is not None:
            self._opening_mask[list(config.opponent.openings)] = 1

    def states_of(self, heaps: NDArray[np.int64], status: NDArray[np.int64]) -> States:
        return np.column_stack([heaps, status])

    def reset_states(self, starts: NDArray[np.int64]) -> States:
        return np.column_stack([np.tile(self.rules.heaps, (len(starts), 1)), self._RESET + starts])

    def agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        after = states.copy()
        is_playing = self.status(states) == PLAYING
        is_legal = self.masks(states)[np.arange(len(states)), actions] == 1
        moving = np.flatnonzero(is_playing & is_legal)
        self._apply(after, moving, actions[moving], AGENT_TOOK_LAST)
        after[~is_legal, -1] = ILLEGAL_ACTION
        finished = np.flatnonzero(~is_playing)
        after[finished] = self.reset_states(self.config.next_start_kinds(states[finished, -1]))
        return after

    def opponent_step(
        self,
        states: States,
        generator: np.random.Generator,
        env_ids: NDArray[np.int64],
        members: Sequence[Policy] | None = None,
    ) -> States:
        after, status = states.copy(), self.status(states)
        # one draw for each environment, as in TabularDynamics: both play the same games, unless starts are random
        draws = generator.random(len(states)) if self.is_stochastic else np.zeros(len(states))
        opponent_moves = status == PLAYING
        is_reset = status >= self._RESET
        if is_reset.any():
            after[is_reset, -1] = PLAYING
            is_random = status == self._RESET + _RANDOM_START
            after[is_random, :-1] = _random_positions(self.rules, int(is_random.sum()), generator)
            either = status == self._RESET + _EITHER_STARTS
            opponent_moves |= (status == self._RESET + _OPPONENT_STARTS) | (either & (draws >= 0.5))
            draws[either] = 2 * draws[either] - 1  # where the opponent starts, a uniform draw for its action
        if self.config.opponent is not None:
            moving = np.flatnonzero(opponent_moves)
            for part in chunks(self.rules, len(moving)):
                rows = moving[part]
                opens = is_reset[rows]
                heaps, envs = after[rows, :-1], env_ids[rows]
                playing = None if members is None else [members[env] for env in envs.tolist()]
                actions = self._opponent_actions(heaps, opens, draws[rows], generator, envs, playing)
                self._apply(after, rows, actions, OPPONENT_TOOK_LAST)
        return after

    def _opponent_actions(
        self,
        heaps: NDArray[np.int64],
        opens: NDArray[np.bool_],
        draws: NDArray[np.float64],
        generator: np.random.Generator,
        env_ids: NDArray[np.int64],
        playing: Sequence[Policy] | None,
    ) -> NDArray[np.int64]:
        """The opponent's actions; ``opens`` says where they open an episode, ``playing`` each one's policy."""
        assert self.config.opponent is not None
        policy, masks = self.config.opponent.policy, self.rules.action_mask(heaps)
        playable = np.where(opens[:, None], self._opening_mask, masks) if opens.any() else masks
        if is_built_in(policy):
            return uniform_sample(policy.support(heaps, masks) & playable, draws)
        try:
            if playing is None:
                weights = query_opponent(policy, heaps, masks) * playable
            else:
                weights = query_each(playing, heaps, masks, query_opponent) * playable
        except InvalidPolicyOutput as error:
            if len(error.index) != 1 or error.index[0] >= len(env_ids):
                raise  # of another policy, which the opponent queried on other positions
            env = env_ids[error.index[0]]
            raise InvalidPolicyOutput(f"environment {env}: {error}", (int(env),)) from None
        can_move = weights.any(axis=1)
        if not can_move.all():
            reason = no_opening("first_player", "opponent", self.config.opponent.given, self.rules)
            raise ValueError(f"environment {env_ids[can_move.argmin()]}: {reason}")
        return sample(weights, generator)

    def _apply(self, states: States, rows: NDArray[np.int64], actions: NDArray[np.int64], last: int) -> None:
        """Applies a legal action in each of the rows, in place; ``last`` is the status of games that it ends."""
        heaps = self.rules.apply(states[rows, :-1], actions)
        states[rows, :-1] = heaps
        states[rows[self.rules.is_over(heaps)], -1] = last

    def heaps(self, states: States) -> NDArray[np.int64]:
        return states[:, :-1].copy()

    def status(self, states: States) -> NDArray[np.int64]:
        return states[:, -1]

    def masks(self, states: States) -> NDArray[np.int8]:
        masks = np.empty((len(states), self.rules.n_actions), dtype=np.int8)
        for rows in chunks(self.rules, len(states)):
            masks[rows] = self.rules.action_mask(states[rows, :-1])
        masks[self.status(states) != PLAYING] = finished_mask(self.rules)
        return masks


_tabular_dynamics: WeakValueDictionary[GameConfig, TabularDynamics] = WeakValueDictionary()
"""The tables of each configuration, shared by its environments and freed with the last of them."""


def make_dynamics(config: GameConfig) -> Dynamics:
    """The fastest dynamics of a configuration: tables where they are small and the policy is built in."""
    rules = config.rules
    is_small = (
        rules.n_positions <= _MAX_TABLE_POSITIONS and rules.n_positions * rules.n_actions <= _MAX_TABLE_ENTRIES
    )
    is_tabular = is_small and (config.opponent is None or is_built_in(config.opponent.policy))
    if not is_tabular:
        return DirectDynamics(config)
    dynamics = _tabular_dynamics.get(config)
    if dynamics is None:
        dynamics = _tabular_dynamics[config] = TabularDynamics(config)
    return dynamics


def _random_positions(rules: NimRules, number: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Uniformly drawn positions other than the empty one, shape ``(number, n_heaps)``."""
    heaps = generator.integers(rules.shape, size=(number, rules.n_heaps))
    while (empty := ~heaps.any(axis=1)).any():
        heaps[empty] = generator.integers(rules.shape, size=(int(empty.sum()), rules.n_heaps))
    return heaps
