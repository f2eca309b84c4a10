"""grpo.py: the tiny model learns by exact rewards."""

import pytest

pytest.importorskip("trl", reason='needs pip install -e ".[llm]"')

import grpo

from nim_env import NimRules, evaluation

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of trl


def test_the_tiny_model_learns_by_exact_rewards(tmp_path, monkeypatch):
    monkeypatch.setattr(grpo, "IMITATION_STEPS", 100)
    heaps = (1, 2)
    picture = tmp_path / "grpo.svg"
    curve = grpo.main(grpo.Args(heaps, updates=30, picture=picture))
    assert list(curve) == list(range(31))
    assert curve[30] > evaluation.mastery(NimRules(heaps), "random").expert + 0.2
    assert picture.read_bytes().startswith(b"<?xml")
