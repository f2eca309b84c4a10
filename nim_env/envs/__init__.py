"""The environments: for one game and for many games in Gymnasium's API, and for two players in PettingZoo's.

A step of one game makes these calls. The module of each function is on the right::

    NimEnv.step                              gym_env
        SingleGame._state_after              _single_game: the state after the action
        FixedReplies.draw                    _replies: the state after the opponent's reply, from a list
            ReplyLists.of_state              _reply_distribution: makes the list at the first visit
                ReplyDistribution.weights    _reply_distribution: queries the opponent's policy
        StepResultCache[state]               _results: everything that the step returns
            Board.heaps, Board.rewards, ...  board: at the first visit

A step of many games makes these calls, with arrays::

    NimVectorEnv.step                        vector_env
        Board.next_states                    board: the states after the actions
        GameOpponents.with_new_opponents     _opponents: who plays the games that begin
        Roster.draw_replies                  _opponents: the states after the opponents' replies
            FixedReplies.draw_batch          _replies
                AliasLists.draw              _internal.draws
        Board.rewards, Board.is_over         board
        NimVectorEnv._restart                vector_env: in same-step mode, games that begin at once
        Board.masks                          board
        Observations.of                      _results

To understand how the opponent replies, begin with ``Replies.draw_batch``, which queries the policy at each move.
``FixedReplies`` is for policies whose probabilities in a position never change. It draws from the same
distribution, but faster, from lists. The AEC environment has no opponent, so its step only looks up the result of
the new state.

``_config`` checks the arguments of all three environments, ``_single_game`` has what the two with a single game
share, and ``_transitions`` makes the table ``P``.

The environments import the game, the policies, which play as opponents, and the rendering. Inside ``nim_env``,
only :mod:`nim_env.sb3` imports the environments.
"""

from nim_env.envs.gym_env import NimEnv
from nim_env.envs.vector_env import NimVectorEnv

__all__ = ["NimEnv", "NimVectorEnv"]
