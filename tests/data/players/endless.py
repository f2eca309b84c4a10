"""Its training forgets to change the position."""


def train(n):
    heaps = [2, 3, 4]
    while any(heaps):
        n -= 1
