"""The rows of pgx in benchmark.py."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import benchmark


@pytest.mark.parametrize(("steps", "expected"), [(benchmark.pgx_steps, 16), (benchmark.pgx_games, 1600)])
def test_steps_are_plies_of_all_games(steps, expected):
    plies, seconds = next(steps("Nim", 16))
    assert plies == expected
    assert seconds > 0
