"""The scripts that train networks, as a user runs them; in a file of their own for machines without PyTorch."""

import importlib
import pickle
import re
import signal
import zipfile

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import torch
from sb3_contrib import MaskablePPO
from scripts import DEEP_SCRIPTS, EXAMPLES, begin, check_refused, run, run_without
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nim_env import NimRules, evaluation, wrappers

torch.set_num_threads(1)  # the tests run beside each other
SMALL = ("--heaps", 1, 2, 3, "--num-envs", 32, "--rollout", 16, "--batch-size", 128, "--layers", 32)


def curves(folder):
    """What TensorBoard shows of one run: by name, the steps and values."""
    events = EventAccumulator(str(folder))
    events.Reload()
    return {
        name: [(event.step, event.value) for event in events.Scalars(name)] for name in events.Tags()["scalars"]
    }


@pytest.mark.parametrize("script", DEEP_SCRIPTS)
def test_help(script, run_here):
    done = run_here(script, "--help")
    assert done.returncode == 0
    assert "--seed" in done.stdout
    assert not done.stderr


@pytest.mark.parametrize("script", DEEP_SCRIPTS)
def test_an_unknown_flag_is_one_line(script, run_here):
    check_refused(run_here(script, "--nonsense", "3"), r"Unrecognized options: --nonsense.*see --help")


@pytest.mark.parametrize("package", ["torch", "stable_baselines3", "sb3_contrib", "tensorboard"])
def test_a_missing_package_is_named_with_its_extra(package, tmp_path):
    done = run_without([package], "sb3_self_play.py", folder=tmp_path)
    check_refused(done, rf'^{package} is missing; run pip install -e "\.\[examples,sb3\]"')


# --- sb3_self_play.py -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def self_play(tmp_path_factory):
    """A run that was never stopped: 20 lessons on 1-2-3."""
    folder = tmp_path_factory.mktemp("self_play")
    done = run("sb3_self_play.py", *SMALL, *COURSE, folder=folder)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout, folder / "results" / "sb3_self_play"


COURSE = ("--steps", 20 * 32 * 16, "--looks", 4, "--lessons-a-checkpoint", 2, "--lessons-a-snapshot", 3)


def figures(output):
    """The table of a run without the seconds."""
    rows = re.findall(r"^ *([\d,]+) +\d+ +([\d.]+) +(yes|no) +([\d.]+) +([\d.]+) +([\d.]+)$", output, re.M)
    return [(int(moves.replace(",", "")), *rest) for moves, *rest in rows]


def test_self_play_ends_in_a_table_a_model_and_a_picture(self_play):
    output, folder = self_play
    rows = figures(output)
    assert [moves for moves, *_ in rows] == [0, 2560, 5120, 7680, 10240]
    assert (folder / "sb3_self_play.png").read_bytes().startswith(b"\x89PNG")
    rules = NimRules((1, 2, 3))
    model = MaskablePPO.load(folder / "model.zip", device="cpu")
    encode = lambda heaps: np.eye(9, dtype=np.float32)[np.asarray(heaps) + np.array([0, 2, 5])].sum(axis=-2)  # noqa: E731
    play = lambda o, m: model.predict(encode(o), action_masks=m, deterministic=True)[0]  # noqa: E731
    found = evaluation.mastery(rules, play)
    assert float(rows[-1][1]) == pytest.approx(100 * found.expert, abs=0.06)
    assert (rows[-1][2] == "yes") == found.champion
    assert f"expert mastery {100 * found.expert:.2f} %" in output


def test_tensorboard_has_the_truth_among_its_curves(self_play):
    output, folder = self_play
    (log,) = (folder / "tensorboard").iterdir()
    assert log.name.startswith("1-2-3_self-play_one-hot_seed_0")
    shown = curves(log)
    rows = figures(output)
    assert [step for step, _ in shown["nim/expert"]] == [moves for moves, *_ in rows]
    for (_, value), row in zip(shown["nim/expert"], rows, strict=True):
        assert float(row[1]) == pytest.approx(100 * value, abs=0.06)
    for (_, value), row in zip(shown["nim/exploitability"], rows, strict=True):
        assert float(row[3]) == pytest.approx(value, abs=1e-4)
    assert {"train/entropy_loss", "nim/champion", "nim/value_accuracy", "nim/seen"} < shown.keys()


