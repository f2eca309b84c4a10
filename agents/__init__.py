"""Tabular reinforcement learning agents, and :func:`train`, which trains them.

The agents work with any Gymnasium environment, vector environment or PettingZoo AEC environment whose actions are
discrete. They do not depend on Nim.
"""

from agents.agent import Agent, load
from agents.minimax_q import MinimaxQAgent
from agents.q_learning import QLearningAgent
from agents.tables import TabularAgent
from agents.training import History, train
from agents.win_count import WinCountAgent

__all__ = [
    "ALGORITHMS",
    "Agent",
    "History",
    "MinimaxQAgent",
    "QLearningAgent",
    "TabularAgent",
    "WinCountAgent",
    "load",
    "train",
]

ALGORITHMS: dict[str, type[Agent]] = {
    "q-learning": QLearningAgent,
    "minimax-q": MinimaxQAgent,
    "win-counting": WinCountAgent,
}
"""The agent classes by name.

The names are ``"q-learning"``, ``"minimax-q"`` and ``"win-counting"``.
``agents.ALGORITHMS[name](observation_space, action_space)`` makes an agent.
"""
