"""Tabular minimax-Q for two players who take turns."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from agents.q_learning import QLearningAgent


class MinimaxQAgent(QLearningAgent):
    """Minimax-Q (Littman 1994) in the case of turns: a move is worth minus the best that the other can do next.

    It learns two-player zero-sum games whose observation shows the board from the view of the player to move,
    by self-play. One table in the mover's view serves both players. Arguments and errors are those of
    :class:`QLearningAgent`, and so is :meth:`update`, in which the next observation (and mask) is what the other
    player sees one ply on, and V(s′) = −max Q(s′, ·).
    """

    learns_against_opponents: ClassVar[bool] = False
    next_mover: ClassVar[float] = -1.0
    self_play: ClassVar[Literal["own turns", "every ply"] | None] = "every ply"

    def player_values(self, observation: Any, player: int) -> NDArray[np.float64]:
        """The table as one player sees it: player 0 maximises what player 1 minimises.

        Args:
            observation: One observation, or a batch.
            player: 0 or 1, the player to move there.

        Returns:
            The values of the actions for player 0, float64 of shape ``(..., n_actions)``.

        Raises:
            ValueError: ``player`` is neither 0 nor 1, or an observation is not in the observation space.
        """
        if player not in (0, 1):
            raise ValueError(f"player must be 0 or 1; got {player!r}")
        values = self.q_values(observation)
        return values if player == 0 else 0.0 - values  # no negative zeros