def test_a_run_that_was_stopped_goes_on_to_the_same_network(self_play, run_here, tmp_path):
    output, folder = self_play
    process = begin("sb3_self_play.py", *SMALL, *COURSE, folder=tmp_path)
    for line in process.stdout:
        if re.match(r" *5,120 ", line):
            break
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"--resume goes on from results.*checkpoint\.pkl\nstopped$", told.strip())
    kept = tmp_path / "results" / "sb3_self_play"
    assert not (kept / "model.zip").exists()
    before = (kept / "checkpoint.pkl").read_bytes()
    for arguments, message in (
        (
            ("--heaps", 3, 4, 5),
            r"--heaps \(3, 4, 5\) differs from the run of .*checkpoint\.pkl, which has \(1, 2, 3\)",
        ),
        (("--seed", 7), "--seed 7 differs from the run of .*, which has 0"),
        (("--heaps", 1, 3, 5, 7), r"--heaps \(1, 3, 5, 7\) differs from the run"),  # the default
        (("--steps", 4_000_000), "--steps 4000000 differs from the run"),
        (("--representation", "bits"), "--representation bits differs from the run of .*, which has one-hot"),
    ):
        check_refused(run_here("sb3_self_play.py", "--resume", *arguments), message)
    check_refused(
        run_here("sb3_self_play.py", *SMALL), r"checkpoint\.pkl is of another run: give --resume, --over"
    )
    assert (kept / "checkpoint.pkl").read_bytes() == before
    done = run("sb3_self_play.py", "--resume", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (log,) = (kept / "tensorboard").iterdir()  # it goes on in the same log, and does not start anew
    steps = [step for step, _ in curves(log)["nim/expert"]]
    assert steps.count(0) == 1
    assert sorted(set(steps)) == [moves for moves, *_ in figures(output)]
    assert figures(done.stdout) == figures(output)
    one, other = (MaskablePPO.load(path / "model.zip", device="cpu") for path in (kept, folder))
    assert one.num_timesteps == other.num_timesteps == 10240
    for name, weights in one.policy.state_dict().items():
        np.testing.assert_array_equal(weights.numpy(), other.policy.state_dict()[name].numpy(), err_msg=name)
    finished = run_here("sb3_self_play.py", "--resume")  # there is nothing left to do
    assert figures(finished.stdout) == figures(output)


def test_the_model_plays_on_the_page(self_play, run_here):  # noqa: ARG001  it finds the modules
    from browser_games import Refused, Seat, Setup
    from play_in_browser import from_file

    _, folder = self_play
    seat = Seat({"model": from_file(folder / "model.zip")}, seed=0)
    seat.new_game(Setup((1, 2, 3), opponent="model", first="you"))
    model = MaskablePPO.load(folder / "model.zip", device="cpu")
    encode = wrappers.one_hot(gym.make("Nim-v0", heaps=(1, 2, 3))).encode
    mask = np.ones(6, dtype=np.int8)
    drawn = model.policy.get_distribution(model.policy.obs_to_tensor(encode([1, 2, 3]))[0], action_masks=mask)
    expected = drawn.distribution.probs.detach().numpy()[0]
    np.testing.assert_allclose([hint.opinion for hint in seat.game.hints()], expected, rtol=1e-6)
    seat.game.take(2, 1, 0)
    mask = seat.game.rules.action_mask([1, 2, 2])
    action = model.predict(encode([1, 2, 2]), action_masks=mask, deterministic=True)[0]
    assert seat.game.last_moves[1][1:] == seat.game.rules.moves[action]
    with pytest.raises(Refused, match="model of another game than 1-2, take any number"):
        seat.new_game(Setup((1, 2), opponent="model"))


def test_the_model_plays_in_other_scripts(self_play, run_here, tmp_path):
    _, folder = self_play
    model = folder / "model.zip"
    played = run("play.py", "--opponent", model, "--heaps", 1, 2, 3, "--first", "ai", folder=tmp_path)
    assert re.search(r"AI chose to take \d object\(s\) from pile \d\.", played.stdout)
    game = ("--heaps", 1, 2, 3, "--max-take", "None", "--misere", "--games", 50)
    shown = run_here("tournament.py", *game, "--enter", model)
    assert shown.returncode == 0, shown.stderr
    assert "model.zip" in shown.stdout
    check_refused(
        run_here("tournament.py", "--enter", model),
        r"model\.zip holds a model of another game than 21, take 1 to 3$",
    )
    broken = tmp_path / "broken.zip"
    with zipfile.ZipFile(model) as whole, zipfile.ZipFile(broken, "w") as part:
        part.writestr("policy.pth", whole.read("policy.pth")[:100])
    check_refused(
        run_here("play.py", "--opponent", broken), r"broken\.zip is damaged or holds no MaskablePPO model"
    )


@pytest.mark.parametrize("wrap", [lambda env: env, wrappers.bits, wrappers.unary, wrappers.one_hot])
def test_a_model_is_read_in_the_way_that_it_sees(deep, wrap, tmp_path):
    env = wrap(gym.make("Nim-v0", heaps=(2, 3)))
    model = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=8, seed=0, device="cpu")
    model.save(tmp_path / "model.zip")
    rules = env.unwrapped.rules
    player = deep.saved_model(tmp_path / "model.zip", rules)
    encode = getattr(env, "encode", np.asarray)
    for heaps in deep.positions(rules):
        mask = rules.action_mask(heaps)
        action = model.predict(encode(heaps), action_masks=mask, deterministic=True)[0]
        assert player.act(heaps, mask) == action
        np.testing.assert_array_equal(player.action_probabilities(heaps, mask), np.eye(rules.n_actions)[action])


