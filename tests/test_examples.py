"""Every script, as a user runs it without a terminal."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scripts import ENVIRONMENT, EXAMPLES, RAY_SCRIPTS, SCRIPTS, check_refused, left, run, run_without, talk

import agents
from nim_env import NimRules, TakePolicy, evaluation, solver, theory
from nim_env.gym_env import NimEnv


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script, tmp_path):
    done = run(script, "--help", folder=tmp_path)
    assert done.returncode == 0
    assert "--seed" in done.stdout
    assert not done.stderr


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_unknown_flag_is_one_line(script, tmp_path):
    check_refused(run(script, "--nonsense", "3", folder=tmp_path), r"Unrecognized options: --nonsense.*see --help")


def test_compare_opponents(tmp_path):
    small = ("--games", 300, "--checkpoints", 5, "--seed", 4)
    done = run("compare_opponents.py", *small, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "21, normal play, take 1 to 3" in done.stdout
    assert re.search(r"^ *expert +– +100\.0/99\.7 +100\.0/100\.0 +100\.0/0\.0 +100\.0\*", done.stdout, re.M)
    assert re.search(r"^ *take-3 +– .* 43\.8 ", done.stdout, re.M)  # 7 of 16 winning positions
    rules = NimRules((21,), 3, misere=False)
    exact = [
        "/".join(
            f"{100 * evaluation.win_probability(rules, 'random', opponent, first):.1f}" for first in (True, False)
        )
        for opponent in ("random", "take-3", "expert")
    ]
    assert re.search(rf"^ *random +– +{' +'.join(exact)} ", done.stdout, re.M)
    for teacher in ("random", "take-3", "expert", "self-play"):
        assert re.search(rf"q-learning +{teacher} .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"minimax-q +random +– +– +– +–", done.stdout)
    assert re.search(r"minimax-q +self-play .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"win-counting +expert .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"win-counting +self-play +– +– +– +–", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert not done.stderr  # progress bars are for terminals
    picture = tmp_path / "results" / "compare_opponents.png"
    assert f"picture: {Path('results', 'compare_opponents.png')}" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run("compare_opponents.py", *small, folder=tmp_path).stdout == done.stdout
    assert run("compare_opponents.py", *small[:-1], 5, folder=tmp_path).stdout != done.stdout


def test_compare_opponents_on_another_game(tmp_path):
    done = run(
        "compare_opponents.py",
        *("--heaps", 3, 4, 5, "--max-take", "None", "--misere", "--games", 50),
        *("--checkpoints", 3, "--picture", "elsewhere/p.png"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "3-4-5, misère play, take any number" in done.stdout
    assert (tmp_path / "elsewhere" / "p.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heaps", "a"], "--heaps.*'a'"),
        (["--heaps", "-3"], r"heaps must hold one size or more.*got \(-3,\)"),
        (["--heaps", "0", "0"], "not all 0"),
        (["--max-take", "0"], "max_take must be 1 or more"),
        (["--games", "1.5"], "--games.*'1.5'"),
        (["--games", "0"], "--games must be 1 or more; got 0"),
        (["--checkpoints", "-1"], "--checkpoints must be 1 or more; got -1"),
        (["--heaps", *["99"] * 9], "more than 10.18 positions .* too many for an exact sweep"),
        (["--learning-rate", "2"], "learning_rate must lie between 0 and 1"),
        (["--heaps", "1"], "needs an opening move"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(arguments, message, run_here, tmp_path):
    check_refused(run_here("compare_opponents.py", *arguments), message)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_saved_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    for script in ("compare_opponents.py", "sticks.py", "win_counting.py"):
        done = run(script, "--picture", "file/p.png", folder=tmp_path)
        check_refused(done, "--picture must lie in a folder that can be written to; got file/p.png")


# --- Systems 1 and 2: q_learning_self_play.py -----------------------------------------------------


def played(output):
    return [int(number) for number in re.findall(r"Playing training game (\d+)", output)]


@pytest.mark.parametrize("games", [0, 1, 50])
def test_up_to_50_training_games_are_all_named(tmp_path, games):
    done = run("q_learning_self_play.py", "--games", games, "--first", "human", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert played(done.stdout) == list(range(1, games + 1))
    assert "..." not in done.stdout.split("Done training")[0]
    assert done.stdout.rstrip().endswith("Goodbye.")  # there is nobody to answer


def test_of_more_training_games_the_first_and_last_ten_are_named(tmp_path):
    done = run("q_learning_self_play.py", "--games", 120, "--seed", 1, folder=tmp_path)
    assert played(done.stdout) == [*range(1, 11), *range(111, 121)]
    assert "Playing training game 10\n...\nPlaying training game 111\n" in done.stdout
    assert "Playing training game 120\nDone training\n" in done.stdout


def test_ten_thousand_games_make_it_hard_to_beat(tmp_path):
    done = run("q_learning_self_play.py", "--seed", 0, "--first", "ai", folder=tmp_path)
    right = int(re.search(r"plays (\d+) of 335 winning positions right", done.stdout)[1])
    assert right / 335 > 0.95
    assert re.search(r"AI's turn\nAI chose to take \d object\(s\) from pile \d\.", done.stdout)
    untrained = run("q_learning_self_play.py", "--seed", 0, "--games", 0, folder=tmp_path)
    assert int(re.search(r"plays (\d+) of 335", untrained.stdout)[1]) < 335 / 4


# --- System 3: sticks.py --------------------------------------------------------------------------


def test_sticks(tmp_path):
    done = run("sticks.py", "--table", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"AI won \d+ of 2000 games\.\nOf the last 100 games it won 100\.", done.stdout)
    table = {
        int(row[0]): row[1:] for row in re.findall(r"^ +(\d+) +(\S+) +(\S+) +(\S+) *$", done.stdout, re.MULTILINE)
    }
    assert set(table) == set(range(1, 11))
    assert table[2][0] == "+1.00"  # take 1 of 2, and the opponent has to take the last
    assert table[1] == ("-1.00", "·", "·")
    assert (tmp_path / "results" / "sticks.png").read_bytes().startswith(b"\x89PNG")
    assert run("sticks.py", "--table", folder=tmp_path).stdout == done.stdout


def test_sticks_told_move_by_move(tmp_path):
    done = run("sticks.py", "--games", 3, "--verbose", "--picture", "p.png", "--sticks", 7, folder=tmp_path)
    assert done.stdout.count("New game: 7 sticks.") == 3
    games = done.stdout.split("New game: 7 sticks.")[1:]
    for game in games:
        taken = [int(count) for count in re.findall(r"takes (\d)", game)]
        assert sum(taken) == 7
        assert ("AI wins." in game) == (len(taken) % 2 == 0)  # whoever takes the last loses
    assert (tmp_path / "p.png").exists()


@pytest.mark.parametrize("seed", range(6))
def test_system_3_wins_every_game_from_300_to_2000(seed):
    """Its author's settings, through the standard API."""
    env = NimEnv(heaps=(10,), max_take=3, first_player="agent")
    agent = agents.QLearningAgent(
        env.observation_space, env.action_space, learning_rate=1.0, gamma=1.0, epsilon=0.0, ties="first", seed=seed
    )
    history = agents.train(agent, env, 2000, seed=seed)
    assert (history.returns[300:] == 1).all()
    assert (history.returns[:300] == -1).any()  # it starts poorly


