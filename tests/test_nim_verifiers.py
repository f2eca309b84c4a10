"""nim_verifiers.py: whole games through vf-eval, against a server whose play is known."""

import asyncio
import re

import pytest

pytest.importorskip("verifiers", reason="needs pip install 'verifiers>=0.4,<0.5'")

import gymnasium as gym
from chat_server import serve
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from nim_env import NimRules, theory
from nim_env.rules import heap_name

HEAPS = (1, 2, 3)
RULES = NimRules(HEAPS)


def expert(prompt):
    heaps = [int(size) for size in re.findall(r"[A-Z]: (\d)", prompt)]
    winning = theory.winning_action_mask(RULES, heaps)
    heap, count = RULES.moves[(winning if winning.any() else RULES.action_mask(heaps)).argmax()]
    return f"I take it.\nMove: {heap_name(heap)} {count}"


def outcomes(answer, opponent, folder):
    with serve(answer) as url:
        taskset = {"id": "nim_verifiers", "heaps": HEAPS, "opponent": opponent}
        client = {"base_url": url, "api_key_var": "NONE"}
        options = {"select": {"limit": 4}, "push": False, "rich": None, "output_dir": folder}
        config = EvalConfig(env={"taskset": taskset}, model="player", client=client, **options)
        episodes = asyncio.run(run_eval(config))
    traces = [trace for episode in sorted(episodes, key=lambda e: e.task.data.seed) for trace in episode.traces]
    assert not any(trace.errors for trace in traces)
    return [trace.reward for trace in traces]


def test_perfect_play_wins_exactly_the_won_games(tmp_path, monkeypatch):
    monkeypatch.setenv("NONE", "none")
    expected = []
    for seed in range(4):
        first_player = "opponent" if seed % 2 else "agent"
        env = gym.make("nim_env:Nim-v0", heaps=HEAPS, opponent="expert", first_player=first_player)
        observation, _ = env.reset(seed=seed)
        expected.append(1 if theory.is_winning(RULES, observation) else -1)
    assert outcomes(expert, "expert", tmp_path) == expected
    assert set(expected) == {1, -1}


def test_an_answer_without_a_move_loses(tmp_path, monkeypatch):
    monkeypatch.setenv("NONE", "none")
    assert outcomes(lambda _: "I do not know.", "random", tmp_path) == [-1] * 4
