"""Runs the scripts in tests/fuzz for a short time."""

import json

import fuzz_determinism
import fuzz_kills


def test_kills_during_a_save():
    fuzz_kills.check_kills(3)


def test_results_are_the_recorded_ones_here_and_as_on_an_old_processor():
    *_, oldest, old_glibc = fuzz_determinism.variables()
    for digests in (fuzz_determinism.all_digests(), fuzz_determinism.run(oldest | old_glibc)):
        assert digests == json.loads(fuzz_determinism.RECORDED.read_text(encoding="utf-8"))
