"""The options of the command ``python -m nim_env check``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nim_env.rules import NimRules


@dataclass(frozen=True)
class Options:
    """What the command line says about the players, the game and the output.

    :func:`nim_env.check.command.parse` makes it. An option that was not given is ``None``, unless it has a
    default.

    Attributes:
        rules: The game, from ``--heaps``, ``--max-take`` and ``--normal``.
        files: The players, as the command line names them.
        opponent: The player that they learned against. ``None`` for self-play.
        discount: The discount of their training.
        rewards: The rewards of a win and of a loss in their training.
        initial: The value of a pair of position and action that was never updated.
        on_policy: True if they learned by an on-policy method such as SARSA, otherwise ``None``.
        episodes: The number of games for the function ``train`` of a file.
        seed: The seed of Python's and NumPy's random generators before a file is loaded.
        picture: The file for the map of positions.
        json: The file for all results.
        min_expert: The expert mastery that every player must reach.
        time_limit: The time limit for each player, in seconds.
    """

    rules: NimRules
    files: list[str]
    opponent: str | None
    discount: float | None
    rewards: list[float] | None
    initial: float | None
    on_policy: bool | None
    episodes: int
    seed: int
    picture: Path | None
    json: Path | None
    min_expert: float | None
    time_limit: float | None
