"""System 4: minimax-Q on three heaps. tests/test_agents plays the six games that the computer must win."""

import re

import minimax_q
from system_4 import check_table


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
    assert "misère, that win: none<" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


def test_a_session(person, capsys):
    """It asks for everything; then the player who moves first wins 0-1-2."""
    person("x", "10", "0", "1", "2", "500", "computer", "B 1", "human", "C 2", "q")
    minimax_q.main(minimax_q.Args())
    shown = capsys.readouterr().out
    assert shown.count("Size of pile 0? ") == 3
    assert "Q[A012, 11] = -810.0\nQ[A012, 21] = -810.0\nQ[A012, 22] = 900.0\n" in shown
    assert re.findall(r"(\w+) won:", shown) == ["AI", "You"]
    assert shown.endswith("Goodbye.\n")
