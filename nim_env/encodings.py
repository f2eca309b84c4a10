"""Encodings of positions as observations: the argument ``observation`` of every environment.

===============  ===========================================  =================================  ========
``observation``  what it shows of a heap                      shape                              1-3-5-7
===============  ===========================================  =================================  ========
``"heaps"``      its size (the default)                       ``(n_heaps,)``, int64              4
``"one_hot"``    1 at its size and 0 elsewhere                ``(sum(heaps) + n_heaps,)``        20
``"bits"``       its binary digits, the lowest first          the digits of the starting sizes   9
``"unary"``      0 for each object taken and 1 for each left  ``(sum(heaps) + n_heaps - 1,)``    19
===============  ===========================================  =================================  ========

The last three are float32. The nim-sum, which decides the game, is the parity of each binary digit over the heaps
(Bouton 1901). ``"unary"`` has −1 between heaps, as in Zhou and Riis (2022, arXiv:2205.12787, section 5). An
:class:`Encoding` makes a custom observation::

    fractions = Encoding(Box(0, 1, (4,)), lambda heaps: heaps / np.array([1, 3, 5, 7]))

    gym.make("Nim-v0", observation="one_hot")
    gym.make_vec("Nim-v0", num_envs=64, observation=fractions)
    pettingzoo.make("aec", "nim-v0", observation="bits")

``env.unwrapped.encoding`` encodes any positions. Opponents and :mod:`nim_env.evaluation` always get heap sizes;
:class:`nim_env.policies.EncodedPolicy` wraps an agent that was trained on an encoding as a player.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete, Space
from numpy.typing import ArrayLike, NDArray

from nim_env.rules import NimRules

_MAX_OBJECTS = 10_000_000  # for the encodings with an entry for each object: 40 MB an observation


class Encoding:
    """A function from positions to observations, with the space of an observation.

    A custom encoding is equal to itself alone, and a copy of an environment has the same one. A pickle stores the
    function by its name, so only cloudpickle can store an environment whose function is a lambda.

    Args:
        space: The space of one observation, a space of arrays such as ``Box`` or ``MultiDiscrete``.
        function: Maps heap sizes, int64 of shape ``(..., n_heaps)``, to observations of shape
            ``(..., *space.shape)``.

    Raises:
        TypeError: ``space`` is not a space of arrays, or ``function`` is not callable.
    """

    def __init__(self, space: Space[Any], function: Callable[[NDArray[np.int64]], ArrayLike]) -> None:
        if not isinstance(space, Space) or space.shape is None:
            raise TypeError(f"space must be a space of arrays, such as Box; got {space!r}")
        if not callable(function):
            raise TypeError(f"function must map heaps (..., n_heaps) to observations; got {function!r}")
        self.space, self.function = space, function

    def __repr__(self) -> str:
        return f"Encoding({self.space}, {getattr(self.function, '__name__', self.function)})"

    def __call__(self, heaps: ArrayLike) -> NDArray[Any]:
        """Encodes positions.

        Args:
            heaps: One position or a batch, shape ``(..., n_heaps)``.

        Returns:
            New observations of the dtype of the space, shape ``(..., *space.shape)``; a NumPy number where that is
            ``()``, as Gymnasium asks of observations from ``Discrete``.

        Raises:
            TypeError, ValueError: For a named encoding, as :meth:`NimRules.positions`.
        """
        return self.encode(np.array(heaps))

    def encode(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Like calling the encoding, but without a check.

        Args:
            positions: Positions of the game, shape ``(..., n_heaps)``.

        Returns:
            New observations of the dtype of the space, shape ``(..., *space.shape)``.
        """
        return np.array(self.function(positions), dtype=self.space.dtype)[()]

    def __deepcopy__(self, memo: Any) -> Encoding:
        return self  # copies of an environment share the tables of its encoding


ObservationLike: TypeAlias = str | Encoding
"""A name, or an :class:`Encoding`."""


def checked_encoding(observation: ObservationLike, rules: NimRules) -> Encoding:
    """Resolves ``observation`` to an encoding.

    Args:
        observation: A name, or an encoding, which is tried on the full and the empty heaps.
        rules: The game.

    Returns:
        The encoding.

    Raises:
        ValueError: There is no encoding of that name, the encoding fails or returns anything but observations of
            its space, or the heaps are too large for ``"one_hot"`` or ``"unary"``.
        TypeError: ``observation`` is neither a name nor an encoding.
    """
    if isinstance(observation, str):
        if observation not in _ENCODINGS:
            raise ValueError(f"observation must be one of {', '.join(map(repr, _ENCODINGS))}; got {observation!r}")
        if observation in ("one_hot", "unary") and sum(rules.heaps) > _MAX_OBJECTS:
            raise ValueError(
                f"observation={observation!r} has an entry for each of {sum(rules.heaps):,} objects, more than "
                f'{_MAX_OBJECTS:,}; use observation="bits" or smaller heaps'
            )
        return _named_encoding(observation, rules)
    if not isinstance(observation, Encoding):
        raise TypeError(f"observation must be one of {tuple(_ENCODINGS)} or an Encoding; got {observation!r}")
    _try(observation, rules)
    return observation


