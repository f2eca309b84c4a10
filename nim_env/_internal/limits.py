"""Limits on sizes, the error that names them, and batches in parts.

Each number is written here once. Its docstring says what it limits, why it has this size, and what happens above
it.
"""

from __future__ import annotations

from collections.abc import Iterator

ACTIONS = 1_000_000
"""Actions of a game. Listing them takes a second. ``NimRules`` refuses more."""

PAIRS = 100_000_000
"""Heaps times actions of a game, since its rules hold an array of this shape. With this limit an environment
starts within a second. ``NimRules`` refuses more."""

INT64 = 2**63 - 1
"""The largest 64-bit integer: the limit for a heap and for the index of a position. ``NimRules`` refuses larger
heaps, and a game with more positions has no indices."""

LISTED = 100_000_000
"""Heap sizes in ``all_positions()``, 800 MB. The method refuses more."""

STATES = 2**62
"""Positions of a board. A board has two states for each position, and the number of a state must fit in 64 bits.
The environments refuse more."""

OBSERVED_OBJECTS = 10_000_000
"""Objects on a board whose observation has a number for each object, 40 MB per observation. ``"one_hot"`` and
``"unary"`` refuse more."""

OBSERVED_INDEX = 2**31
"""Positions with the observation ``"index"``, which is meant for tables with a row per position. No table has more
rows than this. The observation refuses more."""

GAMES = 2**32
"""Numbers in the action masks of a vector environment: 4 GB, since each is a byte. The environment refuses
more."""

TABULATED = 2**25
"""Positions times actions of a board with tables. The board 1-3-5-7-9-11-13 has 31.6 million. A larger board
computes masks, positions and moves at each step."""

TABULATED_MOVES = 2**20
"""States times actions of the table of moves, and of other tables that stop being faster than the computation when
they no longer fit in the processor's cache. Above it, moves are computed."""

TABULATED_NUMBERS = 2**22
"""Positions times numbers per observation in the table of observations, at most 64 MB. Above it, observations are
computed at each step."""

TRANSITIONS = 100_000
"""Positions times actions of the dictionary ``env.unwrapped.P``, about 100 MB. Larger games have no ``P``."""

JOINED = 2**22
"""Replies of all members of a pool in one list, about 200 MB. Above it, the games of each member are answered
separately, which is slower."""

KEPT_BYTES = 120_000_000
"""Estimated bytes of everything that is kept for the states visited by single games. Above it, all of it is
dropped and made again when it is needed."""

PART = 2**18
"""Positions times actions computed at once, about 12 MB of temporary arrays. Larger batches are computed in parts,
which is faster since the temporary arrays stay in the processor's cache."""

MATCH = 2**20
"""Games times actions played at once in a match. Longer matches are played in parts. A different number would
change the games that belong to a seed."""

POLICY = 50_000_000
"""Positions times actions of a policy in a table, 400 MB as float64. ``tabulate`` refuses more."""

REPLIES = 2**14
"""Positions times actions of a board for which a single game makes the replies to all states at its first step, in
about a millisecond. On larger boards it makes those to each state when it is visited."""

SNAPSHOT = 2_000_000
"""Positions times actions of a snapshot of a network that is stored as a table, 16 MB. In larger games a snapshot
is a copy of the network."""

MAPPED = 1_000
"""Winning positions in the map of positions. ``position_map`` refuses more, since its blocks would be too
small."""

SWEPT_POSITIONS = 50_000_000
"""Positions in a sweep of the solver, which keeps about 24 bytes for each: 1.2 GB. It refuses more."""

REPORTED_POSITIONS = 10_000_000
"""Positions in a report, which keeps about 120 bytes for each: 1.2 GB. It refuses more; the functions for single
figures take larger games."""

SWEPT = 10_000_000_000
"""Positions times actions of a sweep. It takes minutes at this size, or hours with a slow policy. The solver
refuses more."""

BELIEFS = 100_000_000
"""Moves times actions in the search for a best response to a mixed strategy: seconds and a gigabyte.
``mixed_exploitability`` refuses more."""


def check_size(number: int, limit: int, what: str, remedy: str) -> None:
    """Raises a ValueError that names ``what`` and the ``remedy`` if ``number`` is above ``limit``."""
    if number > limit:
        text = f"{number:,}" if number < 10**18 else "more than 10^18"
        raise ValueError(f"{text} {what} are too many, up to {limit:,}; {remedy}")


def chunks(n_rows: int, row_size: int, start: int = 0, size: int = PART) -> Iterator[slice]:
    """Splits ``n_rows`` rows from ``start`` on into slices of at most ``size`` entries, with one row at least."""
    chunk_size = max(1, size // row_size)
    for first in range(start, start + n_rows, chunk_size):
        yield slice(first, min(first + chunk_size, start + n_rows))