# --- System 4: minimax_q.py -----------------------------------------------------------------------


def test_minimax_q(tmp_path):
    done = run("minimax_q.py", "--heaps", 1, 2, 3, "--games", 3000, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "Q[A123, 01] = -656.1\nQ[A123, 11] = -656.1\nQ[A123, 12] = -810.0\n"
        "Q[A123, 21] = -656.1\nQ[A123, 22] = -656.1\nQ[A123, 23] = -810.0\n"
    )
    assert done.stdout.rstrip().endswith("Goodbye.")


# --- System 5: win_counting.py --------------------------------------------------------------------


def test_win_counting(tmp_path):
    done = run("win_counting.py", "--games", 3000, "--every", 1000, "--opponent", "take-3", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(" games, W/L ratio ")[0] for line in lines[:3]] == ["1000", "2000", "3000"]
    ratios = [float(line.split(" games, W/L ratio ")[1]) for line in lines[:3]]
    assert lines[3] == f"Won {round(1000 * sum(ratios))} of 3000 games against take-3."
    assert ratios[2] > ratios[0] > 0.5
    assert (tmp_path / "results" / "win_counting.png").read_bytes().startswith(b"\x89PNG")


def test_an_opponent_of_your_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def generous(observation, action_mask):\n    return int(action_mask.nonzero()[0][0])\n"
    )
    done = run(
        "win_counting.py", "--games", 500, "--every", 500, "--opponent", "mine.py:generous", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "of 500 games against mine.py:generous." in done.stdout


@pytest.mark.parametrize(
    ("content", "opponent", "message"),
    [
        ("", "nowhere.py:f", "there is no file nowhere.py for nowhere.py:f"),
        ("def g(o, m): return 0", "mine.py:f", "mine.py has no function f for mine.py:f"),
        ("f = 3", "mine.py:f", "mine.py has no function f"),
        ("raise SystemExit", "mine.py:f", "mine.py does not run: SystemExit"),
        ("import sys\ndef f(o, m): sys.exit()", "mine.py:f", "mine.py:f raised SystemExit"),
        ("import nothing_of_that_name", "mine.py:f", "mine.py does not run: ModuleNotFoundError: No module"),
        ("def f(", "mine.py:f", "mine.py does not run: SyntaxError"),
        ("def f(o, m): return 99", "mine.py:f", r"py: opponent returned action 99 at heaps \[\d+\]; legal are"),
        ("def f(o, m): return {}['key']", "mine.py:f", r"mine.py:f raised KeyError: 'key' at heaps \[\d+\]"),
        ("def f(o, m): return 'two'", "mine.py:f", "opponent must return one integer action"),
        ("", "grandmaster", 'opponent must be "random", "expert" or "take-N".*grandmaster'),
        ("", "take-0", "got 'take-0'"),
    ],
)
def test_an_opponent_that_does_not_work_is_one_line(content, opponent, message, tmp_path):
    (tmp_path / "mine.py").write_text(content)
    check_refused(run("win_counting.py", "--opponent", opponent, folder=tmp_path), message)


# --- play.py --------------------------------------------------------------------------------------


@pytest.mark.parametrize("opponent", ["q-learning", "minimax-q", "win-counting", "random", "take-3", "expert"])
def test_playing_without_anyone_there(opponent, tmp_path):
    done = run("play.py", "--opponent", opponent, "--games", 50, "--first", "human", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Pile 3: 7  | | | | | | |\n\nYour turn\n" in done.stdout
    assert done.stdout.rstrip().endswith("Goodbye.")


def test_a_saved_agent_is_the_one_that_was_trained(tmp_path):
    flags = ("--heaps", 2, 3, "--no-misere", "--max-take", 2)
    done = run("play.py", "--games", 2000, "--seed", 0, "--save", "agent.npz", *flags, folder=tmp_path)
    assert "saved: agent.npz" in done.stdout
    agent = agents.load(tmp_path / "agent.npz")
    assert evaluation.mastery(NimRules((2, 3), 2, misere=False), agent).expert == 1.0
    again = run("play.py", "--opponent", "agent.npz", "--first", "ai", *flags, folder=tmp_path)
    assert re.search(r"AI chose to take \d object\(s\) from pile \d\.", again.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--opponent", "grandmaster"],
            "--opponent grandmaster is neither q-learning, .* nor a saved agent",
        ),
        (["--opponent", "nowhere.npz"], "nowhere.npz"),
        (["--opponent", ""], "--opponent  is neither"),
        (["--games", "100000000000000"], "--games must be 100000000 or less"),
        (["--opponent", "broken.npz"], "broken.npz is damaged or is not a saved agent"),
        (["--opponent", "other.npz"], "other.npz holds an agent of another game than 1-3-5-7, take any number$"),
        (["--opponent", "expert", "--save", "x"], "--save needs an --opponent trained on the spot"),
        (["--heaps", "a", "b"], "--heaps"),
        (["--heaps", "0", "0"], "not all 0"),
        (["--heaps", "-1"], "heaps must hold"),
        (["--games", "-1"], "--games must be 0 or more; got -1"),
        (["--first", "me"], "'me' for argument '--first'"),
        (["--picture", "game.png"], "--picture must end in .gif; got game.png"),
        (["--picture", "broken.npz/game.gif"], "--picture must lie in a folder that can be written to"),
        (
            ["--save", "nowhere/agent", "--games", "1"],
            "--save must be a file in a folder that can be written to; got nowhere/agent",
        ),
    ],
)
def test_mistakes_in_playing_are_one_line(arguments, message, run_here, tmp_path):
    (tmp_path / "broken.npz").write_text("no agent")
    env = NimEnv(heaps=(3, 4))
    agents.QLearningAgent(env.observation_space, env.action_space).save(tmp_path / "other.npz")
    check_refused(run_here("play.py", *arguments), message)


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("q_learning_self_play.py", ["--games", "-1"], "--games must be 0 or more; got -1"),
        ("q_learning_self_play.py", ["--games", "ten"], "--games.*'ten'"),
        ("q_learning_self_play.py", ["--epsilon", "2"], "epsilon must lie between 0 and 1"),
        ("sticks.py", ["--sticks", "0"], "not all 0"),
        ("sticks.py", ["--seed", "-1"], "seed must be 0 or more; got -1"),
        ("play.py", ["--seed", "-1"], "--seed must be 0 or more; got -1"),
        ("compare_opponents.py", ["--seed", "-1"], "seed must be 0 or more; got -1"),
        ("benchmark.py", ["--seed", "-1"], "--seed must be 0 or more; got -1"),
        ("benchmark.py", ["--share", "-1"], "--share must lie above 0 and at most 1; got -1"),
        ("benchmark.py", ["--share", "nan"], "--share must lie above 0 and at most 1; got nan"),
        ("minimax_q.py", ["--seed", "-1"], "--seed must be 0 or more; got -1"),
        ("win_counting.py", ["--picture", "p.txt"], "--picture must end in one of .png.*; got p.txt"),
        ("sticks.py", ["--picture", "."], "--picture must end in one of"),
        ("win_counting.py", ["--heap", "1"], "--heap must be 2 or more; got 1"),
        ("sticks.py", ["--max-take", "0"], "max_take must be 1 or more"),
        ("sticks.py", ["--opponent", "take-0"], "opponent must be"),
        ("sticks.py", ["--window", "0"], "--window must be 1 or more"),
        ("sticks.py", ["--games", "2.5"], "--games.*'2.5'"),
        ("sticks.py", ["--epsilon", "-1"], "epsilon must lie between 0 and 1"),
        ("minimax_q.py", ["--heaps", "1", "2", "x"], "--heaps"),
        ("minimax_q.py", ["--heaps", "1", "2", "3", "4"], "4"),
        ("minimax_q.py", ["--heaps", "1", "2"], "--heaps"),
        ("minimax_q.py", ["--heaps", "1", "2", "10"], r"--heaps must each be 0 to 9; got \(1, 2, 10\)"),
        ("minimax_q.py", ["--heaps", "1", "2", "-3"], "--heaps must each be 0 to 9"),
        ("minimax_q.py", ["--heaps", "0", "0", "0"], "not all 0"),
        ("minimax_q.py", ["--games", "-1"], "--games must be 0 or more"),
        ("win_counting.py", ["--games", "-1"], "--games must be 0 or more"),
        ("win_counting.py", ["--every", "0"], "--every must be 1 or more"),
        ("win_counting.py", ["--cutoff", "0"], "cutoff must be 1 or more"),
        ("benchmark.py", ["everything"], "everything"),
        ("benchmark.py", ["--seconds", "0"], "--seconds must lie above 0 and below 3600; got 0.0"),
        ("benchmark.py", ["--seconds", "nan"], "--seconds must lie above 0 and below 3600; got nan"),
        ("benchmark.py", ["--picture", "table.txt"], "--picture must end in one of"),
        ("master_large_nim.py", ["--mastery", "0"], "--mastery must lie above 0 and at most 1; got 0.0"),
        ("master_large_nim.py", ["--mastery", "nan"], "--mastery must lie above 0 and at most 1; got nan"),
        ("master_large_nim.py", ["--boards", "8"], "--boards must be at most the number of heaps, 7; got 8"),
        ("master_large_nim.py", ["--boards", "0"], "--boards must be 1 or more; got 0"),
        ("master_large_nim.py", ["--num-envs", "0"], "--num-envs must be 1 or more; got 0"),
        ("master_large_nim.py", ["--seed", "-1"], "--seed must be 0 or more; got -1"),
        ("master_large_nim.py", ["--epsilon", "2"], "epsilon must lie between 0 and 1; got 2.0"),
        (
            "master_large_nim.py",
            ["--heaps", *["99"] * 6, "--boards", "1"],
            "1,000,000,000,000 positions",
        ),
        ("master_large_nim.py", ["--heaps", "0", "0", "3"], "heaps must hold one size or more"),
        ("master_large_nim.py", ["--picture", "p.txt"], "--picture must end in one of"),
        ("benchmark.py", ["--rounds", "0"], "--rounds must be 1 or more"),
        ("tournament.py", ["--games", "0"], "--games must be 1 or more; got 0"),
        ("tournament.py", ["--seed", "-1"], "seed must be 0 or more; got -1"),
        ("tournament.py", ["--heaps", *["99"] * 9], "too many for an exact sweep"),
        ("tournament.py", ["--enter", "grandmaster"], "--enter grandmaster is no random, take-N"),
        ("tournament.py", ["--enter", "nowhere.py:f"], "there is no file nowhere.py"),
        ("tournament.py", ["--enter", "random"], "--enter random is in every tournament"),
        ("tournament.py", ["--enter", "broken.agent"], "broken.agent is damaged or is not a saved agent"),
        ("tournament.py", ["--picture", "p.txt"], "--picture must end in one of"),
        ("policy_map.py", ["--heaps", "3", "4", "5"], "Unrecognized options: 5"),
        ("policy_map.py", ["--heaps", "3"], "--heaps"),
        ("policy_map.py", ["--heaps", "0", "0"], "not all 0"),
        ("policy_map.py", ["--teacher", "nobody"], "opponent must be .*got 'nobody'"),
        ("policy_map.py", ["--opponent", "nobody"], "opponent must be .*got 'nobody'"),
        ("policy_map.py", ["--player", "nobody"], "--player nobody is no random, take-N"),
        ("policy_map.py", ["--player", "broken.agent"], "broken.agent is damaged or is not a saved agent"),
        ("policy_map.py", ["--learner", "win-counting", "--teacher", "self-play"], "WinCountAgent"),
        ("policy_map.py", ["--learner", "minimax-q", "--teacher", "random"], "MinimaxQAgent learns by self-play"),
        ("policy_map.py", ["--learner", "nobody"], "'nobody' for argument '--learner'"),
        ("policy_map.py", ["--checkpoints", "0"], "--checkpoints must be 1 or more; got 0"),
        ("policy_map.py", ["--seed", "-1"], "seed must be 0 or more; got -1"),
        ("scaling_study.py", ["--fewest", "8"], "--fewest must be at most the number of heaps, 7; got 8"),
        ("scaling_study.py", ["--fewest", "0"], "--fewest must be 1 or more; got 0"),
        ("scaling_study.py", ["--needed", "0"], "--needed must lie above 0 and at most 1; got 0.0"),
        ("scaling_study.py", ["--jobs", "0"], "--jobs must be 1 or more, or -1 for all cores; got 0"),
        ("scaling_study.py", ["--seeds", "0"], "--seeds must be 1 or more; got 0"),
        ("scaling_study.py", ["--seed", "-1"], "--seed must be 0 or more; got -1"),
        ("scaling_study.py", ["--moves", "0"], "--moves must be 1 or more; got 0"),
        ("scaling_study.py", ["--learners", "nobody"], "nobody"),
        (
            "scaling_study.py",
            ["--learners"],
            "--learners must name one or more of q-learning, minimax-q, win-counting",
        ),
        ("scaling_study.py", ["--heaps", *["99"] * 9], "too many for an exact sweep"),
        ("scaling_study.py", ["--backend", "nothing"], "'nothing' for argument '--backend'"),
        ("scaling_study.py", ["--folder", "broken.agent"], "must lie in a folder that can be written to"),
    ],
)
def test_mistakes_in_the_systems_are_one_line(script, arguments, message, run_here, tmp_path):
    (tmp_path / "broken.agent").write_text("no agent")
    check_refused(run_here(script, *arguments), message)


