"""Encodings: functions that turn a position into an observation.

The argument ``observation`` of every environment is an encoding. These encodings have names:

===============  ===========================================  ==================================  =======
``observation``  what it shows of each heap                   shape                               1-3-5-7
===============  ===========================================  ==================================  =======
``"heaps"``      its size (the default)                       ``(n_heaps,)``                      4
``"one_hot"``    1 at its size and 0 elsewhere                ``(sum(heaps) + n_heaps,)``         20
``"bits"``       its binary digits, lowest first              (total number of digits,)           9
``"unary"``      0 for each object taken and 1 for each left  ``(sum(heaps) + n_heaps - 1,)``     19
``"index"``      (the whole position as one number)           ``()``                              1
===============  ===========================================  ==================================  =======

The last column is the number of entries on the board 1-3-5-7. The dtype of ``"heaps"`` and ``"index"`` is int64,
and the dtype of the others is float32.

- ``"bits"`` has as many digits for each heap as its starting size needs. The nim-sum, which decides who wins under
  perfect play (Bouton 1901), is easy to compute from them: a digit of the nim-sum is 1 if an odd number of heaps
  has a 1 in this place.
- ``"unary"`` has −1 between heaps, as in Zhou and Riis (2026, arXiv:2205.12787, section 5).
- ``"index"`` is ``rules.index(heaps)``, for tabular code that needs a ``Discrete`` space.

For a custom observation, pass an :class:`Encoding`::

    fractions = Encoding(Box(0, 1, (4,)), lambda heaps: heaps / np.array([1, 3, 5, 7]))

    gym.make("Nim-v0", observation=fractions)

``env.unwrapped.encoding`` encodes any positions. Opponents, and players in :mod:`nim_env.evaluation`, always get
heap sizes. Wrap an agent that was trained on another encoding in :class:`nim_env.policies.EncodedPolicy`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space
from numpy.typing import ArrayLike, NDArray

from nim_env._internal import limits
from nim_env.rules import NimRules


class Encoding:
    """A function from positions to observations, together with the space of the observations.

    To encode positions, call the object: ``encoding(heaps)``.

    Copies of an environment share its encoding. A pickle of an environment stores the function by its name, so if
    the function is a lambda, only cloudpickle can pickle the environment. Two encodings that you make are never
    equal, even if their functions do the same.

    Args:
        space: The space of one observation. It must be a space of arrays, such as ``Box`` or ``MultiDiscrete``.
        function: A function from heap sizes, int64 of shape ``(..., n_heaps)``, to observations of shape
            ``(..., *space.shape)``.
    """

    def __init__(self, space: Space[Any], function: Callable[[NDArray[np.int64]], ArrayLike]) -> None:
        self.space = space
        self.function = function

    def __repr__(self) -> str:
        return f"Encoding({self.space}, {getattr(self.function, '__name__', self.function)})"

    def __call__(self, heaps: ArrayLike) -> NDArray[Any]:
        """Encodes positions, an array of heap sizes of shape ``(..., n_heaps)``, and returns the observations.

        The observations are a new array with the dtype of the space and the shape ``(..., *space.shape)``. An
        observation of shape ``()`` is a NumPy number, as Gymnasium expects of observations from ``Discrete``.
        """
        return self.encode(np.array(heaps))

    def encode(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Returns the same observations as ``encoding(positions)``, but is faster.

        It neither checks nor copies the array of positions, so a custom function could change it.
        """
        return np.array(self.function(positions), dtype=self.space.dtype)[()]

    def __deepcopy__(self, memo: Any) -> Encoding:
        return self  # so copies of an environment find its table of observations, whose key is the encoding


ObservationLike: TypeAlias = str | Encoding
"""The name of an encoding, or a custom :class:`Encoding`."""


def checked_encoding(observation: ObservationLike, rules: NimRules) -> Encoding:
    """Returns the encoding with the name ``observation``. An :class:`Encoding` is tested and returned unchanged.

    The environments call it with their argument ``observation``. An :class:`Encoding` is tried on two positions,
    full heaps and empty heaps. Raises ValueError if no encoding has this name, if the heaps are too large for the
    named encoding, or if the :class:`Encoding` does not return elements of its space.
    """
    if isinstance(observation, Encoding):
        _check_custom(observation, rules)
        return observation
    if observation not in tuple(_ENCODINGS):
        raise ValueError(f"observation must be one of {tuple(_ENCODINGS)} or an Encoding; got {observation!r}")
    of_rules = f"of {rules} for observation={observation!r}"
    if observation in ("one_hot", "unary"):
        limits.check_size(sum(rules.heaps), limits.OBSERVED_OBJECTS, f"objects {of_rules}", 'use "bits"')
    if observation == "index":
        limits.check_size(rules.n_positions, limits.OBSERVED_INDEX, f"positions {of_rules}", 'use "heaps"')
    return _NamedEncoding(observation, rules)


