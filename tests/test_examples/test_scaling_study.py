"""scaling_study.py: the rows of its runs, and the program of the page on large boards."""

import re
from pathlib import Path

import pandas as pd
import pytest
from scaling_study import Args, main

import agents
from nim_env import NimRules, evaluation
from nim_env.envs.vector_env import NimVectorEnv

PAGE = Path(__file__).parents[2] / "docs" / "experiments" / "large_boards.md"


def test_each_run_is_what_agents_and_evaluation_give(tmp_path):
    table = main(Args(heaps=(1, 2, 3), total_timesteps=3000, n_seeds=2, n_jobs=1, folder=tmp_path))
    assert table.groupby(["learner", "heaps", "seed"]).size().tolist() == [1] * 8
    saved = pd.read_csv(tmp_path / "scaling_study.csv")
    assert saved["expert"].tolist() == pytest.approx(table["expert"].tolist())
    assert "number of heaps, the first of 1-2-3" in (tmp_path / "scaling_study.svg").read_text()

    rules = NimRules((1, 2, 3), misere=False)
    env = NimVectorEnv(256, rules.heaps, misere=False, opponent=None, random_start=True)
    spaces = env.single_observation_space, env.single_action_space
    agent = agents.QLearningAgent(*spaces, seed=1, learning_rate=0.5, epsilon=0.1)
    agents.train(agent, env, 3000, seed=1, callback=lambda _, history: history.lengths.sum() < 3000)
    row = table.query("learner == 'q-learning' and heaps == '1-2-3' and seed == 1").iloc[0]
    assert row["expert"] == evaluation.mastery(rules, agent).expert
    assert row["exploitability"] == pytest.approx(evaluation.exploitability(rules, agent))


def test_the_program_of_the_page_masters_five_heaps_and_prints_what_the_page_and_the_table_say(capsys):
    page = PAGE.read_text(encoding="utf-8")
    code, output = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    exec(compile(code, PAGE.name, "exec"), {})
    assert capsys.readouterr().out == output
    table = pd.read_csv(PAGE.with_name("large_boards.csv")).query("heaps == '1-3-5-7-9'")
    assert [f"{moves:,}" for moves in table["timesteps"]] == re.findall(r"^([\d,]+) moves", output, re.MULTILINE)
    assert agents.load("minimax_q5.agent").learning_rate == 1
