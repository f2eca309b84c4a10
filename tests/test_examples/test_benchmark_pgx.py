"""The rows of pgx in benchmark.py."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import benchmark


def test_steps_are_plies_of_all_games():
    plies, seconds = next(benchmark.pgx_steps("Nim", 16))
    assert plies == 16
    assert seconds > 0
