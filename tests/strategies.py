"""Random games for property tests, with up to three heaps of up to 6 objects or four heaps of up to 4 objects."""

from itertools import product

from hypothesis import settings
from hypothesis import strategies as st

from nim_env import NimRules

STARTS = [heaps for n_heaps in (1, 2, 3, 4) for heaps in product(range(5 if n_heaps == 4 else 7), repeat=n_heaps)]


def games(starts):
    """Returns a strategy for rules with these starting heaps, with any limit, in normal or misère play."""
    return st.builds(
        NimRules, st.sampled_from(starts), max_take=st.sampled_from((None, *range(1, 8))), misere=st.booleans()
    )


rules = games([heaps for heaps in STARTS if any(heaps)])
tiny_rules = games([heaps for heaps in STARTS if 1 <= sum(heaps) <= 6])  # for recursion over all lines of play
seeds = st.integers(0, 2**32 - 1)
few_examples = settings(max_examples=40)  # for tests that go through all positions many times
