"""Two caches: a dictionary with an object for each state of a game, and objects that environments share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from nim_env._internal import limits

_T = TypeVar("_T")


class StateCache(dict[int, _T]):
    """A dictionary from states of a game to objects. A missing object is made when it is looked up.

    The states are integers (:mod:`nim_env.board`). The dictionary is emptied when it would grow too large.

    Args:
        make: A function that takes a state and returns its object.
        object_bytes: The estimated size of one object, in bytes.
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
    """Returns the object ``cls(*arguments)``, which all calls with this class and equal arguments share.

    For example, all environments of a game share its tables. The object is freed when nothing uses it any more.
    """
    key = (cls, *arguments)
    instance = _instances.get(key)
    if instance is None:
        instance = _instances[key] = cls(*arguments)
    return instance