def encoding_of(rules: NimRules, observation_space: Space[Any]) -> Encoding:
    """Returns the named encoding whose observations have the given space.

    Use this function to find the encoding that a saved agent or model was trained on. Raises ValueError if no
    named encoding has this space, because the agent or model was trained on another game, on a custom encoding, or
    behind a wrapper.
    """
    for name in _ENCODINGS:
        with contextlib.suppress(ValueError):  # if the heaps are too large for this encoding
            encoding = checked_encoding(name, rules)
            if encoding.space == observation_space:
                return encoding
    raise ValueError(
        f"no named encoding of {rules} has the space {observation_space}; it belongs to another game, a custom "
        "encoding or a wrapper"
    )


def _check_custom(encoding: Encoding, rules: NimRules) -> None:
    """Tries a custom encoding on the full and the empty heaps, and raises ValueError if it does not work.

    The observations must be in its space, and a batch of both positions must give the same observations as each
    position alone.
    """
    positions = np.array([rules.heaps, [0] * rules.n_heaps])
    batch = np.asarray(encoding.function(positions.copy()))
    alone = np.array([encoding(heaps) for heaps in positions])
    if (
        not batch.shape == alone.shape == (2, *(encoding.space.shape or ()))
        or not np.allclose(batch, alone, equal_nan=True)  # compared before conversion to the dtype of the space
        or not all(observation in encoding.space for observation in alone)
    ):
        raise ValueError(
            f"observation must map a position to an element of {encoding.space}, and a batch of positions to the "
            f"same elements; got {[*alone]} for the positions {positions.tolist()} one by one, and {batch!r} for "
            "both at once"
        )


class _NamedEncoding(Encoding):
    """An encoding with a name, such as ``"bits"``, for the positions of one game.

    Unlike a custom encoding, it checks the positions. It is equal to other encodings of the same name and game.
    """

    def __init__(self, name: str, rules: NimRules) -> None:
        super().__init__(*_ENCODINGS[name](rules))
        self.name = name
        self.rules = rules

    def __call__(self, heaps: ArrayLike) -> NDArray[Any]:
        return self.encode(self.rules.checked_positions(heaps))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NamedEncoding) and (self.name, self.rules) == (other.name, other.rules)

    def __hash__(self) -> int:
        return hash((self.name, self.rules))

    def __reduce__(self) -> Any:
        return _NamedEncoding, (self.name, self.rules)


_SpaceAndFunction = tuple[Space[Any], Callable[[NDArray[np.int64]], NDArray[Any]]]


def _heaps(rules: NimRules) -> _SpaceAndFunction:
    return MultiDiscrete(np.array(rules.shape)), lambda heaps: heaps


def _one_hot(rules: NimRules) -> _SpaceAndFunction:
    heap, size = _entries(rules, lambda start: np.arange(start + 1))
    return Box(0.0, 1.0, heap.shape, np.float32), lambda heaps: heaps.take(heap, axis=-1) == size


def _bits(rules: NimRules) -> _SpaceAndFunction:
    heap, digit = _entries(rules, lambda start: np.arange(start.bit_length()))
    return Box(0.0, 1.0, heap.shape, np.float32), lambda heaps: heaps.take(heap, axis=-1) >> digit & 1


def _unary(rules: NimRules) -> _SpaceAndFunction:
    heap, object_ = (numbers[:-1] for numbers in _entries(rules, lambda start: np.arange(start, -1, -1)))
    separator = 2 * (object_ == 0)  # the number 0 stands for the separator after a heap
    space = Box(-1.0, 1.0, heap.shape, np.float32)
    return space, lambda heaps: (heaps.take(heap, axis=-1) >= object_) - separator


def _index(rules: NimRules) -> _SpaceAndFunction:
    strides = np.array(rules.strides)
    return Discrete(rules.n_positions), lambda heaps: heaps @ strides


def _entries(rules: NimRules, numbers_of: Callable[[int], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns two int arrays that say what each entry of an observation shows.

    The first array holds the heap of each entry, as an index into ``rules.heaps``. The second array holds a number
    for each entry, which the encoding compares with the size of the heap or uses as the place of a binary digit.
    In the one-hot encoding, for example, an entry is 1 if its heap has this number of objects.

    ``numbers_of(size)`` returns the numbers for a heap with the starting size ``size``.
    """
    numbers = [numbers_of(start) for start in rules.heaps]
    return np.repeat(np.arange(rules.n_heaps), [len(part) for part in numbers]), np.concatenate(numbers)


_ENCODINGS: dict[str, Callable[[NimRules], _SpaceAndFunction]] = {
    "heaps": _heaps,
    "one_hot": _one_hot,
    "bits": _bits,
    "unary": _unary,
    "index": _index,
}
