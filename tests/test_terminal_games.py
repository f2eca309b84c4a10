"""The games against a person, played through a pseudo-terminal."""

import re

import numpy as np
import pytest
from scripts import left, talk

from nim_env import ExpertPolicy, NimRules, theory


def piles_shown(text):
    return [int(size) for size in re.findall(r"Pile \d+: (\d+)", text)]


def play_well(process, rules, finish="GAME OVER"):
    """Answers every prompt with an expert move, to the end of the game; returns all that was shown."""
    shown, generator = "", np.random.default_rng(0)
    while process.expect(["Choose pile: ", "Choose count: ", finish]) != 2:
        shown += process.before
        if rules.n_heaps > 1:
            assert process.after == "Choose pile: "
        heaps = piles_shown(process.before)[-rules.n_heaps :]  # after the machine has moved
        mask = rules.action_mask(heaps)
        action = generator.choice(np.flatnonzero(ExpertPolicy(rules).choices(heaps, mask)))
        heap, count = rules.moves[action]
        process.sendline(str(heap))
        process.expect("Choose count: ")
        process.sendline(str(count))
    return shown + process.before


def test_a_whole_game_against_an_untrained_machine(tmp_path):
    process = talk("q_learning_self_play.py", "--games", 0, "--first", "ai", "--seed", 3, folder=tmp_path)
    process.expect("Done training")
    shown = play_well(process, NimRules())
    assert "AI chose to take 1 object(s) from pile 0." in shown  # it knows nothing: its first move
    assert left(process)[0].split() == ["Winner", "is", "Human"]  # untrained, it is easily beaten
    assert process.exitstatus == 0


def test_invalid_moves_are_refused_and_asked_again(tmp_path):
    process = talk("q_learning_self_play.py", "--games", 3, "--first", "human", folder=tmp_path)
    for pile, count, reason in (
        ("9", "1", "Piles are 0 to 3."),
        ("-2", "1", "Piles are 0 to 3."),
        ("1", "4", "From pile 1 take 1 to 3."),
        ("1", "0", "From pile 1 take 1 to 3."),
        ("1", "x", "Pile and count are whole numbers"),
    ):
        process.expect("Choose pile: ")
        process.sendline(pile)
        process.expect("Choose count: ")
        process.sendline(count)
        process.expect(f"Invalid move, try again. {reason}")
    process.expect("Choose pile: ")
    process.sendline("0")
    process.expect("Choose count: ")
    process.sendline("1")
    process.expect("AI's turn")
    process.expect(r"AI chose to take \d object\(s\) from pile \d\.")
    process.expect("Choose pile: ")
    process.sendline("0")
    process.expect("Choose count: ")
    process.sendline("1")
    process.expect("Invalid move, try again. Pile 0 is empty.")
    process.expect("Choose pile: ")
    process.sendline("q")
    assert left(process)[0].split() == ["Goodbye."]
    assert process.exitstatus == 0


@pytest.mark.parametrize("leave", ["q", "Q", "quit", "-1", None])
def test_leaving(leave, tmp_path):
    process = talk("play.py", "--opponent", "random", "--first", "human", folder=tmp_path)
    process.expect("Choose pile: ")
    if leave is None:
        process.sendeof()
    else:
        process.sendline(leave)
    text, status = left(process)
    assert text.split() == ["Goodbye."]
    assert status == 0


def test_ctrl_c(tmp_path):
    process = talk("play.py", "--opponent", "random", "--first", "human", folder=tmp_path)
    process.expect("Choose pile: ")
    process.sendintr()
    text, status = left(process)
    assert text.split() == ["stopped"]
    assert status == 130


def test_play_wins_loses_and_offers_another_game(tmp_path):
    rules = NimRules((3, 4, 5), misere=False)
    assert theory.is_winning(rules, rules.heaps)
    process = talk(
        *("play.py", "--opponent", "expert", "--heaps", 3, 4, 5, "--no-misere", "--first", "human"),
        folder=tmp_path,
    )
    play_well(process, rules)
    process.expect("Winner is Human")
    process.expect("Another game, yes or no\\? ")
    process.sendline("perhaps")
    process.expect("'perhaps' is none of yes, no")
    process.expect("Another game")
    process.sendline("y")
    process.expect("Choose pile: ")
    assert piles_shown(process.before) == [3, 4, 5]
    process.sendline("0")  # leaves a winning position to the expert
    process.expect("Choose count: ")
    process.sendline("1")
    play_well(process, rules)
    process.expect("Winner is AI")
    process.expect("Another game, yes or no\\? ")
    process.sendline("no")
    assert left(process) == ("Goodbye.\r\n", 0)