# --- What the options do --------------------------------------------------------------------------


@pytest.fixture
def script_module(monkeypatch):
    """Imports a script, to look at what it draws."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


def test_the_graph_of_sticks_rolls_over_its_window(script_module):
    sticks = script_module("sticks")
    won = [True, False, False, True, True, True]
    for window, expected in ((1, won), (3, [1, 1 / 2, 1 / 3, 1 / 3, 2 / 3, 1])):
        figure = sticks.picture_of(won, sticks.Arguments(window=window))
        (line,) = figure.axes[0].lines
        np.testing.assert_allclose(line.get_ydata(), expected)
        assert line.get_xdata().tolist() == [1, 2, 3, 4, 5, 6]


def test_the_bars_of_win_counting_are_the_probabilities(script_module):
    script = script_module("win_counting")
    env = NimEnv(heaps=(5,), max_take=3, misere=False)
    agent = agents.WinCountAgent(env.observation_space, env.action_space)
    for heap, action in ((5, 0), (5, 0), (4, 2), (3, 2)):
        agent.update([heap], action, 1.0, [0], True)
    figure = script.picture_of(agent, type("Env", (), {"unwrapped": env}), script.Arguments(heap=5))
    bars = np.array([[bar.get_height() for bar in take] for take in figure.axes[0].containers])
    assert bars.shape == (3, 5)
    np.testing.assert_allclose(bars.sum(axis=0), 1)
    np.testing.assert_allclose(bars[:, 4], [3 / 5, 1 / 5, 1 / 5])  # heap 5: take 1 counted twice
    np.testing.assert_allclose(bars[:, 3], [1 / 4, 1 / 4, 2 / 4])
    np.testing.assert_allclose(bars[:, 0], [1, 0, 0])
    bottoms = [[bar.get_y() for bar in take] for take in figure.axes[0].containers]
    np.testing.assert_allclose(bottoms[1], bars[0])


def test_in_win_counting_the_loser_starts(tmp_path):
    done = run("win_counting.py", "--heap", 5, "--games", 4000, "--every", 2000, folder=tmp_path)
    ratio = float(done.stdout.splitlines()[1].split()[-1])
    assert 0.4 < ratio <= 0.5  # against the expert only the games it starts can be won


def test_large_heaps_are_drawn_too(tmp_path):
    done = run("win_counting.py", "--heap", 40, "--games", 50, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "win_counting.png").exists()


@pytest.mark.parametrize(
    ("script", "flags", "option", "values"),
    [
        ("q_learning_self_play.py", ("--games", 300, "--seed", 0), "--epsilon", (0.1, 1.0)),
        ("q_learning_self_play.py", ("--games", 300, "--seed", 0), "--learning-rate", (0.1, 1.0)),
        ("minimax_q.py", ("--heaps", 1, 2, 3, "--games", 60), "--epsilon", (0.0, 1.0)),
        ("sticks.py", ("--games", 50, "--table"), "--epsilon", (0.0, 1.0)),
        ("sticks.py", ("--games", 50, "--table"), "--learning-rate", (0.5, 1.0)),
        ("sticks.py", ("--games", 50, "--table"), "--gamma", (0.5, 1.0)),
        ("win_counting.py", ("--games", 4000, "--every", 1000), "--cutoff", (20, None)),
    ],
)
def test_options_change_what_is_learnt(script, flags, option, values, tmp_path):
    first, again, other = (
        run(script, *flags, option, value, folder=tmp_path).stdout for value in (values[0], *values)
    )
    assert first == again != other


def test_the_seed_of_play_decides_the_agent_and_who_starts(tmp_path):
    shown = []
    for number, seed in enumerate((1, 1, 2, 3, 4, 5)):
        done = run("play.py", "--games", 50, "--seed", seed, "--save", f"{number}.npz", folder=tmp_path)
        shown.append(done.stdout.replace(f"{number}.npz", ""))
    tables = [agents.load(tmp_path / f"{number}.npz").table.values for number in range(3)]
    np.testing.assert_array_equal(tables[0], tables[1])
    assert (tables[0] != tables[2]).any()
    assert shown[0] == shown[1]
    starts = {re.search(r"Your turn|AI's turn", text)[0] for text in shown}
    assert starts == {"Your turn", "AI's turn"}


def test_play_takes_any_game(tmp_path):
    for flags in (("--heaps", 1, "--opponent", "win-counting"), ("--heaps", *[50] * 5, "--games", 3)):
        done = run("play.py", *flags, "--first", "human", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Your turn" in done.stdout


def test_a_reader_that_has_had_enough(tmp_path):
    command = f'"{sys.executable}" "{EXAMPLES / "win_counting.py"}" --games 3000 --every 10 | head -2'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert len(done.stdout.splitlines()) == 2
    assert not done.stderr


def test_a_film_without_pygame_is_refused_before_the_game(tmp_path):
    done = run_without(["pygame"], "play.py", "--picture", "game.gif", folder=tmp_path)
    check_refused(done, r'pygame is missing; run pip install -e "\.\[examples,render\]"')


def test_a_missing_package_names_the_install_command(tmp_path):
    for script in SCRIPTS + RAY_SCRIPTS:
        done = run_without(["tqdm"], script, folder=tmp_path)
        check_refused(done, r"tqdm is missing; run pip install -e")
    for script in RAY_SCRIPTS:
        done = run_without(["ray"], script, folder=tmp_path)
        check_refused(done, r'^ray is missing; run pip install -e "\.\[examples,rllib\]"')


# --- master_large_nim.py --------------------------------------------------------------------------


def test_larger_boards_are_mastered(tmp_path):
    flags = ("--heaps", 1, 2, 3, 4, "--num-envs", 64, "--mastery", 1, "--seed", 3)
    done = run("master_large_nim.py", *flags, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    for heaps, positions, actions in (("1-2", 6, 3), ("1-2-3", 24, 6), ("1-2-3-4", 120, 10)):
        assert re.search(
            rf"^{heaps}: {positions} positions, {actions} actions, a table of 0\.0 MB$", done.stdout, re.M
        )
        assert re.search(
            rf"^ +{heaps} +{positions} +100\.0000 % +\d+\.\d M +\d+\.\d +\d+\.\d\d M", done.stdout, re.M
        )
    looks = re.findall(r" s +[\d.]+ M moves +[\d.]+ M/s  mastery +([\d.]+) %  memory (\d+) MB", done.stdout)
    assert sum(share == "100.0000" for share, _ in looks) == 3
    assert all(50 < int(memory) < 5000 for _, memory in looks)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (tmp_path / "results" / "master_large_nim.png").read_bytes().startswith(b"\x89PNG")


# --- benchmark.py ---------------------------------------------------------------------------------


def test_the_benchmark_of_the_systems(tmp_path):
    done = run("benchmark.py", "systems", "--rounds", 1, "--share", 0.001, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"system 1.* 10 +\d+\.\d\d s +\d+\.\d\d s", done.stdout)
    assert re.search(r"system 5.* 100 +\d+\.\d\d s +\d+\.\d\d s", done.stdout)
    assert not (tmp_path / "results").exists()


def test_the_benchmark_of_pictures(tmp_path):
    done = run("benchmark.py", "pictures", "--rounds", 1, "--seconds", 0.001, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for row in ("Nim-v0, 1-3-5-7", "Nim-v0, 15 heaps of 50", "vector, 1-3-5-7", "Gymnasium, CartPole-v1"):
        assert re.search(rf"{row} +\d+", done.stdout)
    missing = run_without(["pygame"], "benchmark.py", "pictures", "--rounds", 1, folder=tmp_path)
    assert "not installed: pygame" in missing.stdout


def test_the_benchmark_of_the_page(tmp_path):
    done = run("benchmark.py", "page", "--rounds", 1, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for row in ("a trained Q-learner, 1-3-5-7", "a trained Q-learner, 9-9-9-9", "the expert, 15 heaps of 50"):
        assert re.search(rf"{row} +20 +\d+ ms +\d+ ms", done.stdout)
    check_refused(run_without(["playwright"], "benchmark.py", "page", folder=tmp_path), "playwright is missing")


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("q_learning_self_play.py", ("--games", 200, "--seed", 0)),
        ("q_learning_self_play.py", ("--games", 0, "--seed", 0)),
        ("minimax_q.py", ("--heaps", 0, 1, 2, "--games", 100)),
    ],
)
def test_pictures_on_request(script, arguments, tmp_path):
    without = run(script, *arguments, folder=tmp_path)
    assert not list(tmp_path.iterdir())
    done = run(script, *arguments, "--picture", "new/picture.png", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace(f"picture: {Path('new', 'picture.png')}\n", "") == without.stdout
    assert (tmp_path / "new" / "picture.png").read_bytes().startswith(b"\x89PNG")
    check_refused(run(script, *arguments, "--picture", "p.txt", folder=tmp_path), "--picture must end in one of")


def test_the_benchmark_of_environments_and_training(tmp_path):
    rate = r" +\d+(\.\d)? [Mk]?"
    for part, rows in (
        ("environments", ["vector, against random", "vector, against the expert", "vector, self-play"]),
        ("training", ["minimax-Q, vector", "Q-learning, vector, against random"]),
    ):
        done = run("benchmark.py", part, "--rounds", 1, "--seconds", 0.001, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        for row in rows:
            assert re.search(rf"^ *{row}({rate}){{5}} *$", done.stdout, re.M), done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert (tmp_path / "results" / "benchmark.png").read_bytes().startswith(b"\x89PNG")


def test_the_benchmark_of_exact_answers(script_module, monkeypatch, capsys):
    script = script_module("benchmark")
    for module in (script, script_module("contenders")):
        monkeypatch.setattr(module, "BOARDS", ((1, 3), (1, 3, 5), (1, 3, 5, 7)))
    monkeypatch.setenv("COLUMNS", "80")
    script.main(script.Arguments(part="exact", rounds=1, seconds=0.001))
    shown = capsys.readouterr().out
    time = r" +\d+(\.\d+)? m?s"
    assert re.search(r"^ +8 +48 +384 *$", shown, re.M)
    for row in ("solve", "best response to the agent", "its mastery", "its win probability against random"):
        assert re.search(rf"^ *{row}({time}){{3}} *$", shown, re.M), shown
    assert re.search(rf"^ *closed form, a million positions{time} *$", shown, re.M)
    assert max(map(len, shown.splitlines())) <= 80


def test_peers_that_are_missing_are_named(tmp_path):
    few = ("--rounds", 1, "--seconds", 0.001)
    done = run_without(["pyspiel", "shimmy"], "benchmark.py", "training", *few, folder=tmp_path)
    assert re.search(r"OpenSpiel's Q-learner +missing", done.stdout)
    assert re.search(r"^ *win counting, vector, against random +\d.* [Mk]? *$", done.stdout, re.M)  # in one line
    assert "not installed: pyspiel" in done.stdout


def test_the_bare_loops_are_the_systems(monkeypatch):
    """They are a fair comparison only if they learn the same."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from bare_loops import q_learning_self_play, win_counting

    values, rules = q_learning_self_play(10_000, seed=0), NimRules()

    def best(observation, action_mask):
        legal = np.flatnonzero(action_mask).tolist()
        key = tuple(observation.tolist())
        return max(legal, key=lambda action: values.get((key, rules.moves[action]), 0.0))

    assert evaluation.mastery(rules, best).expert > 0.97
    won = np.array(win_counting(100_000, seed=0)).reshape(10, -1).mean(axis=1)
    assert won[2] < 0.10
    assert 0.49 <= won[-1] <= 0.5


