"""tune_sweep.py as a user runs it: what it finds, its interruptions, and that no trial runs twice."""

import json
import re
import shutil
import signal
import subprocess

import numpy as np
import pandas as pd
import pytest
from scripts import begin, check_refused, run

import agents
from nim_env import NimRules, evaluation
from nim_env.vector_env import NimVectorEnv

SCRIPT = "tune_sweep.py"
RULES = NimRules((1, 2, 3))
SMALL = ("--heaps", 1, 2, 3, "--trials", 4, "--games", 6000, "--parts", 6, "--seeds", 2)


def iterations(sweep):
    """Which parts each trial reported, by its folder."""
    return {
        file.parent.name: [json.loads(line)["training_iteration"] for line in file.read_text().splitlines()]
        for file in sweep.rglob("result.json")
    }


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep that was never stopped, and stops no trial: as long as the grace."""
    folder = tmp_path_factory.mktemp("swept")
    done = run(SCRIPT, *SMALL, "--grace", 6, folder=folder)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout, folder / "results" / "tune_sweep"


def test_the_table_and_the_figure_come_from_the_trials(swept):
    output, folder = swept
    table = pd.read_csv(folder / "tune_sweep.csv")
    assert len(table) == 8
    assert sorted(table["learner"]) == ["minimax-q"] * 4 + ["q-learning"] * 4
    assert not table["stopped"].any()
    assert (table["games"] == 6000).all()
    settings = ["learning_rate", "gamma", "epsilon"]
    drawn = [rows[settings].sort_values("gamma").to_numpy() for _, rows in table.groupby("learner")]
    np.testing.assert_allclose(drawn[0], drawn[1])  # the same for both
    assert len(np.unique(drawn[0])) == 12
    for row in table.itertuples():
        line = f"{row.learner}, learning rate {row.learning_rate:.3f}, discount {row.gamma:.3f}"
        assert re.search(rf"^{re.escape(line)}.*: expert mastery [\d.]+ %, after 6,000 games$", output, re.M)
    assert "8 trials, 0 stopped early: 100.0 % of all games were played" in output
    assert (folder / "tune_sweep.png").read_bytes().startswith(b"\x89PNG")


def test_a_trial_is_what_its_seeds_teach_anywhere(swept):
    """Its agents are taught again here, by the agents package alone."""
    table = pd.read_csv(swept[1] / "tune_sweep.csv")
    kinds = {"q-learning": agents.QLearningAgent, "minimax-q": agents.MinimaxQAgent}
    for row in table.groupby("learner").head(2).itertuples():
        found = []
        for seed in (0, 1):
            env = NimVectorEnv(64, RULES.heaps, misere=True, opponent=None)
            setting = {"learning_rate": row.learning_rate, "gamma": row.gamma, "epsilon": row.epsilon}
            spaces = env.single_observation_space, env.single_action_space
            agent = kinds[row.learner](*spaces, seed=seed, **setting)
            for part in range(6):
                drawn = np.random.SeedSequence((seed, part)).generate_state(1)
                agents.train(agent, env, 1000, seed=int(drawn[0]))
            found.append(evaluation.mastery(RULES, agent).expert)
        assert row.expert == pytest.approx(np.mean(found))
        assert row.worst == pytest.approx(min(found))


@pytest.fixture
def begun(tmp_path):
    """Begins a sweep on one core; it has the last trials still before it when it is left after a few lines."""
    process = begin(SCRIPT, *SMALL, "--grace", 6, "--jobs", 1, folder=tmp_path)
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_goes_on_and_runs_no_trial_twice(swept, begun, tmp_path, how):
    printed = [begun.stdout.readline() for _ in range(3)]
    begun.send_signal(how)
    rest, told = begun.communicate(timeout=60)
    if how == signal.SIGINT:
        assert told.splitlines() == ["", "--resume goes on from results/tune_sweep/trials", "stopped"]
        assert begun.returncode == 130
    sweep = tmp_path / "results" / "tune_sweep"
    before = iterations(sweep)
    done = run(SCRIPT, "--resume", "--jobs", 1, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    after = iterations(sweep)
    assert len(after) == 8
    if how == signal.SIGINT:  # when killed, a trial may be on its last part again
        assert set(map(tuple, after.values())) == {(1, 2, 3, 4, 5, 6)}
        said = re.findall(r"^(q-learning|minimax-q), .*games$", "".join(printed) + rest + done.stdout, re.M)
        assert len(said) == 8
    assert {frozenset(parts) for parts in after.values()} == {frozenset(range(1, 7))}
    finished = [name for name, parts in before.items() if parts == [1, 2, 3, 4, 5, 6]]
    assert len([name for name in finished if after[name] == before[name]]) >= 2
    columns = ["learner", "learning_rate", "gamma", "epsilon", "games", "expert", "worst", "exploitability"]
    tables = [pd.read_csv(path / "tune_sweep.csv")[columns] for path in (swept[1], sweep)]
    tables = [table.sort_values(columns[:2]).reset_index(drop=True) for table in tables]
    pd.testing.assert_frame_equal(*tables)
    again = run(SCRIPT, "--resume", "--jobs", 1, folder=tmp_path)
    assert "minimax-q: 4 of 4 trials were finished before" in again.stdout
    assert iterations(sweep) == after


def test_a_process_that_dies_is_replaced_and_the_sweep_ends(swept, begun, tmp_path):
    begun.stdout.readline()
    raylet = subprocess.run(
        ["pgrep", "-P", str(begun.pid), "raylet"], capture_output=True, text=True
    ).stdout.strip()
    subprocess.run(["pkill", "-KILL", "-P", raylet, "-f", "^ray::Trial"], check=True)
    _, told = begun.communicate(timeout=120)
    assert begun.returncode == 0, told
    tables = [pd.read_csv(path / "tune_sweep.csv") for path in (swept[1], tmp_path / "results" / "tune_sweep")]
    tables = [
        table.drop(columns="trial").sort_values(["learner", "gamma"]).reset_index(drop=True) for table in tables
    ]
    pd.testing.assert_frame_equal(*tables)


def test_poor_trials_are_stopped_early(tmp_path):
    done = run(
        SCRIPT, *SMALL, "--trials", 9, "--games", 600, "--learners", "minimax-q", "--jobs", 1, folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "results" / "tune_sweep" / "tune_sweep.csv")
    assert len(table) == 9
    stopped = table[table["stopped"]]
    assert 0 < len(stopped) < 9
    assert (stopped["games"] < 600).all()
    assert (table[~table["stopped"]]["games"] == 600).all()
    played = table["games"].sum() / (9 * 600)
    assert f"9 trials, {len(stopped)} stopped early: {100 * played:.1f} % of all games were played" in done.stdout
    curves = [pd.read_json(file, lines=True) for file in (tmp_path / "results").rglob("result.json")]
    for cut in (curve for curve in curves if len(curve) < 6):
        rivals = [curve["expert"][len(cut) - 1] for curve in curves if len(curve) > len(cut)]
        assert cut["expert"].iloc[-1] <= max(rivals)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "trials is another sweep: give --resume, --overwrite or another --folder"),
        (["--resume", "--heaps", 3, 4], r"--heaps \(3, 4\) differs from the run of .*, which has \(1, 2, 3\)"),
        (["--resume", "--folder", "nowhere"], "--resume needs a sweep, but there is none in nowhere"),
        (["--overwrite", "--address", "127.0.0.1:1"], "no Ray cluster answers there"),
        (["--jobs", 0], "--jobs must be 1 or more, or -1 for all cores; got 0"),
        (["--parts", 0], "--parts must be 1 or more; got 0"),
        (["--games", 5], "--games must be 27 or more; got 5"),
        (["--grace", 28], "--grace must be at most --parts, 27; got 28"),
        (["--seeds", 0], "--seeds must be 1 or more; got 0"),
        (["--learners"], "--learners"),
        (["--learners", "win-counting"], "--learners"),
        (["--seed", 2**32], "--seed must be 4294967293 or less"),
        (["--heaps", -1], "heaps"),
    ],
)
def test_mistakes_are_one_line_and_change_nothing(swept, run_here, monkeypatch, arguments, message):
    folder = swept[1]
    monkeypatch.chdir(folder.parent.parent)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    check_refused(run_here(SCRIPT, *arguments), message)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_folders_of_others_are_left_alone(run_here, tmp_path):
    (tmp_path / "mine" / "trials").mkdir(parents=True)
    check_refused(
        run_here(SCRIPT, "--folder", "mine", "--overwrite"), "trials is there and is no sweep of this script"
    )
    assert (tmp_path / "mine" / "trials").is_dir()


@pytest.mark.parametrize("kind", ["tuner.pkl", "experiment_state-*.json", "basic-variant-state-*.json"])
def test_a_broken_sweep_is_one_line(swept, run_here, tmp_path, kind):
    shutil.copytree(swept[1], tmp_path / "copy")
    (tmp_path / "copy" / "options.json").write_text("[]")
    check_refused(run_here(SCRIPT, "--resume", "--folder", "copy"), r"options.json is broken \(TypeError\)")
    shutil.copy(swept[1] / "options.json", tmp_path / "copy")
    for file in (tmp_path / "copy").rglob(kind):
        file.write_bytes(file.read_bytes()[:50])
    before = iterations(tmp_path / "copy")
    check_refused(run(SCRIPT, "--resume", "--folder", "copy", folder=tmp_path), r"q-learning is broken \(\w+\)")
    assert iterations(tmp_path / "copy") == before
