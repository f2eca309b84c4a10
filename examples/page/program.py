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

N_GAMES, N_ANSWERS = 10_000, 30  # as python -m nim_env check


class Output(io.StringIO):
    """Counts the characters that a program prints, and keeps none."""

    size = 0

    def write(self, text):
        self.size += len(text)
        return len(text)


@contextlib.contextmanager
def running(file, where):
    """Describes errors of the program as the command does."""
    try:
        yield
    except BaseException as error:  # a program can leave by sys.exit too
        raise ValueError(programs.failure(error, file, where)) from error


def answer(file, heaps, most, say):
    """Returns JSON with the faults of the functions and the moves in all positions, or with an error.

    `say(text)` shows what is going on.
    """
    sys.argv, sys.stdin, sys.stdout, output = [file], io.StringIO(), Output(), sys.stdout
    found = {}
    try:
        random.seed(0)
        player = player_of(file, say)
        make = programs.maker(player) if len(heaps) == 4 and most == max(heaps) else None
        say("Testing its functions …")
        with running(file, "when its functions are tested"):
            found["tested"] = make is not None
            found["faults"] = specification.faults(make) if make else []
        say("Asking for its moves …")
        found["answers"] = answers_of(player, file, heaps, most)
    except ValueError as error:
        found["error"] = " ".join(str(error).split())
    return json.dumps({**found, "printed": sys.stdout.size})


def player_of(file, say):
    """Finds the player in a file as the command does, or else its only function of one argument."""
    with running(file, "when it is imported"):
        module = programs.imported(Path(file))
    things = {name: thing for name, thing in vars(module).items() if not inspect.isclass(thing)}
    players = {name: thing for name, thing in things.items() if name == "choose_action" or programs.chooses(thing)}
    own = [f for f in things.values() if inspect.isfunction(f) and f.__module__ == module.__name__]
    functions = [function for function in own if len(programs.needed(function)) == 1]
    if len({id(player) for player in players.values()}) > 1:
        raise ValueError(f"{file} holds the players {', '.join(players)}; keep one of them")
    if "train" in things and not players:
        players = {"train": trained(things["train"], file, say)}
    elif not players and len(functions) != 1:
        raise ValueError(f"{file} needs train(n), an object with choose_action, or only one function of the heaps")
    return [*players.values(), *functions][0]


def trained(train, file, say):
    """Calls train(N_GAMES), and counts the games in the program's loops over a range of this length."""

    def counting(numbers):
        for number, each in enumerate(numbers):
            if number % 100 == 0:
                say(f"Training, game {number:,} of {N_GAMES:,} …")
            yield each

    def counted(*arguments):
        numbers = range(*arguments)
        return counting(numbers) if len(numbers) == N_GAMES else numbers

    for module in [*sys.modules.values()]:
        if Path(getattr(module, "__file__", None) or "/").parent == Path.cwd():
            module.range = counted
    say("Training …")
    with running(file, f"in train({N_GAMES})"):
        return train(N_GAMES)


def answers_of(player, file, heaps, most):
    """Returns the share of each move in each position by its index, and the first answers that are no moves."""
    choose = next((getattr(player, name) for name in programs.CHOICES if hasattr(player, name)), player)
    if not callable(choose):
        raise ValueError(
            f"{file}: train(n) must return an object with choose_action; got {programs.shown(player)}"
        )
    options = {"epsilon": False} if "epsilon" in inspect.signature(choose).parameters else {}
    moves = [(heap, count) for heap, size in enumerate(heaps) for count in range(1, min(size, most) + 1)]
    positions = [*itertools.product(*(range(size + 1) for size in heaps))]
    takes_size = False
    if len(heaps) == 1:
        with contextlib.suppress(Exception):
            takes_size = not isinstance(choose(heaps[0], **options), list | tuple)
    illegal = {}

    def ask(position):
        """The number of the move, or -1."""
        given = ("heap" if takes_size else "heaps") + (", epsilon=False" if options else "")
        with running(file, f"at {'-'.join(map(str, position))}, called as ({given})"):
            answered = choose(position[0] if takes_size else list(position), **options)
        with contextlib.suppress(Exception):
            heap, count = (0, min(answered, position[0])) if takes_size else answered
            if count <= position[heap]:
                return moves.index((heap, count))
        illegal.setdefault(position, programs.shown(answered))
        return -1

    asked = positions[1:]
    rounds = [[ask(position) for position in asked] for _ in range(2)]
    rows = [*zip(*rounds, strict=True)]
    if rounds[0] != rounds[1]:
        rows = [[ask(position) for _ in range(N_ANSWERS)] for position in asked]
    shares = [[0] * len(moves)] + [[row.count(i) / len(row) for i in range(len(moves))] for row in rows]
    first = sorted(illegal.items(), key=lambda item: sum(item[0]))
    return {"probabilities": [share for row in shares for share in row], "illegal": first}
