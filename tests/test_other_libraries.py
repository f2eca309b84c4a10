"""The documentation's code for other libraries is run as it stands there."""

import re
from pathlib import Path

import pytest

INSTALL = 'needs pip install -e ".[dev]"'
torch = pytest.importorskip("torch", reason=INSTALL)
pytest.importorskip("sb3_contrib", reason=INSTALL)
pytest.importorskip("torchrl", reason=INSTALL)

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "deep_rl.md"


@pytest.fixture
def run_block(monkeypatch, tmp_path):
    """Runs the Python block under a heading; returns its variables."""
    text = PAGE.read_text(encoding="utf-8")

    def run_block(heading):
        section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        code = re.search(r"```python\n(.*?)```", section[1], re.DOTALL)[1]
        variables = {"__name__": "__main__"}
        exec(compile(code, heading, "exec"), variables)
        return variables

    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield run_block
    torch.set_num_threads(threads)


def test_stable_baselines3(run_block):
    model = run_block("Stable-Baselines3")["model"]
    assert model.num_timesteps >= 10_000
    assert len(model.ep_info_buffer) > 0  # what VecMonitor adds: the log's returns and lengths of episodes
    assert {abs(episode["r"]) for episode in model.ep_info_buffer} == {1}


def test_pytorch(run_block):
    variables = run_block("PyTorch and CleanRL")
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
