"""The dynamics of the vector environment: functions of arrays with one state for each environment.

A step has two halves, :meth:`Dynamics.agent_step` and :meth:`Dynamics.opponent_step`. Autoreset is Gymnasium's
next-step mode: for a finished game, ``agent_step`` ignores the action and returns a reset state, from which
``opponent_step`` draws the first state of the next episode. In self-play the agent makes every move, and
``opponent_step`` only starts episodes.

There are two classes, which play the same games unless starts are random. ``TabularDynamics`` looks both halves up
in tables, which is 6 to 10 times faster. ``DirectDynamics`` computes them, for boards that are too large for
tables and for opponents other than the built-in ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env.envs._options import Options

States = NDArray[np.int64]
"""One state for each environment: shape ``(n,)`` in TabularDynamics, ``(n, n_heaps + 1)`` in DirectDynamics."""


class Status:  # no IntEnum, which NumPy compares with six times slower
    """Whether a game is in progress, or how it ended; the illegal action is one of the agent.

    The status of a reset state of kind k is RESET + k in DirectDynamics, and has no meaning elsewhere.
    """

    PLAYING = 0
    AGENT_TOOK_LAST = 1
    OPPONENT_TOOK_LAST = 2
    ILLEGAL_ACTION = 3
    RESET = 4


class ResetKind(IntEnum):
    """How an episode starts: from the full heaps, where either player is drawn, or from a random position."""

    AGENT_STARTS = 0
    OPPONENT_STARTS = 1
    EITHER_STARTS = 2
    RANDOM_POSITION = 3


_RESET_KINDS = {
    None: ResetKind.AGENT_STARTS,
    "agent": ResetKind.AGENT_STARTS,
    "opponent": ResetKind.OPPONENT_STARTS,
    "random": ResetKind.EITHER_STARTS,
}


def reset_kind(options: Options) -> ResetKind:
    """How an episode starts."""
    return ResetKind.RANDOM_POSITION if options.random_start else _RESET_KINDS[options.first_player]


class Dynamics(ABC):
    """Batched transitions and observations. The first axis of every array is the environment.

    Attributes:
        rewards: The agent's reward by status; in self-play that of the player who has just moved.
        is_stochastic: Whether ``opponent_step`` draws numbers: there is an opponent, or a random start.
    """

    def __init__(self, options: Options) -> None:
        last = options.rules.terminal_reward
        self.options = options
        self.rules = options.rules
        self.rewards = np.array([0.0, last, -last, -1.0])
        self.is_stochastic = options.opponent is not None or options.random_start

    @abstractmethod
    def states_of(self, heaps: NDArray[np.int64], status: int | NDArray[np.int64] = Status.PLAYING) -> States:
        """The states with the given heaps, shape ``(n, n_heaps)``, and status, one or ``n`` of them."""

    @abstractmethod
    def reset_states(self, kind: ResetKind, n: int) -> States:
        """``n`` reset states."""

    @abstractmethod
    def agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        """The states after the agent's actions (afterstates); for finished games reset states."""

    @abstractmethod
    def opponent_step(self, states: States, generator: np.random.Generator) -> States:
        """The states after the opponent's actions, which the agent observes next; finished games stay the same.

        For reset states the generator also draws the player who starts, and the position.
        """

    @abstractmethod
    def heaps(self, states: States) -> NDArray[np.int64]:
        """The positions: a new array of shape ``(n, n_heaps)``."""

    def observations(self, states: States) -> NDArray[Any]:
        """The encoded positions: a new array, one observation for each state."""
        return self.options.encoding.encode(self.heaps(states))

    @abstractmethod
    def status(self, states: States) -> NDArray[np.int64]:
        """The status of each game, shape ``(n,)``, possibly a view."""

    @abstractmethod
    def masks(self, states: States) -> NDArray[np.int8]:
        """The action masks, all ones for finished games: a new array of shape ``(n, n_actions)``."""

    def mask_rows(self, states: States) -> list[NDArray[np.int8]]:
        """The action masks as a list of read-only arrays of shape ``(n_actions,)``, in small games shared."""
        masks = self.masks(states)
        masks.flags.writeable = False
        return list(masks)