def test_a_checkpoint_is_there_from_the_first_lesson_on(deep, run_here, tmp_path, monkeypatch):
    short = (*SMALL, "--steps", 2048, "--looks", 4, "--lessons-a-checkpoint", 1)
    measured, looks = deep.measured, []

    def stopped_at_the_third(*arguments):
        looks.append(arguments)
        if len(looks) == 3:
            raise KeyboardInterrupt
        return measured(*arguments)

    monkeypatch.setattr(deep, "measured", stopped_at_the_third)
    assert run_here("sb3_self_play.py", *short).returncode == 130
    monkeypatch.setattr(deep, "measured", measured)
    path = tmp_path / "results" / "sb3_self_play" / "checkpoint.pkl"
    first = path.read_bytes()
    check_refused(run_here("sb3_self_play.py", *short), "give --resume, --overwrite or another --folder")
    assert path.read_bytes() == first
    assert [moves for moves, *_ in figures(run_here("sb3_self_play.py", "--resume").stdout)] == [
        0,
        512,
        1024,
        1536,
        2048,
    ]
    assert run_here("sb3_self_play.py", *short, "--overwrite", "--seed", 1).returncode == 0
    assert path.read_bytes() != first


def test_another_seed_is_another_run_and_the_same_the_same(self_play, run_here):
    output, _ = self_play
    short = (*SMALL, "--steps", 1024, "--looks", 1)
    first = run_here("sb3_self_play.py", *short, "--seed", 1, "--folder", "a")
    again = run_here("sb3_self_play.py", *short, "--seed", 1, "--folder", "b")
    assert first.returncode == again.returncode == 0
    assert figures(first.stdout) == figures(again.stdout)
    assert figures(first.stdout)[0] != figures(output)[0]


