"""Tabular agents for any environment of the Gymnasium or PettingZoo API, and the loop that trains them."""

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

ALGORITHMS: dict[str, type[TabularAgent]] = {
    "q-learning": QLearningAgent,
    "minimax-q": MinimaxQAgent,
    "win-counting": WinCountAgent,
}
"""The algorithms by name. ``agents.ALGORITHMS[name](observation_space, action_space)`` makes an agent."""
