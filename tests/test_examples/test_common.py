"""The command line and players by name."""

import errno
import io
import itertools
import os
import sys
import tracemalloc
import zipfile
from dataclasses import dataclass
from pathlib import Path

import common
from common import load_player

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import agents
from nim_env import EncodedPolicy, ExpertPolicy, NimRules, RandomPolicy, TakePolicy, policies
from nim_env.envs.gym_env import NimEnv

RULES = NimRules((2, 3))


# --- Command line ---------------------------------------------------------------------------------


@dataclass
class Args:
    """The options of a script."""

    episodes: int = 3
    """Training episodes."""


def test_run_parses_the_command_line(monkeypatch, capsys):
    results = []

    def main(args):
        results.append(args)

    monkeypatch.setattr(sys, "argv", ["script.py", "--episodes", "5"])
    common.run(main, Args)
    assert results == [Args(5)]
    monkeypatch.setattr(sys, "argv", ["script.py", "--nonsense", "5"])
    with pytest.raises(SystemExit) as stop:
        common.run(main, Args)
    assert stop.value.code == 2
    assert "--nonsense" in capsys.readouterr().err


@dataclass
class Numbers:
    """Options with a range."""

    count: common.PositiveInt = 3
    counts: tuple[common.PositiveInt, ...] = (1, 2)
    maybe: common.PositiveInt | None = None
    seed: common.Seed = 0
    share: common.Fraction = 0.5
    rate: common.NonNegative = 0.5


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("--count 1 --counts 4 5", "counts", (4, 5)),
        ("--maybe 7 --seed 2147483647", "seed", 2**31 - 1),
        ("--share 0 --maybe None", "share", 0.0),
        ("--count 0", "--count", None),
        ("--counts 3 0", "--counts", None),
        ("--maybe -1", "--maybe", None),
        ("--seed -1", "--seed", None),
        ("--seed 2147483648", "--seed", None),
        ("--share 1.5", "--share", None),
        ("--share nan", "--share", None),
        ("--rate 1e9", "rate", 1e9),
        ("--rate -0.1", "--rate", None),
        ("--count 2.5", "--count", None),
    ],
)
def test_numbers_have_a_range(line, name, value, monkeypatch, capsys):
    results = []

    def main(args):
        results.append(args)

    monkeypatch.setattr(sys, "argv", ["script.py", *line.split()])
    if value is not None:
        common.run(main, Numbers)
        assert getattr(results[0], name) == value
        return
    with pytest.raises(SystemExit) as stop:
        common.run(main, Numbers)
    assert stop.value.code == 2
    assert name in capsys.readouterr().err


def test_ctrl_c_exits_with_one_line(monkeypatch, capsys):
    def interrupted(args):  # noqa: ARG001
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["script.py"])
    with pytest.raises(SystemExit) as stop:
        common.run(interrupted, Args)
    assert stop.value.code == 130
    assert len(capsys.readouterr().err.split()) == 1


@pytest.fixture
def run(monkeypatch):
    """Runs a function as the main function of a script without options."""
    monkeypatch.setattr(sys, "argv", ["script.py"])

    def run(function):
        def main(args):  # noqa: ARG001
            function()

        common.run(main, Args)

    return run


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp850", "cp932"])
def test_what_the_output_cannot_encode_is_replaced(encoding, run, monkeypatch):
    def show():
        print("take 3 – 100 % ✓")
        table = Table("ε", "–")
        table.add_row("naïve", "→")
        Console().print(table)

    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding))
    run(show)
    text = output.getvalue().decode(encoding)
    assert "take 3 ? 100 % ?" in text.replace("–", "?")
    assert "ve" in text.splitlines()[-2]


