"""The documentation's code for other libraries is run as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

INSTALL = 'needs pip install -e ".[dev]"'
torch = pytest.importorskip("torch", reason=INSTALL)
pytest.importorskip("sb3_contrib", reason=INSTALL)
pytest.importorskip("torchrl", reason=INSTALL)
pytest.importorskip("pgx", reason=INSTALL)

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "deep_rl.md"


@pytest.fixture
def run_block(monkeypatch, tmp_path):
    """Runs the code under a heading, with other numbers where given; returns its variables."""

    def run_block(heading, **numbers):
        text = PAGE.read_text(encoding="utf-8")
        section = re.search(rf"^##+ {heading}\n(.*?)(?=^##+ |\Z)", text, re.DOTALL | re.MULTILINE)
        code = re.search(r"```python\n(.*?)```", section[1], re.DOTALL)[1]
        for name, number in numbers.items():
            code, n_changed = re.subn(rf"\b{name}=[\d_]+", f"{name}={number}", code)
            assert n_changed == 1
        variables = {"__name__": "__main__"}
        exec(compile(code, heading, "exec"), variables)
        return variables

    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield run_block
    torch.set_num_threads(threads)


def test_maskable_ppo_learns(run_block):
    """A fifth of the training of the page."""
    variables = run_block("MaskablePPO of sb3-contrib", total_timesteps=10_000)
    first, *_, last = variables["callback"].evaluations
    assert last["expert"] > first["expert"] + 0.1
    assert last["mean_exploitability"] < first["mean_exploitability"]


def test_pytorch(run_block):
    variables = run_block("PyTorch")
    assert not variables["infos"]["illegal_action"].any()
    probabilities, illegal = variables["policy"].probs, variables["illegal"]
    assert illegal.any()
    assert probabilities[illegal].max() == 0


def test_torchrl(run_block):
    variables = run_block("TorchRL")
    rollout = variables["rollout"]
    assert rollout["action_mask"].gather(-1, rollout["action"][:, None]).all()
    assert rollout["next", "done"].sum() > 5
    assert variables["envs"].reset()["action_mask"].shape == (4, 16)


def test_pgx(run_block):
    variables = run_block("pgx and JAX")
    env, states, is_over = variables["env"], variables["states"], variables["is_over"]
    assert is_over.shape == (100, 1024)
    assert 1 < is_over.size / is_over.sum() < 9  # a game has at most nine moves
    np.testing.assert_array_equal(states.legal_action_mask, env.rules.action_mask(states.heaps))
    heaps = env.rules.all_positions()[1:]
    masks = env.rules.action_mask(heaps)
    chosen = variables["player"].action_probabilities(heaps, masks)
    assert (chosen.sum(axis=1) == 1).all()
    assert not chosen[masks == 0].any()
