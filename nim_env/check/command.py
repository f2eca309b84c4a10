"""The command ``python -m nim_env check FILE ...``: its options, its processes and what it prints."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import multiprocessing
import os
import signal
import sys
import textwrap
from collections.abc import Iterable
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nim_env.check import players
from nim_env.check.report import examine, rules_of


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser("python -m nim_env", description="Nim for reinforcement learning.")
    commands = main.add_subparsers(required=True)
    check = commands.add_parser(
        "check",
        help="say how good a player is, and what is wrong with it",
        description="Says how good a player of Nim is, exactly, where it errs, and which bug its values show.",
        epilog=f"{inspect.getdoc(players)}\n\nThe exit status is 0 where every file was judged, 1 where one is "
        "below --min-expert,\nand 2 where one could not be judged.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = check.add_argument
    option("files", nargs="+", metavar="FILE", help="a player, see below")
    option("--heaps", type=sizes, nargs="+", default=[[1, 3, 5, 7]], help="starting heap sizes (1 3 5 7)")
    option("--max-take", type=int, help="the maximum number of objects that one move may take (no limit)")
    option("--normal", action="store_true", help="the player who takes the last object wins (it loses)")
    option("--opponent", help="whom it learned against: random, take-N, expert or a file (itself)")
    option("--discount", type=float, help="the discount with which it learned (1.0, or what a model's file says)")
    option("--rewards", type=float, nargs=2, metavar=("WIN", "LOSS"), help="the rewards with which it learned")
    option("--initial", type=float, metavar="VALUE", help="the value of a pair that was never updated")
    option("--on-policy", action="store_true", default=None, help="it learned by SARSA, Monte Carlo or the like")
    option("--episodes", type=int, default=10_000, help="the number of games for train(n) of a file (10000)")
    option("--seed", type=int, default=0, help="the seed of Python and NumPy before a file is loaded (0)")
    option("--picture", type=Path, metavar="FILE.svg", help="draw the map of positions there")
    option("--json", type=Path, metavar="FILE", help="write a list of all figures there, an entry for each file")
    option("--min-expert", type=float, help="the exit status is 1 where expert mastery is below it")
    option("--time-limit", type=float, metavar="SECONDS", help="for each file")
    return main


def sizes(text: str) -> list[int]:
    """Heap sizes with commas between them."""
    return [int(size) for size in text.rstrip(",").split(",")]


def main(arguments: list[str] | None = None) -> int:
    """Judges the files, each in a process of its own, prints what it finds, and returns the exit status."""
    check = parser()
    args = check.parse_args(arguments)
    try:
        rules_of(args)
        if args.json is not None:
            args.json.open("a").close()
    except (TypeError, ValueError, OSError) as wrong:
        check.error(str(wrong))
    if args.min_expert is not None and not 0 <= args.min_expert <= 1:
        check.error(f"--min-expert must lie between 0 and 1; got {args.min_expert}")
    if args.time_limit is not None and not 0 < args.time_limit < 1e6:
        check.error(f"--time-limit must be a positive number of seconds; got {args.time_limit}")
    if args.episodes < 0:
        check.error(f"--episodes must be 0 or more; got {args.episodes}")
    if args.picture is not None and len(args.files) > 1:
        check.error("--picture takes one FILE")
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no process stays
    try:
        entries = _check_all(args)
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None for one that C set
    if any(entry["error"] for entry in entries):
        return 2
    return int(args.min_expert is not None and any(entry["expert"] < args.min_expert for entry in entries))


def _check_all(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Judges the files in turn, and prints and writes what is found in each."""
    entries: list[dict[str, Any]] = []
    for name in args.files:
        entry = check_apart(name, args)
        entries.append(entry)
        if error := entry["error"]:
            print(error if error.startswith(name) else f"{name}: {error}", file=sys.stderr, flush=True)
        else:
            print(in_full(entry) if len(args.files) == 1 else in_one_line(entry), flush=True)
        if args.json is not None:
            text = json.dumps(entries, indent=1, ensure_ascii=False)
            args.json.write_text(f"{text}\n", encoding="utf-8")
    return entries


def check_apart(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Runs :func:`nim_env.check.report.examine` in a process of its own and returns its result.

    If the process crashes or takes too long, the result has an ``error`` that says so.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, name, args))
    if hasattr(os, "killpg"):
        resource_tracker.ensure_running()  # before the mark, since it serves this process too
    mark = f"NIM_ENV_CHECK_{os.urandom(16).hex()}"
    os.environ[mark] = ""
    try:
        process.start()
    finally:
        del os.environ[mark]
    sender.close()
    try:
        if receiver.poll(args.time_limit):
            entry = receiver.recv()
            process.join(5)
            return entry
        return {"player": name, "error": f"takes longer than {args.time_limit:g} s"}
    except EOFError:
        process.join()
        return {"player": name, "error": f"ends its process with exit code {process.exitcode}"}
    finally:
        if process.pid and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):  # the file's own processes too
                os.killpg(process.pid, signal.SIGKILL)
        _kill_marked(mark)
        process.kill()
        process.join()


def _kill_marked(mark: str) -> None:
    """Kills every process with this variable in the environment that it was started with.

    It finds the processes of a file that left its group, on Linux, unless they were started with another
    environment. Other systems have no ``/proc/PID/environ``.
    """
    for _ in range(3):  # again, for those that one of them has just started
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark.encode() in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)


def _send(sender: Connection, name: str, args: argparse.Namespace) -> None:
    if hasattr(os, "setsid"):
        os.setsid()
    sys.argv = [name]  # for a file that reads its own
    try:
        sender.send(examine(name, args))
    except (ValueError, TypeError, OSError) as error:
        sender.send({"player": name, "error": " ".join(str(error).split())})


def _in_short(result: str, bugs_in: Iterable[str], verdict: str) -> str:
    """The result, with what a bug was found in, or what would decide."""
    return f"bug: {', '.join(bugs_in)}" if result == "bug" else verdict.partition(".")[0].lower()


def in_full(entry: dict[str, Any]) -> str:
    """All that is said of one player."""
    figures = {name: number for name, number in entry.items() if isinstance(number, float | bool)}
    mistakes = f"mistakes in {entry['mistakes']} of {entry['won_positions']} winning positions"
    said = [*entry["remarks"], f"verdict: {entry['verdict']}"]
    lines = [f"{entry['player']} on {entry['game']}"]
    lines += [f"{name:24} {number:.4f}" for name, number in figures.items()]
    lines += [mistakes, *entry["first_mistakes"], *(textwrap.fill(sentence, 80) for sentence in said)]
    return "\n".join(lines)


def in_one_line(entry: dict[str, Any]) -> str:
    """Name, expert mastery, share, result and remarks."""
    short = _in_short(entry["result"], entry["bugs_in"], entry["verdict"])
    said = " ".join([f"{short}.", *entry["remarks"]])
    return f"{entry['player']:24} {entry['expert']:.3f} {entry['share']:7.1%}  {said}"
