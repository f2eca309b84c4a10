"""Tabular minimax-Q for two players who take turns."""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from agents.q_learning import QLearningAgent


class MinimaxQAgent(QLearningAgent):
    """Minimax-Q (Littman 1994) for players who take turns: V(s′) = −max Q(s′, ·), the opponent's best reply.

    It learns two-player zero-sum games by self-play. Observations must show the game from the view of the player
    to move; then one table serves both players. Arguments, errors and :meth:`QLearningAgent.update` are those of
    :class:`QLearningAgent`, except that the next observation and mask are what the opponent faces one ply later.
    """

    supports_single_agent: ClassVar[bool] = False
    bootstraps_from: ClassVar[Literal["own turn", "opponent turn"]] = "opponent turn"
    next_value_sign: ClassVar[float] = -1.0

    def player_values(self, observation: Any, player: int) -> NDArray[np.float64]:
        """The values for player 0, float64 ``(..., n_actions)``, of observations where ``player`` is to move."""
        if player not in (0, 1):
            raise ValueError(f"player must be 0 or 1; got {player!r}")
        values = self.q_values(observation)
        return values if player == 0 else 0.0 - values  # unlike -values without negative zeros
