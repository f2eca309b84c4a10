"""rllib_self_play.py as a user runs it, and its networks as players.

This folder needs the extra ``rllib``, and so the Gymnasium that RLlib pins: it runs in an environment of its own.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.env_context import EnvContext
from scripts import ENVIRONMENT, EXAMPLES, RAY_SCRIPTS, begin, check_refused, run, run_without

from nim_env import NimRules, aec_env, evaluation

SCRIPT = "rllib_self_play.py"
FEW = ("--lesson", 1024, "--minibatch", 128, "--num-envs", 32, "--layers", 64, "--entropy", 0.02)
ROW = r"^ *([\d,]+) +\d+ +[\d,]* +(shared|player_\d) +([\d.]+) +(yes|no) +([\d.]+) +([\d.]+)$"


def rows_of(output):
    """The table of a run without what depends on the clock: moves, network, mastery, champion, the other two."""
    return [(int(moves.replace(",", "")), *rest) for moves, *rest in re.findall(ROW, output, re.M)]


def contents(folder):
    """What every file in a folder holds."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_until_row(process, moves):
    """Reads what a run prints up to its first row with so many moves or more."""
    printed = ""
    for line in process.stdout:
        printed += line
        if any(row[0] >= moves for row in rows_of(line)):
            return printed
    raise AssertionError(printed + process.stderr.read())


class Network:
    """A saved network as a player: how probably it makes each move, worked out here."""

    def __init__(self, folder, heaps):
        self.module = RLModule.from_checkpoint(folder)
        self.sizes = np.array(heaps) + 1

    def action_probabilities(self, observation, action_mask):
        shown = [np.eye(size, dtype=np.float32)[observation[..., heap]] for heap, size in enumerate(self.sizes)]
        seen = {
            "observations": torch.as_tensor(np.concatenate(shown, axis=-1)),
            "action_mask": torch.ones(action_mask.shape),
        }
        with torch.no_grad():
            logits = self.module.forward_inference({"obs": seen})["action_dist_inputs"].double().numpy()
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True)) * action_mask
        return weights / weights.sum(axis=-1, keepdims=True)

    def best(self, observation, action_mask):
        return self.action_probabilities(observation, action_mask).argmax(axis=-1)

    def everywhere(self, rules):
        heaps = np.indices(rules.shape).reshape(rules.n_heaps, -1).T[1:]
        return self.action_probabilities(heaps, rules.action_mask(heaps))


# --- Learning -------------------------------------------------------------------------------------

BUDGET = ("--heaps", 1, 3, 5, "--steps", 30_000, "--looks", 4, *FEW, "--lesson", 2048, "--num-envs", 64)
BUDGET = (*BUDGET, "--layers", 64, 64)
RULES = NimRules((1, 3, 5))


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """A run on two workers, never stopped."""
    folder = tmp_path_factory.mktemp("learnt")
    done = run(SCRIPT, *BUDGET, folder=folder)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout, folder


def test_two_workers_teach_it_to_beat_random_play(learnt):
    output, folder = learnt
    rows = rows_of(output)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert len(rows) == 5
    assert 30_000 <= rows[-1][0] < 33_000
    assert rows[0][0] == 0
    network = Network(folder / "results" / "rllib_self_play" / "shared", RULES.heaps)
    env, generator, wins = aec_env.env(heaps=RULES.heaps), np.random.default_rng(0), 0
    for game in range(500):  # in the environment itself, by turns first and second
        env.reset()
        learner = f"player_{game % 2}"
        for player in env.agent_iter():
            seen, _, terminated, truncated, _ = env.last()
            legal = seen["action_mask"]
            if terminated or truncated:
                action = None
            elif player == learner:
                chances = network.action_probabilities(seen["observation"][None], legal[None])[0]
                action = generator.choice(len(chances), p=chances)
            else:
                action = generator.choice(np.flatnonzero(legal))
            if sum(env.terminations.values()) == 2:
                wins += action is None and player == learner and env.rewards[player] > 0
            env.step(action)
    assert wins / 500 >= 0.8
    assert float(rows[-1][-1]) == pytest.approx(100 * wins / 500, abs=6)  # more than three standard errors


