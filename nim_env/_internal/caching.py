"""Two caches. One holds an object for each state of a game, the other shares objects among environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from nim_env._internal import limits

_T = TypeVar("_T")


class StateCache(dict[int, _T]):
    """A cache with one object per state of a game, for environments with a single game.

    ``cache[state]`` returns the object of a state. It is made when the state is first looked up. The cache is
    cleared when it would grow too large.

    Args:
        make: The function that makes the object of a state.
        object_bytes: The estimated size of an object.
    """

    def __init__(self, make: Callable[[int], _T], object_bytes: int) -> None:
        super().__init__()
        self._make = make
        self._max_objects = max(1, limits.CACHE_BYTES // object_bytes)

    def __missing__(self, state: int) -> _T:
        if len(self) >= self._max_objects:
            self.clear()
        made = self[state] = self._make(state)
        return made


_instances: WeakValueDictionary[Any, Any] = WeakValueDictionary()


def shared_instance(cls: Callable[..., _T], *arguments: Any) -> _T:
    """Returns ``cls(*arguments)``, the same object for every call with these arguments.

    Environments of the same game share their boards and caches in this way. An object is freed when the last
    environment that uses it is gone.
    """
    key = (cls, *arguments)
    instance = _instances.get(key)
    if instance is None:
        instance = _instances[key] = cls(*arguments)
    return instance
