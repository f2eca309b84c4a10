"""Many games at once, as the vector environment steps them: a state for each game, arrays in, new arrays out.

A step has two halves, the learner's :meth:`Games.move` and the opponent's :meth:`Games.reply`. Between them a
finished game waits in its *opening*, the state from which the reply draws where the next episode starts.
:class:`ComputedGames` works out every half from the rules, for any game and any opponent;
:class:`TabulatedGames` looks both up in tables, for games of few positions against the built-in policies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from nim_env.arguments import FirstPlayer, no_opening
from nim_env.policies import (
    AnswerError,
    Policy,
    is_built_in,
    opponent_probabilities,
    sample,
    uniform_sample,
)
from nim_env.rules import NimRules

States = NDArray[np.int64]
TABLES = 2**28  # bytes that the tables of a game may take
TABULATED_MOVES = 2**20  # entries of them that moves may be; in larger games they are computed from the index
ENTRIES_AT_ONCE = 2**20  # positions times actions that are worked out at once: about 50 MB

TABULATED_ROWS = 2**16  # rows of masks that are kept as arrays of their own: about 8 MB

OPENINGS = AGENT, OPPONENT, EITHER, ANYWHERE = range(4)
"""How an episode opens: who makes the first move, or at a position drawn from all."""
FIRST = {None: AGENT, "agent": AGENT, "opponent": OPPONENT, "random": EITHER}


@dataclass(frozen=True)
class Setting:
    """What the games of a vector environment have in common.

    Attributes:
        rules: The game.
        policy: The opponent; ``None`` in self-play.
        first_player: Who starts; ``None`` in self-play.
        random_start: Whether episodes start anywhere.
        opening_moves: What the opponent may open with.
    """

    rules: NimRules
    policy: Policy | None
    first_player: FirstPlayer | None
    random_start: bool
    opening_moves: tuple[int, ...]

    @property
    def last_mover_reward(self) -> float:
        """What taking the last object is worth."""
        return 1.0 if self.rules.last_mover_wins else -1.0

    def openings(self, first_player: FirstPlayer | None, won: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The opening of each game, given whether the learner won the episode before."""
        if self.random_start:
            return np.full(len(won), ANYWHERE)
        if first_player == "loser":
            return np.where(won, OPPONENT, AGENT)
        return np.full(len(won), FIRST[first_player])


