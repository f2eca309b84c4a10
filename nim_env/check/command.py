"""The command ``python -m nim_env check FILE ...`` judges players, each in a process of its own.

A player is named by

==================  =========================================================================================
``FILE.py``         an object with ``choose_action(heaps)``, or a function ``train(n)`` that returns one after
                    n games, as in CS50's project Nim
``FILE.py:NAME``    a function ``(heaps) -> (heap, count)`` or ``(observation, action_mask) -> action``, on a
                    single heap also ``(heap) -> number of objects``, an object with such a method
                    ``choose_action`` or ``getMove``, a policy, an agent, or a table of Q-values, a dictionary
                    or an array; NAME can have dots, as in ``agent.get_move``
``.npy`` ``.npz``   Q-values of shape ``(n_positions, n_actions)``; a ``.npz`` file has this array alone, or an
                    array named ``probabilities``
``.json``           Q-values in rows of heaps, heap, count and value: ``[[[1, 3, 5, 7], 0, 1, -0.5], ...]``
``.zip``            a model of Stable-Baselines3 or sb3-contrib
==================  =========================================================================================

or is a policy: ``random``, ``take-N``, ``expert``. Files ``.py`` and ``.zip`` run code when they are loaded: check
only files that you trust.

The exit status is 0 if every file was judged, 1 if a player is below --min-expert, and 2 if a file could not be
judged.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import textwrap
from itertools import chain
from pathlib import Path

from nim_env.check.entries import Entry, FailedEntry
from nim_env.check.options import Options
from nim_env.check.processes import ProcessError, run_in_process
from nim_env.rules import NimRules


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
    """Reads heap sizes that are separated by commas."""
    return [int(size) for size in text.rstrip(",").split(",")]


def parse(arguments: list[str] | None = None) -> Options:
    """Reads the command line.

    Args:
        arguments: The arguments after ``python -m nim_env``. ``None`` for the arguments of this process.

    Returns:
        The options.

    Raises:
        SystemExit: If an option is wrong. The message is printed.
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


def main(arguments: list[str] | None = None) -> int:
    """Judges the files, each in a process of its own, and prints the results.

    Args:
        arguments: The arguments after ``python -m nim_env``. ``None`` for the arguments of this process.

    Returns:
        The exit status, which is 0 if every file was judged, 1 if a player is below ``--min-expert``, and 2 if a
        file could not be judged.
    """
    options = parse(arguments)
    if options.json is not None:
        try:
            options.json.open("a").close()  # an error now instead of after all players were judged
        except OSError as error:
            parser().error(f"--json needs a file that can be written: {error}")
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so the child processes are ended too
    try:
        entries = _examine_all(options)
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None if C code had set the handler
    judged = [entry for entry in entries if isinstance(entry, Entry)]
    if len(judged) < len(entries):
        return 2
    least = options.min_expert
    return int(least is not None and any(entry.figures["expert"] < least for entry in judged))


def _examine_all(options: Options) -> list[Entry | FailedEntry]:
    """Examines the files in turn, and prints and writes each result at once."""
    entries: list[Entry | FailedEntry] = []
    for name in options.files:
        entry = _examine_in_process(name, options)
        entries.append(entry)
        if isinstance(entry, FailedEntry):
            message = entry.error if entry.error.startswith(name) else f"{name}: {entry.error}"
            print(message, file=sys.stderr, flush=True)
        else:
            print(full_report(entry) if len(options.files) == 1 else summary_line(entry), flush=True)
        if options.json is not None:
            text = json.dumps([entry.to_json() for entry in entries], indent=1, ensure_ascii=False)
            options.json.write_text(f"{text}\n", encoding="utf-8")
    return entries


def _examine_in_process(name: str, options: Options) -> Entry | FailedEntry:
    """Examines a player in a process of its own, so a file that crashes or never finishes harms no other one.

    If the process crashes or exceeds the time limit, the error of the entry says so.
    """
    try:
        return run_in_process(_examine, name, options, time_limit=options.time_limit)
    except ProcessError as error:
        return FailedEntry(name, str(error))


def _examine(name: str, options: Options) -> Entry | FailedEntry:
    """Examines a player and returns its entry, in the new process."""
    sys.argv = [name]  # for a file that reads its arguments
    from nim_env.check.report import examine  # not above, since the parent needs none of its imports

    try:
        return examine(name, options)
    except (ValueError, TypeError, OSError) as error:
        return FailedEntry(name, " ".join(str(error).split()))


def full_report(entry: Entry) -> str:
    """Returns the lines that are printed if there is only one player."""
    figures = {**entry.figures, "share": entry.share}
    lines = [f"{entry.player} on {entry.game}"]
    lines += [f"{name:24} {number:.4f}" for name, number in figures.items()]
    lines += [f"mistakes in {entry.mistakes} of {entry.won_positions} winning positions", *entry.first_mistakes]
    lines += [textwrap.fill(sentence, 80) for sentence in (*entry.remarks, f"verdict: {entry.verdict}")]
    return "\n".join(lines)


def summary_line(entry: Entry) -> str:
    """Returns the line that is printed for each of several players.

    It has the player's name, expert mastery, share, result and remarks. The result names what a bug was found in,
    or what would decide.
    """
    is_bug = entry.result == "bug"
    result = f"bug: {', '.join(entry.bugs_in)}" if is_bug else entry.verdict.partition(".")[0].lower()
    sentences = " ".join([f"{result}.", *entry.remarks])
    return f"{entry.player:24} {entry.figures['expert']:.3f} {entry.share:7.1%}  {sentences}"
