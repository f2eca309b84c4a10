"""The plain recursive truth about Nim, written from the rules as a person states them."""

from functools import cache


@cache
def mover_wins(heaps, max_take, misere):
    """Whether the player to move can win, by trying every move; ``heaps`` is a sorted tuple."""
    if not any(heaps):
        return misere  # the other player has just taken the last object
    return any(not mover_wins(tuple(sorted(after)), max_take, misere) for _, after in moves(heaps, max_take))


@cache
def grundy(heaps, max_take):
    """The least number that is not the Grundy value of a successor; ``heaps`` is a sorted tuple."""
    reached = {grundy(tuple(sorted(after)), max_take) for _, after in moves(heaps, max_take)}
    return next(value for value in range(len(reached) + 1) if value not in reached)


def moves(heaps, max_take):
    """Every ``(heap, count), heaps after`` of a tuple of heaps, in the order of heaps and counts."""
    for heap, size in enumerate(heaps):
        for count in range(1, size + 1):
            if max_take is None or count <= max_take:
                yield (heap, count), (*heaps[:heap], size - count, *heaps[heap + 1 :])