def test_what_the_input_cannot_decode_is_replaced(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\nyes\n"), "ascii"))
    answers = []
    run(lambda: answers.append(sys.stdin.read()))
    assert answers == ["\ufffd\nyes\n"]


@pytest.mark.posix
@pytest.mark.parametrize("n_lines", [1, 10_000])
def test_a_closed_pipe_ends_the_script_quietly(n_lines, run, monkeypatch, capsys):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        with pytest.raises(SystemExit) as stop:
            run(lambda: print("a line\n" * n_lines))
    assert stop.value.code == 141
    assert not capsys.readouterr().err


def test_errors_of_the_system_are_one_line(run, refused, monkeypatch):
    def fails():
        raise OSError(errno.ENOSPC, "No space left on device")

    with refused("No space left"):
        run(fails)
    if Path("/dev/full").exists():
        with refused("No space left"), open("/dev/full", "w") as output, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", output)
            run(lambda: print("a line"))


def test_wrong_values_are_one_line(refused, tmp_path):
    with refused("no such heap"), common.checking_args():
        raise ValueError("no such heap")
    (tmp_path / "file").touch()
    for path in ("figure.txt", "file/figure.png", "."):
        with refused("--picture", path):
            common.check_output("picture", Path(path), common.FIGURE_SUFFIXES)
    if hasattr(os, "mkfifo"):
        os.mkfifo("pipe.png")
        with refused("--picture", "pipe.png"):
            common.check_output("picture", Path("pipe.png"), common.FIGURE_SUFFIXES)
    common.check_output("picture", Path("new/folder/figure.png"), common.FIGURE_SUFFIXES)
    assert not list((tmp_path / "new" / "folder").iterdir())


def full_disk(figure, path, **_):  # noqa: ARG001
    Path(path).write_bytes(b"half a ")
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_picture_is_replaced_whole_or_not_at_all(refused, tmp_path, monkeypatch):
    target = tmp_path / "figure.png"
    common.save_figure(Figure(figsize=(1, 1)), target)
    old = target.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", full_disk)
        with refused("figure.png", "No space left"):
            common.save_figure(Figure(), target)
    assert target.read_bytes() == old
    (tmp_path / "link.png").symlink_to(target)
    common.save_figure(Figure(figsize=(2, 2)), tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert target.read_bytes() != old
    assert len(list(tmp_path.iterdir())) == 2  # nothing is left behind


@pytest.mark.parametrize("ends", [(0.2, 0.2, 0.2), (1.0, 0.99, 0.5), (0.0, 0.9), (0.3,)])
def test_labels_of_lines_do_not_overlap(ends):
    figure, axis = plt.subplots(figsize=(4, 3))
    axis.set_ylim(0, 1)
    for number, end in enumerate(ends):
        axis.plot([0, 1], [0.5, end], label=f"line {number}")
    axis.axvline(0.5)  # no label
    axis.plot([0.9], [0.5], "o", label="point")
    common.label_lines(axis, to_left=["point"])
    figure.draw_without_rendering()
    point = axis.texts[-1]
    assert point.get_text() == "point"
    assert point.get_window_extent().x1 < axis.transData.transform((0.9, 0.5))[0]
    point.remove()
    boxes = {text.get_text(): text.get_window_extent() for text in axis.texts}
    assert len(boxes) == len(ends)
    heights = sorted((box.y0, box.y1) for box in boxes.values())
    assert all(above[0] >= below[1] - 3 for below, above in itertools.pairwise(heights))  # in pixels
    for text, line in zip(sorted(axis.texts, key=lambda text: text.get_text()), axis.lines, strict=False):
        assert text.get_color() == line.get_color()
    highest, lowest = (f"line {place}" for place in (np.argmax(ends), np.argmin(ends)))
    assert boxes[highest].y1 >= boxes[lowest].y1


def test_a_full_disk_is_noticed_before_the_training(refused, monkeypatch):
    class FullDisk(io.BytesIO):
        def write(self, data):  # noqa: ARG002
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: FullDisk())
    with refused("--picture", "figure.png", "No space left"):
        common.check_output("picture", Path("figure.png"))


def test_a_run_is_resumed_or_refused(refused):
    common.check_resume(True, Path("folder"), True)
    common.check_resume(False, Path("folder"), False)
    for resume in (True, False):
        with refused("--resume", "folder"):
            common.check_resume(resume, Path("folder"), not resume)


def test_only_0_and_1_are_written_as_0_and_100_percent():
    fractions = (0, 1e-9, 0.123, 1 - 1e-9, 1)
    assert [common.percent(fraction) for fraction in fractions] == ["0.0", "0.1", "12.3", "99.9", "100.0"]
    assert common.percent(0.12345, digits=2) == "12.35"


# --- Players --------------------------------------------------------------------------------------


def probabilities(player, heaps=(2, 3)):
    heaps = np.array(heaps)
    return policies.checked_policy(player, RULES).action_probabilities(heaps, RULES.action_mask(heaps))


def test_built_in_players():
    for name, policy in (
        ("random", RandomPolicy()),
        ("take-2", TakePolicy(RULES, 2)),
        ("expert", ExpertPolicy(RULES)),
    ):
        np.testing.assert_array_equal(probabilities(load_player(name, RULES)), probabilities(policy))
    for name in ("grandmaster", "take-0", "", "nowhere.npz"):
        with pytest.raises(ValueError, match="take-N"):
            load_player(name, RULES)


def test_a_function_or_policy_in_a_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from nim_env import RandomPolicy\n"
        "@dataclass\nclass Note:\n    text: str = ''\n"
        "def last(observation, action_mask):\n    return action_mask.nonzero()[0][-1]\n"
        "policy, number = RandomPolicy(), 7\n"
    )
    assert probabilities(load_player("mine.py:last", RULES)).tolist() == [0, 0, 0, 0, 1]
    assert probabilities(load_player("mine.py:policy", RULES)).tolist() == [0.2] * 5
    (tmp_path / "neighbor.py").write_text("from mine import last")
    assert probabilities(load_player("neighbor.py:last", RULES)).tolist() == [0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match=r"mine\.py:NAME"):
        load_player("mine.py", RULES)
    for name in ("mine.py:first", "mine.py:number", "yours.py:last"):
        with pytest.raises(ValueError, match=name.split(":")[0]):
            load_player(name, RULES)


