"""The dynamics of self-play or of a built-in opponent as tables: each half of a step is a lookup."""

from __future__ import annotations

import math
from typing import Any, cast
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nim_env._chunks import chunks
from nim_env.envs._dynamics import Dynamics, States, Status, start_of
from nim_env.envs._options import Options
from nim_env.policies.built_in import UniformPolicy, is_built_in

_MAX_ENTRIES = 2**25  # positions times actions; heaps 1-3-5-7-9-11-13 have 31.6 million
_MAX_AGENT_ENTRIES = 2**20  # of boards with a table for agent_step and separate action masks: 50 MB
_MAX_OBSERVATION_ENTRIES = 2**22  # positions times numbers of an observation; the table has twice as many


class TabularDynamics(Dynamics):
    """The dynamics of self-play or of a built-in opponent.

    With n positions, by index (0 is the empty position, n - 1 the full heaps), the states are:

    - 1 to n - 1: a game in progress at that position;
    - 0: the agent has taken the last object;
    - n: the opponent has taken the last object;
    - n + i: the agent has made an illegal action at position i;
    - 2n to 2n + 3: the reset states, in the order of their status.
    """

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        n = self.rules.n_positions
        positions = self.rules.all_positions()
        self._is_small = 2 * n * self.rules.n_actions <= _MAX_AGENT_ENTRIES
        # the smallest dtype saves memory in large games
        dtype = np.int64 if self._is_small else np.min_scalar_type(max(self.rules.heaps))
        self._n = n
        self._n_actions = self.rules.n_actions
        self._offsets = np.array(self.rules.offsets)
        self._heaps = np.tile(positions.astype(dtype), (2, 1))
        self._observations = self._tabulated_observations(positions)
        self._masks = np.ones((2 * n, self._n_actions), dtype=np.int8)
        for rows in chunks(self.rules, n - 1, start=1):
            self._masks[rows] = self.rules.action_mask(positions[rows])
        self._mask_rows: NDArray[np.object_] | None = None  # made at the first call of mask_rows
        self._status = np.full(2 * n + 4, Status.PLAYING)  # that of a reset state is not used
        self._status[0] = Status.AGENT_TOOK_LAST
        self._status[n] = Status.OPPONENT_TOOK_LAST
        self._status[n + 1 : 2 * n] = Status.ILLEGAL_ACTION
        if self.is_stochastic:
            self._tabulate_opponent()
        self._agent_table: States | None = None
        if self._is_small:  # computing a larger table is as fast
            states, actions = np.indices(self._masks.shape).reshape(2, -1)
            self._agent_table = self._compute_agent_step(states, actions)

    def _tabulated_observations(self, positions: NDArray[np.int64]) -> NDArray[Any] | None:
        """The observation of each state, None where they are computed."""
        encoding = self.options.encoding
        if len(positions) * math.prod(encoding.space.shape or ()) > _MAX_OBSERVATION_ENTRIES:
            return None
        encoded = encoding.encode(positions.copy())
        return np.concatenate([encoded, encoded])

    def _tabulate_opponent(self) -> None:
        """Concatenates the successors of all states; :meth:`opponent_step` draws one of a state's uniformly.

        Built-in policies are uniform over their support. The list of a state begins at ``_first_successors``, and
        ``_n_successors`` is its length. That of ``EITHER_STARTS`` has the full heaps once for each opening, so
        that both players start equally often.
        """
        n = self._n
        playing = np.arange(1, n)
        counts = np.ones_like(playing)
        successors = playing
        policy = self.options.policy
        if is_built_in(policy):
            parts = [self._opponent_successors(policy, playing[rows]) for rows in chunks(self.rules, n - 1)]
            counts = np.concatenate([part[0] for part in parts])
            successors = np.concatenate([part[1] for part in parts])
        full = n - 1
        opened = [full - self.rules.offsets[action] for action in self.options.openings]
        random = playing if self.options.random_start else playing[:0]
        starts: list[ArrayLike] = [[full], opened, [full] * len(opened) + opened, random]  # by status
        finished = np.arange(n, 2 * n)
        self._n_successors = np.concatenate([[1], counts, np.ones_like(finished), list(map(np.size, starts))])
        self._first_successors = self._n_successors.cumsum() - self._n_successors
        self._successors = np.concatenate([[0], successors, finished, *starts]).astype(np.int64)

    def _opponent_successors(self, policy: UniformPolicy, positions: States) -> tuple[NDArray[np.int64], States]:
        """The number of actions that a built-in policy draws from at each position, and the states after them."""
        support = policy.support(self._heaps[positions], self._masks[positions])
        row, action = support.nonzero()
        after = positions[row] - self._offsets[action]
        after[after == 0] = self._n
        return np.count_nonzero(support, axis=1), after

    def __reduce__(self) -> Any:
        return dynamics_of, (self.options,)  # a copied or unpickled environment shares the tables

    def states_of(self, heaps: NDArray[np.int64], status: int | NDArray[np.int64] = Status.PLAYING) -> States:
        states = np.array(self.rules.index(heaps))
        states[status == Status.AGENT_TOOK_LAST] = 0
        states[status == Status.OPPONENT_TOOK_LAST] = self._n
        states[status == Status.ILLEGAL_ACTION] += self._n
        return states

    def reset_states(self, options: Options, n: int) -> States:
        start = 2 * self._n + start_of(options) - Status.AGENT_STARTS
        return np.full(n, start if self.is_stochastic else self._n - 1)

    def agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        if self._agent_table is None:
            return self._compute_agent_step(states, actions)
        return self._agent_table.take(states * self._n_actions + actions)

    def _compute_agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        after: States = states - self._offsets.take(actions)
        is_illegal = self._masks.reshape(-1).take(states * self._n_actions + actions) == 0
        after[is_illegal] = states[is_illegal] + self._n
        finished = (self.status(states) != Status.PLAYING).nonzero()[0]
        after[finished] = self.reset_states(self.options, len(finished))
        return after

    def opponent_step(self, states: States, generator: np.random.Generator) -> States:
        if not self.is_stochastic:
            return states
        nth = (generator.random(len(states)) * self._n_successors.take(states)).astype(np.int64)
        successors: States = self._successors.take(self._first_successors.take(states) + nth)
        return successors

    def heaps(self, states: States) -> NDArray[np.int64]:
        return self._heaps.take(states, axis=0).astype(np.int64, copy=False)

    def observations(self, states: States) -> NDArray[Any]:
        if self._observations is None:
            return super().observations(states)
        return self._observations.take(states, axis=0)

    def status(self, states: States) -> NDArray[np.int64]:
        status: NDArray[np.int64] = self._status.take(states)
        return status

    def masks(self, states: States) -> NDArray[np.int8]:
        return self._masks.take(states, axis=0)

    def mask_rows(self, states: States) -> list[NDArray[np.int8]]:
        if not self._is_small:
            return super().mask_rows(states)
        if self._mask_rows is None:
            rows = super().mask_rows(np.arange(2 * self._n))
            self._mask_rows = np.fromiter(rows, dtype=object, count=len(rows))
        return cast("list[NDArray[np.int8]]", self._mask_rows.take(states).tolist())


_shared: WeakValueDictionary[Options, TabularDynamics] = WeakValueDictionary()
"""The tables of each configuration, shared by its environments and freed with the last of them."""


def dynamics_of(options: Options) -> Dynamics:
    """The fastest dynamics of a configuration: tables where they fit and the opponent, if any, is built in."""
    fits = options.rules.n_positions * options.rules.n_actions <= _MAX_ENTRIES
    if not fits or not (options.opponent is None or is_built_in(options.policy)):
        return Dynamics(options)
    dynamics = _shared.get(options)
    if dynamics is None:
        dynamics = _shared[options] = TabularDynamics(options)
    return dynamics