# --- tournament.py --------------------------------------------------------------------------------


def test_the_tournament(tmp_path):
    done = run("tournament.py", "--games", 300, "--seed", 1, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    rows = re.findall(r"^ *(\d+) +(\S.*?\S) +((?: *\d+){11}) +(\d+\.\d) *$", done.stdout, re.M)
    names, means = [name for _, name, _, _ in rows], [float(mean) for *_, mean in rows]
    wins = {name: [int(share) for share in shares.split()] for _, name, shares, _ in rows}
    assert [int(rank) for rank, *_ in rows] == list(range(1, 12))
    assert sorted(names) == sorted(
        ["random", "take-3", "expert", "minimax-q, self-play", "q-learning, self-play"]
        + [
            f"{learner}, {teacher}"
            for learner in ("q-learning", "win-counting")
            for teacher in ("random", "take-3", "expert")
        ]
    )
    assert means == sorted(means, reverse=True)
    rules = NimRules((21,), 3, misere=False)
    for first, second in (("expert", "random"), ("random", "expert"), ("take-3", "random"), ("random", "random")):
        exact = 100 * evaluation.win_probability(rules, first, second, moves_first=True)
        assert abs(wins[first][names.index(second)] - exact) <= 1
    assert wins["expert"] == [100] * 11  # it starts on a winning position
    for rank, name in enumerate(names):  # both orders against all others
        going_first = [share for other, share in enumerate(wins[name]) if other != rank]
        going_second = [100 - wins[other][rank] for other in names if other != name]
        assert abs(means[rank] - np.mean(going_first + going_second)) < 1
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (tmp_path / "results" / "tournament.png").read_bytes().startswith(b"\x89PNG")
    assert run("tournament.py", "--games", 300, "--seed", 1, folder=tmp_path).stdout == done.stdout


def test_the_heat_map_of_the_tournament(script_module):
    script = script_module("tournament")
    wins = np.array([[0.25, 1.0], [0.0, 0.999]])
    axes = script.picture_of(script.Arguments(), ["one", "other"], wins).axes[0]
    shown = {(text.get_position()[1], text.get_position()[0]): text.get_text() for text in axes.texts}
    assert shown == {(0.5, 0.5): "25", (0.5, 1.5): "100", (1.5, 0.5): "0", (1.5, 1.5): "99"}
    np.testing.assert_allclose(axes.collections[0].get_array().reshape(2, 2), 100 * wins)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "other"]
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("first player", "second player")