def _try(encoding: Encoding, rules: NimRules) -> None:
    """Encodes two positions, each alone and both as a batch; a ValueError if that shows a mistake."""
    space, positions = encoding.space, np.array([rules.heaps, (0,) * rules.n_heaps])
    for heaps in (*positions, positions):
        try:
            output = np.asarray(encoding.function(heaps.copy()))
        except Exception as error:
            raise ValueError(f"observation fails for heaps {heaps.tolist()}: {error}") from error
        expected = (*heaps.shape[:-1], *(space.shape or ()))
        if output.shape != expected:
            raise ValueError(
                f"observation must return shape {expected} for heaps of shape {heaps.shape}, since its space is "
                f"{space}; got shape {output.shape}"
            )
        is_number = output.dtype.kind in "biuf"
        if not is_number or not np.allclose(output.astype(space.dtype), output, equal_nan=True):
            raise ValueError(
                f"observation must return numbers of dtype {space.dtype}, as its space has; for heaps "
                f"{heaps.tolist()} got {output!r}"
            )
    singles = [encoding(heaps) for heaps in positions]
    if not np.allclose(encoding(positions), singles, equal_nan=True):
        raise ValueError(
            f"observation must encode each position of a batch as it encodes the position alone; for heaps "
            f"{positions.tolist()} got {encoding(positions)!r}, not {singles!r}"
        )
    if singles[0] not in space:
        raise ValueError(
            f"observation must return elements of {space}; for heaps {rules.heaps} got {singles[0]!r}"
        )


class _NamedEncoding(Encoding):
    """An encoding of one game that is pickled by its name."""

    def __init__(self, name: str, rules: NimRules) -> None:
        super().__init__(*_ENCODINGS[name](rules))
        self.name, self.rules = name, rules

    def __call__(self, heaps: ArrayLike) -> NDArray[Any]:
        return self.encode(self.rules.positions(heaps))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NamedEncoding) and (self.name, self.rules) == (other.name, other.rules)

    def __hash__(self) -> int:
        return hash((self.name, self.rules))

    def __reduce__(self) -> Any:
        return _named_encoding, (self.name, self.rules)


@lru_cache(maxsize=64)
def _named_encoding(name: str, rules: NimRules) -> Encoding:
    return _NamedEncoding(name, rules)


_SpaceAndFunction = tuple[Space[Any], Callable[[NDArray[np.int64]], NDArray[Any]]]


def _heaps(rules: NimRules) -> _SpaceAndFunction:
    return MultiDiscrete(np.array(rules.shape)), np.asarray


def _one_hot(rules: NimRules) -> _SpaceAndFunction:
    heap, size = _columns(rules, lambda start: np.arange(start + 1))
    return Box(0.0, 1.0, heap.shape, np.float32), lambda heaps: heaps.take(heap, axis=-1) == size


def _bits(rules: NimRules) -> _SpaceAndFunction:
    heap, digit = _columns(rules, lambda start: np.arange(start.bit_length()))
    return Box(0.0, 1.0, heap.shape, np.float32), lambda heaps: heaps.take(heap, axis=-1) >> digit & 1


def _unary(rules: NimRules) -> _SpaceAndFunction:
    heap, object_ = (column[:-1] for column in _columns(rules, lambda start: np.arange(start, -1, -1)))
    return Box(-1.0, 1.0, heap.shape, np.float32), lambda heaps: np.where(
        object_ == 0, -1, heaps.take(heap, axis=-1) >= object_
    )  # 0 stands for the separator after a heap


def _columns(rules: NimRules, numbers_of: Callable[[int], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The numbers that encode the heaps, one column for each entry of an observation, and the heap of each."""
    numbers = [numbers_of(start) for start in rules.heaps]
    return np.repeat(np.arange(rules.n_heaps), [len(part) for part in numbers]), np.concatenate(numbers)


_ENCODINGS: dict[str, Callable[[NimRules], _SpaceAndFunction]] = {
    "heaps": _heaps,
    "one_hot": _one_hot,
    "bits": _bits,
    "unary": _unary,
}
