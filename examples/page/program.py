"""Trains a program and asks for its moves in the browser's Python; program_worker.js calls `answer`."""

import contextlib
import inspect
import io
import itertools
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import programs
import specification

N_GAMES = 10_000  # the default of python -m nim_env check
N_ANSWERS = 30  # in each position, of a program that draws its moves


def answer(file, heaps, most, say):
    """Returns JSON with the faults of the functions and the moves in all positions, or with an error."""
    sys.argv, sys.stdin, sys.stdout = [file], io.StringIO(), Output()
    random.seed(0)
    try:
        found = judge(file, heaps, most, say)
    except ValueError as error:
        found = {"error": " ".join(str(error).split())}
    return json.dumps({**found, "printed": sys.stdout.size})


class Output(io.StringIO):
    """Counts the characters that a program prints, and keeps none."""

    size = 0

    def write(self, text):
        self.size += len(text)
        return len(text)


def judge(file, heaps, most, say):
    """Finds or trains the player of a file, tests its functions, and asks for its moves."""
    player = find_player(file, say)
    choose, options = programs.choice_of(player)
    if not callable(choose):
        raise ValueError(f"{file}: train(n) must return an object with choose_action, not {player!r:.100}")
    say("Testing its functions …")
    faults, tested = [], {}
    is_board_of_course = len(heaps) == 4 and most == max(heaps)
    make_player = programs.player_factory(player) if is_board_of_course else None
    if make_player is not None:
        with programs.describing_errors(file, "when its functions are tested"):
            faults = specification.faults(make_player)
            tested = specification.tested_functions(make_player)
    say("Asking for its moves …")
    return {"faults": faults, "tested": tested, **ask_everywhere(file, choose, options, heaps, most)}


def find_player(file, say):
    """Finds the player in a file as the command does, or else its only function of one argument."""
    with programs.describing_errors(file):
        defined = programs.import_file(Path(file))
    players = programs.players_in(defined)
    if len(players) > 1:
        raise ValueError(f"{file} holds the players {', '.join(players)}; keep one of them")
    if players:
        return next(iter(players.values()))
    if "train" in defined:
        return train_player(file, defined["train"], say)
    own = [thing for thing in defined.values() if getattr(thing, "__module__", None) == defined["__name__"]]
    functions = [f for f in own if inspect.isfunction(f) and len(programs.required_parameters(f)) == 1]
    if len(functions) == 1:
        return functions[0]
    raise ValueError(f"{file} needs train(n), an object with choose_action, or only one function of the heaps")


def train_player(file, train, say):
    """Calls train(N_GAMES), and reports its progress.

    A loop over range(N_GAMES) is taken for the loop over the games. So in the modules of the program, the name
    ``range`` stands for a function that returns ``ReportedRange`` for this range.
    """

    def reporting_range(*arguments):
        numbers = range(*arguments)
        return ReportedRange(numbers, say) if len(numbers) == N_GAMES else numbers

    for module in [*sys.modules.values()]:
        if Path(getattr(module, "__file__", None) or "/").parent == Path.cwd():
            module.range = reporting_range
    say("Training …")
    with programs.describing_errors(file, f"in train({N_GAMES})"):
        return train(N_GAMES)


class ReportedRange(Sequence):
    """A range that says how far a loop over it is."""

    def __init__(self, numbers, say):
        self.numbers, self.say = numbers, say

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        return self.numbers[index]

    def __iter__(self):
        for game, number in enumerate(self.numbers):
            if game % 100 == 0:
                self.say(f"Training, game {game:,} of {len(self):,} …")
            yield number


def ask_everywhere(file, choose, options, heaps, most):
    """Asks for a move in each position, twice, and more often if a second answer differs from the first.

    Returns the share of each move in each position by its index, and for each position the first answer that is
    not a move, with the smallest positions first.
    """
    moves = [(heap, count) for heap, size in enumerate(heaps) for count in range(1, min(size, most) + 1)]
    _, *positions = itertools.product(*(range(size + 1) for size in heaps))  # nobody moves in the empty position
    called = f"called as (heaps{', epsilon=False' if options else ''})"
    illegal = {}

    def chosen_move(position):
        """Returns the number of the chosen move, or -1 if the answer is not a move."""
        with programs.describing_errors(file, f"at {'-'.join(map(str, position))}, {called}"):
            answered = choose(list(position), **options)
        with contextlib.suppress(Exception):  # whatever a program answers
            heap, count = answered
            if count <= position[heap]:
                return moves.index((heap, count))
        illegal.setdefault(position, programs.shorten(answered))
        return -1

    chosen = [[chosen_move(position), chosen_move(position)] for position in positions]
    if any(first != second for first, second in chosen):
        chosen = [[chosen_move(position) for _ in range(N_ANSWERS)] for position in positions]
    shares = [0] * len(moves)  # in the empty position
    for answers in chosen:
        shares += [answers.count(move) / len(answers) for move in range(len(moves))]
    smallest_first = sorted(illegal.items(), key=lambda item: sum(item[0]))
    return {"probabilities": shares, "illegal": smallest_first}
