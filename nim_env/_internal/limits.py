"""The limits on sizes, the error message that names them, and a function that splits large batches.

Each constant is the maximum of something. Its docstring says of what, why it has this size, and what happens above
it.
"""

from __future__ import annotations

from collections.abc import Iterator

ACTIONS = 1_000_000
"""The maximum number of actions of a game. Listing this many takes about a second. ``NimRules`` refuses more."""

HEAPS_TIMES_ACTIONS = 100_000_000
"""The maximum of heaps times actions of a game. ``NimRules.apply`` and :mod:`nim_env.pgx` compute arrays of this
shape. With this limit an environment starts within a second. ``NimRules`` refuses more."""

INT64 = 2**63 - 1
"""The largest 64-bit integer, which limits the number of positions. ``NimRules`` cannot give indices to the
positions of a larger game. A heap must be smaller than this number, since a heap of size s has s + 1 sizes."""

LISTED_HEAP_SIZES = 100_000_000
"""The maximum number of heap sizes in the array that ``NimRules.all_positions`` returns: 800 MB. The method
refuses more."""

BOARD_POSITIONS = 2**61
"""The maximum number of positions of a board. A board has two states for each position and a few more, and their
numbers must fit in 64 bits. The environments refuse more."""

OBSERVED_OBJECTS = 10_000_000
"""The maximum number of objects in the starting heaps if the observation has an entry for each object: 40 MB per
observation. The encodings ``"one_hot"`` and ``"unary"`` refuse more."""

OBSERVED_INDEX = 2**31
"""The maximum number of positions of a game with the observation ``"index"``. This observation is meant for tables
with a row for each position, and no table has more rows than this. The encoding refuses more."""

MASK_ENTRIES = 2**32
"""The maximum of games times actions of a vector environment, the number of entries of its action masks. At one
byte each, they take 4 GB. The environment refuses more."""

TABULATED_PAIRS = 2**25
"""The maximum of positions times actions of a board with tables. The board 1-3-5-7-9-11-13 has 31.6
million. A larger board computes masks, positions and rewards at each step."""

TABULATED_MOVES = 2**20
"""The maximum of states times actions of the table of moves. A larger table does not fit in the processor's cache,
and a look-up in it is slower than the computation. Above the limit, moves are computed. For the same reason,
``NimVecEnv`` keeps an array object for each state's mask only up to this number of positions times actions."""

TABULATED_NUMBERS = 2**22
"""The maximum of positions times numbers per observation in the table of observations, which takes at most 64 MB.
Above it, observations are computed at each step."""

TRANSITION_PAIRS = 100_000
"""The maximum of positions times actions of the dictionary ``env.unwrapped.P``, about 100 MB. Larger games have no
``P``."""

JOINED_REPLIES = 2**22
"""The maximum number of replies that are stored together for all members of a pool and all states: about 200 MB.
Above it, the games of each member are answered separately, which is slower."""

CACHE_BYTES = 120_000_000
"""The maximum estimated size, in bytes, of a cache with an object for each state that single games have visited. A
cache that would grow larger is cleared, and its objects are made again when they are needed."""

ENTRIES_AT_ONCE = 2**18
"""The maximum of positions times actions computed at once, about 12 MB of temporary arrays. Larger batches are
computed in parts, which is faster since the temporary arrays stay in the processor's cache."""

MATCH_ENTRIES = 2**20
"""The maximum of games times actions played at once in a match. Longer matches are played in parts. The value must
not change: a different one would give each seed different games."""

POLICY_PAIRS = 50_000_000
"""The maximum of positions times actions of a policy in a table, 400 MB as float64. ``tabulate`` refuses more. In
``mixed_exploitability`` the same limit applies to positions times actions times policies."""

PREPARED_REPLIES = 2**14
"""The maximum of positions times actions of a board for which a single game prepares the opponent's replies in all
states at its first step. This takes about a millisecond. On larger boards, the replies in a state are prepared
when it is first visited."""

SNAPSHOT_PAIRS = 2_000_000
"""The maximum of positions times actions of a game in which a snapshot of a network is stored as a table. As
float32 it takes 8 MB. In larger games a snapshot is a copy of the network."""

MAPPED_POSITIONS = 1_000
"""The maximum number of winning positions in the map of positions, which draws a block for each. ``position_map``
refuses more, since the blocks would be too small."""

SWEPT_POSITIONS = 50_000_000
"""The maximum number of positions in a sweep of the solver, which keeps about 24 bytes for each: 1.2 GB. The
solver refuses more."""

REPORTED_POSITIONS = 10_000_000
"""The maximum number of positions in a report, which keeps about 120 bytes for each: 1.2 GB. ``evaluation.report``
refuses more. The functions for individual metrics take larger games."""

SWEPT_PAIRS = 10_000_000_000
"""The maximum of positions times actions in a sweep of the solver. At this size it takes minutes, or hours with a
slow policy. The solver refuses more."""

MOVES_FROM_BELIEFS = 100_000_000
"""The maximum of moves times actions in the search for a best response to a mixed strategy, over all moves that it
follows. At this size the search takes seconds and a gigabyte. ``mixed_exploitability`` refuses more."""


def check_size(number: int, limit: int, what: str, remedy: str) -> None:
    """Raises ValueError if ``number`` is above ``limit``.

    The message names the number, the limit, what is counted (``what``) and what to do (``remedy``).
    """
    if number > limit:
        text = f"{number:,}" if number < 10**18 else "more than 10^18"
        raise ValueError(f"{text} {what} are too many: the limit is {limit:,}; {remedy}")


def chunks(n_rows: int, row_size: int, start: int = 0, size: int = ENTRIES_AT_ONCE) -> Iterator[slice]:
    """Yields slices that split ``n_rows`` rows, the first of which is ``start``, into parts.

    A row has ``row_size`` entries, and a part has at most ``size`` entries, but at least one row.
    """
    chunk_size = max(1, size // row_size)
    for first in range(start, start + n_rows, chunk_size):
        yield slice(first, min(first + chunk_size, start + n_rows))
