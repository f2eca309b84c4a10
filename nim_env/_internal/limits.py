"""The limits on sizes, a function that checks them, and a function that splits large batches.

Each constant is a maximum. Its docstring says what it limits, what that costs, and what happens above the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

ACTIONS = 1_000_000
"""The maximum number of actions of a game. Listing this many takes about a second. ``NimRules`` refuses more."""

HEAPS_TIMES_ACTIONS = 100_000_000
"""The maximum number of heaps times actions of a game. ``NimRules.apply`` and :mod:`nim_env.pgx` compute arrays of
this size. With this limit an environment starts within a second. ``NimRules`` refuses more."""

INT64 = 2**63 - 1
"""The largest 64-bit integer. It limits the number of positions that ``NimRules`` can number. It also limits the
size of a heap, which must be smaller, since a heap that starts with s objects can have s + 1 sizes."""

LISTED_HEAP_SIZES = 100_000_000
"""The maximum number of heap sizes in the array that ``NimRules.all_positions`` returns: 800 MB. The method
refuses more."""

BOARD_POSITIONS = 2**61
"""The maximum number of positions of a ``Board``. A board numbers two states for each position and a few more, and
these numbers must fit in 64 bits. The environments refuse more."""

OBSERVED_OBJECTS = 10_000_000
"""The maximum number of objects in the starting heaps if the observation has an entry for each object: 40 MB per
observation. The encodings ``"one_hot"`` and ``"unary"`` refuse more."""

OBSERVED_INDEX = 2**31
"""The maximum number of positions of a game with the observation ``"index"``. This observation is meant for tables
with a row for each position, and no table has more rows than this. The encoding refuses more."""

MASK_ENTRIES = 2**32
"""The maximum number of entries of the action masks of a vector environment: its games times the actions. At one
byte each, they take 4 GB. The environment refuses more."""

TABULATED_PAIRS = 2**25
"""The maximum number of positions times actions for which a vector environment stores action masks, positions and
rewards in tables. The board 1-3-5-7-9-11-13 has 31.6 million. Above the limit, they are computed at each step."""

TABULATED_MOVES = 2**20
"""The maximum number of entries, states times actions, of the table with the next state after each action. A
larger table does not fit in the processor's cache, and a look-up in it is slower than the computation. Above the
limit, next states are computed. For the same reason, ``nim_env.sb3.NimVecEnv`` keeps an array object for each
state's mask only up to this number of positions times actions."""

TABULATED_NUMBERS = 2**22
"""The maximum size, positions times numbers per observation, of a vector environment's table of observations. The
table takes at most 64 MB. Above the limit, observations are computed at each step."""

TRANSITION_PAIRS = 100_000
"""The maximum number of positions times actions in the dictionary ``env.unwrapped.P``, which takes about 100 MB.
Larger games have no ``P``."""

JOINED_REPLIES = 2**22
"""The maximum number of opponents' replies that a vector environment stores in one table for all members of a
pool: about 200 MB. Above it, each member replies in its games separately, which is slower."""

CACHE_BYTES = 120_000_000
"""The maximum size, in estimated bytes, of a cache with an object for each state that single games have visited. A
cache that would grow larger is cleared, and its objects are made again when they are needed."""

ENTRIES_AT_ONCE = 2**18
"""The maximum number of positions times actions that are computed at once, with about 12 MB of temporary arrays.
Larger batches are computed in parts, which is faster since the temporary arrays stay in the processor's cache."""

MATCH_ENTRIES = 2**20
"""The maximum number of games times actions that a match plays at once. Longer matches are played in parts. The
value must not change: with a different one, each seed would give different games."""

POLICY_PAIRS = 50_000_000
"""The maximum number of entries, positions times actions, of a policy's table: 400 MB as float64. ``tabulate``
refuses more. ``mixed_exploitability`` applies the same limit to positions times actions times policies."""

PREPARED_REPLIES = 2**14
"""The maximum number of positions times actions for which ``NimEnv`` prepares the opponent's replies in all states
at its first step. This takes about a millisecond. In larger games, it prepares the replies in a state when the
state is first visited."""

SNAPSHOT_PAIRS = 2_000_000
"""The maximum number of positions times actions of a game in which a snapshot of a network is stored as a table.
As float32, the table takes 8 MB. In larger games, the snapshot is a copy of the network."""

MAPPED_POSITIONS = 1_000
"""The maximum number of winning positions in the picture that ``position_map`` draws, with a block for each of
them. The function refuses more, since the blocks would be too small."""

SWEPT_POSITIONS = 50_000_000
"""The maximum number of positions of a game for the solver and the exact metrics, which keep about 24 bytes for
each: 1.2 GB. They refuse more."""

REPORTED_POSITIONS = 10_000_000
"""The maximum number of positions in ``evaluation.report``, which keeps about 120 bytes for each: 1.2 GB. The
function refuses more. The functions for individual metrics accept larger games."""

SWEPT_PAIRS = 10_000_000_000
"""The maximum number of positions times actions of a game for the solver and the exact metrics. At this size they
take minutes, or hours with a slow policy. They refuse more."""

MOVES_FROM_BELIEFS = 100_000_000
"""The maximum number of moves, times the actions, that ``mixed_exploitability`` follows in its search for a best
response to a mixed strategy. At this size the search takes seconds and a gigabyte. The function refuses more."""


def check_size(number: int, limit: int, what: str, remedy: str) -> None:
    """Raises ValueError if ``number`` is above ``limit``.

    In the message, ``what`` says what is counted, such as "positions", and ``remedy`` says what to do.
    """
    if number > limit:
        text = f"{number:,}" if number < 10**18 else "more than 10^18"
        raise ValueError(f"{text} {what} are too many: the limit is {limit:,}; {remedy}")


def chunks(n_rows: int, row_size: int, start: int = 0, size: int = ENTRIES_AT_ONCE) -> Iterator[slice]:
    """Splits the rows from ``start`` to ``start + n_rows - 1`` of an array into parts, and yields their slices.

    Each row has ``row_size`` entries. A part has at most ``size`` entries, but always at least one row.
    """
    chunk_size = max(1, size // row_size)
    for first in range(start, start + n_rows, chunk_size):
        yield slice(first, min(first + chunk_size, start + n_rows))
