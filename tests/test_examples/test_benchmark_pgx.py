"""The rows of pgx in benchmark.py."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import benchmark


def test_steps_are_plies_of_all_games():
    plies, seconds = benchmark.pgx_steps("Nim", 16)(0.001)
    assert plies >= 16
    assert plies % 16 == 0
    assert seconds >= 0.001
