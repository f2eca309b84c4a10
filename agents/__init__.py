"""Tabular learners for any environment of the Gymnasium or PettingZoo API. They know nothing of Nim."""

from agents.agent import Agent, load
from agents.q_learning import QLearningAgent
from agents.training import History, train

__all__ = ["Agent", "History", "QLearningAgent", "load", "train"]
