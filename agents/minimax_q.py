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
    :class:`QLearningAgent`.
    """

    learns_against_opponents: ClassVar[bool] = False
    self_play: ClassVar[Literal["own turns", "every ply"] | None] = "every ply"

    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any = None,
    ) -> None:
        """Learns from one ply, or from a batch as if its plies came one after another.

        Q(s, a) ← Q(s, a) + α ((r − γ max Q(s′, ·)) − Q(s, a)): s′ is what the other player sees, and the maximum
        is over its legal actions; nothing follows a terminal ply.

        Args:
            observation: What the mover saw, one observation or a batch.
            action: What it did, an integer of the action space for each observation.
            reward: What the mover got for it.
            next_observation: What the other player sees next.
            terminated: Whether the game ended.
            next_action_mask: Nonzero where the other player's actions are legal, shape ``(..., n_actions)``;
                ``None``: all are.

        Raises:
            TypeError, ValueError: As :meth:`QLearningAgent.update`.
        """
        super().update(observation, action, reward, next_observation, terminated, next_action_mask)

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

    def _future(self, observation: Any, action_mask: Any) -> float:
        return -super()._future(observation, action_mask)
