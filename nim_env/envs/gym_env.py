"""Nim as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nim_env._internal import limits
from nim_env._internal.checks import checked_choice
from nim_env.board import Board, shared
from nim_env.encodings import ObservationLike
from nim_env.envs._opponents import Source
from nim_env.envs._options import FirstPlayer, Options, checked_action, checked_starts
from nim_env.envs._replies import Replies, is_fixed
from nim_env.envs._rows import Row, Rows
from nim_env.policies import IllegalAction, MixturePolicy, OpponentPool, Policy, PolicyLike, tabulate
from nim_env.rendering import FRAMES_PER_SECOND, Display, view_of
from nim_env.rules import NimRules


class NimEnv(Env[NDArray[Any], np.int64]):
    """The game of Nim against an opponent, or in self-play.

    ## Description
    There are heaps of objects. Two players take turns; each takes one object or more, up to ``max_take``, from a
    single heap. In misère play (the default) the player who takes the last object loses; in normal play that
    player wins. The agent plays against an opponent that is part of the environment, so one step is the agent's
    move and the opponent's reply. With ``opponent=None`` (self-play) the agent plays both sides.

    ## Action space
    ``Discrete(n_actions)``: an index into ``env.unwrapped.rules.moves``, the ``(heap, count)`` pairs that can be
    played from the starting heaps, heap by heap, count rising. 1-3-5-7 has 16:

    | action     | 0      | 1 to 3      | 4 to 8      | 9 to 15     |
    |------------|--------|-------------|-------------|-------------|
    | takes      | 1      | 1 to 3      | 1 to 5      | 1 to 7      |
    | from heap  | A      | B           | C           | D           |

    In a pair heap A is 0. ``rules.action(heap, count)`` is the inverse. Actions are Python or NumPy integers or
    0-d arrays or tensors of integers. 1.0 and True are not actions.

    ## Observation space
    ``MultiDiscrete(heaps + 1)``: the heap sizes, int64, shape ``(n_heaps,)``. The argument ``observation`` changes
    it, see ``nim_env.encodings``.

    ## Action mask
    ``info["action_mask"]``, and ``env.unwrapped.action_masks()``: int8, shape ``(n_actions,)``, 1 where the
    action is legal now, as ``action_space.sample(mask)`` takes it. In a finished game it is all ones.

    ## Rewards
    +1.0 for the winner and −1.0 for the loser when the game ends, else 0.0. In self-play the reward is that of the
    player who has just moved.

    ## Starting state
    The full heaps, after an opening move of the opponent where the opponent starts (``first_player``). An opening
    move never ends the game, since ``reset`` cannot return a finished game. With ``random_start`` or
    ``options["heaps"]`` the agent faces that position, without an opening move.

    ## Episode end
    Terminated when the last object is taken, or by an illegal action, which loses at once. Never truncated
    (``max_episode_steps`` of ``gym.make`` truncates).

    ## Information
    - ``action_mask``: see above.
    - ``illegal_action``: whether the episode has just ended by an illegal action.
    - ``to_play`` (in self-play): 0 or 1, the player to move; 0 after ``reset``.
    - ``opponent`` (with an ``OpponentPool``): the number of the member who plays this episode, counted from 0 in
      the order of adding.

    ## Arguments
    - ``heaps`` = ``(1, 3, 5, 7)``: starting heap sizes.
    - ``max_take`` = ``None``: the maximum number of objects that one move may take; ``None`` for no limit.
    - ``misere`` = ``True``: whether the player who takes the last object loses.
    - ``opponent`` = ``"random"``: or ``"take-N"``, ``"expert"``, a policy (an object with
      ``action_probabilities``), a callable ``(observation, action_mask) -> action`` on one position, on a board of
      one heap also a callable ``heap -> number of objects``, a ``nim_env.OpponentPool``, from which
      each episode draws a member, or ``None`` for self-play. ``env.unwrapped.set_opponent(policy)`` changes it for
      later episodes.
    - ``first_player`` = ``"random"``: or ``"agent"``, or ``"opponent"``. Not allowed in self-play; ignored with
      ``random_start``.
    - ``random_start`` = ``False``: whether every episode starts from a uniformly drawn position other than the
      empty one ("exploring starts").
    - ``observation`` = ``"heaps"``: or ``"one_hot"``, ``"bits"``, ``"unary"``, ``"index"``, or an
      ``nim_env.Encoding``. The opponent always gets heap sizes.
    - ``illegal_action`` = ``"lose"``: or ``"raise"``, which raises an error and leaves the game unchanged.
    - ``render_mode`` = ``None``: or ``"ansi"`` (text), ``"rgb_array"`` (pixels), or ``"human"`` (a window that
      ``reset`` and ``step`` update, two frames a second). The last two need pygame.

    ``reset(options=...)`` takes ``heaps``, the position to start from (no heap above its starting size), and
    ``first_player``, both for one episode.

    ## Errors
    ``ValueError`` for wrong arguments; ``nim_env.policies.InvalidPolicyOutput``, a ``ValueError``, for an opponent
    that returns anything but a legal action; ``gymnasium.error.InvalidAction`` for an action outside the space;
    ``gymnasium.error.ResetNeeded`` for a step before ``reset`` or after the end. None of them changes the game.

    ## Version history
    - v0: initial version.
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": FRAMES_PER_SECOND}

    def __init__(
        self,
        heaps: Sequence[int] = (1, 3, 5, 7),
        max_take: int | None = None,
        misere: bool = True,
        *,
        opponent: PolicyLike | OpponentPool | None = "random",
        first_player: FirstPlayer | None = None,
        random_start: bool = False,
        observation: ObservationLike = "heaps",
        illegal_action: IllegalAction = "lose",
        render_mode: str | None = None,
    ) -> None:
        self.rules = NimRules(heaps, max_take, misere)
        self._options = Options(self.rules, observation, random_start, illegal_action, opponent, first_player)
        self.encoding = self._options.encoding
        self.render_mode = checked_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self.observation_space = self.encoding.space
        self.action_space = Discrete(self.rules.n_actions)
        self._display = Display(self.render_mode)
        self._n_actions = self.rules.n_actions
        self._is_self_play = opponent is None
        self._board = shared(Board, self.rules)
        self._offsets = self.rules.offsets
        self._rows = shared(Rows, self._board, self.encoding)
        self._source = Source(self._board, self._options.policy, self._options.start)
        self._replies: Replies  # of the opponent of this game
        self._number: int | None = None  # of that opponent in its pool
        self._row: Row | None = None  # of the state of the game; None before the first reset
        self._last_states: tuple[int, int]  # before and after the agent's last move
        self._to_play = 0
        self._transitions: tuple[Any, Any] = (None, None)  # what they were made for, and P

    @property
    def opponent(self) -> PolicyLike | OpponentPool | None:
        """The opponent as it was passed, ``None`` in self-play. :meth:`set_opponent` changes it."""
        return self._options.opponent

    def set_opponent(self, opponent: PolicyLike | OpponentPool) -> None:
        """Changes the opponent of games that begin later. A game in progress keeps its opponent to the end.

        A wrapped environment offers it as ``env.unwrapped.set_opponent``, and a ``VecEnv`` of Stable-Baselines3 by
        ``env_method("set_opponent", policy)``.

        A ValueError leaves the opponent as it was: the new one is unknown, was made for another game, or cannot
        open the game although ``first_player`` lets it, or the environment is for self-play.
        """
        options = self._options.with_opponent(opponent)
        self._source = Source(self._board, options.policy, options.start)
        self._options = options

    @property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:  # noqa: N802  as FrozenLake names it
        """``P[state][action]`` lists ``(probability, next state, reward, terminated)``, as in FrozenLake.

        A state is an observation of ``observation="index"``. Every action is in every state, an illegal one as a
        lost game, and what terminates leads to the finished state 0. It is made at its first use, and again when
        the opponent, or a member or a weight of a mixture, has changed. Each environment has its own.

        An AttributeError names why there is none: another observation, self-play, an opponent without a table,
        such as a function, or more than 100,000 positions times actions.
        """
        policy = self._options.policy
        members: tuple[Any, ...] = (policy,)
        weights = [1.0]
        if isinstance(policy, MixturePolicy):
            members, weights = policy.policies, policy.weights
        if self._options.observation != "index":
            raise AttributeError('P needs observation="index": its states are these observations')
        if policy is None or isinstance(policy, OpponentPool) or not all(map(is_fixed, members)):
            needed = "an opponent with a table, as policies.tabulate(rules, policy) makes one"
            raise AttributeError(f"P needs {needed}; got opponent={self.opponent!r}")
        if self._transitions[0] != (members, weights):
            self._transitions = (members, weights[:]), self._new_transitions(policy)
        return self._transitions[1]

    def _new_transitions(self, policy: Policy) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        rules = self.rules
        n_entries = rules.n_positions * rules.n_actions
        try:
            limits.check_size(n_entries, limits.TRANSITIONS, "positions times actions of P", "use smaller heaps")
            replies = tabulate(rules, policy, np.float64).probabilities
        except ValueError as error:
            raise AttributeError(f"there is no P: {error}") from None
        last = rules.terminal_reward

        def replied(after: int) -> list[tuple[float, int, float, bool]]:
            if after == 0:
                return [(1.0, 0, last, True)]
            weights = replies[after] / replies[after].sum()
            states = [(float(weights[reply]), after - rules.offsets[reply]) for reply in weights.nonzero()[0]]
            return [(chance, state, 0.0 if state else -last, state == 0) for chance, state in states]

        outcomes = [replied(after) for after in range(rules.n_positions)]
        return {
            state: {
                action: outcomes[state - offset][:] if legal else [(1.0, 0, -1.0 if state else 0.0, True)]
                for action, (offset, legal) in enumerate(zip(rules.offsets, mask, strict=True))
            }
            for state, mask in enumerate(rules.action_mask(rules.all_positions()).tolist())
        }

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Starts an episode; the class describes ``options``. A seed decides everything random."""
        options = options or {}
        episode = self._options.for_episode(options, ("heaps", "first_player"))
        heaps = options.get("heaps")
        state = None if heaps is None else checked_starts(heaps, self.rules, np.array(True)).item()
        self._source.update_for_episode(episode.start)
        self._display.open()
        super().reset(seed=seed)
        generator = self.np_random  # makes it at the first reset, so that copies draw the same numbers
        before = self._board.full  # before an opening move
        number = self._source.draw(generator)
        replies = self._source.replies[number]
        if state is None:
            state = replies.begin(episode.start, self._rows, generator)
        if heaps is not None or episode.random_start:
            before = state
        self._replies = replies
        self._number = None if self._source.pool is None else int(number)
        self._row = row = self._rows[state]
        self._last_states = (before, before)
        self._to_play = 0
        if self.render_mode == "human":
            self.render()
        return row.observation.copy(), self._get_info(row)

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Plays ``action`` and, unless the game is over or in self-play, the opponent's reply.

        ``action`` is an integer of the action space. ``truncated`` is always False.
        """
        row = self._row
        if row is None or row.is_over:
            raise ResetNeeded("there is no game to step: call reset() first, and again when a game is over")
        if type(action) is not int or not 0 <= action < self._n_actions:  # False in the usual case, and fast
            action = checked_action(action, self._n_actions)
        before = row.state
        if row.is_legal[action]:
            state = after = before - self._offsets[action]
            if after and not self._is_self_play:
                state = self._replies.one(after, self._rows, self.np_random)
        elif self._options.illegal_action == "lose":
            state = after = self._board.lost + before
        else:
            raise InvalidAction(self.rules.illegal_action_message(action, row.heaps))
        self._row = row = self._rows[state]
        self._last_states = (before, after)
        self._to_play ^= 1
        if self.render_mode == "human":
            self.render()
        return row.observation.copy(), row.reward, row.is_over, False, self._get_info(row)

    def action_masks(self) -> NDArray[np.int8]:
        """The legal actions: int8 of shape ``(n_actions,)``, all ones when the game is over."""
        return self._started().action_mask.copy()

    def render(self) -> str | NDArray[np.uint8] | None:
        """The position as text, or as RGB values, uint8 of shape ``(400, 600, 3)``, or in the window."""
        row = self._started()
        last_heaps = [self._rows[state].heaps.tolist() for state in self._last_states]
        to_play = self._to_play if self._is_self_play else None
        view = view_of(self.rules, row.heaps.tolist(), to_play, row.is_over, row.reward > 0, last_heaps)
        return self._display.render(view)

    def close(self) -> None:
        """Closes the window of ``render_mode="human"``; the next frame opens another."""
        self._display.close()

    def _started(self) -> Row:
        if self._row is None:
            raise ResetNeeded("there is no game before reset(); call reset() first")
        return self._row

    def _get_info(self, row: Row) -> dict[str, Any]:
        info = {"action_mask": row.action_mask.copy(), "illegal_action": row.is_illegal}
        if self._is_self_play:
            info["to_play"] = self._to_play
        if self._number is not None:
            info["opponent"] = self._number
        return info
