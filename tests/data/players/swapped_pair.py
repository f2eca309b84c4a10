"""It answers (count, pile) in place of (pile, count)."""


def choose(piles):
    largest = max(piles)
    return largest, piles.index(largest)