def rows_at_once(rules: NimRules) -> int:
    """How many positions are worked out at once."""
    return max(1, ENTRIES_AT_ONCE // rules.n_actions)


class Games(ABC):
    """States of many games and what becomes of them: pure functions of arrays whose first axis is the game."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.rules = setting, setting.rules
        self.draws = setting.policy is not None or setting.random_start

    @abstractmethod
    def at(self, heaps: NDArray[np.int64]) -> States:
        """The states of games in progress at these positions, shape ``(n, n_heaps)``."""

    @abstractmethod
    def opening(self, openings: NDArray[np.int64]) -> States:
        """The states before the first position of an episode is drawn."""

    @abstractmethod
    def move(self, states: States, actions: NDArray[np.int64]) -> States:
        """The states after the learner's actions; a finished game goes to the opening of its next episode."""

    @abstractmethod
    def reply(self, states: States, generator: np.random.Generator, games: NDArray[np.int64]) -> States:
        """The states that the learner sees next, after the opponent's moves.

        Args:
            states: What :meth:`move` or :meth:`opening` gave.
            generator: Draws the replies.
            games: The number of each game, for errors.

        Raises:
            TypeError, ValueError: The opponent's answer is not a legal action.
        """

    @abstractmethod
    def heaps(self, states: States) -> NDArray[np.int64]:
        """The positions, a new array of shape ``(n, n_heaps)``."""

    @abstractmethod
    def masks(self, states: States) -> NDArray[np.int8]:
        """The legal actions, all ones for finished games: a new array of shape ``(n, n_actions)``."""

    def mask_rows(self, states: States) -> list[NDArray[np.int8]]:
        """The legal actions of each game, to read: arrays of shape ``(n_actions,)``."""
        masks = self.masks(states)
        masks.flags.writeable = False
        return list(masks)

    @abstractmethod
    def rewards(self, states: States) -> NDArray[np.float64]:
        """What the last move of each game was worth to the learner: not 0 exactly in finished games."""

    @abstractmethod
    def are_illegal(self, states: States) -> NDArray[np.bool_]:
        """Which games have ended by an illegal action."""


class TabulatedGames(Games):
    """A whole game as a finite automaton: each half of a step is a look-up for each game.

    With n positions, state i in 1 to n - 1 is a game in progress at the position of index i; in state 0 the
    learner has taken the last object, in n the opponent has; in n + i the learner has just made an illegal move
    at i; and 2n + o is opening o.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        rules, n = self.rules, self.rules.n_positions
        self._n, self._n_actions, self._offsets = n, rules.n_actions, np.array(rules.offsets)
        is_small = 2 * n * rules.n_actions <= TABULATED_MOVES
        heap_type = np.int64 if is_small else np.min_scalar_type(max(rules.heaps))  # quick, or small
        self._heaps = np.empty((2 * n, rules.n_heaps), dtype=heap_type)
        self._masks = np.ones((2 * n, rules.n_actions), dtype=np.int8)  # in finished games too
        self._batch = rows_at_once(rules)
        for start in range(0, n, self._batch):
            index = np.arange(start, min(start + self._batch, n))
            heaps = index[:, None] // np.array(rules.strides) % np.array(rules.shape)
            self._heaps[index] = self._heaps[n + index] = heaps
            self._masks[index[index > 0]] = rules.action_mask(heaps[index > 0])
        self._rewards = np.concatenate([np.zeros(n), np.full(n, -1.0)])
        self._rewards[[0, n]] = setting.last_mover_reward, -setting.last_mover_reward
        self._illegal = np.zeros(2 * n + len(OPENINGS), dtype=np.bool_)
        self._illegal[n + 1 : 2 * n] = True
        if self.draws:
            self._tabulate_replies()
        self._mask_rows: NDArray[np.object_] | None = None  # until they are asked for
        self._moves: States | None = None
        if is_small:
            states, actions = np.indices(self._masks.shape).reshape(2, -1)
            self._moves = self._moved(states, actions)

    def _tabulate_replies(self) -> None:
        """Lists for each state the states that it leads to, one of which is drawn."""
        n, setting = self._n, self.setting
        playing = np.arange(1, n)
        number, replies = np.ones_like(playing), playing
        if is_built_in(setting.policy):
            listed = [
                self._replies_at(playing[start : start + self._batch]) for start in range(0, n - 1, self._batch)
            ]
            number, replies = (np.concatenate(parts) for parts in zip(*listed, strict=True))
        full = n - 1
        opened = [full - self.rules.offsets[action] for action in setting.opening_moves]
        openings = [[full], opened, [full] * len(opened) + opened, playing if setting.random_start else []]
        self._number = np.concatenate([[1], number, np.ones(n, np.int64), [len(drawn) for drawn in openings]])
        self._first = self._number.cumsum() - self._number
        finished = np.arange(n, 2 * n)
        self._replies = np.concatenate([[0], replies, finished, *openings]).astype(np.int64)

    def _replies_at(self, positions: States) -> tuple[NDArray[np.int64], States]:
        """How many replies a built-in opponent draws from at each position, and where they all lead."""
        assert is_built_in(self.setting.policy)
        choices = self.setting.policy.choices(self._heaps[positions], self._masks[positions])
        row, action = choices.nonzero()
        after = positions[row] - self._offsets[action]
        after[after == 0] = self._n
        return np.count_nonzero(choices, axis=1), after

    def __reduce__(self) -> Any:
        return games_of, (self.setting, TABLES)  # a copied or unpickled environment shares the tables

    def at(self, heaps: NDArray[np.int64]) -> States:
        states: States = heaps @ np.array(self.rules.strides)
        return states

    def opening(self, openings: NDArray[np.int64]) -> States:
        return 2 * self._n + openings if self.draws else np.full(len(openings), self._n - 1)

    def move(self, states: States, actions: NDArray[np.int64]) -> States:
        if self._moves is None:
            return self._moved(states, actions)
        return self._moves.take(states * self._n_actions + actions)

    def _moved(self, states: States, actions: NDArray[np.int64]) -> States:
        after: States = states - self._offsets.take(actions)
        is_illegal = self._masks.reshape(-1).take(states * self._n_actions + actions) == 0
        if is_illegal.any():
            after[is_illegal] = states[is_illegal] + self._n
        rewards = self._rewards.take(states)
        finished = rewards.nonzero()[0]
        after[finished] = self.opening(self.setting.openings(self.setting.first_player, rewards[finished] > 0))
        return after

    def reply(self, states: States, generator: np.random.Generator, games: NDArray[np.int64]) -> States:  # noqa: ARG002
        if not self.draws:
            return states
        nth = (generator.random(len(states)) * self._number.take(states)).astype(np.int64)
        seen: States = self._replies.take(self._first.take(states) + nth)
        return seen

    def heaps(self, states: States) -> NDArray[np.int64]:
        return self._heaps.take(states, axis=0).astype(np.int64, copy=False)

    def masks(self, states: States) -> NDArray[np.int8]:
        return self._masks.take(states, axis=0)

    def mask_rows(self, states: States) -> list[NDArray[np.int8]]:
        if 2 * self._n > TABULATED_ROWS:
            return super().mask_rows(states)
        if self._mask_rows is None:
            rows = super().mask_rows(np.arange(2 * self._n))
            self._mask_rows = np.fromiter(rows, dtype=object, count=len(rows))
        return cast("list[NDArray[np.int8]]", self._mask_rows.take(states).tolist())

    def rewards(self, states: States) -> NDArray[np.float64]:
        return self._rewards.take(states)

    def are_illegal(self, states: States) -> NDArray[np.bool_]:
        are_illegal: NDArray[np.bool_] = self._illegal.take(states)
        return are_illegal


class ComputedGames(Games):
    """Any game and any opponent, worked out from the rules.

    A state is a row of heap sizes and a last number that says how the game stands.
    """

    PLAYING, AGENT_WAS_LAST, OPPONENT_WAS_LAST, ILLEGAL, OPENING = range(5)  # and OPENING + o for opening o

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        reward = setting.last_mover_reward
        self._rewards = np.array([0.0, reward, -reward, -1.0, *[0.0] * len(OPENINGS)])
        self._may_open = np.zeros(self.rules.n_actions, dtype=np.int8)
        self._may_open[list(setting.opening_moves)] = 1
        self._batch = rows_at_once(self.rules)

    def at(self, heaps: NDArray[np.int64]) -> States:
        return np.column_stack([heaps, np.full(len(heaps), self.PLAYING)])

    def opening(self, openings: NDArray[np.int64]) -> States:
        return np.column_stack([np.tile(self.rules.heaps, (len(openings), 1)), self.OPENING + openings])

    def move(self, states: States, actions: NDArray[np.int64]) -> States:
        after = states.copy()
        is_playing = states[:, -1] == self.PLAYING
        is_legal = self.masks(states)[np.arange(len(states)), actions] == 1
        moving = np.flatnonzero(is_playing & is_legal)
        self._take(after, moving, actions[moving], self.AGENT_WAS_LAST)
        after[~is_legal, -1] = self.ILLEGAL
        finished = np.flatnonzero(~is_playing)
        won = self.rewards(states[finished]) > 0
        after[finished] = self.opening(self.setting.openings(self.setting.first_player, won))
        return after

    def reply(self, states: States, generator: np.random.Generator, games: NDArray[np.int64]) -> States:
        after, how = states.copy(), states[:, -1]
        draws = generator.random(len(states)) if self.draws else np.zeros(len(states))
        opponent_moves = how == self.PLAYING
        if (how >= self.OPENING).any():
            after[how >= self.OPENING, -1] = self.PLAYING
            anywhere = np.flatnonzero(how == self.OPENING + ANYWHERE)
            after[anywhere, :-1] = _random_positions(self.rules, len(anywhere), generator)
            either = how == self.OPENING + EITHER
            opponent_moves |= (how == self.OPENING + OPPONENT) | (either & (draws >= 0.5))
            draws[either] = 2 * draws[either] - 1
        if self.setting.policy is not None:
            moving = np.flatnonzero(opponent_moves)
            for start in range(0, len(moving), self._batch):
                rows = moving[start : start + self._batch]
                opens = how[rows] != self.PLAYING
                actions = self._drawn(after[rows, :-1], opens, draws[rows], generator, games[rows])
                self._take(after, rows, actions, self.OPPONENT_WAS_LAST)
        return after

    def _drawn(
        self,
        heaps: NDArray[np.int64],
        opens: NDArray[np.bool_],
        draws: NDArray[np.float64],
        generator: np.random.Generator,
        games: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """The opponent's moves; those that open an episode leave it alive."""
        policy, masks = self.setting.policy, self.rules.action_mask(heaps)
        playable = masks
        if opens.any():
            playable = np.where(opens[:, None], self._may_open, masks)
        if is_built_in(policy):
            return uniform_sample(policy.choices(heaps, masks) & playable, draws)
        return sample(self._answer(heaps, masks, playable, games), generator)

    def _answer(
        self,
        heaps: NDArray[np.int64],
        masks: NDArray[np.int8],
        playable: NDArray[np.int8],
        games: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """How likely the opponent makes each move that it may, up to a factor for each game."""
        policy = self.setting.policy
        assert policy is not None
        try:
            weights = opponent_probabilities(policy, heaps, masks) * playable
        except AnswerError as error:
            raise ValueError(f"game {games[error.where[0]]}: {error}") from None
        if not (can_play := weights.any(axis=1)).all():
            reason = no_opening("first_player", "opponent", policy, self.rules)
            raise ValueError(f"game {games[can_play.argmin()]}: {reason}")
        return weights

    def _take(self, states: States, rows: NDArray[np.int64], actions: NDArray[np.int64], was_last: int) -> None:
        """Makes a legal move in each of the rows."""
        heaps = self.rules.apply(states[rows, :-1], actions)
        states[rows, :-1] = heaps
        states[rows[self.rules.is_over(heaps)], -1] = was_last

    def heaps(self, states: States) -> NDArray[np.int64]:
        return states[:, :-1].copy()

    def masks(self, states: States) -> NDArray[np.int8]:
        masks = np.empty((len(states), self.rules.n_actions), dtype=np.int8)
        for start in range(0, len(states), self._batch):
            masks[start : start + self._batch] = self.rules.action_mask(states[start : start + self._batch, :-1])
        masks[states[:, -1] != self.PLAYING] = 1
        return masks

    def rewards(self, states: States) -> NDArray[np.float64]:
        return self._rewards[states[:, -1]]

    def are_illegal(self, states: States) -> NDArray[np.bool_]:
        are_illegal: NDArray[np.bool_] = states[:, -1] == self.ILLEGAL
        return are_illegal


_tabulated: WeakValueDictionary[Setting, TabulatedGames] = WeakValueDictionary()
"""The tables of each setting, shared by its environments for as long as there is one."""


def games_of(setting: Setting, memory: int) -> Games:
    """The quickest way to play a setting, its tables taking at most so many bytes."""
    rules, policy = setting.rules, setting.policy
    if not (policy is None or is_built_in(policy)):
        return ComputedGames(setting)
    entries = rules.n_positions * rules.n_actions
    tables = 2 * entries + rules.n_positions * (2 * 8 * rules.n_heaps + 80)
    tables += 8 * min(2 * entries, TABULATED_MOVES)
    tables += 0 if policy is None else 8 * entries
    if tables > min(memory, TABLES):
        return ComputedGames(setting)
    games = _tabulated.get(setting)
    if games is None:
        games = _tabulated[setting] = TabulatedGames(setting)
    return games


def _random_positions(rules: NimRules, number: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Uniformly drawn positions other than the empty one, shape ``(number, n_heaps)``."""
    heaps = generator.integers(rules.shape, size=(number, rules.n_heaps))
    while (empty := ~heaps.any(axis=1)).any():
        heaps[empty] = generator.integers(rules.shape, size=(int(empty.sum()), rules.n_heaps))
    return heaps
