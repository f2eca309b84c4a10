"""Encodings of positions as observations: the argument ``observation`` of every environment.

===============  ===========================================  =================================  ========
``observation``  what it shows of a heap                      shape                              1-3-5-7
===============  ===========================================  =================================  ========
``"heaps"``      its size (the default)                       ``(n_heaps,)``, int64              4
``"one_hot"``    1 at its size and 0 elsewhere                ``(sum(heaps) + n_heaps,)``        20
``"bits"``       its binary digits, the lowest first          the digits of the starting sizes   9
``"unary"``      0 for each object taken and 1 for each left  ``(sum(heaps) + n_heaps - 1,)``    19
``"index"``      the position in one number, int64            ``()``                             1
===============  ===========================================  =================================  ========

``"one_hot"``, ``"bits"`` and ``"unary"`` are float32. ``"index"`` is ``rules.index(heaps)``, for tabular code that
needs a ``Discrete`` space. The nim-sum, which decides the game, is the parity of each binary digit over the heaps
(Bouton 1901). ``"unary"`` has −1 between heaps, as in Zhou and Riis (2022, arXiv:2205.12787, section 5). An
:class:`Encoding` makes a custom observation::

    fractions = Encoding(Box(0, 1, (4,)), lambda heaps: heaps / np.array([1, 3, 5, 7]))

    gym.make("Nim-v0", observation=fractions)

``env.unwrapped.encoding`` encodes any positions. Opponents and :mod:`nim_env.evaluation` always get heap sizes;
:class:`nim_env.policies.EncodedPolicy` wraps an agent that was trained on an encoding as a player.
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
    """A function from positions to observations, with the space of an observation.

    A custom encoding is equal to itself alone, and a copy of an environment has the same one. A pickle stores the
    function by its name, so only cloudpickle can store an environment whose function is a lambda.

    Args:
        space: The space of one observation, a space of arrays such as ``Box`` or ``MultiDiscrete``.
        function: Maps heap sizes, int64 of shape ``(..., n_heaps)``, to observations of shape
            ``(..., *space.shape)``.
    """

    def __init__(self, space: Space[Any], function: Callable[[NDArray[np.int64]], ArrayLike]) -> None:
        self.space = space
        self.function = function

    def __repr__(self) -> str:
        return f"Encoding({self.space}, {getattr(self.function, '__name__', self.function)})"

    def __call__(self, heaps: ArrayLike) -> NDArray[Any]:
        """New observations of positions, heap sizes of shape ``(..., n_heaps)``.

        Their dtype is that of the space, their shape ``(..., *space.shape)``; where that is ``()`` the result is a
        NumPy number, as Gymnasium asks of observations from ``Discrete``.
        """
        return self.encode(np.array(heaps))

    def encode(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """The same without a check of ``positions``, which the function may change."""
        return np.array(self.function(positions), dtype=self.space.dtype)[()]

    def __deepcopy__(self, memo: Any) -> Encoding:
        return self  # copies of an environment share the tables of its encoding


ObservationLike: TypeAlias = str | Encoding
"""A name, or an :class:`Encoding`."""


def checked_encoding(observation: ObservationLike, rules: NimRules) -> Encoding:
    """The encoding of ``observation`` for a game; a custom one is tried on the full and the empty heaps.

    A ValueError if there is none of that name, the heaps are too large for it, or a custom one fails.
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
    """The named encoding with this space, on which an agent or a model has learned a game.

    A ValueError if there is none: it learned another game, on a custom encoding, or behind a wrapper.
    """
    for name in _ENCODINGS:
        with contextlib.suppress(ValueError):  # the heaps are too large for this one
            encoding = checked_encoding(name, rules)
            if encoding.space == observation_space:
                return encoding
    raise ValueError(f"{observation_space} belongs to another game than {rules}, a custom encoding or a wrapper")


def _check_custom(encoding: Encoding, rules: NimRules) -> None:
    """A ValueError unless two positions give the same observations of the space, each alone and as a batch."""
    positions = np.array([rules.heaps, [0] * rules.n_heaps])
    batch = np.asarray(encoding.function(positions.copy()))
    alone = np.array([encoding(heaps) for heaps in positions])
    if (
        not batch.shape == alone.shape == (2, *(encoding.space.shape or ()))
        or not np.allclose(batch, alone, equal_nan=True)  # not converted to the dtype of the space
        or not all(observation in encoding.space for observation in alone)
    ):
        raise ValueError(
            f"observation must return an element of {encoding.space} for a position, and as many for a batch; got "
            f"{[*alone]} for each of heaps {positions.tolist()}, and {batch!r} for all"
        )


class _NamedEncoding(Encoding):
    """An encoding of one game that is pickled by its name."""

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
    heap, size = _columns(rules, lambda start: np.arange(start + 1))
    return Box(0.0, 1.0, heap.shape, np.float32), lambda heaps: heaps.take(heap, axis=-1) == size


def _bits(rules: NimRules) -> _SpaceAndFunction:
    heap, digit = _columns(rules, lambda start: np.arange(start.bit_length()))
    return Box(0.0, 1.0, heap.shape, np.float32), lambda heaps: heaps.take(heap, axis=-1) >> digit & 1


def _unary(rules: NimRules) -> _SpaceAndFunction:
    heap, object_ = (column[:-1] for column in _columns(rules, lambda start: np.arange(start, -1, -1)))
    separator = 2 * (object_ == 0)  # 0 stands for the separator after a heap
    space = Box(-1.0, 1.0, heap.shape, np.float32)
    return space, lambda heaps: (heaps.take(heap, axis=-1) >= object_) - separator


def _index(rules: NimRules) -> _SpaceAndFunction:
    strides = np.array(rules.strides)
    return Discrete(rules.n_positions), lambda heaps: heaps @ strides


def _columns(rules: NimRules, numbers_of: Callable[[int], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The numbers that encode the heaps, one column for each entry of an observation, and the heap of each."""
    numbers = [numbers_of(start) for start in rules.heaps]
    return np.repeat(np.arange(rules.n_heaps), [len(part) for part in numbers]), np.concatenate(numbers)


_ENCODINGS: dict[str, Callable[[NimRules], _SpaceAndFunction]] = {
    "heaps": _heaps,
    "one_hot": _one_hot,
    "bits": _bits,
    "unary": _unary,
    "index": _index,
}
