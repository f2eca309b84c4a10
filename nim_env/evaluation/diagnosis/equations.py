"""The equation that the values of a learner satisfy: Bellman's, or the equation of a bug.

A learner moves each value toward a target that follows from its values of the next positions. Let s' be the
position after action a in position s, m the reward of the player who takes the last object, o the reward of the
other player, and γ the discount. For the last move of a game, Q(s, a) = m. For all other moves the equation
depends on the learner:

- By move, a learner looks at the next move of the other player: Q(s, a) = -γ max Q(s', b) (Littman 1994, "Markov
  games as a framework for multi-agent reinforcement learning").
- By own turn, it waits for a reply b, which leads to s''. Q(s, a) is a mean over the replies: o for a reply that
  ends the game, and γ max Q(s'', c) for all others (Watkins 1989; Sutton and Barto 2018, equation 6.8).
- On-policy, it takes the mean over its own policy instead of the maximum (Sutton and Barto 2018, equation 6.9).

All three are called Bellman's equation here. A bug changes one part of it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from nim_env.evaluation.diagnosis import findings

Bootstrap = Literal["maximum", "maximum from 0", "maximum over all", "minimum", "mean", "own policy"]
"""How an equation turns the values of the next position into one number. The maximum, the minimum and the mean are
taken over legal actions, and the maximum over all is taken over illegal actions too. The maximum from 0 is at
least 0. The own policy stands for the mean over the moves of the learner."""


class Equation(NamedTuple):
    """One way to compute a target.

    Attributes:
        last_mover: The reward of the player who takes the last object.
        other_player: The reward of the other player.
        bootstrap: How it turns the values of the next position into one number.
        sign: A factor of the bootstrap, which is 1 in Bellman's equation. The minus sign of the equation by move
            is not part of it.
    """

    last_mover: float
    other_player: float
    bootstrap: Bootstrap = "maximum"
    sign: float = 1.0


def buggy_equations(bellman: Equation, initial: float) -> dict[Equation, str]:
    """Returns the equations of the known bugs, each with the name of its bug. Each is Bellman's with one change.

    Some bugs have two equations. A learner that drops a reward learns 0 instead, or it makes no update and the
    value stays at ``initial``. A learner that gets the opponent's reward gets the other of the two rewards, or its
    own with the sign changed.
    """
    last_mover, other_player = bellman.last_mover, bellman.other_player
    return {
        bellman._replace(last_mover=other_player, other_player=last_mover): findings.OPPONENTS_REWARD,
        bellman._replace(last_mover=-last_mover, other_player=-other_player): findings.OPPONENTS_REWARD,
        bellman._replace(sign=-1.0): findings.NO_MINUS_SIGN,
        bellman._replace(sign=0.0): findings.NO_FUTURE,
        bellman._replace(last_mover=0.0): findings.LAST_MOVER_DROPPED,
        bellman._replace(last_mover=initial): findings.LAST_MOVER_DROPPED,
        bellman._replace(other_player=0.0): findings.OTHER_PLAYER_DROPPED,
        bellman._replace(other_player=initial): findings.OTHER_PLAYER_DROPPED,
        bellman._replace(bootstrap="maximum from 0"): findings.MAXIMUM_FROM_0,
        bellman._replace(bootstrap="maximum over all"): findings.MAXIMUM_OVER_ILLEGAL,
        bellman._replace(bootstrap="minimum"): findings.MINIMUM,
        bellman._replace(bootstrap="mean"): findings.MEAN,
    }
