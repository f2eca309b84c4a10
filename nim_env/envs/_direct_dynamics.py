"""The dynamics of any game and any opponent, computed from the rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nim_env._chunks import chunks
from nim_env.envs._dynamics import Dynamics, ResetKind, States, Status, reset_kind
from nim_env.envs._options import Options
from nim_env.policies import Player, sample
from nim_env.policies.built_in import is_built_in
from nim_env.policies.player import uniform_sample
from nim_env.rules import NimRules


class DirectDynamics(Dynamics):
    """The dynamics of any game and any opponent. A state is a row of heap sizes and the status."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._opening_mask = np.zeros(self.rules.n_actions, dtype=np.int8)
        if options.opponent is not None:
            self._opening_mask[list(options.openings)] = 1

    def states_of(self, heaps: NDArray[np.int64], status: int | NDArray[np.int64] = Status.PLAYING) -> States:
        return np.column_stack([heaps, np.broadcast_to(status, len(heaps))])

    def reset_states(self, kind: ResetKind, n: int) -> States:
        return np.tile([*self.rules.heaps, Status.RESET + kind], (n, 1))

    def agent_step(self, states: States, actions: NDArray[np.int64]) -> States:
        after = states.copy()
        is_playing = self.status(states) == Status.PLAYING
        sizes = states[np.arange(len(states)), self.rules.move_heaps[actions]]
        is_legal = ~is_playing | (sizes >= self.rules.move_counts[actions])
        moving = np.flatnonzero(is_playing & is_legal)
        finished = np.flatnonzero(~is_playing)
        self._apply(after, moving, actions[moving], Status.AGENT_TOOK_LAST)
        after[~is_legal, -1] = Status.ILLEGAL_ACTION
        after[finished] = self.reset_states(reset_kind(self.options), len(finished))
        return after

    def opponent_step(self, states: States, generator: np.random.Generator) -> States:
        status = self.status(states)
        after = states.copy()
        after[status >= Status.RESET, -1] = Status.PLAYING
        if not self.is_stochastic:
            return after
        # one draw for each environment, as in TabularDynamics
        draws = generator.random(len(states))
        is_random = status == Status.RESET + ResetKind.RANDOM_POSITION
        either = status == Status.RESET + ResetKind.EITHER_STARTS
        opens = (status == Status.RESET + ResetKind.OPPONENT_STARTS) | (either & (draws >= 0.5))
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
        return states[:, :-1].copy()

    def status(self, states: States) -> NDArray[np.int64]:
        return states[:, -1]

    def masks(self, states: States) -> NDArray[np.int8]:
        masks = np.empty((len(states), self.rules.n_actions), dtype=np.int8)
        for rows in chunks(self.rules, len(states)):
            masks[rows] = self.rules.action_mask(states[rows, :-1])
        masks[self.status(states) != Status.PLAYING] = 1
        return masks


def _random_positions(rules: NimRules, number: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Uniformly drawn positions other than the empty one, shape ``(number, n_heaps)``."""
    heaps = generator.integers(rules.shape, size=(number, rules.n_heaps))
    while (empty := ~heaps.any(axis=1)).any():
        heaps[empty] = generator.integers(rules.shape, size=(int(empty.sum()), rules.n_heaps))
    return heaps
