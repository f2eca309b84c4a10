"""The equations that the values of a learner can satisfy, and the assumptions about the learner behind them.

A correct learner satisfies Bellman's equation. A known bug changes one part of it. Let s' be the position after
action a in position s, m the reward of the player who takes the last object, o the reward of the other player, and
γ the discount. For the last move of a game, Q(s, a) = m. For all other moves the equation depends on the learner:

- By move, a learner looks at the next move of the other player: Q(s, a) = -γ max Q(s', b) (Littman 1994, "Markov
  games as a framework for multi-agent reinforcement learning").
- By own turn, it waits for a reply b, which leads to s''. Q(s, a) is a mean over the replies: o for a reply that
  ends the game, and γ max Q(s'', c) for all others (Watkins 1989; Sutton and Barto 2018, equation 6.8).
- On-policy, it takes the mean over its own policy instead of the maximum (Sutton and Barto 2018, equation 6.9).

All three are called Bellman's equation here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from nim_env.evaluation.diagnosis import findings
from nim_env.rules import NimRules

Bootstrap = Literal["maximum", "maximum from 0", "maximum over all", "minimum", "mean", "own policy"]
"""How an equation turns the values of the moves in the next position into one number.

- ``"maximum"``, ``"minimum"`` and ``"mean"`` are taken over the legal actions.
- ``"maximum from 0"`` is the maximum over the legal actions, or 0 if the maximum is below 0.
- ``"maximum over all"`` is the maximum over all actions, including illegal ones.
- ``"own policy"`` is the mean over the moves of the learner's own policy.
"""


class Equation(NamedTuple):
    """The parts of Bellman's equation that a bug can change.

    Attributes:
        last_mover: The reward of the player who takes the last object.
        other_player: The reward of the other player.
        bootstrap: How the values of the next position become one number, the future return.
        sign: The factor of this number: 1 in Bellman's equation, -1 if a bug changes the sign, 0 if a bug leaves
            the future out. The minus sign of minimax-Q comes in addition.
    """

    last_mover: float
    other_player: float
    bootstrap: Bootstrap = "maximum"
    sign: float = 1.0


def buggy_equations(bellman: Equation, initial: float) -> dict[Equation, str]:
    """Returns the equation of each known bug, made from Bellman's equation by changing one part.

    Two kinds of bug have two equations each. If a reward is dropped, the learner learns 0 instead, or it makes no
    update and the value stays at the initial value. If the learner gets the opponent's reward, a win and a loss
    are swapped, or the sign of each reward is changed.

    Args:
        bellman: Bellman's equation for the learner.
        initial: The initial value of the learner.

    Returns:
        The name of the bug for each equation.
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


class Assumptions(NamedTuple):
    """What the diagnosis assumes about a learner, unless the user has passed it.

    Attributes:
        win: The reward of a win.
        loss: The reward of a loss.
        initial: The value that every action had before the training. ``None`` if the values started at different
            numbers, as in a network.
        on_policy: Whether the targets follow the learner's own moves, as in SARSA. False for Q-learning.
    """

    win: float = 1.0
    loss: float = -1.0
    initial: float | None = 0.0
    on_policy: bool = False

    @property
    def reward_size(self) -> float:
        """The larger of the absolute values of the two rewards."""
        return max(abs(self.win), abs(self.loss))

    def bellman(self, rules: NimRules) -> Equation:
        """Returns Bellman's equation for this learner. The last mover loses in misère play and wins otherwise."""
        last_mover, other_player = (self.loss, self.win) if rules.misere else (self.win, self.loss)
        return Equation(last_mover, other_player, "own policy" if self.on_policy else "maximum")
