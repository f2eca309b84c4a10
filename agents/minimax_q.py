"""Tabular minimax-Q for zero-sum games in which two players take turns."""

from typing import ClassVar, Literal

from agents.q_learning import QLearningAgent


class MinimaxQAgent(QLearningAgent):
    """Tabular minimax-Q (Littman 1994) for two-player zero-sum games in which the players take turns.

    The agent learns by self-play only, and it values an action by the opponent's best reply. The next observation
    s′ is what the opponent faces one ply later. The opponent's best value there is the mover's worst, so
    V(s′) = −max Q(s′, ·) over the legal actions. Everything else is the same as in :class:`QLearningAgent`,
    including the arguments and the errors.

    Both players share one table. This requires observations that show the game from the point of view of the
    player to move, as Nim's and PettingZoo's tic-tac-toe's do.

    For example, it learns Nim with heaps of 1 and 2, in which the player who takes the last object loses. The
    values of the first moves become exact: taking both objects from the second heap wins, and the other moves
    lose.

        >>> import agents
        >>> import gymnasium as gym
        >>> env = gym.make("nim_env:Nim-v0", heaps=(1, 2), opponent=None)
        >>> agent = agents.MinimaxQAgent(env.observation_space, env.action_space, learning_rate=1.0, seed=0)
        >>> history = agents.train(agent, env, episodes=200, seed=0)
        >>> env.unwrapped.rules.moves
        ((0, 1), (1, 1), (1, 2))
        >>> agent.q_values([1, 2])
        array([-1., -1.,  1.])
    """

    bootstraps_from: ClassVar[Literal["own turn", "opponent turn"]] = "opponent turn"
    next_value_sign: ClassVar[float] = -1.0
