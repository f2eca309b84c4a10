"""Short runs of the scripts in tests/fuzz."""

import fuzz_agent_files
import fuzz_environments
import fuzz_kills
import pytest


@pytest.mark.parametrize("seed", range(40))
def test_environments_agree_with_the_model(seed):
    calls = [
        fuzz(seed)
        for fuzz in (fuzz_environments.fuzz_aec, fuzz_environments.fuzz_gym, fuzz_environments.fuzz_vector)
    ]
    assert all(calls)


def test_mutated_agent_files():
    loaded, _, largest = fuzz_agent_files.fuzz(500, seed=1)
    assert 0 < loaded < 500
    assert largest < fuzz_agent_files.MAX_BYTES


def test_kills_during_a_save():
    assert fuzz_kills.fuzz(3, seed=0) <= 3
