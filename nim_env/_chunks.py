"""Large batches in chunks, so that arrays of positions times actions stay small."""

from __future__ import annotations

from collections.abc import Iterator

from nim_env import _limits
from nim_env.rules import NimRules


def chunks(rules: NimRules, number: int, start: int = 0) -> Iterator[slice]:
    """Slices of a few thousand positions each that cover ``number`` positions from ``start`` on."""
    chunk_size = max(1, _limits.PART // rules.n_actions)
    for first in range(start, start + number, chunk_size):
        yield slice(first, min(first + chunk_size, start + number))