def test_a_broken_checkpoint_is_one_line_and_stays(self_play, run_here, tmp_path):
    whole = (self_play[1] / "checkpoint.pkl").read_bytes()
    path = tmp_path / "results" / "sb3_self_play" / "checkpoint.pkl"
    check_refused(
        run("sb3_self_play.py", "--resume", folder=tmp_path),
        "--resume needs a checkpoint, but there is no results",
    )
    path.parent.mkdir(parents=True)
    for broken in (whole[: len(whole) // 2], b"", b"nonsense", pickle.dumps({"model": b""}), pickle.dumps([1])):
        path.write_bytes(broken)
        done = run_here("sb3_self_play.py", "--resume")
        check_refused(done, r"checkpoint\.pkl is broken, or no checkpoint of this script \(\w+\)")
        assert path.read_bytes() == broken


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--teacher", "grandmaster"],
            "--teacher must be self-play, random, take-3, expert or another take-N; got grand",
        ),
        (["--representation", "hex"], "--representation"),
        (["--steps", "0"], "--steps must be 1 or more; got 0"),
        (["--batch-size", "1"], "--batch-size must be 2 or more; got 1"),
        (["--batch-size", "1000"], "--batch-size must divide --num-envs times --rollout, 16,384; got 1,000"),
        (["--layers", "8", "0"], "--layers must be 1 or more each; got 8 0"),
        (["--learning-rate", "-1"], "--learning-rate must be above 0; got -1"),
        (["--entropy", "nan"], "--entropy must be 0 or more; got nan"),
        (["--gae-lambda", "2"], "--gae-lambda must lie between 0 and 1; got 2"),
        (["--heaps", "0"], "not all 0"),
        (["--heaps", *["200"] * 5], "too many for an exact sweep"),
        (["--lessons-a-checkpoint", "0"], "--lessons-a-checkpoint must be 1 or more; got 0"),
    ],
)
def test_mistakes_in_self_play_are_one_line(arguments, message, run_here, tmp_path):
    check_refused(run_here("sb3_self_play.py", *arguments), message)
    assert not list(tmp_path.iterdir())


def test_self_play_learns(run_here):
    learning = ("--heaps", 1, 2, 3, "--steps", 60_000, "--num-envs", 64, "--rollout", 16, "--batch-size", 256)
    done = run_here("sb3_self_play.py", *learning, "--layers", 64, 64, "--learning-rate", 5e-3, "--looks", 4)
    rows = figures(done.stdout)
    assert float(rows[-1][1]) == 100
    assert rows[-1][2] == "yes"
    assert float(rows[-1][3]) < 0.1
    assert float(rows[0][1]) < 60


# --- sb3_masks.py ---------------------------------------------------------------------------------


def test_masks(tmp_path):
    small = ("--heaps", 2, 3, "--steps", 6000, "--looks", 3, "--seeds", 2)
    done = run("sb3_masks.py", *small, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 runs, 0 of them finished before" in done.stdout
    for algorithm in ("DQN", "PPO", "MaskablePPO"):
        assert re.search(
            rf"^{algorithm}, seed 1: expert mastery [\d.]+ %, illegal moves [\d.]+ %$", done.stdout, re.M
        )
    folder = tmp_path / "results" / "sb3_masks"
    table = pd.read_csv(folder / "sb3_masks.csv")
    assert table.groupby(["algorithm", "seed"]).size().tolist() == [4] * 6
    last = table[table["steps"] > 0].groupby("algorithm")["illegal"]
    assert last.max()["MaskablePPO"] == 0
    assert last.min()["PPO"] > 0
    assert last.min()["DQN"] > 0
    assert table["expert"].between(0, 1).all()
    assert (folder / "sb3_masks.png").read_bytes().startswith(b"\x89PNG")
    shown = curves(folder / "tensorboard" / "PPO_seed_0_1")
    of_run = table[(table["algorithm"] == "PPO") & (table["seed"] == 0) & (table["steps"] > 0)]
    assert [value for _, value in shown["nim/expert"]] == pytest.approx(of_run["expert"].tolist())
    assert [value for _, value in shown["nim/illegal"]] == pytest.approx(of_run["illegal"].tolist())
    again = run("sb3_masks.py", *small, folder=tmp_path)
    assert "6 runs, 6 of them finished before" in again.stdout
    pd.testing.assert_frame_equal(pd.read_csv(folder / "sb3_masks.csv"), table)


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("sb3_masks.py", ["--teacher", "self-play"], "teacher must be.*got 'self-play'"),
        ("sb3_masks.py", ["--algorithms"], "--algorithms must name one or more of DQN, PPO, MaskablePPO"),
        ("sb3_masks.py", ["--jobs", "0"], "--jobs must be 1 or more, or -1 for all cores; got 0"),
        ("sb3_masks.py", ["--heaps", "1"], "no position of 1, misère play, take any number, can be won"),
        ("representations.py", ["--representations"], "--representations must name one or more"),
        ("representations.py", ["--seeds", "0"], "--seeds must be 1 or more"),
        ("representations.py", ["--seed", "4294967296"], "--seed must be 4294967293 or less; got 4294967296"),
        ("sb3_masks.py", ["--seed", "-1"], "--seed must be 0 or more; got -1"),
        (
            "scaling_deep.py",
            ["--folder", "/etc/hostname/x"],
            "--folder must lie in a folder that can be written to",
        ),
        ("scaling_deep.py", ["--fewest", "8"], "--fewest must be at most the number of heaps, 7; got 8"),
        ("scaling_deep.py", ["--teacher", "take-0"], "--teacher must be self-play"),
    ],
)
def test_mistakes_are_one_line(script, arguments, message, run_here, tmp_path):
    check_refused(run_here(script, *arguments), message)
    assert not list(tmp_path.iterdir())


