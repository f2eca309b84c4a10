"""Loading saved agents: files of arrays and JSON, never pickle."""

from __future__ import annotations

import os

from agents import _agent_file
from agents._array_file import ArrayHeader
from agents.agent import Agent

__all__ = ["ArrayHeader", "load"]


def load(path: str | os.PathLike[str]) -> Agent:
    """Loads the agent that :meth:`Agent.save` wrote to ``path``, its generator included.

    The agent has the class it was saved with; the module that defines the class must have been imported. Names,
    sizes, types and shapes of the arrays are checked before any of them is read.

    Args:
        path: A regular file, or a link to one.

    Returns:
        The agent.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is damaged, is not a saved agent, or holds an agent of an unknown class; or the class
            cannot be constructed from the arguments in it.
    """
    agent: Agent = _agent_file.load(path, Agent.classes)
    return agent
