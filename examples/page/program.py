"""Trains a program and asks for its moves in the browser's Python; program_worker.js calls `answer`."""

import contextlib
import inspect
import io
import itertools
import json
import random
import sys
from pathlib import Path

import programs
import specification

FUNCTIONS = ("get_q_value", "update_q_value", "best_future_reward", "choose_action")
N_GAMES, N_ANSWERS = 10_000, 30  # as python -m nim_env check


class Output(io.StringIO):
    """Counts the characters that a program prints, and keeps none."""

    size = 0

    def write(self, text):
        self.size += len(text)
        return len(text)


@contextlib.contextmanager
def running(file, where):
    try:
        yield
    except BaseException as error:  # a program can leave by sys.exit too
        raise ValueError(programs.describe_error(error, file, where)) from error


def answer(file, heaps, most, say):
    """Returns JSON with the faults of the functions and the moves in all positions, or with an error."""
    sys.argv, sys.stdin, sys.stdout = [file], io.StringIO(), Output()
    found = {}
    try:
        random.seed(0)
        player = player_of(file, say)
        make = programs.player_factory(player) if len(heaps) == 4 and most == max(heaps) else None
        say("Testing its functions …")
        with running(file, "when its functions are tested"):
            found["faults"] = specification.faults(make) if make else []
        say("Asking for its moves …")
        found.update(answers_of(player, file, heaps, most))
        found["untested"] = [name for name in FUNCTIONS if not (make and hasattr(player, name))]
    except ValueError as error:
        found["error"] = " ".join(str(error).split())
    return json.dumps({**found, "printed": sys.stdout.size})


def player_of(file, say):
    """Finds the player in a file as the command does, or else its only function of one argument."""
    with running(file, "when it is imported"):
        defined = programs.import_file(Path(file))
    things = {name: thing for name, thing in defined.items() if not inspect.isclass(thing)}
    players = [
        thing for name, thing in things.items() if name == "choose_action" or programs.has_choice_method(thing)
    ]
    if len({*map(id, players)}) > 1:
        raise ValueError(f"{file} holds several players with choose_action; keep one of them")
    if players:
        return players[0]
    if "train" in things:
        return trained(things["train"], file, say)
    own = [f for f in things.values() if inspect.isfunction(f) and f.__module__ == defined["__name__"]]
    functions = [function for function in own if len(programs.required_parameters(function)) == 1]
    if len(functions) == 1:
        return functions[0]
    raise ValueError(f"{file} needs train(n), an object with choose_action, or only one function of the heaps")


def trained(train, file, say):
    """Calls train(N_GAMES), and counts the games in the program's loops over a range of this length."""

    def counted(*arguments):
        numbers = range(*arguments)
        return map(count, itertools.count(), numbers) if len(numbers) == N_GAMES else numbers

    def count(game, number):
        if game % 100 == 0:
            say(f"Training, game {game:,} of {N_GAMES:,} …")
        return number

    for module in [*sys.modules.values()]:
        if Path(getattr(module, "__file__", None) or "/").parent == Path.cwd():
            module.range = counted
    say("Training …")
    with running(file, f"in train({N_GAMES})"):
        return train(N_GAMES)


def answers_of(player, file, heaps, most):
    """The share of each move in each position by its index, and the answers that are not moves."""
    choose = next((getattr(player, name) for name in programs.CHOICE_METHODS if hasattr(player, name)), player)
    if not callable(choose):
        raise ValueError(f"{file}: train(n) must return an object with choose_action, not {player!r:.100}")
    options = {"epsilon": False} if "epsilon" in inspect.signature(choose).parameters else {}
    called = f"called as (heaps{', epsilon=False' if options else ''})"
    moves = [(heap, count) for heap, size in enumerate(heaps) for count in range(1, min(size, most) + 1)]
    positions = [*itertools.product(*(range(size + 1) for size in heaps))][1:]  # none in the empty one
    illegal = {}

    def ask(position):
        """The number of the move, or -1."""
        with running(file, f"at {'-'.join(map(str, position))}, {called}"):
            answered = choose(list(position), **options)
        with contextlib.suppress(Exception):
            heap, count = answered
            if count <= position[heap]:
                return moves.index((heap, count))
        illegal.setdefault(position, programs.shorten(answered))
        return -1

    first, second = ([ask(position) for position in positions] for _ in range(2))
    rows = [*zip(first, second, strict=True)]
    if first != second:
        rows = [[ask(position) for _ in range(N_ANSWERS)] for position in positions]
    shares = [0] * len(moves) + [row.count(move) / len(row) for row in rows for move in range(len(moves))]
    return {"probabilities": shares, "illegal": sorted(illegal.items(), key=lambda item: sum(item[0]))}