# --- representations.py and scaling_deep.py -------------------------------------------------------


def test_representations(run_here, tmp_path):
    done = run_here("representations.py", *SMALL, "--steps", 2048, "--looks", 2, "--seeds", 2, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "representations"
    table = pd.read_csv(folder / "representations.csv")
    assert set(table["representation"]) == {"one-hot", "bits", "unary"}
    assert table.groupby(["representation", "seed"])["steps"].agg(list).tolist() == [[0, 1024, 2048]] * 6
    assert table["value_accuracy"].between(0, 1).all()
    assert (folder / "representations.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((folder / "tensorboard").iterdir())) == 6


def test_scaling_deep(run_here, tmp_path):
    boards = ("--heaps", 1, 3, 5, 7, 9, "--fewest", 3, "--representations", "bits", "unary", "--steps", 2048)
    done = run_here("scaling_deep.py", *boards, *SMALL[4:], "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert re.search(r"1-3-5-7-9, unary, seed 0: expert mastery [\d.]+ %, values right [\d.]+ %", done.stdout)
    folder = tmp_path / "results" / "scaling_deep"
    table = pd.read_csv(folder / "scaling_deep.csv")
    assert sorted(zip(table["n_heaps"], table["representation"], strict=True)) == [
        (n, name) for n in (3, 4, 5) for name in ("bits", "unary")
    ]
    seen = table.set_index("n_heaps")["seen"]
    assert (seen[3] > 0.9).all()
    assert (seen[5] < 0.7).all()  # 4,096 positions of 3,840 at most, drawn with repetitions
    assert (folder / "scaling_deep.png").read_bytes().startswith(b"\x89PNG")


# --- deep.py --------------------------------------------------------------------------------------


@pytest.fixture
def deep(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("deep")


def small_player(deep, recipe):
    env = deep.games(recipe, "random")
    return deep.player_of(deep.new_model(recipe, env, "unused"), env), env


@pytest.mark.parametrize("tabulated", [0, 10_000])
def test_what_is_kept_of_a_network_stays_what_it_was(deep, monkeypatch, tabulated):
    monkeypatch.setattr(deep, "TABULATED", tabulated)
    recipe = deep.Recipe(heaps=(2, 3), num_envs=8, rollout=8, batch_size=32, layers=(16,))
    player, env = small_player(deep, recipe)
    heaps = deep.positions(recipe.rules)
    masks = recipe.rules.action_mask(heaps)
    model = deep.new_model(recipe, env, "unused")
    model.tensorboard_log = None
    model.learn(64)
    player = deep.player_of(model, env)
    before, kept = player.action_probabilities(heaps, masks), player.kept(recipe.rules)
    np.testing.assert_array_equal((before > 0) * (1 - masks), 0)
    np.testing.assert_allclose(before.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(kept.action_probabilities(heaps, masks), before, atol=1e-7)
    model.learn(256, reset_num_timesteps=False)
    assert np.abs(player.action_probabilities(heaps, masks) - before).max() > 1e-3
    np.testing.assert_allclose(kept.action_probabilities(heaps, masks), before, atol=1e-7)
