"""System 4: minimax-Q on three heaps. tests/test_agents plays the six games that the computer must win."""

import csv
import re

import minimax_q
import pytest
from recorded import replay, session
from system_4 import DATA, TABLES, check_table


def test_the_published_table(person, capsys, tmp_path):
    person("4000", "q")  # the number of games is asked for
    agent = minimax_q.main(minimax_q.Args(heaps=(1, 2, 3), picture=tmp_path / "figure.svg"))
    check_table(agent, (1, 2, 3), 108)
    shown = capsys.readouterr().out
    assert (
        "Q[A123, 01] = -656.1\nQ[A123, 11] = -656.1\nQ[A123, 12] = -810.0\n"
        "Q[A123, 21] = -656.1\nQ[A123, 22] = -656.1\nQ[A123, 23] = -810.0\n"
    ) in shown
    assert shown.rstrip().endswith("Goodbye.")
    assert "First moves from 1-2-3, misère" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(("heaps", "pairs"), TABLES)
def test_the_whole_table_is_printed(heaps, pairs, person, capsys):
    """All pairs that each player can meet and no others, each value as published."""
    person("q")
    minimax_q.main(minimax_q.Args(heaps=heaps, episodes=4000, table=True))
    shown = capsys.readouterr().out
    row = r"^Q\[([AB])(\d)(\d)(\d), (\d)(\d)\] = (-?\d+\.\d)$"
    rows = re.findall(row, shown, re.M)[-pairs:]
    printed = {tuple(pair): float(value) for *pair, value in rows}
    with open(DATA / f"q_table_{'-'.join(map(str, heaps))}.csv", newline="") as file:
        _, *published = csv.reader(file)
    assert printed == {tuple(pair): round(float(value), 1) for *pair, value in published}
    assert len(printed) == pairs
    n_first = sum(heaps)
    assert len(re.findall(row, shown, re.M)) == n_first + pairs  # the first moves come before the table


@pytest.mark.parametrize("episodes", [0, 30])
def test_an_untrained_value_has_no_sign(episodes, person, capsys):
    person("q")
    minimax_q.main(minimax_q.Args(heaps=(1, 2, 3), episodes=episodes, table=True))
    shown = capsys.readouterr().out
    assert " = 0.0\n" in shown
    assert "-0.0" not in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"heaps": (1000, 1000, 1000)}, ["heaps", "1000", "9"]),
        ({"heaps": (1, 2, 10)}, ["heaps", "10"]),
        ({"heaps": (-1, 2, 3)}, ["heaps", "-1"]),
        ({"heaps": (0, 0, 0)}, ["heaps", "0, 0, 0"]),
        ({"heaps": (1, 2, 3), "episodes": -1}, ["episodes", "-1"]),
    ],
)
def test_wrong_options_are_refused_before_a_question(options, words, person, refused, capsys):
    person()
    with refused(*words):
        minimax_q.main(minimax_q.Args(**options))
    assert capsys.readouterr().out == ""


def test_three_empty_piles_are_asked_for_again(person, capsys):
    person("0", "0", "0", "0", "0", "9", "0", "q")
    agent = minimax_q.main(minimax_q.Args())
    shown = capsys.readouterr().out
    assert [shown.count(f"Size of pile {pile}?") for pile in range(3)] == [2, 2, 2]
    assert agent.n_actions == 9


def test_the_picture_names_the_piles(person, tmp_path):
    person("q")
    minimax_q.main(minimax_q.Args(heaps=(0, 1, 2), episodes=500, picture=tmp_path / "figure.svg"))
    text = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert set(re.findall(r">(\d from pile \d)<", text)) == {
        "1 from pile 1",
        "1 from pile 2",
        "2 from pile 2",
    }
    assert "−810.0" in text


def test_a_session(person, capsys):
    """It asks for everything; then the player who moves first wins 0-1-2."""
    person("x", "10", "0", "1", "2", "500", "computer", "1 1", "human", "C 2", "q")
    minimax_q.main(minimax_q.Args())
    shown = capsys.readouterr().out
    assert shown.count("Size of pile 0? ") == 3
    assert "Q[A012, 11] = -810.0\nQ[A012, 21] = -810.0\nQ[A012, 22] = 900.0\n" in shown
    assert re.findall(r"(\w+) won", shown) == ["Computer", "you"]
    assert "Heap" not in shown
    assert shown.endswith("Goodbye.\n")


def test_the_session_on_the_page(person, capsys, monkeypatch):
    questions = r"Size of pile \d\? |How many games .*?\? |Who goes first, .*?\) |Your move, .*?: "
    options, lines, screen = session("minimax_q.py", questions)
    replay(minimax_q, options, lines, person, monkeypatch)
    assert capsys.readouterr().out == screen