@pytest.fixture
def agent():
    env = NimEnv(RULES.heaps, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 100, seed=0)
    return agent


def test_a_saved_agent_of_an_encoding(tmp_path):
    env = NimEnv(RULES.heaps, opponent=None, observation="bits")
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 100, seed=0)
    agent.save(tmp_path / "agent.npz")
    expected = probabilities(EncodedPolicy(agent, env.encoding))
    np.testing.assert_array_equal(probabilities(load_player("agent.npz", RULES)), expected)


def test_a_saved_agent(agent, tmp_path):
    agent.save(tmp_path / "agent.npz")
    np.testing.assert_array_equal(probabilities(load_player("agent.npz", RULES)), probabilities(agent))
    for other in (NimRules((2, 4)), NimRules((2, 3), max_take=1)):
        with pytest.raises(ValueError, match="another game"):
            load_player("agent.npz", other)
    (tmp_path / "loaded.py").write_text("import agents\nplayer = agents.load('agent.npz')")
    assert load_player("loaded.py:player", RULES)
    with pytest.raises(ValueError, match=r"loaded\.py:player.*another game"):
        load_player("loaded.py:player", NimRules((2, 4)))


def test_a_saved_table(agent, tmp_path):
    common.save_table_policy(policies.tabulate(RULES, agent), tmp_path / "table.npz")
    for heaps in RULES.all_positions()[1:]:
        np.testing.assert_array_equal(
            probabilities(load_player("table.npz", RULES), heaps), probabilities(agent, heaps)
        )
    with pytest.raises(ValueError, match="not of"):
        load_player("table.npz", NimRules((2, 3), misere=False))


class MakesFolder:
    """A pickle of it creates the folder ``ran`` when it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


def header(descr, shape, padding=0):
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}}}{' ' * padding}\n".encode()
    return np.lib.format.magic(1, 0) + len(text).to_bytes(2, "little") + text


def array(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


GAME, TABLE = array(np.array(str(RULES))), (RULES.n_positions, RULES.n_actions)
BIG = 2**25


@pytest.mark.parametrize(
    ("game", "table"),
    [
        (GAME, header("<f4", (BIG // 4,)) + bytes(BIG)),
        (GAME, header("<f4", (10**12, 10**6)) + bytes(100)),
        (GAME, header(f"<U{BIG}", TABLE) + bytes(100)),
        (GAME, header("<f4", TABLE, padding=8_000) + bytes(4 * TABLE[0] * TABLE[1])),
        (GAME, array(np.full(TABLE, MakesFolder()))),
        (header(f"<U{BIG // 4}", ()) + bytes(BIG), array(np.ones(TABLE))),
        (array(np.array(MakesFolder())), array(np.ones(TABLE))),
        (GAME, b"\x93NUMPY"),
        (GAME, b""),
    ],
)
def test_tables_are_checked_before_they_are_read(game, table, tmp_path):
    with zipfile.ZipFile("table.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("game.npy", game)
        file.writestr("probabilities.npy", table)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"table\.npz is damaged"):
            load_player("table.npz", RULES)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
    assert not (tmp_path / "ran").exists()


def test_models_need_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "sb3_contrib", None)
    monkeypatch.setitem(sys.modules, "learn_the_rule.network", None)
    for name in ("model.zip", "network.pt"):
        Path(name).touch()
        with pytest.raises(ValueError, match=rf"{name} needs .*sb3"):
            load_player(name, RULES)


def test_damaged_files_are_named(agent, tmp_path):
    agent.save(tmp_path / "agent.npz")
    common.save_table_policy(policies.tabulate(RULES, agent), tmp_path / "table.npz")
    np.savez(tmp_path / "half.npz", probabilities=np.ones(3))
    for name in ("agent.npz", "table.npz"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
    for name in ("agent.npz", "table.npz", "half.npz"):
        with pytest.raises(ValueError, match=f"{name} is damaged"):
            load_player(name, RULES)
