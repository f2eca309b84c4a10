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


def answer(file, heaps, most, say):
    """Returns JSON with the faults of the functions and the moves in all positions, or with an error."""
    sys.argv, sys.stdin, sys.stdout = [file], io.StringIO(), Output()
    random.seed(0)
    try:
        found = judged(file, player_of(file, say), heaps, most, say)
    except ValueError as error:
        found = {"error": " ".join(str(error).split())}
    return json.dumps({**found, "printed": sys.stdout.size})


def player_of(file, say):
    """Finds the player in a file as the command does, or else its only function of one argument."""
    with programs.describing_errors(file):
        things = programs.import_file(Path(file))
    players = programs.players_in(things)
    if len(players) > 1:
        raise ValueError(f"{file} holds the players {', '.join(players)}; keep one of them")
    if not players and "train" in things:
        return trained(things["train"], file, say)
    own = [thing for thing in things.values() if getattr(thing, "__module__", None) == things["__name__"]]
    functions = [f for f in own if inspect.isfunction(f) and len(programs.required_parameters(f)) == 1]
    if players or len(functions) == 1:
        return [*players.values(), *functions][0]
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
    with programs.describing_errors(file, f"in train({N_GAMES})"):
        return train(N_GAMES)


def judged(file, player, heaps, most, say):
    """Tests the functions of a player and asks for its moves.

    The result has the share of each move in each position by its index, and the answers that are not moves.
    """
    choose, options = programs.choice_of(player)
    if not callable(choose):
        raise ValueError(f"{file}: train(n) must return an object with choose_action, not {player!r:.100}")
    say("Testing its functions …")
    make = programs.player_factory(player) if len(heaps) == 4 and most == max(heaps) else None
    with programs.describing_errors(file, "when its functions are tested"):
        faults = specification.faults(make) if make else []
        tested = specification.tested_functions(make) if make else {}
    say("Asking for its moves …")
    moves = [(heap, count) for heap, size in enumerate(heaps) for count in range(1, min(size, most) + 1)]
    positions = [*itertools.product(*(range(size + 1) for size in heaps))][1:]  # none in the empty one
    illegal = {}

    def ask(position):
        """The number of the move, or -1."""
        called = f"called as (heaps{', epsilon=False' if options else ''})"
        with programs.describing_errors(file, f"at {'-'.join(map(str, position))}, {called}"):
            answered = choose(list(position), **options)
        with contextlib.suppress(Exception):
            heap, count = answered
            if count <= position[heap]:
                return moves.index((heap, count))
        illegal.setdefault(position, programs.shorten(answered))
        return -1

    rows = [[ask(position), ask(position)] for position in positions]
    if any(first != second for first, second in rows):
        rows = [[ask(position) for _ in range(N_ANSWERS)] for position in positions]
    shares = [0] * len(moves) + [row.count(move) / len(row) for row in rows for move in range(len(moves))]
    ordered = sorted(illegal.items(), key=lambda item: sum(item[0]))
    return {"faults": faults, "tested": tested, "probabilities": shares, "illegal": ordered}
