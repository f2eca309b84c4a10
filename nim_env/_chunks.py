"""Large batches in chunks, so that arrays of positions times actions stay small."""

from __future__ import annotations

from collections.abc import Iterator

from nim_env import _limits
from nim_env.rules import NimRules


def chunks(rules: NimRules, number: int, start: int = 0, size: int = _limits.PART) -> Iterator[slice]:
    """Slices of up to ``size`` positions times actions that cover ``number`` positions from ``start`` on."""
    chunk_size = max(1, size // rules.n_actions)
    for first in range(start, start + number, chunk_size):
        yield slice(first, min(first + chunk_size, start + number))
