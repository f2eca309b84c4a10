"""Bouton's strategy for misère play, without learning."""

import functools
import operator


class Player:
    def choose_action(self, heaps):
        nim_sum = functools.reduce(operator.xor, heaps)
        large = [heap for heap, size in enumerate(heaps) if size > 1]
        if len(large) == 1:  # leave an odd number of heaps of one
            heap = large[0]
            others = sum(size == 1 for size in heaps)
            return heap, heaps[heap] - (others % 2 == 0)
        for heap, size in enumerate(heaps):
            if large and size ^ nim_sum < size:
                return heap, size - (size ^ nim_sum)
        return next(heap for heap, size in enumerate(heaps) if size), 1


player = Player()