def test_training_on_the_spot_shows_its_progress(tmp_path):
    process = talk("play.py", "--games", 30_000, "--first", "human", folder=tmp_path)
    process.expect(r"training: +\d+%")
    process.expect("Choose pile: ")
    process.sendline("q")
    assert left(process)[1] == 0


def test_sticks_against_a_person(tmp_path):
    process = talk("sticks.py", "--opponent", "human", "--table", folder=tmp_path)
    for _ in range(2):  # the first move is 1 each time; 9 sticks are lost for whoever faces them
        process.expect("New game: 10 sticks.")
        process.expect(r"AI takes 1\.\s+9 stick\(s\) left. Your turn.")
        for taken in ("9", "x"):
            process.expect("Choose count: ")
            process.sendline(taken)
            process.expect("Invalid move, try again.")
        index = 0
        while index == 0:
            process.expect("Choose count: ")
            process.sendline("1")
            index = process.expect([r"stick\(s\) left. Your turn.", "AI loses.", "AI wins."])
    process.expect("New game")
    process.expect("Choose count: ")
    process.sendline("-1")
    text, status = left(process)
    assert "Goodbye." in text
    assert "AI won" in text
    assert "of 2 games" in text
    assert re.search(r"[+-]1\.00", text)  # the games against a person taught it
    assert status == 0


def test_practice_comes_before_a_person(tmp_path):
    process = talk("sticks.py", "--opponent", "human", "--practice", 2000, folder=tmp_path)
    process.expect("New game: 10 sticks.")
    process.expect(r"AI takes 1\.")  # leaves 9, from which perfect play cannot win
    process.expect("Choose count: ")
    process.sendline("1")
    process.expect(r"AI takes 3\.\s+5 stick\(s\) left")
    process.expect("Choose count: ")
    process.sendeof()
    text, status = left(process)
    assert "AI won 0 of 0 games." in text
    assert status == 0


def test_minimax_q_asks_for_everything(tmp_path):
    process = talk("minimax_q.py", folder=tmp_path)
    for name, answers in (("A", ["x", "-2", "10", "0"]), ("B", ["0"]), ("C", ["0"])):
        for answer in answers:
            process.expect(rf"Size of heap {name}\? ")
            process.sendline(answer)
    process.expect("At least one heap needs an object")
    for name, size in (("A", 0), ("B", 1), ("C", 2)):
        process.expect(rf"Size of heap {name}\? ")
        process.sendline(str(size))
    process.expect(r"How many games shall I simulate\? ")
    process.sendline("many")
    process.expect("'many' is not a whole number from 0 to 100000000")
    process.expect(r"How many games shall I simulate\? ")
    process.sendline("500")
    process.expect(r"Q\[A012, 11\] = -810\.0\s+Q\[A012, 21\] = -810\.0\s+Q\[A012, 22\] = 900\.0\s")
    for first, winner in (("computer", "AI"), ("human", "Human")):
        process.expect("Who goes first, computer or human")
        process.sendline(first)
        play_well(process, NimRules((0, 1, 2)))
        process.expect(f"Winner is {winner}")
    process.expect(r"Who goes first, computer or human\? \(q to leave\) ")
    process.sendline("q")
    assert left(process) == ("Goodbye.\r\n", 0)


def test_win_counting_shows_progress_and_ratios(tmp_path):
    process = talk("win_counting.py", "--games", 20_000, "--every", 5000, folder=tmp_path)
    for games in (5000, 10000, 15000, 20000):
        process.expect(rf"{games} games, W/L ratio 0\.\d\d\d\d")
    process.expect(r"Won \d+ of 20000 games against expert\.")
    process.expect("picture: results/win_counting.png")
    assert left(process)[1] == 0


def test_compare_opponents_shows_progress_and_stops_at_ctrl_c(tmp_path):
    process = talk("compare_opponents.py", "--games", 100_000, folder=tmp_path)
    process.expect(r"q-learning, random: +\d+%")
    process.sendintr()
    text, status = left(process)
    assert "stopped" in text
    assert "Traceback" not in text
    assert status == 130
    assert not list(tmp_path.iterdir())