def test_the_table_tells_the_truth_about_the_network(learnt):
    output, folder = learnt
    network = Network(folder / "results" / "rllib_self_play" / "shared", RULES.heaps)
    _, name, expert, champion, exploitability, against_random = rows_of(output)[-1]
    found = evaluation.mastery(RULES, network.best)
    assert name == "shared"
    assert float(expert) == pytest.approx(100 * found.expert, abs=0.06)
    assert (champion == "yes") == found.champion
    assert float(exploitability) == pytest.approx(evaluation.exploitability(RULES, network), abs=1e-4)
    chance = evaluation.win_probability(RULES, network, "random")
    assert float(against_random) == pytest.approx(100 * chance, abs=0.06)
    picture = folder / "results" / "rllib_self_play" / "rllib_self_play.png"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_checkpoint_restored_in_a_new_process_plays_identically(learnt):
    output, folder = learnt
    saved = folder / "results" / "rllib_self_play" / "shared"
    before = Network(saved, RULES.heaps).everywhere(RULES)
    shutil.rmtree(saved)
    done = run(SCRIPT, "--resume", "--workers", 0, folder=folder)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert rows_of(done.stdout) == rows_of(output)
    np.testing.assert_array_equal(Network(saved, RULES.heaps).everywhere(RULES), before)


