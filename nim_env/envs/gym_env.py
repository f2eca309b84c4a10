"""Nim as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nim_env.encodings import ObservationLike
from nim_env.envs._config import EnvConfig, FirstPlayer
from nim_env.envs._opponents import OpponentSampler
from nim_env.envs._replies import Replies, is_fixed, members_and_weights
from nim_env.envs._results import StepResult
from nim_env.envs._single_game import SingleGame
from nim_env.envs._transitions import Transitions, transitions
from nim_env.policies import IllegalAction, OpponentPool, PolicyLike
from nim_env.rendering import FRAMES_PER_SECOND
from nim_env.rules import NimRules


class NimEnv(SingleGame, Env[NDArray[Any], np.int64]):
    """The game of Nim against an opponent, or in self-play.

    ## Description
    Nim is a game for two players. It begins with several heaps of objects. The players take turns, and each turn
    removes one or more objects, up to ``max_take``, from a single heap. In misère play (the default), the player
    who takes the last object loses. In normal play, that player wins.

    Your agent is one of the players. The environment plays the other one, the opponent, so each step is the
    agent's move followed by the opponent's reply. With ``opponent=None`` (self-play) there is no opponent: each
    step is one move, and the agent plays both sides.

    ## Example
    An agent that plays random legal moves meets an expert:

    ```python
    import gymnasium as gym
    import nim_env  # registers Nim-v0

    env = gym.make("Nim-v0", opponent="expert")
    env.action_space.seed(0)
    observation, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        action = env.action_space.sample(info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        print(observation, reward)
    ```

    ```text
    [1 3 0 2] 0.0
    [1 0 0 0] 0.0
    [0 0 0 0] -1.0
    ```

    ## Action space
    The space is ``Discrete(n_actions)``. An action is the number of a move, and a move is a pair
    ``(heap, count)``: it takes ``count`` objects from heap number ``heap``. All moves that can be played from the
    starting heaps are numbered, sorted by heap and then by count. The heaps 1-3-5-7 have 16 moves:

    | action     | 0      | 1 to 3      | 4 to 8      | 9 to 15     |
    |------------|--------|-------------|-------------|-------------|
    | takes      | 1      | 1 to 3      | 1 to 5      | 1 to 7      |
    | from heap  | A      | B           | C           | D           |

    In a pair, heap A is 0, heap B is 1, and so on. ``env.unwrapped.rules.moves`` lists the pairs, and
    ``env.unwrapped.rules.action(heap, count)`` returns the number of a pair. An action can be a Python integer, a
    NumPy integer, or a 0-d array or tensor of integers. Other types, such as 1.0 and True, are refused.

    ## Observation space
    The space is ``MultiDiscrete(heaps + 1)``. An observation is the size of each heap: int64, shape
    ``(n_heaps,)``. The argument ``observation`` selects another encoding; ``nim_env.encodings`` describes them.

    ## Action mask
    The mask shows which actions are legal in the current position: int8, shape ``(n_actions,)``, 1 if the action
    is legal and 0 if it is not. ``reset`` and ``step`` return it as ``info["action_mask"]``, and
    ``env.unwrapped.action_masks()`` returns it at any time. ``env.action_space.sample(mask)`` draws a legal
    action. When the game is over, the mask is all ones, since a masked softmax over zeros would return NaN.

    ## Rewards
    When the game ends, the reward is +1.0 if the agent has won and −1.0 if it has lost. Every other reward is 0.0.
    In self-play, the reward is for the player who has just moved.

    ## Starting state
    An episode starts with full heaps. The argument ``first_player`` determines who moves first. If it is the
    opponent, ``reset`` plays the opponent's opening move and returns the position after it. ``reset`` cannot
    return a finished game, so the opponent never opens with a move that would end it. The probabilities of its
    other moves are scaled up to a sum of 1.

    With ``random_start`` or ``options["heaps"]``, the episode starts from a random or a given position instead.
    The agent is then the first to move.

    ## Episode end
    An episode is terminated when the last object is taken. It is also terminated by an illegal action of the
    agent, which loses at once. Episodes are never truncated, unless you pass ``max_episode_steps`` to
    ``gym.make``.

    ## Information
    ``reset`` and ``step`` return a dictionary with these keys:

    - ``action_mask``: the legal actions, as described above.
    - ``illegal_action``: whether an illegal action has just ended the episode.
    - ``to_play`` (only in self-play): the player to move, 0 or 1. It is 0 after ``reset``.
    - ``opponent`` (only with an ``OpponentPool``): the number of the member that plays this episode. Members are
      numbered from 0 in the order in which they were added to the pool.

    ## Arguments
    - ``heaps=(1, 3, 5, 7)``: the starting heap sizes.
    - ``max_take=None``: the maximum number of objects that one move can take, or ``None`` for no limit.
    - ``misere=True``: whether the player who takes the last object loses.
    - ``opponent="random"``: the opponent, in one of the forms below. ``env.unwrapped.set_opponent(opponent)``
      changes it for later episodes.
      - ``"random"``, ``"take-N"`` (for example ``"take-3"``) or ``"expert"``;
      - a policy, that is, an object with the method ``action_probabilities``;
      - a function ``(observation, action_mask) -> action``, which is called with one position at a time;
      - on a board with one heap, also a function ``heap -> number of objects``, or an object whose method
        ``getMove`` is such a function;
      - a ``nim_env.OpponentPool``, from which a member is drawn for each episode;
      - ``None`` for self-play.
    - ``first_player=None``: who moves first, ``"agent"``, ``"opponent"``, or ``"random"`` for either of them with
      equal probability. ``None`` is the same as ``"random"``. With ``random_start`` the agent always moves first,
      and only ``None`` and ``"agent"`` are allowed. The argument cannot be set in self-play.
    - ``random_start=False``: whether every episode starts from a position drawn uniformly from all positions
      except the empty one ("exploring starts").
    - ``observation="heaps"``: the encoding that the agent observes, ``"heaps"``, ``"one_hot"``, ``"bits"``,
      ``"unary"``, ``"index"`` or a ``nim_env.Encoding``. The opponent always observes heap sizes.
    - ``illegal_action="lose"``: what an illegal action does. With ``"lose"``, it loses the game. With ``"raise"``,
      it raises an error and leaves the game unchanged.
    - ``render_mode=None``: ``"ansi"`` (text), ``"rgb_array"`` (pixels) or ``"human"`` (a window that ``reset`` and
      ``step`` update, at two frames per second). ``"rgb_array"`` and ``"human"`` need pygame.

    ``reset(options=...)`` takes a dictionary with one of these keys. It applies only to the new episode.

    - ``heaps``: the position to start from, in which the agent moves first. Each heap can hold at most its
      starting size.
    - ``first_player``: the same values as the argument.

    ## Errors
    An error leaves the game unchanged.

    - ``ValueError`` or ``TypeError``: an argument or an option is invalid.
    - ``gymnasium.error.InvalidAction``: an action is not in the action space, or it is illegal and
      ``illegal_action="raise"``.
    - ``gymnasium.error.ResetNeeded``: ``step``, ``render`` or ``action_masks`` was called before ``reset``, or
      ``step`` after the end of the episode.
    - ``nim_env.policies.InvalidPolicyOutput``, a ``ValueError``: the opponent returned something other than a
      legal action or a distribution over legal actions.

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
        rules = NimRules(heaps, max_take, misere)
        config = EnvConfig(rules, observation, random_start, illegal_action, opponent, first_player)
        super().__init__(config, render_mode)
        self.observation_space = self.encoding.space
        self.action_space = Discrete(self._n_actions)
        self._sampler = OpponentSampler(self._board, self._config.opponent_policy, self._config.start)
        self._replies: Replies  # the replies of the opponent in this game
        self._member_number = -1  # the number of the opponent in its pool, -1 without a pool
        self._transitions: Transitions = {}
        self._transitions_made_for: Any = None  # the opponent's members and weights

    @property
    def opponent(self) -> PolicyLike | OpponentPool | None:
        """The opponent, as it was passed; ``None`` in self-play. :meth:`set_opponent` replaces it."""
        return self._config.opponent

    def set_opponent(self, opponent: PolicyLike | OpponentPool) -> None:
        """Replaces the opponent for games that begin later. A game in progress keeps its opponent to the end.

        If the environment is wrapped, call ``env.unwrapped.set_opponent(opponent)``. On a ``VecEnv`` of
        Stable-Baselines3, call ``env_method("set_opponent", opponent)``.

        Raises ValueError if the name is unknown, if the opponent was made for another game, or if the environment
        is for self-play. It is also raised if the opponent can move first but each of its opening moves would end
        the game. Raises TypeError if the object cannot play at all. After an error the environment still has its
        old opponent.
        """
        config = self._config.with_opponent(opponent)
        self._sampler = OpponentSampler(self._board, config.opponent_policy, config.start)
        self._config = config

    @property
    def P(self) -> Transitions:  # noqa: N802  as FrozenLake names it
        """The transition probabilities, in the form of Gymnasium's FrozenLake, for value and policy iteration.

        ``P[state][action]`` is a list of tuples ``(probability, next state, reward, terminated)``. A state is the
        number that ``observation="index"`` shows, and the next state is the one after the opponent's reply. Each
        state has an entry for every action; an illegal action loses the game. A transition that terminates the
        game leads to state 0.

        The dictionary is created when ``P`` is first read. It is created again when ``P`` is read after the
        opponent has changed, or after the members or weights of a mixture have changed. Each environment has its
        own dictionary.

        There is a ``P`` only if the observation is ``"index"`` and the opponent is a built-in policy, a table or a
        mixture of these. (``tabulate`` converts any policy to a table.) The number of positions times actions must
        not be above 100,000. Otherwise reading ``P`` raises AttributeError with the reason.
        """
        policy = self._config.opponent_policy
        members, weights = members_and_weights(policy)
        if self._config.observation != "index":
            raise AttributeError(f'P needs observation="index"; got observation={self._config.observation!r}')
        if policy is None or isinstance(policy, OpponentPool) or not all(map(is_fixed, members)):
            raise AttributeError(
                f"P needs an opponent that always gives the same answers; got opponent={self.opponent!r}; "
                "convert a policy to a table with policies.tabulate(rules, policy)"
            )
        if self._transitions_made_for != (members, weights):
            try:
                self._transitions = transitions(self.rules, policy)
            except ValueError as error:
                raise AttributeError(f"there is no P: {error}") from None
            self._transitions_made_for = members, weights
        return self._transitions

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Starts an episode, and returns the first observation and the information.

        The seed determines everything that is random: who moves first, the start and the opponent's moves. The
        docstring of the class describes ``options``.
        """
        options = options or {}
        start = self._config.start_of_episode(options, ("heaps", "first_player"))
        state = self._state_of_start(options.get("heaps"))
        self._sampler.refresh(start)
        self._display.open()
        super().reset(seed=seed)
        generator = self.np_random  # created at the first reset, so copies draw the same numbers
        opponent = self._sampler.opponents[self._sampler.draw(generator)]
        if state is None:
            state = opponent.replies.draw_start(start, self._results, generator)
            before = state if start == "random_position" else self._board.full_heaps
        else:
            before = state
        self._replies = opponent.replies
        self._member_number = opponent.member_number
        self._current = result = self._results[state]
        self._last_states = (before, before)
        self._to_play = 0
        if self.render_mode == "human":
            self.render()
        return result.observation.copy(), self._get_info(result)

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Plays ``action``, an integer in the action space, and then the opponent's reply.

        There is no reply if the action ends the game, or in self-play. Returns the observation, the reward,
        ``terminated``, ``truncated`` (always False) and the information.
        """
        result = self._current
        if result is None or result.is_over:
            raise ResetNeeded("no game is in progress; call reset() before the first step and after each game")
        state = after = self._state_after(action, result)
        if not self._is_self_play and 0 < after < self._board.new_game:  # the game is in progress
            state = self._replies.draw(after, self._results, self.np_random)
        self._last_states = (result.state, after)
        self._current = result = self._results[state]
        self._to_play ^= 1
        if self.render_mode == "human":
            self.render()
        return result.observation.copy(), result.reward, result.is_over, False, self._get_info(result)

    def action_masks(self) -> NDArray[np.int8]:
        """Returns the legal actions: int8 of shape ``(n_actions,)``, all ones if the game is over."""
        return self._current_result().action_mask.copy()

    def _get_info(self, result: StepResult) -> dict[str, Any]:
        """Returns the information that ``reset`` and ``step`` return."""
        info = {"action_mask": result.action_mask.copy(), "illegal_action": result.is_illegal}
        if self._is_self_play:
            info["to_play"] = self._to_play
        if self._member_number >= 0:
            info["opponent"] = self._member_number
        return info
