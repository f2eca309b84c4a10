"""dqn.py: alone in a folder it learns a small board, and its checkpoint is judged by the command."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import dqn
import torch

from nim_env import NimRules, theory

ROOT = Path(__file__).parents[2]


def python(*arguments):
    """Runs Python in the current folder with the packages, and without the folder of the scripts."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, check=True).stdout


def test_it_learns_alone_in_a_folder_and_its_checkpoint_is_judged():
    shutil.copy(dqn.__file__, "dqn.py")
    board = "--heaps", "1,2,2"
    lines = python("dqn.py", *board, "--total-timesteps", "25600").splitlines()
    assert [line.split()[0] for line in lines[:20]] == [f"{1280 * number:,}" for number in range(1, 21)]
    assert lines[19].endswith("expert mastery 1.000")
    assert lines[20:] == ["mistakes in 0 of 12 winning positions", "exploitability 0.000"]
    assert Path("results/dqn.svg").read_bytes().startswith(b"<?xml")
    verdict = python("-m", "nim_env", "check", "dqn.py:player", *board, "--json", "judged.json")
    assert "verdict: No bug found." in verdict
    (judged,) = json.loads(Path("judged.json").read_text())
    assert judged["expert"] == judged["value_accuracy_overall"] == 1


def test_its_values_are_those_of_perfect_play():
    """Both masks, the sign and the end of the game are in these values."""
    rules = NimRules((1, 2, 2))
    dqn.main(dqn.Args(rules.heaps, total_timesteps=25_600))
    network = dqn.QNetwork(rules)
    network.load_state_dict(torch.load(dqn.CHECKPOINT, weights_only=True)["network"])
    errors = []
    for heaps in rules.all_positions()[1:]:
        values = network.values(heaps)
        for move in rules.legal_moves(heaps):
            action = rules.action(*move)
            exact = -1 if theory.is_winning(rules, rules.apply(heaps, action)) else 1
            errors.append(abs(values[action] - exact))
    assert np.mean(errors) < 0.12  # without the mask, the minus or the end of the game: 0.18 and more
