"""The game at the terminal: questions, moves, and whole games."""

import numpy as np
import pytest

from nim_env import NimRules
from nim_env.envs.aec_env import env as make_env

from terminal_game import Leave, ask_choice, ask_move, ask_number, play_game

RULES = NimRules((2, 3), max_take=2)


def test_questions_are_asked_until_they_are_answered(person, capsys):
    person("many", "-2", "10", "7")
    assert ask_number("How many? ", 0, 9) == 7
    assert capsys.readouterr().out.count("How many? ") == 4
    person("", "x", "c", "co")
    assert ask_choice("Who? ", ["computer", "cat"]) == "computer"
    assert capsys.readouterr().out.count("Who? ") == 4


@pytest.mark.parametrize("lines", [["q"], ["Q"], ["-1"], []])
def test_leaving(person, lines):
    person(*lines)
    with pytest.raises(Leave):
        ask_number("How many? ", 0, 9)
    person(*lines)
    with pytest.raises(Leave):
        ask_move(RULES, [2, 3])


@pytest.mark.parametrize("line", ["B 2", "b 2", "B2", " b   2 "])
def test_a_move(line, person, capsys):
    person(line)
    assert RULES.moves[ask_move(RULES, [1, 3])] == (1, 2)
    assert "such as B 1" in capsys.readouterr().out
    person("2")
    assert ask_move(NimRules((3,)), [3]) == 1  # of a single heap


@pytest.mark.parametrize("line", ["A 2", "B 3", "B 0", "C 1", "B", "2", "B x", "B 1 1", "B -1", ""])
def test_a_refused_move_says_why(line, person, capsys):
    person(line, "B 1")
    assert RULES.moves[ask_move(RULES, [1, 3])] == (1, 1)
    shown = capsys.readouterr().out
    assert ("A has 1." in shown, "B has 3." in shown) == (line == "A 2", line in ("B 3", "B 0"))
    assert "from 1 to 2" in shown


# --- Games ----------------------------------------------------------------------------------------


def first_legal(observation, action_mask):  # noqa: ARG001
    return action_mask.nonzero()[0][0]


@pytest.mark.parametrize("misere", [True, False])
@pytest.mark.parametrize(
    ("human", "lines", "positions", "last"),
    [
        (0, ("B3", "A1"), [[2, 3], [2, 0], [1, 0], [0, 0]], "You"),
        (1, ("B 2", "B 1"), [[2, 3], [1, 3], [1, 1], [0, 1], [0, 0]], "You"),
        (0, ("B2", "A1"), [[2, 3], [2, 1], [1, 1], [0, 1], [0, 0]], "first"),
    ],
)
def test_a_game(human, lines, positions, last, misere, person, capsys):
    person(*lines)
    shown = []
    env = make_env(heaps=(2, 3), misere=misere)
    play_game(env, first_legal, human, np.random.default_rng(0), "first", lambda *args: shown.append(args))
    assert shown == [(heaps, any(heaps) and ply % 2 == human) for ply, heaps in enumerate(positions)]
    out = capsys.readouterr().out
    assert out.startswith("\nYou play against first.")
    assert "Heap A: 2  ■ ■\nHeap B: 3  ■ ■ ■\n" in out
    assert "first takes 1 from A." in out
    winner = "You" if (last == "You") != misere else "first"
    assert out.endswith(f"{winner} won: {last} took the last block.\n")
