"""The command ``python -m nim_env check FILE ...``: how good a player is, and what is wrong with it."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import multiprocessing
import os
import random
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable
from itertools import chain
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env import evaluation, players, policies, specification
from nim_env.map import position_map
from nim_env.policies import FunctionPolicy, Policy, PolicyLike, SampledPolicy, TabularPolicy
from nim_env.rules import NimRules

_EARLIER = 0.3  # of the training games, for a second table


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
        _rules(args)
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
        entries = _judge_all(args)
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None for one that C set
    if any(entry["error"] for entry in entries):
        return 2
    return int(args.min_expert is not None and any(entry["expert"] < args.min_expert for entry in entries))


def _judge_all(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Judges the files in turn, and prints and writes what is found in each."""
    entries: list[dict[str, Any]] = []
    for name in args.files:
        entry = judge_apart(name, args)
        entries.append(entry)
        if error := entry["error"]:
            print(error if error.startswith(name) else f"{name}: {error}", file=sys.stderr, flush=True)
        else:
            print(in_full(entry) if len(args.files) == 1 else in_one_line(entry), flush=True)
        if args.json is not None:
            text = json.dumps(entries, indent=1, ensure_ascii=False)
            args.json.write_text(f"{text}\n", encoding="utf-8")
    return entries


def judge_apart(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """What :func:`judge` returns, from a process that may crash or take too long; then an ``error``."""
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
        sender.send(judge(name, args))
    except (ValueError, TypeError, OSError) as error:
        sender.send({"player": name, "error": " ".join(str(error).split())})


def judge(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """All that is said of a player; a ValueError, TypeError or OSError where it cannot be judged."""
    rules = _rules(args)
    chance = evaluation.mastery(rules, policies.tabulate(rules, "random")).expert  # refuses a board too large
    player = _load(name, rules, args.seed, args.episodes)
    faults = []
    is_course = rules.n_heaps == 4 and rules.max_take is None and not args.initial
    if player.make and is_course:
        with players.foreign_code(name, "when its functions are tested"):
            faults = specification.faults(player.make, args.seed)
    with players.foreign_code(name, "when it plays"):
        policy = tabulated(rules, player.policy)
    q_values = _table(player, name)
    diagnosis = _diagnosis(player, policy, q_values, name, args)
    choice = _choice(player, policy, q_values)
    remarks = [*filter(None, [player.remark]), *_remarks(player, policy)]
    mastery = evaluation.mastery(rules, policy, illegal_action="lose")
    if "train longer" in diagnosis.findings and not len(mastery.mistake_indices):
        said = "No bug found. Every move is right, although not all values have settled."
        diagnosis = evaluation.Diagnosis("no bug found", said, ("perfect play",))
    bugs = [f"Bug in {function}: {sentence}." for function, sentence in faults]
    bugs += [f"Bug in the choice: {sentence}" for sentence in choice]
    if bugs and diagnosis.result == "bug":
        bugs.append(diagnosis.verdict)
    result = "bug" if bugs else diagnosis.result
    names = [*dict.fromkeys(fault.function for fault in faults)]
    if choice and "choose_action" not in names:
        names.append("choice")
    if not bugs or diagnosis.result == "bug":
        names += evaluation.answers(diagnosis.findings)
    verdict = " ".join(bugs) or diagnosis.verdict
    is_finite = q_values is not None and diagnosis.findings != ("values that are not finite",)
    values = player.state_values if is_finite else None
    report = evaluation.report(rules, policy, values, illegal_action="lose")
    if args.picture is not None:
        title = f"{Path(name).name}: {result}{f' in {names[0]}' if faults or choice else ''}"
        args.picture.write_text(position_map(mastery, title), encoding="utf-8")
    return {
        "player": name,
        "error": None,
        "game": str(rules),
        **report.to_dict(),
        "share": 1.0 if chance == 1 else (report.expert - chance) / (1 - chance),
        "won_positions": mastery.won_positions,
        "mistakes": len(mastery.mistake_indices),
        "first_mistakes": evaluation.mistake_sentences(rules, policy, illegal_action="lose"),
        "remarks": remarks,
        "result": result,
        "bugs_in": names if result == "bug" else [],
        "findings": diagnosis.findings,
        "verdict": verdict,
    }


def _diagnosis(
    player: players.LoadedPlayer, policy: TabularPolicy, q_values: Any, name: str, args: argparse.Namespace
) -> evaluation.Diagnosis:
    """What its values say, or its moves if it has none."""
    if q_values is None:
        return evaluation.diagnose_moves(player.rules, policy)
    opponent = args.opponent and players.load_player(args.opponent, player.rules).policy
    earlier = None
    if player.is_trained:
        earlier = _table(_load(name, player.rules, args.seed, round(_EARLIER * args.episodes)), name)
    follows_course = hasattr(player.make and player.make(), "best_future_reward")
    on_policy = args.on_policy or player.on_policy or (False if follows_course else None)
    discount = next(number for number in (args.discount, player.discount, 1.0) if number is not None)
    initial = player.initial if args.initial is None else args.initial
    rewards = args.rewards and tuple(args.rewards)
    return evaluation.diagnose(player.rules, q_values, opponent, discount, earlier, rewards, initial, on_policy)


def _table(player: players.LoadedPlayer, name: str) -> NDArray[Any] | None:
    """The values of a player in all positions."""
    if player.values is None:
        return None
    with players.foreign_code(name, "when its values are asked"):
        return np.asarray(player.values(player.rules.all_positions()))


def _rules(args: argparse.Namespace) -> NimRules:
    return NimRules(chain(*args.heaps), args.max_take, misere=not args.normal)


def _load(name: str, rules: NimRules, seed: int, episodes: int) -> players.LoadedPlayer:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  the file may draw from it
    return players.load_player(name, rules, episodes)


def tabulated(rules: NimRules, policy: PolicyLike) -> TabularPolicy:
    """The probabilities of a player in all positions; of a function that draws its moves, its frequencies."""
    asked = _Asked(policy) if isinstance(policy, FunctionPolicy) else policy
    return policies.tabulate(rules, asked, np.float64, illegal_action="lose")


class _Asked:
    """A function as a policy: where two answers to any position differ, all positions are asked 30 times.

    To ask only the positions whose first two answers differ would miss rare moves, always in the player's favor.
    """

    is_measurement = True

    def __init__(self, policy: FunctionPolicy) -> None:
        self.policy = policy

    def action_probabilities(self, observation: Any, action_mask: Any) -> Any:
        first, second = (self._answers(self.policy, observation, action_mask) for _ in range(2))
        if (first == second).all():
            return first
        return self._answers(SampledPolicy(self.policy, 30), observation, action_mask)

    def _answers(self, policy: Policy, *positions: Any) -> Any:
        rows = ([array[i : i + 1] for array in positions] for i in _progress(len(positions[0])))
        return np.concatenate([policy.action_probabilities(*row) for row in rows])


def _progress(n: int) -> Iterable[int]:
    try:
        from tqdm import tqdm
    except ImportError:
        return range(n)
    tqdm.set_lock(threading.RLock())  # its own one would outlive a process that is killed
    return tqdm(range(n), "positions", leave=False, disable=None, delay=1)


def _choice(player: players.LoadedPlayer, policy: TabularPolicy, q_values: Any) -> list[str]:
    """What is wrong with the choice of a function: no legal move, or not the one of its best value."""
    if not isinstance(player.policy, FunctionPolicy) or np.ndim(q_values) != 2:
        return []
    rules = player.rules
    heaps = rules.all_positions()[1:]
    plays = policy.probabilities[1:]
    values = np.where(rules.action_mask(heaps), q_values[1:], -np.inf)
    said = []
    is_unanswered = plays.sum(axis=1) < 1 - 1e-9
    if is_unanswered.any():
        sentence = _without_move(player, heaps[is_unanswered])
        said.append(sentence + _starts_from_0(values[is_unanswered]))
    is_worse = ((plays > 0) & (values < values.max(axis=1, keepdims=True))).any(axis=1)
    if n := is_worse.sum():
        first = "-".join(map(str, min(heaps[is_worse].tolist(), key=sum)))
        sentence = f"in {_counted(n)} it does not play its best value, the first {first}."
        said.append(sentence + _starts_from_0(values[is_worse]))
    return said


def _starts_from_0(values: NDArray[Any]) -> str:
    """What the values of the positions with a wrong choice say of it."""
    said = " All its values there are 0 or below: the maximum of its choice starts from 0."
    return said if (values <= 0).all() else ""


def _without_move(player: players.LoadedPlayer, heaps: NDArray[Any]) -> str:
    first = min(heaps.tolist(), key=sum)
    answer = player.answer_at(first)
    answers = f", where it answers {answer}" if answer else ""
    return f"it gives no legal move in {_counted(len(heaps))}, the first {'-'.join(map(str, first))}{answers}."


def _counted(n: int) -> str:
    return "1 position" if n == 1 else f"{n} positions"


def _remarks(player: players.LoadedPlayer, policy: TabularPolicy) -> list[str]:
    """Sentences on positions without a legal move, and on draws."""
    heaps = player.rules.all_positions()[1:]
    plays = policy.probabilities[1:]
    remarks = []
    is_unanswered = plays.sum(axis=1) < 1 - 1e-9
    if is_unanswered.any():
        sentence = _without_move(player, heaps[is_unanswered])
        remarks.append(f"{sentence[0].upper()}{sentence[1:]}")
    if n := (plays % 1 > 0).any(axis=1).sum():
        remarks.append(f"It draws its move in {_counted(n)}. The figures of a function that draws are estimates.")
    return remarks


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
