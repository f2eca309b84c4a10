"""The options of ``python -m nim_env check FILE ...``, which judges players, each in a process of its own.

A player is named by

==================  =========================================================================================
``FILE.py``         an object with ``choose_action(heaps)``, or a function ``train(n)`` that returns such an
                    object after n games, as in CS50's project Nim
``FILE.py:NAME``    a function ``(heaps) -> (heap, count)``, ``(observation, action_mask) -> action`` or, on a
                    single heap, ``(heap) -> number of objects``; an object whose method ``choose_action`` or
                    ``getMove`` is such a function; a policy; an agent; or Q-values in a dictionary or an array;
                    NAME can have dots, as in ``agent.get_move``
``.npy`` ``.npz``   Q-values of shape ``(n_positions, n_actions)``; a ``.npz`` file has only this array, or the
                    probabilities of the moves in an array of this shape named ``probabilities``
``.json``           Q-values in rows of heaps, heap, count and value: ``[[[1, 3, 5, 7], 0, 1, -0.5], ...]``
``.zip``            a model of Stable-Baselines3 or sb3-contrib
==================  =========================================================================================

A player can also be a built-in policy: ``random``, ``take-N`` or ``expert``. Files ``.py`` and ``.zip`` run code
when they are loaded: check only files that you trust.

The exit status is 0 if every file was judged, 1 if a player's expert mastery is below --min-expert, and 2 if a
file could not be judged.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from nim_env.rules import NimRules


@dataclass(frozen=True)
class Options:
    """The options of the command line, which describe the players, the game and the output.

    What they say about training holds for all players. An attribute is ``None`` if its option was not given and
    has no default.

    Attributes:
        rules: The game, from ``--heaps``, ``--max-take`` and ``--normal``.
        files: The names of the players, such as ``nim.py`` or ``nim.py:player``.
        opponent: The name of the player that the players learned against. ``None`` for self-play.
        discount: The discount of the training.
        rewards: The rewards of a win and of a loss in the training.
        initial: The value at which the Q-values started.
        on_policy: True if the players learned by an on-policy method such as SARSA, otherwise ``None``.
        episodes: The number of games to train, for a file that has a function ``train`` instead of a player.
        seed: The seed of Python's and NumPy's random generators, which are seeded before a file is loaded.
        picture: The file for a picture that shows in which winning positions the player plays a winning move.
        json: The file to which all results are written.
        min_expert: The expert mastery that every player must reach: its average probability of playing a winning
            move in winning positions, from 0 to 1. If a player is below, the exit status is 1.
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


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    command_line = argparse.ArgumentParser("python -m nim_env", description="Nim for reinforcement learning.")
    commands = command_line.add_subparsers(required=True)
    check = commands.add_parser(
        "check",
        help="say how good a player is, and what is wrong with it",
        description="Says exactly how good a player of Nim is, lists its mistakes, and finds bugs in its values.",
        epilog=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = check.add_argument
    option("files", nargs="+", metavar="FILE", help="a player, see below")
    option("--heaps", type=heap_sizes, nargs="+", default=[[1, 3, 5, 7]], help="the heap sizes (default: 1 3 5 7)")
    option("--max-take", type=int, help="the maximum number of objects that a move can take (default: no limit)")
    option("--normal", action="store_true", help="the player who takes the last object wins (and does not lose)")
    option("--opponent", help="whom it learned against: random, take-N, expert or a file (default: itself)")
    option(
        "--discount", type=float, help="the discount of its training (default: the one in a model's file, or 1)"
    )
    option("--rewards", type=float, nargs=2, metavar=("WIN", "LOSS"), help="the rewards of its training")
    option("--initial", type=float, metavar="VALUE", help="the value of a pair that was never updated")
    option("--on-policy", action="store_true", default=None, help="it learned by SARSA, Monte Carlo or the like")
    option(
        "--episodes", type=int, default=10_000, help="the number of games for train(n) of a file (default: 10000)"
    )
    option("--seed", type=int, default=0, help="the seed of Python and NumPy before a file is loaded (default: 0)")
    option("--picture", type=Path, metavar="FILE.svg", help="write the map of positions to this file")
    option("--json", type=Path, metavar="FILE", help="write all results to this file, an entry for each player")
    option("--min-expert", type=float, help="the exit status is 1 if expert mastery is lower than this")
    option("--time-limit", type=float, metavar="SECONDS", help="the time limit for each file")
    return command_line


def heap_sizes(text: str) -> list[int]:
    """Converts heap sizes that are separated by commas, such as "1,3,5,7", to a list."""
    return [int(size) for size in text.rstrip(",").split(",")]


def parse(arguments: list[str] | None = None) -> Options:
    """Reads the command line.

    Args:
        arguments: The arguments of the command line after ``python -m nim_env``, beginning with ``"check"``.
            ``None`` to take them from ``sys.argv``.

    Returns:
        The options.

    Raises:
        SystemExit: If an option is wrong. A message is printed that names the option.
    """
    command_line = parser()
    given = vars(command_line.parse_args(arguments))
    heaps, max_take, is_normal = (given.pop(name) for name in ("heaps", "max_take", "normal"))
    try:
        options = Options(NimRules(chain(*heaps), max_take, misere=not is_normal), **given)
    except (TypeError, ValueError) as wrong:
        command_line.error(str(wrong))
    if options.min_expert is not None and not 0 <= options.min_expert <= 1:
        command_line.error(f"--min-expert must be between 0 and 1; got {options.min_expert}")
    if options.time_limit is not None and not 0 < options.time_limit < 1e6:
        limit = options.time_limit
        command_line.error(f"--time-limit must be a positive number of seconds below 1,000,000; got {limit}")
    if options.episodes < 0:
        command_line.error(f"--episodes must be 0 or more; got {options.episodes}")
    if options.picture is not None and len(options.files) > 1:
        command_line.error(f"--picture draws one player; got {len(options.files)} files")
    return options
