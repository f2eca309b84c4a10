"""Short runs of the scripts in tests/fuzz."""

import fuzz_determinism
import fuzz_kills
import pytest


def test_kills_during_a_save():
    fuzz_kills.check_kills(3)


NEWEST, *_, OLDEST, OLD_GLIBC = fuzz_determinism.variables()


@pytest.mark.parametrize("chosen", [NEWEST, OLDEST | OLD_GLIBC], ids=["newest", "oldest"])
def test_processes_of_different_hash_seeds_and_cpu_features_agree(chosen):
    digests = fuzz_determinism.run(chosen)
    assert len(digests) > 40
    assert fuzz_determinism.digest(*digests.values()) == fuzz_determinism.RECORDED
