"""The game at the terminal: questions, moves, and whole games."""

import re

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


@pytest.mark.parametrize("line", ["1 2", "1  2", " 1 2 ", "B 2", "b2"])
def test_a_move_from_a_numbered_pile(line, person, capsys):
    person(line)
    assert RULES.moves[ask_move(RULES, [1, 3], numbered=True)] == (1, 2)
    assert "such as 1 1" in capsys.readouterr().out
    for line in ("2", "0 2", "A 2"):
        person(line)
        assert ask_move(NimRules((3,)), [3], numbered=True) == 1


@pytest.mark.parametrize(
    "line", ["0 2", "1 3", "2 1", "12", "1000000001", "1", "B", "C 1", "1 1 1", "1 -1", "1,1", "x", ""]
)
def test_a_refused_move_from_a_numbered_pile_says_why(line, person, capsys):
    person(line, "1 1")
    assert RULES.moves[ask_move(RULES, [1, 3], numbered=True)] == (1, 1)
    shown = capsys.readouterr().out
    assert ("Pile 0 has 1" in shown, "Pile 1 has 3" in shown) == (line == "0 2", line == "1 3")
    assert ("piles are 0 to 1" in shown) == (line not in ("0 2", "1 3"))
    assert "from 1 to 2" in shown


@pytest.mark.parametrize("line", ["A 2", "B 3", "B 0", "C 1", "B", "2", "1 1", "B x", "B 1 1", "B -1", ""])
def test_a_refused_move_says_why(line, person, capsys):
    person(line, "B 1")
    assert RULES.moves[ask_move(RULES, [1, 3])] == (1, 1)
    shown = capsys.readouterr().out
    assert ("A has 1" in shown, "B has 3" in shown) == (line == "A 2", line in ("B 3", "B 0"))
    assert ("heaps are A to B" in shown) == (line not in ("A 2", "B 3", "B 0"))
    assert "from 1 to 2" in shown


# --- Games ----------------------------------------------------------------------------------------


def first_legal(observation, action_mask):  # noqa: ARG001
    return action_mask.nonzero()[0][0]


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("misere", [True, False])
@pytest.mark.parametrize(
    ("human", "lines", "positions", "last"),
    [
        (0, ("B3", "A1"), [[2, 3], [2, 0], [1, 0], [0, 0]], "you"),
        (1, ("B 2", "B 1"), [[2, 3], [1, 3], [1, 1], [0, 1], [0, 0]], "you"),
        (0, ("B2", "A1"), [[2, 3], [2, 1], [1, 1], [0, 1], [0, 0]], "first"),
    ],
)
def test_a_game(human, lines, positions, last, misere, numbered, person, capsys):
    if numbered:
        lines = [line.replace("A", "0 ").replace("B", "1 ") for line in lines]
    person(*lines)
    env = make_env(heaps=(2, 3), misere=misere)
    generator = np.random.default_rng(0)
    play_game(env, first_legal, human, generator, "first", numbered)
    out = capsys.readouterr().out
    first, second = ("Pile 0", "Pile 1") if numbered else ("Heap A", "Heap B")
    assert f"{first}: 2  ■ ■\n{second}: 3  ■ ■ ■\n" in out
    turns = re.findall(rf"^(Your|first's) turn\n{first}: (\d).*\n{second}: (\d)", out, re.M)
    assert turns == [
        ("Your" if ply % 2 == human else "first's", str(left), str(right))
        for ply, (left, right) in enumerate(positions[:-1])
    ]
    assert (
        re.findall(r"^first takes .*$", out, re.M)[0] == f"first takes 1 block from {first[0].lower()}{first[1:]}."
    )
    winner = "you" if (last == "you") != misere else "first"
    assert out.splitlines()[-1].startswith(f"Game over: {winner} won")
    assert out.splitlines()[-1].endswith(f"{last} took the last block.")


def test_the_opponents_move_names_how_many(person, capsys):
    person("A 1")
    play_game(make_env(heaps=(1, 3)), lambda *_: 3, 1, np.random.default_rng(0), numbered=True)
    assert "AI takes 3 blocks from pile 1.\n" in capsys.readouterr().out
