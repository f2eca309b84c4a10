"""The command ``check`` on players in the shapes that strangers write."""

import json
import random
import re
import signal
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import agents
from nim_env import NimEnv, NimRules, TabularPolicy, evaluation, policies
from nim_env.check.command import main
from nim_env.check.examination import examine
from nim_env.check.foreign_code import run_file
from nim_env.check.options import parse
from nim_env.check.programs import PlayerError
from nim_env.check.report import full_report, summary_line

ROOT = Path(__file__).parents[2]
PLAYERS = ROOT / "tests" / "data" / "players"
RULES = NimRules((2, 3, 4))


@pytest.fixture(autouse=True)
def in_own_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def check(player, *options, episodes=1_000):
    """What is said of a player of 2-3-4, in this process."""
    given = ["check", str(player), "--heaps", "2", "3", "4", "--episodes", str(episodes), *options]
    return examine(str(player), parse(given)).to_json()


def values_of(name, episodes=1_000):
    """The values of a learner's file, trained with the seed of the command; -inf for illegal moves."""
    random.seed(0)
    table = run_file(PLAYERS / f"{name}.py")["train"](episodes).q
    legal = RULES.action_mask(RULES.all_positions())
    return np.where(legal, policies.q_values_of(RULES, table), -np.inf)


def first_best(values):
    """The probabilities of the player of the first of the best moves."""
    return np.eye(RULES.n_actions)[values.argmax(axis=1)]