def test_the_same_seed_is_the_same_run(tmp_path, monkeypatch):
    learnt = []
    for name, seed, order in (("one", 5, "0"), ("other", 5, "1"), ("another", 6, "1")):
        monkeypatch.setitem(ENVIRONMENT, "PYTHONHASHSEED", order)  # that of a set of the players differs
        short = ("--heaps", 2, 3, "--steps", 3000, "--looks", 1, *FEW, "--folder", name, "--seed", seed)
        done = run(SCRIPT, *short, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        learnt.append(Network(tmp_path / name / "shared", (2, 3)).everywhere(NimRules((2, 3))))
    np.testing.assert_array_equal(learnt[0], learnt[1])
    assert not np.array_equal(learnt[0], learnt[2])


def test_games_of_neighbours_start_elsewhere(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from rllib_players import SelfPlay

    def starts(worker, game, seed):
        context = EnvContext({"rules": NimRules((9, 9, 9)), "seed": 0}, worker_index=worker, vector_index=game)
        env = SelfPlay(context)
        first = env.reset(seed=seed)
        return [str(first), *(str(env.reset()) for _ in range(3))]

    # as RLlib counts seeds: the worker's, and one more for each of its games
    games = {(worker, game): starts(worker, game, 7 + worker + game) for worker in (1, 2) for game in range(3)}
    assert len({tuple(of_game) for of_game in games.values()}) == 6
    assert games[1, 1] == starts(1, 1, 9)


# --- What goes wrong ------------------------------------------------------------------------------


def workers_of(process):
    """The process numbers of a run's workers."""
    ran = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in ran.splitlines()[1:]]
    raylets = {pid for pid, parent, name in processes if int(parent) == process.pid and "raylet" in name}
    assert len(raylets) == 1
    return [int(pid) for pid, parent, name in processes if parent in raylets and "MultiAgentEnvRunner" in name]


def test_a_killed_worker_is_replaced_and_the_run_ends(tmp_path):
    run = begin(SCRIPT, "--heaps", 1, 2, 3, "--steps", 60_000, "--looks", 12, *FEW, folder=tmp_path)
    printed = read_until_row(run, 1)
    workers = workers_of(run)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    printed += read_until_row(run, 10_000)
    while len(set(workers_of(run)) - {workers[0]}) < 2 and run.poll() is None:
        time.sleep(0.1)  # until it is replaced
    rest, told = run.communicate(timeout=120)
    assert run.returncode == 0, told
    assert told == "a worker died and was replaced (1 so far)\n"
    rows = rows_of(printed + rest)
    assert len(rows) == 13
    assert rows[-1][0] >= 60_000
    assert (tmp_path / "results" / "rllib_self_play" / "shared").is_dir()


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Two networks, stopped by Ctrl-C after the second look."""
    folder = tmp_path_factory.mktemp("stopped")
    options = ("--heaps", 1, 2, 3, "--policies", "separate", "--workers", 1, "--steps", 12_000, "--looks", 4)
    run = begin(SCRIPT, *options, *FEW, folder=folder)
    printed = read_until_row(run, 3000)
    run.send_signal(signal.SIGINT)
    rest, told = run.communicate(timeout=60)
    assert run.returncode == 130
    assert told.splitlines() == ["", "--resume goes on from results/rllib_self_play/checkpoints", "stopped"]
    kept = folder / "results" / "rllib_self_play"
    assert [path.name for path in kept.iterdir()] == ["checkpoints"]
    return folder, kept, printed + rest


def test_a_stopped_run_goes_on_with_its_options(stopped, tmp_path):
    _, kept, printed = stopped
    shutil.copytree(kept, tmp_path / "copy")
    done = run(SCRIPT, "--resume", "--workers", 0, "--folder", "copy", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    before, rows = rows_of(printed), rows_of(done.stdout)
    assert rows[:2] == before[:2]
    whole = json.loads(next((kept / "checkpoints").glob("*/run.json")).read_text())["rows"]
    assert [row[0] for row in rows[: len(whole)]] == [row["moves"] for row in whole]
    assert [row[1] for row in rows] == ["player_0", "player_1"] * 5
    assert rows[-1][0] >= 12_000
    rules = NimRules((1, 2, 3))
    networks = [Network(tmp_path / "copy" / name, rules.heaps) for name in ("player_0", "player_1")]
    assert not np.array_equal(networks[0].everywhere(rules), networks[1].everywhere(rules))
    for network, row in zip(networks, rows[-2:], strict=True):
        assert float(row[2]) == pytest.approx(100 * evaluation.mastery(rules, network.best).expert, abs=0.06)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "--heaps", 3, 4], r"--heaps \(3, 4\) differs from the run of .*, which has \(1, 2, 3\)"),
        (["--resume", "--policies", "shared"], "--policies shared differs from the run"),
        ([], "checkpoints are of another run: give --resume, --overwrite or another --folder"),
        (["--resume", "--folder", "nowhere"], "--resume needs a checkpoint, but there is none in nowhere"),
        (
            ["--overwrite", "--address", "here"],
            "--address must be auto or the host:port of a Ray cluster's head; got here",
        ),
        (["--address", "127.0.0.1:1", "--overwrite"], "--address 127.0.0.1:1: no Ray cluster answers there"),
        (["--workers", -1], "--workers must be 0 or more; got -1"),
        (["--minibatch", 10_000], "--minibatch must be at most --lesson, 8,192; got 10,000"),
        (["--layers", 0], "--layers must be 1 or more each; got 0"),
        (["--learning-rate", 0], "--learning-rate must be above 0; got 0"),
        (["--entropy", -1], "--entropy must be 0 or more; got -1"),
        (["--gae-lambda", 2], "--gae-lambda must lie between 0 and 1; got 2"),
        (["--seed", 2**31], "--seed must be 2147483647 or less"),
        (["--workers", 1000, "--lesson", 10**6, "--overwrite"], r"--workers must be \d+ or less on this machine"),
        (["--workers", 8, "--num-envs", 2000], r"--lesson must be a move or more in each of 16,000 games at once"),
        (["--heaps", 0, 0], "heaps"),
        (["--heaps", *[9] * 12], "positions"),
        (["--policies", "three"], "--policies"),
    ],
)
def test_mistakes_are_one_line_and_change_nothing(stopped, run_here, monkeypatch, arguments, message):
    folder, kept, _ = stopped
    monkeypatch.chdir(folder)
    before = contents(kept)
    check_refused(run_here(SCRIPT, *arguments), message)
    assert contents(kept) == before


@pytest.mark.parametrize("name", ["checkpoints", "shared"])
def test_folders_of_others_are_left_alone(name, run_here, tmp_path):
    (tmp_path / "mine" / name).mkdir(parents=True)
    (tmp_path / "mine" / name / "thesis.txt").write_text("years of work")
    done = run_here(SCRIPT, "--folder", "mine", "--overwrite", "--address", "127.0.0.1:1")
    check_refused(
        done, "shared is there and is no network of this script" if name == "shared" else "no Ray cluster"
    )
    assert [path.name for path in (tmp_path / "mine").rglob("*")] == [name, "thesis.txt"]


def test_broken_checkpoints_are_one_line(stopped, run_here, tmp_path):
    shutil.copytree(stopped[1], tmp_path / "run")
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    for state in checkpoint.rglob("module_state.pkl"):
        state.write_bytes(state.read_bytes()[:100])
    done = run(SCRIPT, "--resume", "--folder", "run", "--workers", 0, folder=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(r"rllib_self_play.py: run/checkpoints/\d+ is broken \(\w+\)\n", done.stderr)
    for text in ("{", "[]", '{"options": [], "rows": []}', '{"options": {}, "rows": [{}]}'):
        (checkpoint / "run.json").write_text(text)
        done = run_here(SCRIPT, "--resume", "--folder", "run")
        check_refused(done, r"run/checkpoints/\d+ is broken, or no checkpoint of this script")


@pytest.mark.parametrize("script", RAY_SCRIPTS)
def test_help(script, run_here):
    done = run_here(script, "--help")
    assert done.returncode == 0
    assert "--seed" in done.stdout
    assert not done.stderr
    check_refused(run_here(script, "--nonsense", "3"), r"Unrecognized options: --nonsense.*see --help")
    check_refused(run_without(["torch"], script, folder="."), r"^torch is missing; run pip install")


# --- A cluster ------------------------------------------------------------------------------------


@pytest.fixture
def cluster():
    """The address of a Ray cluster of one machine with two CPUs, and a function that ends it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus", "2"]
    flags = ["--port", str(port), "--include-dashboard", "false", "--disable-usage-stats"]
    head = subprocess.Popen(
        [*ray, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    printed = ""
    for line in head.stdout:
        printed += line
        if "Ray runtime started" in line:
            break
    else:
        raise AssertionError(printed)

    def end():
        os.killpg(head.pid, signal.SIGKILL)
        head.communicate(timeout=30)

    yield f"127.0.0.1:{port}", end
    if head.poll() is None:
        end()


def test_a_cluster_is_joined_and_its_loss_is_one_line(cluster, tmp_path):
    address, end = cluster
    done = run(SCRIPT, "--address", address, "--workers", 3, folder=tmp_path)
    check_refused(done, "--workers 3 needs as many CPUs; the cluster has 2 free")
    short = ("--trials", 2, "--games", 20, "--parts", 2)
    done = run("tune_sweep.py", "--address", address, *short, "--jobs", 1, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 trials" in done.stdout
    process = begin(SCRIPT, "--address", address, "--heaps", 1, 2, 3, "--looks", 1000, *FEW, folder=tmp_path)
    read_until_row(process, 2000)
    end()
    _, told = process.communicate(timeout=120)
    assert process.returncode == 1
    assert re.fullmatch(r"rllib_self_play.py: Ray was lost.*; --resume goes on from \S+checkpoints\n", told)
    (checkpoint,) = (tmp_path / "results" / "rllib_self_play" / "checkpoints").glob("[0-9]*")
    assert json.loads((checkpoint / "run.json").read_text())["rows"][-1]["moves"] >= 1000


# --- Players --------------------------------------------------------------------------------------


def test_saved_networks_are_players(learnt, tmp_path):
    _, folder = learnt
    saved = folder / "results" / "rllib_self_play" / "shared"
    game = ("--heaps", 1, 3, 5, "--max-take", "None", "--misere")
    done = run("tournament.py", *game, "--games", 50, "--enter", saved, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert "shared" in done.stdout
    other = ("--heaps", 1, 3, 6, "--max-take", "None")
    for flags, told in (
        (other, "1-3-6, normal play"),
        (("--heaps", 1, 3, 5, "--max-take", "None"), "1-3-5, normal play"),
    ):
        done = run("tournament.py", *flags, "--enter", saved, folder=tmp_path)
        check_refused(done, rf"shared holds a network of 1-3-5, misère play, take any number, not of {told}")
    shutil.copytree(saved, tmp_path / "broken")
    (tmp_path / "broken" / "module_state.pkl").write_bytes(b"nothing")
    check_refused(
        run("tournament.py", *game, "--enter", "broken", folder=tmp_path),
        r"broken is damaged or holds no network of RLlib",
    )
