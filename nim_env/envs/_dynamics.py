"""The dynamics of the vector environment: functions of arrays with one state for each environment.

A step has two halves, :meth:`Dynamics.agent_step` and :meth:`Dynamics.opponent_step`. Autoreset is Gymnasium's
next-step mode: for a finished game, ``agent_step`` ignores the action and returns a reset state, from which
``opponent_step`` draws the first state of the next episode. In self-play the agent makes every move, and
``opponent_step`` only starts episodes.

There are two classes, which play the same games unless starts are random. :class:`Dynamics` computes both halves,
for any board and any opponent. Its subclass ``TabularDynamics`` looks them up in tables, which is 6 to 10 times
faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env._chunks import chunks
from nim_env.envs._options import Options
from nim_env.policies import Player, sample
from nim_env.policies.built_in import is_built_in
from nim_env.policies.player import uniform_sample
from nim_env.rules import NimRules

States = NDArray[np.int64]
"""One state for each environment: shape ``(n, n_heaps + 1)`` in Dynamics, ``(n,)`` in TabularDynamics."""


class Status:  # no IntEnum, which NumPy compares with six times slower
    """Whether a game is in progress, how it ended, or how a reset state starts the next one.

    The illegal action is one of the agent. ``EITHER_STARTS`` draws the player; ``RANDOM_POSITION`` the position.
    """

    PLAYING = 0
    AGENT_TOOK_LAST = 1
    OPPONENT_TOOK_LAST = 2
    ILLEGAL_ACTION = 3
    AGENT_STARTS = 4
    OPPONENT_STARTS = 5
    EITHER_STARTS = 6
    RANDOM_POSITION = 7


_STARTS = {
    None: Status.AGENT_STARTS,
    "agent": Status.AGENT_STARTS,
    "opponent": Status.OPPONENT_STARTS,
    "random": Status.EITHER_STARTS,
}


def start_of(options: Options) -> int:
    """The status of the reset states of episodes with these options."""
    return Status.RANDOM_POSITION if options.random_start else _STARTS[options.first_player]


class Dynamics:
    """Batched transitions and observations. The first axis of every array is the environment.

    A state is a row of heap sizes and the status.

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
        self._opening_mask = np.zeros(self.rules.n_actions, dtype=np.int8)
        self._opening_mask[list(options.openings)] = 1

    def states_of(self, heaps: NDArray[np.int64], status: int | NDArray[np.int64] = Status.PLAYING) -> States:
        """The states with the given heaps, shape ``(n, n_heaps)``, and status, one or ``n`` of them."""
        return np.column_stack([heaps, np.broadcast_to(status, len(heaps))])

    def reset_states(self, options: Options, n: int) -> States:
        """``n`` states from which ``opponent_step`` starts episodes with the given options."""
        return np.tile([*self.rules.heaps, start_of(options)], (n, 1))

    def agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        """The states after the agent's actions (afterstates); for finished games reset states."""
        after = states.copy()
        is_playing = self.status(states) == Status.PLAYING
        sizes = states[np.arange(len(states)), self.rules.move_heaps[actions]]
        is_legal = ~is_playing | (sizes >= self.rules.move_counts[actions])
        moving = np.flatnonzero(is_playing & is_legal)
        finished = np.flatnonzero(~is_playing)
        self._apply(after, moving, actions[moving], Status.AGENT_TOOK_LAST)
        after[~is_legal, -1] = Status.ILLEGAL_ACTION
        after[finished] = self.reset_states(self.options, len(finished))
        return after

    def opponent_step(self, states: States, generator: np.random.Generator) -> States:
        """The states after the opponent's actions, which the agent observes next; finished games stay the same.

        For reset states the generator also draws the player who starts, and the position.
        """
        status = self.status(states)
        after = states.copy()
        after[status >= Status.AGENT_STARTS, -1] = Status.PLAYING
        if not self.is_stochastic:
            return after
        # one draw for each environment, as in TabularDynamics
        draws = generator.random(len(states))
        is_random = status == Status.RANDOM_POSITION
        either = status == Status.EITHER_STARTS
        opens = (status == Status.OPPONENT_STARTS) | (either & (draws >= 0.5))
        draws[either] = 2 * draws[either] - 1  # where the opponent starts, a uniform draw for its action
        after[is_random, :-1] = _random_positions(self.rules, int(is_random.sum()), generator)
        if self.options.opponent is not None:
            moving = np.flatnonzero((status == Status.PLAYING) | opens)
            for part in chunks(self.rules, len(moving)):
                rows = moving[part]
                actions = self._opponent_actions(after[rows, :-1], opens[rows], draws[rows], generator)
                self._apply(after, rows, actions, Status.OPPONENT_TOOK_LAST)
        return after

    def _opponent_actions(
        self,
        heaps: NDArray[np.int64],
        opens: NDArray[np.bool_],
        draws: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> NDArray[np.int64]:
        """The opponent's actions; ``opens`` says where they open an episode, which they must not end."""
        policy = self.options.policy
        assert policy is not None
        masks = self.rules.action_mask(heaps)
        playable = masks
        if opens.any():
            playable = np.where(opens[:, None], self._opening_mask, masks)
        if is_built_in(policy):
            return uniform_sample(policy.support(heaps, masks) & playable, draws)
        weights = Player(policy, "raise").query(heaps, masks).probabilities * playable
        if not weights.any(axis=1).all():
            raise self.options.no_opening()
        return sample(weights, generator)

    def _apply(self, states: States, rows: NDArray[np.int64], actions: NDArray[np.int64], last: int) -> None:
        """Applies a legal action in each of the rows, in place; ``last`` is the status of games that it ends."""
        states[rows, self.rules.move_heaps[actions]] -= self.rules.move_counts[actions]
        states[rows[~states[rows, :-1].any(axis=1)], -1] = last

    def heaps(self, states: States) -> NDArray[np.int64]:
        """The positions: a new array of shape ``(n, n_heaps)``."""
        return states[:, :-1].copy()

    def observations(self, states: States) -> NDArray[Any]:
        """The encoded positions: a new array, one observation for each state."""
        return self.options.encoding.encode(self.heaps(states))

    def status(self, states: States) -> NDArray[np.int64]:
        """The status of each game, shape ``(n,)``, possibly a view."""
        return states[:, -1]

    def masks(self, states: States) -> NDArray[np.int8]:
        """The action masks, all ones for finished games: a new array of shape ``(n, n_actions)``."""
        masks = np.empty((len(states), self.rules.n_actions), dtype=np.int8)
        for rows in chunks(self.rules, len(states)):
            masks[rows] = self.rules.action_mask(states[rows, :-1])
        masks[self.status(states) != Status.PLAYING] = 1
        return masks

    def mask_rows(self, states: States) -> list[NDArray[np.int8]]:
        """The action masks as a list of read-only arrays of shape ``(n_actions,)``, in small games shared."""
        masks = self.masks(states)
        masks.flags.writeable = False
        return list(masks)


def _random_positions(rules: NimRules, number: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Uniformly drawn positions other than the empty one, shape ``(number, n_heaps)``."""
    heaps = generator.integers(rules.shape, size=(number, rules.n_heaps))
    while (empty := ~heaps.any(axis=1)).any():
        heaps[empty] = generator.integers(rules.shape, size=(int(empty.sum()), rules.n_heaps))
    return heaps
