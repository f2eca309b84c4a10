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