def same_figures(entry, probabilities, illegal_action="raise"):
    policy = TabularPolicy(RULES, probabilities)
    expected = evaluation.report(RULES, policy, illegal_action=illegal_action).to_dict()
    return {name: entry[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize("name", ["q_dictionary", "maximum_from_zero"])
def test_a_class_with_a_dictionary_plays_without_exploration(name):
    values = values_of(name)
    entry = check(PLAYERS / f"{name}.py")
    assert same_figures(entry, first_best(values))
    accuracy = evaluation.value_accuracy(RULES, lambda heaps: values[RULES.index(heaps)].max(axis=1))
    assert entry["value_accuracy_won"] == accuracy.won
    assert entry["value_error_lost"] == pytest.approx(accuracy.error_lost)


def test_ties_at_random_are_measured_as_chance():
    values = values_of("random_ties", episodes=50)
    best = values == values.max(axis=1, keepdims=True)
    entry = check(PLAYERS / "random_ties.py", episodes=50)
    expected = TabularPolicy(RULES, best / best.sum(axis=1, keepdims=True))
    win_probability = evaluation.win_probability(RULES, expected, "random")
    assert entry["win_probability_random"] == pytest.approx(win_probability, abs=0.05)
    number = int(re.search(r"draws its move in (\d+) positions", " ".join(entry["remarks"]))[1])
    n_ties = (best[1:].sum(axis=1) > 1).sum()
    assert 0.3 * n_ties < number <= n_ties


def test_a_function_is_asked_twice_and_often_where_it_draws():
    code = (
        "import random\n"
        "def player(heaps):\n"
        "    with open('calls', 'a') as file: file.write('call\\n')\n"
        "    return heaps.index(max(heaps)), (RANDOM)\n"
    )
    for count, n_calls in (("1", 2), ("1 if random.random() < 0.9 else max(heaps)", 2 + 2 + 30)):
        Path("mine.py").write_text(code.replace("RANDOM", count))
        check("mine.py:player")
        assert len(Path("calls").read_text().splitlines()) == n_calls * (RULES.n_positions - 1)


def test_the_loop_variable_is_the_last_move():
    last = [np.flatnonzero(mask)[-1:] for mask in RULES.action_mask(RULES.all_positions()[1:])]
    entry = check(PLAYERS / "loop_variable.py")
    assert same_figures(entry, np.arange(RULES.n_actions) == np.vstack([[0], *last]))
    assert "at 0-0-2 it takes 2 from C; 1 from C wins" in entry["first_mistakes"]
    assert entry["result"] == "bug"
    assert entry["bugs_in"][0] == "choice"
    values = values_of("loop_variable")
    is_worse = np.take_along_axis(values, np.vstack([[0], *last]), axis=1)[1:, 0] < values[1:].max(axis=1)
    assert f"in {is_worse.sum()} positions it does not play its best value" in entry["verdict"]


def test_a_player_without_an_answer_is_judged():
    values = values_of("without_answer")
    answers = first_best(values) * (values > 0)
    entry = check(PLAYERS / "without_answer.py")
    assert same_figures(entry, answers, "lose")
    remarks = " ".join(entry["remarks"])
    said = f"no legal move in {(~answers[1:].any(axis=1)).sum()} positions, the first 0-0-1, where it answers None"
    assert said in remarks
    assert said in entry["verdict"]
    assert "starts from 0" in entry["verdict"]
    assert "value_accuracy_won" in entry


def test_a_maximum_from_0_is_not_said_of_values_above_it():
    Path("mine.py").write_text(
        "class AI:\n"
        "    def get_q_value(self, state, action): return 0.5\n"
        "    def choose_action(self, state): return None\n"
        "ai = AI()\n"
    )
    assert "starts from 0" not in check("mine.py")["verdict"]


def test_the_bug_is_named_and_a_correct_learner_has_none():
    assert "maximum that starts from 0" in check(PLAYERS / "maximum_from_zero.py", episodes=6_000)["findings"]
    entry = check(PLAYERS / "q_dictionary.py", episodes=6_000)
    assert entry["result"] == "no bug found"
    assert not entry["remarks"]


def test_two_tables_of_one_training_decide():
    Path("mine.py").write_text(
        "from nim_env import NimRules, theory\n"
        "rules = NimRules((2, 3, 4))\n"
        "class AI:\n"
        "    def __init__(self, right, wrong): self.right, self.wrong = right, wrong\n"
        "    def choose_action(self, state): return state.index(max(state)), 1\n"
        "    def get_q_value(self, state, move):\n"
        "        is_right = theory.winning_action_mask(rules, state)[rules.action(*move)]\n"
        "        return (self.right if sum(state) in (4, 5) else 1) if is_right else self.wrong\n"
        "def train(n): return AI(0.5, -1) if n == 1000 else AI(earlier, -0.99)\n"
    )
    for earlier, finding in ((0.5, "a bug in no list"), (0.3, "perfect play")):  # moved, so on its way
        with Path("mine.py").open("a") as file:
            file.write(f"earlier = {earlier}\n")
        entry = check("mine.py")
        assert entry["findings"] == (finding,)
        assert entry["bugs_in"][0] == "choice"  # it takes one object everywhere


def test_values_against_an_opponent_are_judged_with_it():
    env = NimEnv(RULES.heaps, opponent="take-1", random_start=True)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, gamma=0.9, seed=0)
    agents.train(agent, env, 20_000, seed=0)
    agent.save("my.agent")
    Path("mine.py").write_text("import agents\nplayer = agents.load('my.agent')")
    told = check("mine.py:player", "--opponent", "take-1", "--discount", "0.9")
    assert told["findings"] == ("Bellman's equation",)
    assert check("mine.py:player")["findings"] != ("Bellman's equation",)


def test_the_seed_decides_the_training():
    first, second, other = (check(PLAYERS / "q_dictionary.py", "--seed", seed, episodes=50) for seed in "001")
    assert first == second != other


def test_the_share_goes_from_random_to_perfect_play_and_a_picture_shows_the_verdict():
    assert check("random")["share"] == pytest.approx(0)
    assert check("expert")["share"] == 1
    entry = check("take-1", "--normal", "--picture", "map.svg")
    normal = NimRules(RULES.heaps, misere=False)
    by_chance, expert = (evaluation.mastery(normal, name).expert for name in ("random", "take-1"))
    assert entry["share"] == pytest.approx((expert - by_chance) / (1 - by_chance))
    picture = ET.fromstring(Path("map.svg").read_text(encoding="utf-8"))
    assert entry["result"] in "".join(picture.itertext())


def test_files_in_processes_of_their_own(capfd):
    """One that crashes and one that does not end leave the others judged."""
    Path("crash.py").write_text("import os\nos._exit(0)")
    Path("endless.py").write_text("while True: pass")
    Path("good.py").write_text("def play(heaps): return heaps.index(max(heaps)), 1\nprint('hello')")
    board = ["--heaps", "2", "3"]
    assert main(["check", "crash.py", "expert", "good.py:play", *board, "--json", "all.json"]) == 2
    crash, expert, _ = json.loads(Path("all.json").read_text())
    printed = capfd.readouterr()
    assert "crash.py" in printed.err
    assert [line.split()[0] for line in printed.out.splitlines()] == ["expert", "good.py:play"]
    assert "error" in crash
    assert (expert["expert"], expert["share"]) == (1, 1)
    assert main(["check", "endless.py", *board, "--time-limit", "2"]) == 2
    assert "endless.py" in capfd.readouterr().err
    assert main(["check", "good.py:play", *board, "--min-expert", "0.99"]) == 1
    good = examine("good.py:play", parse(["check", "good.py:play", *board]))
    assert capfd.readouterr().out.splitlines() == full_report(good).splitlines()
    assert main(["check", "expert", *board, "--min-expert", "1"]) == 0


def test_reading_the_options_writes_no_file():
    parse(["check", "expert", "--json", "all.json", "--picture", "map.svg"])
    assert not list(Path().iterdir())


@pytest.mark.parametrize("heaps", [["2", "3"], ["2,3"], ["2,", "3"]])
def test_heaps_may_have_commas(heaps, capsys):
    assert main(["check", "expert", "--heaps", *heaps]) == 0
    assert capsys.readouterr().out.startswith("expert on Nim 2-3, ")


@pytest.mark.posix
@pytest.mark.parametrize("before", [signal.SIG_DFL, lambda *_: None])
def test_the_caller_keeps_its_handler_of_signals(before):
    at_first = signal.signal(signal.SIGTERM, before)
    try:
        assert main(["check", "expert", "--heaps", "1", "2"]) == 0
        assert signal.getsignal(signal.SIGTERM) is before
    finally:
        signal.signal(signal.SIGTERM, at_first)


@pytest.mark.parametrize(
    "options",
    [
        ["--heaps", "0"],
        ["--heaps", "2,x"],
        ["--max-take", "0"],
        ["--picture", "x.svg"],
        ["--min-expert", "95"],
        ["--time-limit", "nan"],
        ["--episodes", "-1"],
        ["--json", "."],
        ["--wrong"],
    ],
)
def test_wrong_options(options, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["check", "expert", "random", *options])
    assert stop.value.code == 2
    printed = capsys.readouterr().err
    assert any(word in printed for word in (options[0], options[0][2:].replace("-", "_"), repr(options[-1])))


def test_the_page_shows_what_the_command_prints():
    page = (ROOT / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    program = re.search(r"```python\n(import random\n.*?)```", page, re.DOTALL)[1]
    Path("nim.py").write_text(program)
    printed = full_report(examine("nim.py", parse(["check", "nim.py"])))
    for part in shown.split("...\n"):
        assert part.strip() in printed


@pytest.mark.parametrize(
    "code",
    [
        "class P:\n    def action_probabilities(self, observation, mask): return {}[0]\nplayer = P()",
        "class P:\n    def choose_action(self, heaps): return {}[0]\nplayer = P()",
        "class P:\n    def choose_action(self, heaps): return 0, 1\n    def values(self, heaps): return {}[0]\n"
        "player = P()",
    ],
)
def test_code_that_fails_is_a_line(code):
    Path("mine.py").write_text(code)
    with pytest.raises(PlayerError, match=r"mine.py.*line [23].*KeyError"):
        check("mine.py:player")


def test_the_page_for_teachers_shows_what_the_command_prints():
    page = (ROOT / "docs" / "class.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if re.match(r"\w+\.py ", line)]
    assert len(lines) == 8
    for line in lines:
        name = line.split()[0]
        entry = examine(str(PLAYERS / name), parse(["check", "", "--heaps", "2", "3", "4"]))
        assert summary_line(replace(entry, player=name)) == line


def test_a_class_can_be_pickled_and_used_in_other_processes():
    Path("mine.py").write_text(
        "import multiprocessing, pickle\n"
        "def game(n): return n + 1\n"
        "class AI:\n"
        "    def choose_action(self, heaps): return heaps.index(max(heaps)), 1\n"
        "def train(n):\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool: assert pool.map(game, [1]) == [2]\n"
        "    return pickle.loads(pickle.dumps(AI()))\n"
    )
    assert check("mine.py")["illegal_probability"] == 0


@pytest.mark.parametrize("end", ["pass", "os._exit(3)", "time.sleep(600)"])
def test_processes_of_a_file_end_with_the_check(end):
    """Those that left its group too, on Linux, whether the file was judged, crashes or does not end."""
    Path("mine.py").write_text(
        "import os, subprocess, sys, time\n"
        "if __name__ == 'mine':\n"
        "    sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "    output = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}\n"
        "    ids = [subprocess.Popen(sleep, start_new_session=new, **output).pid for new in (False, True)]\n"
        "    open('ids', 'w').write(' '.join(map(str, ids)))\n"
        f"    {end}\n"
        "def player(heaps): return heaps.index(max(heaps)), 1\n"
    )
    main(["check", "mine.py:player", "--heaps", "2", "3", "--time-limit", "20"])
    if sys.platform == "linux":
        for process in Path("ids").read_text().split():
            command = Path("/proc", process, "cmdline")
            while command.exists() and command.read_bytes():  # empty for one that ended and was not waited for
                time.sleep(0.01)