def test_others_enter_the_tournament(tmp_path):
    (tmp_path / "mine.py").write_text("def last(o, m): return m.shape[-1] - 1 - m[..., ::-1].argmax(axis=-1)")
    (tmp_path / "bad.py").write_text("def bad(o, m): return m.argmin(axis=-1)")
    game = ("--heaps", 2, 3, "--max-take", 2, "--no-misere", "--games", 60)
    run("play.py", *game[:-1], 2000, "--seed", 0, "--save", "my.agent", folder=tmp_path)
    enter = ("--enter", "mine.py:last", "my.agent", "take-1", "take-2")
    done = run("tournament.py", *game, *enter, "--picture", "p.png", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in enter[1:]:
        assert re.search(rf"^ *\d+ +{name}( +\d+){{15}} +\d+\.\d *$", done.stdout, re.M)
    message = r"policy returned action \d at heaps \[.*\]; legal are|opponent returned action \d at heaps"
    check_refused(run("tournament.py", *game, "--enter", "bad.py:bad", folder=tmp_path), message)


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (1.0, 1, "100.0"),
        (0.99999, 1, "99.9"),
        (0.9994, 1, "99.9"),
        (0.5, 1, "50.0"),
        (1e-9, 1, "0.1"),
        (0.0, 1, "0.0"),
        (0.999, 0, "99"),
        (0.001, 0, "1"),
        (1, 0, "100"),
        (0, 0, "0"),
    ],
)
def test_only_what_is_certain_is_0_or_100_percent(share, digits, shown, script_module):
    assert script_module("learners").percent(share, digits) == shown


