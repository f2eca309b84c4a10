"""Trains a program and asks for its moves in the browser's Python; program_worker.js calls `answer`."""

import contextlib
import inspect
import io
import itertools
import json
import random
import sys
import time
from pathlib import Path

import programs
import specification

N_GAMES = 10_000  # the default of python -m nim_env check
N_ANSWERS = 30  # in each position, of a program that draws its moves


def answer(file, heaps, max_take, post):
    """Returns JSON with the faults of the functions and the moves in all positions, or with an error.

    ``file`` is the name of the program's file, and ``post`` is the function of the page that shows a text.
    """
    progress = Progress(post)
    sys.argv, sys.stdin, sys.stdout = [file], io.StringIO(), progress
    random.seed(0)
    try:
        found = judge(file, heaps, max_take, progress)
    except ValueError as error:
        found = {"error": " ".join(str(error).split())}
    return json.dumps({**found, "printed": progress.n_printed})


class Progress(io.StringIO):
    """Posts what is being done, and after it the latest line that the program prints, ten times a second."""

    def __init__(self, post):
        super().__init__()
        self.post = post
        self.doing = ""
        self.n_printed = 0  # characters
        self.line = ""  # the beginning of the unfinished line
        self.last_post = 0.0

    def say(self, doing):
        self.doing = doing
        self.post(doing)

    def write(self, text):
        self.n_printed += len(text)
        *finished, unfinished = (self.line + text).split("\n")
        self.line = unfinished[:80]
        if finished and time.monotonic() > self.last_post + 0.1:
            self.post(f"{self.doing} {finished[-1][:80]}")
            self.last_post = time.monotonic()
        return len(text)


def judge(file, heaps, max_take, progress):
    """Finds or trains the player of a file, tests its functions, and asks for its moves."""
    player = find_player(file, progress)
    choose, options = programs.choice_of(player)
    if not callable(choose):
        raise ValueError(f"{file}: train(n) must return an object with choose_action, not {player!r:.100}")
    progress.say("Testing its functions …")
    faults, tested = [], {}
    is_board_of_course = len(heaps) == 4 and max_take == max(heaps)
    make_player = programs.player_factory(player) if is_board_of_course else None
    if make_player is not None:
        with programs.describing_errors(file, "when its functions are tested"):
            faults = specification.faults(make_player)
            tested = specification.tested_functions(make_player)
    progress.say("Asking for its moves …")
    return {"faults": faults, "tested": tested, **ask_everywhere(file, choose, options, heaps, max_take)}


def find_player(file, progress):
    """Finds the player in a file as the command does, or else its only function of one argument."""
    with programs.describing_errors(file):
        defined = programs.import_file(Path(file))
    players = programs.players_in(defined)
    if len(players) > 1:
        raise ValueError(f"{file} holds the players {', '.join(players)}; keep one of them")
    if players:
        return next(iter(players.values()))
    if "train" in defined:
        progress.say("Training …")
        with programs.describing_errors(file, f"in train({N_GAMES})"):
            return defined["train"](N_GAMES)
    own = [thing for thing in defined.values() if getattr(thing, "__module__", None) == defined["__name__"]]
    functions = [f for f in own if inspect.isfunction(f) and len(programs.required_parameters(f)) == 1]
    if len(functions) == 1:
        return functions[0]
    raise ValueError(f"{file} needs train(n), an object with choose_action, or only one function of the heaps")


def ask_everywhere(file, choose, options, heaps, max_take):
    """Asks for a move in each position, twice, and more often if a second answer differs from the first.

    Returns the share of each move in each position by its index, and for each position the first answer that is
    not a move, with the smallest positions first.
    """
    moves = [(heap, count) for heap, size in enumerate(heaps) for count in range(1, min(size, max_take) + 1)]
    _, *positions = itertools.product(*(range(size + 1) for size in heaps))  # nobody moves in the empty position
    arguments = "(heaps, epsilon=False)" if options else "(heaps)"
    illegal = {}

    def chosen_move(position):
        """Returns the number of the chosen move, or -1 if the answer is not a move."""
        with programs.describing_errors(file, f"at {'-'.join(map(str, position))}, called as {arguments}"):
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
    shares = [0] * len(moves)  # of the empty position
    for answers in chosen:
        shares += [answers.count(move) / len(answers) for move in range(len(moves))]
    smallest_first = sorted(illegal.items(), key=lambda item: sum(item[0]))
    return {"probabilities": shares, "illegal": smallest_first}
