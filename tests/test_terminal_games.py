"""The games against a person, played through a pseudo-terminal."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scripts import left, talk

import agents
from nim_env import ExpertPolicy, NimRules, rendering, theory
from nim_env.gym_env import NimEnv


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
        action = generator.choice(np.flatnonzero(ExpertPolicy(rules).support(heaps, mask)))
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


def opinions_shown(text):
    """What is told of every move: the number, and whether it is starred."""
    told = {}
    for line in re.sub(r"\n +", " ", text.replace("\r", "")).splitlines():
        if found := re.match(r"Pile (\d+)  ", line):
            for count, opinion, star in re.findall(r"(\d+):\N{NO-BREAK SPACE}([-+.\d]+)(\*?)", line):
                told[int(found[1]), int(count)] = opinion, bool(star)
    return told


@pytest.mark.parametrize("heaps", [(3, 4, 5), (4, 30)])
def test_hints_tell_opinions_and_the_truth(heaps, tmp_path):
    rules = NimRules(heaps, misere=False)
    flags = ("--heaps", *heaps, "--no-misere", "--first", "human", "--hints")
    process = talk("play.py", "--opponent", "expert", *flags, folder=tmp_path)
    for _ in range(2):
        process.expect("Choose pile: ")
        heaps = piles_shown(process.before)[-rules.n_heaps :]
        told = opinions_shown(process.before)
        mask = rules.action_mask(heaps)
        wins = theory.winning_action_mask(rules, heaps)
        probable = ExpertPolicy(rules).action_probabilities(np.array(heaps), mask)
        assert told == {
            move: (f"{probable[action]:.2f}", bool(wins[action]))
            for action, move in enumerate(rules.moves)
            if mask[action]
        }
        end = "* wins against perfect play." if wins.any() else "No move wins against perfect play."
        assert end in process.before
        assert "AI's opinion of each move: how probably it would make it" in process.before
        assert max(map(len, process.before.splitlines())) <= 80
        process.sendline(str(int(np.argmax(heaps))))
        process.expect("Choose count: ")
        process.sendline("1")
    process.expect("Choose pile: ")
    process.sendline("q")
    assert left(process)[1] == 0


def test_hints_of_a_learner_are_its_values(tmp_path):
    env = NimEnv((2, 3), opponent=None)
    agent = agents.MinimaxQAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 200, seed=0)
    agent.save(tmp_path / "my.agent")
    process = talk(
        *("play.py", "--opponent", "my.agent", "--heaps", 2, 3, "--first", "human", "--hints"), folder=tmp_path
    )
    process.expect("Choose pile: ")
    values = agent.q_values((2, 3))
    assert "what it expects, from -1 (lost) to 1 (won)" in process.before
    assert {move: opinion for move, (opinion, _) in opinions_shown(process.before).items()} == {
        move: f"{values[action]:+.2f}" for action, move in enumerate(NimRules((2, 3)).moves)
    }
    process.sendeof()
    assert left(process)[1] == 0


def test_a_game_is_kept_as_a_moving_picture(tmp_path):
    flags = (
        "--heaps",
        3,
        60,
        "--no-misere",
        "--first",
        "human",
        "--opponent",
        "expert",
        "--picture",
        "new/game.gif",
    )
    process = talk("play.py", *flags, folder=tmp_path)
    process.expect("Choose pile: ")
    assert "Pile 0: 3  | | |\r\nPile 1: 60\r\n" in process.before  # which no line has room for
    for pile, count in (("1", "58"), ("1", "1")):  # the expert evens them out
        process.sendline(pile)
        process.expect("Choose count: ")
        process.sendline(count)
        process.expect("Choose pile: ")
    process.sendline("q")
    text, status = left(process)
    assert text.split("\r\n")[-3:] == [f"picture: {Path('new', 'game.gif')}", "Goodbye.", ""]
    assert status == 0
    names = "player_0", "player_1"
    first = rendering.View([3, 60], (3, 60), names, 0, False)
    second = rendering.View([3, 2], (3, 60), names, 1, False, [rendering.Move(0, [3, 60], [3, 2])])
    with Image.open(tmp_path / "new" / "game.gif") as film:
        assert film.n_frames == 5  # the start, and two moves of each
        for number, view in enumerate((first, second)):
            film.seek(number)
            drawn = np.asarray(film.convert("RGB")).astype(int)
            assert (np.abs(drawn - rendering.as_pixels(view)).max(axis=2) > 40).sum() < 100


@pytest.mark.parametrize("flags", [("--nonsense", "3"), ("--games", "many"), ("--first", "me")])
def test_a_mistake_is_one_line_on_a_terminal_too(flags, tmp_path):
    text, status = left(talk("play.py", *flags, folder=tmp_path))
    assert re.fullmatch(rf"play\.py: [^\n╭│]*{flags[0]}[^\n╭│]*\r\n", text), text
    assert status == 2


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