# --- policy_map.py --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ((), "q-learning after 300 games, taught by self-play"),
        (
            ("--learner", "minimax-q", "--misere", "--max-take", 3, "--heaps", 4, 6, "--opponent", "expert"),
            "minimax-q after 300 games, taught by self-play",
        ),
        (("--learner", "win-counting", "--heaps", 3, 3), "win-counting after 300 games, taught by random"),
        (("--teacher", "take-1", "--heaps", 3, 3), "q-learning after 300 games, taught by take-1"),
        (("--player", "expert", "--heaps", 3, 20), "expert"),
        (("--player", "mine.py:first", "--heaps", 3, 3), "mine.py:first"),
    ],
)
def test_the_map_of_a_policy(flags, name, tmp_path):
    (tmp_path / "mine.py").write_text("def first(o, m): return m.argmax(axis=-1)")
    done = run("policy_map.py", "--games", 300, *flags, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert re.match(
        rf"{name}:\n\d+\.\d % of \d+ winning positions played right;\nit is (a|no) champion: "
        r"a best response gains [01]\.\d{4} over perfect play\.\npicture: ",
        done.stdout,
    )
    assert ("100.0 %" in done.stdout) == ("is a champion: a best response gains 0.0000" in done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert (tmp_path / "results" / "policy_map.png").read_bytes().startswith(b"\x89PNG")


def test_the_map_shows_the_policy_and_the_truth(script_module):
    script = script_module("policy_map")
    arguments = script.Arguments(heaps=(3, 4), max_take=2, games=40, gamma=0.9)
    rules = arguments.rules
    agent, env = script.make(arguments, "q-learning", "self-play")
    agents.train(agent, env, 40, seed=0)
    found = evaluation.mastery(rules, agent)
    assert len(found.mistakes)
    progress = {10: (0.25, 1.0), 40: (found.expert, 1.0)}
    figure = script.picture_of(arguments, agent, found, progress, "somebody")
    learnt, truth, chances, training = figure.axes[:4]
    positions = np.stack(np.indices((4, 5)), axis=-1)
    shown = [axes.collections[0].get_array().reshape(4, 5) for axes in (learnt, truth, chances)]
    winning = theory.winning_action_mask(rules, positions)
    for where in [(first, second) for first in range(4) for second in range(5)][1:]:
        legal = rules.action_mask(where) != 0
        assert shown[0][where] == pytest.approx(agent.q_values(where)[legal].max())
        assert shown[1][where] == pytest.approx(solver.solve(rules, 0.9).values(where))
        chance = evaluation.win_probability(rules, agent, "random", True, where)
        assert shown[2][where] == pytest.approx(2 * chance - 1)

    def labels(axes):
        """By position: what is written there."""
        return {(int(y), int(x)): text.get_text() for text in axes.texts for x, y in [text.get_position()]}

    for where in [(1, 1), (3, 4), (2, 0), (3, 1)]:
        names = {f"{'↓←'[heap]}{count}": action for action, (heap, count) in enumerate(rules.moves)}
        done = names[labels(learnt)[where]]
        assert done == agent.act(np.array(where), rules.action_mask(where))
        wins = labels(truth)[where].split()
        assert sorted(names[name] for name in wins) == np.flatnonzero(winning[where]).tolist()
    framed = {(int(patch.get_y()), int(patch.get_x())) for patch in learnt.patches}
    assert framed == set(map(tuple, found.mistakes.tolist()))
    assert training.lines[0].get_ydata().tolist() == [0.25, found.expert]
    assert learnt.get_ylim() == (0, 4)  # upwards

    figure = script.picture_of(arguments, TakePolicy(rules, 2), evaluation.mastery(rules, "take-2"), {}, "take-2")
    worst = figure.axes[0].collections[0].get_array().reshape(4, 5)
    response = solver.best_response(rules, "take-2")
    for where in [(1, 0), (2, 0), (3, 0), (3, 4)]:  # what a player that believes nothing is sure to get
        assert worst[where] == pytest.approx(-response.afterstate_values(where))
    assert labels(figure.axes[0])[2, 1] == "↓2\n←1"  # each with one half
    assert labels(figure.axes[0])[0, 3] == "←2"


# --- scaling_study.py -----------------------------------------------------------------------------

SMALL_STUDY = ("--heaps", 1, 2, 3, "--moves", 3_000, "--seeds", 2, "--num-envs", 16, "--needed", 0.9)
FINISHED = re.compile(r"^(\S+, .*, seed \d+): expert mastery \d+\.\d\d %, \d+\.\d s$", re.M)


def test_the_scaling_study(tmp_path):
    done = run("scaling_study.py", *SMALL_STUDY, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert "12 runs, 0 of them finished before" in done.stdout
    assert len(set(FINISHED.findall(done.stdout))) == 12
    folder = tmp_path / "results" / "scaling_study"
    table = pd.read_csv(folder / "scaling_study.csv")
    assert len(table) == 12
    assert set(table["heaps"]) == {"1-2", "1-2-3"}
    assert set(table["learner"]) == {"q-learning", "minimax-q", "win-counting"}
    assert table["moves"].between(3_000, 3_000 + 16 * 6).all()
    assert table["expert"].between(0, 1).all()
    reached = table["moves_needed"].notna()
    assert reached[table["expert"] >= 0.9].all()
    assert table.loc[table["learner"] == "win-counting", "expert"].min() < 0.9
    assert table["moves_needed"][reached].between(16, 3_100).all()
    assert table.loc[table["learner"] == "minimax-q", "champion"].all()
    assert (table.loc[table["champion"], "exploitability"] == 0).all()
    assert (folder / "scaling_study.png").read_bytes().startswith(b"\x89PNG")

    again = run("scaling_study.py", *SMALL_STUDY, "--jobs", 1, folder=tmp_path)  # nothing is left to do
    assert "12 runs, 12 of them finished before" in again.stdout
    assert not FINISHED.findall(again.stdout)
    assert pd.read_csv(folder / "scaling_study.csv").equals(table)
    more = run("scaling_study.py", *SMALL_STUDY, "--seeds", 3, folder=tmp_path)
    assert "18 runs, 12 of them finished before" in more.stdout
    assert len(FINISHED.findall(more.stdout)) == 6
    elsewhere = run("scaling_study.py", *SMALL_STUDY, "--jobs", 1, "--folder", "elsewhere", folder=tmp_path)
    assert "12 runs, 0 of them finished before" in elsewhere.stdout
    other = pd.read_csv(tmp_path / "elsewhere" / "scaling_study.csv")
    assert other.drop(columns="seconds").equals(table.drop(columns="seconds"))  # the same seeds, the same figures


def test_an_interrupted_study_goes_on(tmp_path):
    study = (
        "scaling_study.py",
        "--heaps",
        1,
        3,
        5,
        7,
        "--learners",
        "win-counting",
        "--moves",
        40_000,
        "--seeds",
        6,
    )
    process = talk(*study, "--jobs", 1, folder=tmp_path)
    process.expect("18 runs, 0 of them finished before")
    process.expect("seed 0: expert")
    process.expect("seed 1: expert")
    process.sendintr()
    shown, status = left(process)
    assert status == 130
    assert shown.rstrip().endswith("stopped")
    assert "Traceback" not in shown
    done = run(*study, folder=tmp_path)
    kept = int(re.search(r"18 runs, (\d+) of them finished before", done.stdout)[1])
    assert 2 <= kept < 18
    assert len(FINISHED.findall(done.stdout)) == 18 - kept
    assert "1-3-5-7, win-counting, seed 0" not in done.stdout
    assert "1-3-5-7, win-counting, seed 1" not in done.stdout
    assert len(pd.read_csv(tmp_path / "results" / "scaling_study" / "scaling_study.csv")) == 18


def test_the_figure_of_the_study(script_module):
    script = script_module("scaling_study")
    rows = [
        {"learner": learner, "n_heaps": n_heaps, "seed": seed, "expert": 1 / n_heaps + seed / 100}
        | {
            "champion": seed == 0,
            "exploitability": 0.5,
            "moves_needed": None if (n_heaps, seed) == (3, 1) else 10.0**seed,
        }
        for learner in ("minimax-q", "win-counting")
        for n_heaps in (2, 3)
        for seed in (0, 1, 2)
    ]
    figure = script.picture_of(script.Arguments(learners=("minimax-q", "win-counting")), pd.DataFrame(rows))
    expert, champion, exploitability, needed = figure.axes

    def drawn(axes):
        """The points of the first learner."""
        return axes.lines[0]

    np.testing.assert_allclose(drawn(expert).get_ydata(), [0.51, 1 / 3 + 0.01])
    np.testing.assert_allclose(drawn(champion).get_ydata(), [1 / 3, 1 / 3])
    np.testing.assert_allclose(drawn(exploitability).get_ydata(), [0.5, 0.5])
    assert drawn(expert).get_xdata().round().tolist() == [2, 3]
    assert drawn(needed).get_xdata().round().tolist() == [2]  # with three heaps one seed did not get there
    np.testing.assert_allclose(drawn(needed).get_ydata(), [10])  # the geometric mean

    def interval(axes):
        """Of the first learner with two heaps."""
        return axes.lines[1].get_ydata()[[0, -1]]

    half = 4.302652729696142 * 0.01 / 3**0.5  # Student's t with 2 degrees of freedom, from a printed table
    np.testing.assert_allclose(interval(expert), [0.51 - half, 0.51 + half])
    np.testing.assert_allclose(interval(champion), evaluation.MatchResult(1, 3).interval())
    np.testing.assert_allclose(interval(exploitability), [0.5, 0.5])
    half = 4.302652729696142 / 3**0.5  # in tens, of 1, 10 and 100
    np.testing.assert_allclose(interval(needed), [10 ** (1 - half), 10 ** (1 + half)])
    assert script.students_of_shares(pd.Series([0.0, 1.0])) == (0, 1)  # and not beyond
    one = pd.DataFrame(rows)
    figure = script.picture_of(script.Arguments(learners=("minimax-q",)), one[one["seed"] == 0])
    assert "one seed" in figure.get_suptitle()
    assert sum(len(line.get_xdata()) > 0 for line in figure.axes[0].lines) == 1  # no interval of one seed


def test_ray_that_is_missing_is_one_line(tmp_path):
    done = run_without(["ray"], "scaling_study.py", "--backend", "ray", folder=tmp_path)
    check_refused(done, "--backend ray needs Ray; run pip install ray")
    assert not list(tmp_path.iterdir())
