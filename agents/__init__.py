"""Tabular learners for any environment of the Gymnasium or PettingZoo API. They know nothing of Nim."""

from agents.agent import Agent, load
from agents.minimax_q import MinimaxQAgent
from agents.q_learning import QLearningAgent
from agents.training import History, train
from agents.win_count import WinCountAgent

__all__ = ["Agent", "History", "MinimaxQAgent", "QLearningAgent", "WinCountAgent", "load", "train"]
