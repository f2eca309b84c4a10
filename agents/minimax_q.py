"""Tabular minimax-Q for two players who take turns."""

from typing import ClassVar, Literal

from agents.q_learning import QLearningAgent


class MinimaxQAgent(QLearningAgent):
    """Minimax-Q (Littman 1994) for players who take turns: V(s′) = −max Q(s′, ·), the opponent's best reply.

    It learns two-player zero-sum games by self-play. Observations must show the game from the view of the player
    to move; then one table serves both players. Arguments, errors and :meth:`QLearningAgent.update` are those of
    :class:`QLearningAgent`, except that the next observation and mask are what the opponent faces one ply later.
    """

    bootstraps_from: ClassVar[Literal["own turn", "opponent turn"]] = "opponent turn"
    next_value_sign: ClassVar[float] = -1.0
