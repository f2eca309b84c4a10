"""The game at the terminal: questions, moves, and whole games in the words of the systems and of the page."""

import numpy as np
import pytest

from nim_env import NimRules
from nim_env.envs.aec_env import env as make_env

from terminal_game import OURS, PUBLISHED, Leave, ask_choice, ask_move, ask_number, play_game

RULES = NimRules((2, 3))


def test_questions_are_asked_until_they_are_answered(person, capsys):
    person("many", "-2", "10", "7")
    assert ask_number("How many? ", 0, 9) == 7
    assert capsys.readouterr().out.count("How many? ") == 4
    person("", "x", "co")
    assert ask_choice("Who? ", ["computer", "human"]) == "computer"
    assert capsys.readouterr().out.count("Who? ") == 3


@pytest.mark.parametrize("lines", [["q"], ["Q"], ["-1"], []])
def test_leaving(person, lines):
    for question in (
        lambda: ask_number("How many? ", 0, 9),
        lambda: ask_choice("Who? ", ["human"]),
        lambda: ask_move(RULES, [2, 3]),
    ):
        person(*lines)
        with pytest.raises(Leave):
            question()


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        *((PUBLISHED, lines) for lines in (("1", "2"), ("1 2",), (" 1   2 ",))),
        *((OURS, lines) for lines in (("B", "2"), ("b", "2"), ("B 2",), ("B2",), ("b2",))),
    ],
)
def test_a_move_on_one_line_or_two(words, lines, person):
    person(*lines)
    assert RULES.moves[ask_move(RULES, [2, 2], words)] == (1, 2)


@pytest.mark.parametrize("line", ["0 3", "9", "-2", "0 x", "0 0", "0 1 1", "1 2", "11", ""])
def test_an_invalid_move_is_asked_again(line, person, capsys):
    person(line, "1 1")
    rules = NimRules((2, 3), max_take=1)
    assert rules.moves[ask_move(rules, [1, 2])] == (1, 1)
    assert "Invalid move, try again." in capsys.readouterr().out


# --- Games ----------------------------------------------------------------------------------------


def first_legal(observation, action_mask):  # noqa: ARG001
    return action_mask.nonzero()[0][0]


@pytest.mark.parametrize(
    ("human", "lines", "positions", "winner"),
    [
        (0, ("1", "1", "1", "2"), [[2, 3], [2, 2], [1, 2], [1, 0], [0, 0]], "Human"),
        (1, ("1 2", "1 1"), [[2, 3], [1, 3], [1, 1], [0, 1], [0, 0]], "AI"),
    ],
)
def test_a_game_in_the_published_words(human, lines, positions, winner, person, capsys):
    person(*lines)
    shown = []
    env = make_env(heaps=RULES.heaps)
    play_game(env, first_legal, human, np.random.default_rng(0), show=lambda *args: shown.append(args))
    assert [heaps for heaps, _ in shown] == positions
    assert [turn for _, turn in shown] == [ply % 2 == human and ply < 4 for ply in range(5)]
    out = capsys.readouterr().out
    assert "Pile 0: 2  | |\nPile 1: 3  | | |\n" in out
    assert out.count("Your turn") == 2
    assert out.count("AI's turn\nAI chose to take 1 object(s) from pile 0.") == 2
    assert out.endswith(f"GAME OVER\nWinner is {winner}\n")


@pytest.mark.parametrize("misere", [True, False])
@pytest.mark.parametrize("lines", [("B3", "A1"), ("B2", "A1")])
def test_who_won_and_why_in_our_words(lines, misere, person, capsys):
    """After B3 the opponent takes A1 and the human the last block; after B2 the opponent takes it."""
    person(*lines)
    play_game(make_env(heaps=(2, 3), misere=misere), first_legal, 0, np.random.default_rng(0), OURS)
    start, end = capsys.readouterr().out.split("GAME OVER\n")
    assert "Heap A: 2  | |\nHeap B: 3  | | |\n" in start
    assert "Opponent takes 1 from A." in start
    last = "You" if lines[0] == "B3" else "Opponent"
    winner = "You" if (last == "You") != misere else "Opponent"
    assert end.startswith(f"{winner} won: {last} took the last block")
