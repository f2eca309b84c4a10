"""Every script, as a user runs it without a terminal."""

import re
from pathlib import Path

import numpy as np
import pytest
from scripts import EXAMPLES, check_refused, run

import agents
from nim_env import NimRules, evaluation
from nim_env.gym_env import NimEnv

SCRIPTS = sorted(file.name for file in EXAMPLES.glob("*.py") if "__main__" in file.read_text(encoding="utf-8"))


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
    small = ("--games", 300, "--match-games", 200, "--checkpoints", 5, "--seed", 4)
    done = run("compare_opponents.py", *small, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "21, normal play, take 1 to 3" in done.stdout
    assert re.search(r"expert +– .* 100\.0/0\.0 +100\.0", done.stdout)
    assert re.search(r"take-3 +– .* 43\.8", done.stdout)  # 7 of 16 winning positions
    for teacher in ("random", "take-3", "expert", "self-play"):
        assert re.search(rf"Q-learning +{teacher} .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"minimax-Q +random +– +– +– +–", done.stdout)
    assert re.search(r"minimax-Q +self-play .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"win counting +expert .*\d\.\d/\d+\.\d ", done.stdout)
    assert re.search(r"win counting +self-play +– +– +– +–", done.stdout)
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
        *("--heaps", 3, 4, 5, "--max-take", "None", "--misere", "--games", 50, "--match-games", 50),
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
        (["--match-games", "-1"], "--match-games must be 1 or more; got -1"),
        (["--learning-rate", "2"], "learning_rate must lie between 0 and 1"),
        (["--heaps", "1"], "needs an opening move"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(arguments, message, tmp_path):
    check_refused(run("compare_opponents.py", *arguments, folder=tmp_path), message)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_saved_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(
        "compare_opponents.py",
        *("--games", 20, "--match-games", 20, "--checkpoints", 2, "--picture", "file/p.png"),
        folder=tmp_path,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "compare_opponents.py:" in done.stderr.strip().splitlines()[-1]


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
    assert (history.rewards[300:] == 1).all()
    assert (history.rewards[:300] == -1).any()  # it starts poorly


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


OPPONENTS = """
import nothing_of_that_name
"""


@pytest.mark.parametrize(
    ("content", "opponent", "message"),
    [
        ("", "nowhere.py:f", "there is no file nowhere.py for --opponent nowhere.py:f"),
        ("def g(o, m): return 0", "mine.py:f", "mine.py has no function f for --opponent mine.py:f"),
        ("f = 3", "mine.py:f", "mine.py has no function f"),
        ("import nothing_of_that_name", "mine.py:f", "mine.py does not run: ModuleNotFoundError: No module"),
        ("def f(", "mine.py:f", "mine.py does not run: SyntaxError"),
        ("def f(o, m): return 99", "mine.py:f", r"py: opponent answered action 99 at heaps \[\d+\]; legal are"),
        ("def f(o, m): return {}['key']", "mine.py:f", r"mine.py:f raised KeyError: 'key' at heap \d+"),
        ("def f(o, m): return 'two'", "mine.py:f", "opponent must answer integer actions"),
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
    assert "Pile 3: 7\n\nYour turn\n" in done.stdout
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
            "--opponent grandmaster is neither q-learning, .* nor the file of a saved agent",
        ),
        (["--opponent", "nowhere.npz"], "nowhere.npz"),
        (["--opponent", "broken.npz"], "broken.npz is damaged or is no saved agent"),
        (["--opponent", "other.npz"], "other.npz holds an agent of another game than 1-3-5-7; see --heaps"),
        (["--opponent", "expert", "--save", "x"], "--save needs an --opponent trained on the spot"),
        (["--heaps", "a", "b"], "--heaps"),
        (["--heaps", "0", "0"], "not all 0"),
        (["--heaps", "-1"], "heaps must hold"),
        (["--games", "-1"], "--games must be 0 or more; got -1"),
        (["--first", "me"], "'me' for argument '--first'"),
        (["--save", "nowhere/agent", "--games", "1"], "there is no such folder to save to"),
    ],
)
def test_mistakes_in_playing_are_one_line(arguments, message, tmp_path):
    (tmp_path / "broken.npz").write_text("no agent")
    env = NimEnv(heaps=(3, 4))
    agents.QLearningAgent(env.observation_space, env.action_space).save(tmp_path / "other.npz")
    check_refused(run("play.py", *arguments, folder=tmp_path), message)


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
        ("benchmark.py", ["--share", "-1"], "--share must be 0 or more; got -1"),
        ("sticks.py", ["--max-take", "0"], "max_take must be 1 or more"),
        ("sticks.py", ["--opponent", "take-0"], "opponent must be"),
        ("sticks.py", ["--window", "0"], "--window must be 1 or more"),
        ("sticks.py", ["--games", "2.5"], "--games.*'2.5'"),
        ("sticks.py", ["--epsilon", "-1"], "epsilon must lie between 0 and 1"),
        ("minimax_q.py", ["--heaps", "1", "2", "x"], "--heaps"),
        ("minimax_q.py", ["--heaps", "1", "2", "3", "4"], "4"),
        ("minimax_q.py", ["--heaps", "1", "2"], "--heaps"),
        ("minimax_q.py", ["--heaps", "1", "2", "10"], r"--heaps must each be 0 to 9; got \(1, 2, 10\)"),
        ("minimax_q.py", ["--heaps", "1", "2", "-3"], "heaps must hold"),
        ("minimax_q.py", ["--heaps", "0", "0", "0"], "not all 0"),
        ("minimax_q.py", ["--games", "-1"], "--games must be 0 or more"),
        ("win_counting.py", ["--games", "-1"], "--games must be 0 or more"),
        ("win_counting.py", ["--every", "0"], "--every must be 1 or more"),
        ("win_counting.py", ["--cutoff", "0"], "cutoff must be 1 or more"),
        ("win_counting.py", ["--heap", "-1"], "heaps must hold"),
        ("benchmark.py", ["everything"], "everything"),
        ("benchmark.py", ["--rounds", "0"], "--rounds must be 1 or more"),
    ],
)
def test_mistakes_in_the_systems_are_one_line(script, arguments, message, tmp_path):
    check_refused(run(script, *arguments, folder=tmp_path), message)


# --- benchmark.py ---------------------------------------------------------------------------------


def test_the_benchmark_of_the_systems(tmp_path):
    done = run("benchmark.py", "systems", "--rounds", 1, "--share", 0.001, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"system 1.* 10 +\d+\.\d\d s +\d+\.\d\d s", done.stdout)
    assert re.search(r"system 5.* 100 +\d+\.\d\d s +\d+\.\d\d s", done.stdout)


def test_the_bare_loops_are_the_systems(monkeypatch):
    """They are a fair comparison only if they learn the same."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from bare_loops import q_learning_self_play, win_counting

    values, rules = q_learning_self_play(10_000, seed=0), NimRules()

    def best(observations, masks):
        moves = [[rules.moves[action] for action in np.flatnonzero(mask)] for mask in masks]
        keys = [tuple(heaps) for heaps in observations.tolist()]
        worth = [[values.get((key, move), 0.0) for move in legal] for key, legal in zip(keys, moves, strict=True)]
        return np.array([rules.action(*legal[int(np.argmax(w))]) for legal, w in zip(moves, worth, strict=True)])

    assert evaluation.mastery(rules, best).expert > 0.97
    won = np.array(win_counting(100_000, seed=0)).reshape(10, -1).mean(axis=1)
    assert won[2] < 0.10
    assert 0.49 <= won[-1] <= 0.5
