"""The command line, players by name, and the game in the terminal."""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import agents
from nim_env import ExpertPolicy, NimRules, RandomPolicy, TakePolicy, policies
from nim_env.aec_env import env as make_env
from nim_env.gym_env import NimEnv

import common
from common import Leave, ask_choice, ask_move, ask_number, load_player

RULES = NimRules((2, 3))


# --- Command line ---------------------------------------------------------------------------------


@dataclass
class Args:
    """The options of a script."""

    games: int = 3
    """Number of games."""


def test_run_parses_the_command_line(monkeypatch, capsys):
    results = []

    def main(args):
        results.append(args)

    monkeypatch.setattr(sys, "argv", ["script.py", "--games", "5"])
    common.run(main, Args)
    assert results == [Args(5)]
    monkeypatch.setattr(sys, "argv", ["script.py", "--nonsense", "5"])
    with pytest.raises(SystemExit) as stop:
        common.run(main, Args)
    assert stop.value.code == 2
    assert "--nonsense" in capsys.readouterr().err


def test_ctrl_c_exits_with_one_line(monkeypatch, capsys):
    def interrupted(args):  # noqa: ARG001
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["script.py"])
    with pytest.raises(SystemExit) as stop:
        common.run(interrupted, Args)
    assert stop.value.code == 130
    assert len(capsys.readouterr().err.split()) == 1


def test_wrong_values_are_one_line(refused, tmp_path):
    common.check_at_least(0, games=0, seed=None)
    with refused("--max-take", "-1"):
        common.check_at_least(0, max_take=-1)
    with refused("no such heap"), common.checking_args():
        raise ValueError("no such heap")
    (tmp_path / "file").touch()
    for path in ("figure.txt", "file/figure.png", "."):
        with refused("--picture", path):
            common.check_output("picture", Path(path), common.FIGURE_SUFFIXES)
    common.check_output("picture", Path("new/folder/figure.png"), common.FIGURE_SUFFIXES)
    assert (tmp_path / "new" / "folder").is_dir()


def test_only_0_and_1_are_written_as_0_and_100_percent():
    fractions = (0, 1e-9, 0.123, 1 - 1e-9, 1)
    assert [common.percent(fraction) for fraction in fractions] == ["0.0", "0.1", "12.3", "99.9", "100.0"]
    assert common.percent(0.12345, digits=2) == "12.35"


# --- Players --------------------------------------------------------------------------------------


def probabilities(player, heaps=(2, 3)):
    heaps = np.array(heaps)
    return policies.as_policy(player, RULES).action_probabilities(heaps, RULES.action_mask(heaps))


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
        "from nim_env import RandomPolicy\n"
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


# --- A game in the terminal -----------------------------------------------------------------------


def test_questions_are_asked_until_they_are_answered(person, capsys):
    person("many", "-2", "10", "7")
    assert ask_number("How many? ", 0, 9) == 7
    assert capsys.readouterr().out.count("How many? ") == 4
    person("", "x", "co")
    assert ask_choice("Who? ", ["computer", "human"]) == "computer"
    assert capsys.readouterr().out.count("Who? ") == 3
    person("9", "1", "-2", "1", "1", "x", "1", "0", "1", "3", "1", "2")
    assert RULES.moves[ask_move(RULES, [2, 2])] == (1, 2)
    assert capsys.readouterr().out.count("Invalid move, try again.") == 5
    person("3")
    assert ask_move(NimRules((4,), 3), [3]) == 2  # a single pile need not be chosen


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


def first_legal(observation, action_mask):  # noqa: ARG001
    return action_mask.nonzero()[0][0]


@pytest.mark.parametrize(
    ("human", "lines", "positions", "winner"),
    [
        (0, ("1", "1", "1", "2"), [[2, 3], [2, 2], [1, 2], [1, 0], [0, 0]], "Human"),
        (1, ("1", "2", "1", "1"), [[2, 3], [1, 3], [1, 1], [0, 1], [0, 0]], "AI"),
    ],
)
def test_a_game(human, lines, positions, winner, person, capsys):
    person(*lines)
    shown = []
    human_won = common.play_game(
        make_env(heaps=RULES.heaps), first_legal, human, np.random.default_rng(0), lambda *args: shown.append(args)
    )
    assert human_won == (winner == "Human")
    assert [heaps for heaps, _ in shown] == positions
    assert [turn for _, turn in shown] == [ply % 2 == human and ply < 4 for ply in range(5)]
    out = capsys.readouterr().out
    assert "Pile 0: 2  | |\nPile 1: 3  | | |\n" in out
    assert out.count("Your turn") == 2
    assert out.count("AI's turn\nAI chose to take 1 object(s) from pile 0.") == 2
    assert out.endswith(f"GAME OVER\nWinner is {winner}\n")


def test_the_generator_draws_the_moves_of_the_machine(person, capsys):
    games = []
    for seed in (0, 0, 1, 2, 3):
        person("q")
        with pytest.raises(Leave):
            common.play_game(make_env(heaps=(9, 9)), "random", 1, np.random.default_rng(seed))
        games.append(capsys.readouterr().out)
    assert games[0] == games[1]
    assert len(set(games)) > 1
