"""Random games for property tests."""

from hypothesis import strategies as st

from nim_env import NimRules

heap_sizes = st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any)
rules = st.builds(NimRules, heap_sizes.map(tuple), max_take=st.none() | st.integers(1, 7), misere=st.booleans())
seeds = st.integers(0, 2**32 - 1)
tiny_rules = rules.filter(lambda game: sum(game.heaps) <= 7)  # for plain recursion over all lines of play
