"""Short runs of the scripts in tests/fuzz."""

import sys

import fuzz_agent_files
import fuzz_determinism
import fuzz_environments
import fuzz_kills
import fuzz_memory
import pytest


@pytest.mark.parametrize("seed", range(40))
def test_environments_agree_with_the_model(seed):
    assert all(fuzz(seed) for fuzz in fuzz_environments.FUZZERS)


def test_mutated_agent_files():
    loaded, _, largest = fuzz_agent_files.fuzz(500, seed=1)
    assert 0 < loaded < 500
    assert largest < fuzz_agent_files.MAX_BYTES


def test_kills_during_a_save():
    assert fuzz_kills.fuzz(3, seed=0) <= 3


def test_processes_of_different_hash_seeds_and_cpu_features_agree():
    reference, *others = fuzz_determinism.compare([sys.executable], ["0", "1"]).values()
    assert len(reference) > 40
    assert all(digests == reference for digests in others)
    assert fuzz_determinism.digest(*reference.values()) == fuzz_determinism.RECORDED


def test_memory_stays_flat():
    _, growth = fuzz_memory.soak(100_000)
    assert growth < fuzz_memory.MAX_GROWTH
