"""Observation wrappers: other encodings of the heap sizes, all float32.

:func:`bits`, :func:`unary` and :func:`one_hot` encode the heap sizes; :func:`masked_dict` adds the action mask to
the observation. Each takes a Gymnasium environment, the native vector environment or a PettingZoo environment of
Nim, and returns it wrapped::

    env = wrappers.bits(gym.make("Nim-v0"))
    envs = wrappers.masked_dict(wrappers.unary(gym.make_vec("Nim-v0", num_envs=1024)))
    env = wrappers.one_hot(pettingzoo.make("aec", "nim-v0"))

A wrapped environment has a method ``encode(heaps)``, which encodes any positions, shape ``(..., n_heaps)``, as its
observations are encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, MultiDiscrete, Space
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import BaseWrapper

from nim_env.rules import NimRules

AnyEnv = TypeVar("AnyEnv", bound="gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any] | AECEnv[Any, Any, Any]")


def bits(env: AnyEnv) -> AnyEnv:
    """Encodes each heap by its binary digits, the least significant first.

    A heap has as many digits as its starting size. The nim-sum, which decides the game, is the parity of each
    digit over the heaps (Bouton 1901).

    Args:
        env: An environment of Nim with heap sizes as observations: Gymnasium, native vector or PettingZoo.

    Returns:
        The environment with float32 observations of shape ``(..., n_digits)``; 1-3-5-7 has 9 digits.

    Raises:
        TypeError: ``env`` is not an environment of Nim, or its observations are not heap sizes.
    """
    return _encoded(env, "bits")


def unary(env: AnyEnv) -> AnyEnv:
    """Encodes each heap by one token for each object that it started with, −1 between heaps.

    The tokens are 0 for objects taken and 1 for objects left: 2 left of 3 are 0 1 1. Zhou and Riis (2022,
    arXiv:2205.12787, section 5) use this encoding for AlphaZero.

    Args:
        env: As in :func:`bits`.

    Returns:
        The environment with float32 observations of shape ``(..., sum(heaps) + n_heaps - 1)``; 1-3-5-7 has 19.

    Raises:
        TypeError: As in :func:`bits`.
    """
    return _encoded(env, "unary")


def one_hot(env: AnyEnv) -> AnyEnv:
    """Encodes each heap by a 1 at its size and 0 elsewhere, as Stable-Baselines3 encodes ``MultiDiscrete``.

    Args:
        env: As in :func:`bits`.

    Returns:
        The environment with float32 observations of shape ``(..., sum(heaps) + n_heaps)``; 1-3-5-7 has 20.

    Raises:
        TypeError: As in :func:`bits`.
    """
    return _encoded(env, "one-hot")


def masked_dict(env: AnyEnv) -> AnyEnv:
    """Makes observations ``{"observations": ..., "action_mask": ...}``, float32, as RLlib's action masking needs.

    Args:
        env: As in :func:`bits`, or already wrapped by one of these functions.

    Returns:
        The environment. ``observations`` is the former observation as float32. ``action_mask`` has shape
        ``(..., n_actions)``; for finished games it is all ones in Gymnasium and all zeros in PettingZoo.

    Raises:
        TypeError: ``env`` is not an environment of Nim, or its observations are neither heap sizes nor encoded.
    """
    return _encoded(env, "masked-dict")


# --- Encodings ------------------------------------------------------------------------------------


class HeapEncoding:
    """An encoding of heap sizes as float32 numbers, each of them a function of one heap.

    Args:
        name: ``"bits"``, ``"unary"`` or ``"one-hot"``.
        env: An environment with heap sizes as observations.

    Attributes:
        space: The space of the numbers, a float32 ``Box`` of shape ``(n,)``.

    Raises:
        TypeError: ``env`` is not an environment of Nim, or its observations are not heap sizes.
        ValueError: No encoding has that name.
    """

    def __init__(self, name: str, env: Any) -> None:
        self._rules = rules = _rules_of(env)
        if (space := _observation_space_of(env)) != MultiDiscrete(np.array(rules.shape)):
            raise TypeError(f"env must have heap sizes as observations; {env!r} has {space}")
        if name not in _HEAP_ENCODINGS:
            raise ValueError(f"name must be one of {', '.join(map(repr, _HEAP_ENCODINGS))}; got {name!r}")
        parameters_of, _, low = _HEAP_ENCODINGS[name]
        self._name = name
        parameters = [parameters_of(size) for size in rules.heaps]
        if name == "unary":
            parameters = [*(np.append(tokens, _SEPARATOR) for tokens in parameters[:-1]), parameters[-1]]
        self._heap = np.repeat(np.arange(rules.n_heaps), [len(part) for part in parameters])
        self._parameter = np.concatenate(parameters)
        self.space: Space[Any] = Box(low, 1.0, self._parameter.shape, np.float32)

    def __call__(self, heaps: ArrayLike) -> NDArray[np.float32]:
        """Encodes positions.

        Args:
            heaps: One position or a batch, shape ``(..., n_heaps)``.

        Returns:
            float32 of shape ``(..., n)``.

        Raises:
            TypeError, ValueError: ``heaps`` are not positions of the game.
        """
        sizes = self._rules.positions(heaps).take(self._heap, axis=-1)
        _, function, _ = _HEAP_ENCODINGS[self._name]
        numbers: NDArray[np.float32] = function(sizes, self._parameter).astype(np.float32)
        return numbers

    def observation(self, observation: ArrayLike, action_mask: Any) -> NDArray[np.float32]:  # noqa: ARG002
        """Encodes observations of the environment.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: Unused.

        Returns:
            float32 of shape ``(..., n)``.

        Raises:
            TypeError, ValueError: ``observation`` holds anything but positions of the game.
        """
        return self(observation)


class MaskedDictEncoding:
    """A dictionary of the observation and the action mask, both float32.

    Args:
        name: ``"masked-dict"``.
        env: An environment with heap sizes or float32 numbers as observations.

    Attributes:
        space: The space of the dictionary.

    Raises:
        TypeError: ``env`` is not an environment of Nim, or its observations are neither heap sizes nor encoded.
    """

    def __init__(self, name: str, env: Any) -> None:  # noqa: ARG002
        self._rules = rules = _rules_of(env)
        space = _observation_space_of(env)
        if space == MultiDiscrete(np.array(rules.shape)):
            space = Box(0.0, np.array(rules.heaps, dtype=np.float32), dtype=np.float32)
        elif not isinstance(space, Box) or space.dtype != np.float32:
            raise TypeError(
                f"env must have heap sizes or an encoding of them as observations; {env!r} has {space}"
            )
        self._encode: Callable[[ArrayLike], NDArray[Any]] = getattr(env, "encode", rules.positions)
        mask_space = Box(0.0, 1.0, (rules.n_actions,), np.float32)
        self.space: Space[Any] = Dict({"observations": space, "action_mask": mask_space})

    def __call__(self, heaps: ArrayLike) -> dict[str, NDArray[np.float32]]:
        """Encodes positions, with the masks of unfinished games.

        Args:
            heaps: One position or a batch, shape ``(..., n_heaps)``.

        Returns:
            As :meth:`observation`.

        Raises:
            TypeError, ValueError: ``heaps`` are not positions of the game.
        """
        return self.observation(self._encode(heaps), self._rules.action_mask(heaps))

    def observation(self, observation: ArrayLike, action_mask: ArrayLike) -> dict[str, NDArray[np.float32]]:
        """The dictionary of observations and their masks.

        Args:
            observation: Heap sizes or their encoding, shape ``(..., *shape)`` with the shape of one observation.
            action_mask: Shape ``(..., n_actions)``.

        Returns:
            Both as float32 of the same shape, under ``"observations"`` and ``"action_mask"``.
        """
        return {
            "observations": np.asarray(observation).astype(np.float32),
            "action_mask": np.asarray(action_mask).astype(np.float32),
        }


Encoding = HeapEncoding | MaskedDictEncoding
_SEPARATOR = 0  # the parameter of the separator token, which is no token of an object
_Numbers = NDArray[Any]
_HEAP_ENCODINGS: dict[str, tuple[Callable[[int], _Numbers], Callable[[_Numbers, _Numbers], _Numbers], float]] = {
    "bits": (lambda size: np.arange(size.bit_length()), lambda sizes, digit: sizes >> digit & 1, 0.0),
    "unary": (
        lambda size: np.arange(size, 0, -1),
        lambda sizes, least: np.where(least == _SEPARATOR, -1, sizes >= least),
        -1.0,
    ),
    "one-hot": (lambda size: np.arange(size + 1), lambda sizes, size: sizes == size, 0.0),
}
"""By name: the parameters of a heap's numbers given its starting size, the numbers, and their lower bound."""


def _encoded(env: AnyEnv, encoding: str) -> AnyEnv:
    _rules_of(env)
    is_vector, is_aec = isinstance(env, VectorEnv), isinstance(env, AECEnv)
    wrapper: Any = EncodedVectorEnv if is_vector else EncodedAECEnv if is_aec else EncodedEnv
    wrapped: AnyEnv = wrapper(env, encoding)
    return wrapped


def _make_encoding(name: str, env: Any) -> Encoding:
    names = (*_HEAP_ENCODINGS, "masked-dict")
    if name not in names:
        raise ValueError(f"encoding must be one of {', '.join(map(repr, names))}; got {name!r}")
    return MaskedDictEncoding(name, env) if name == "masked-dict" else HeapEncoding(name, env)


def _rules_of(env: Any) -> NimRules:
    rules = getattr(getattr(env, "unwrapped", None), "rules", None)
    if isinstance(env, VectorEnv) and not isinstance(rules, NimRules):
        raise TypeError(
            f"env must be the native vector environment of Nim, which gym.make_vec makes by default; "
            f"got {env!r} (with another mode, wrap each environment in it: "
            'gym.make_vec("Nim-v0", num_envs=4, vectorization_mode="sync", wrappers=[wrappers.one_hot]))'
        )
    if not isinstance(env, gymnasium.Env | VectorEnv | AECEnv) or not isinstance(rules, NimRules):
        raise TypeError(f"env must be an environment of Nim, of Gymnasium or PettingZoo; got {env!r}")
    return rules


def _observation_space_of(env: Any) -> Space[Any]:
    """The space of one environment's observation, in PettingZoo without the action mask."""
    if isinstance(env, VectorEnv):
        return env.single_observation_space
    if isinstance(env, gymnasium.Env):
        return env.observation_space
    space: Space[Any] = env.observation_space(env.possible_agents[0])
    return space["observation"] if isinstance(space, Dict) and "observation" in space.spaces else space


# --- Wrappers -------------------------------------------------------------------------------------


class EncodedEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A Gymnasium environment with encoded observations.

    Args:
        env: The environment.
        encoding: ``"bits"``, ``"unary"``, ``"one-hot"`` or ``"masked-dict"``.

    Raises:
        TypeError: As :func:`bits`; with ``"masked-dict"`` as :func:`masked_dict`.
        ValueError: No encoding has that name.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], encoding: str) -> None:
        RecordConstructorArgs.__init__(self, encoding=encoding)
        super().__init__(env)
        self.encode = _make_encoding(encoding, env)
        self.observation_space = self.encode.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Resets the environment and encodes the observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.encode.observation(observation, info["action_mask"]), info

    def step(self, action: Any) -> Any:
        """Steps the environment and encodes the observation."""
        observation, *result, info = self.env.step(action)
        return self.encode.observation(observation, info["action_mask"]), *result, info


class EncodedVectorEnv(VectorWrapper, RecordConstructorArgs):
    """A vector environment with encoded observations, in every autoreset mode.

    Args:
        env: The vector environment.
        encoding: As in :class:`EncodedEnv`.

    Raises:
        TypeError, ValueError: As :class:`EncodedEnv`.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], encoding: str) -> None:
        RecordConstructorArgs.__init__(self, encoding=encoding)
        super().__init__(env)
        self.encode = _make_encoding(encoding, env)
        self.single_observation_space = self.encode.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Resets the environments and encodes the observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self.encode.observation(observations, infos["action_mask"]), infos

    def step(self, actions: Any) -> Any:
        """Steps the environments and encodes the observations, the final ones too."""
        observations, *results, infos = self.env.step(actions)
        if "final_obs" in infos:
            final, masks = infos["final_obs"], infos["final_info"]["action_mask"]
            ended = np.flatnonzero(infos["_final_obs"])
            encoded = self.encode.observation(np.stack(final[ended]), masks[ended])
            for row, env in enumerate(ended.tolist()):
                if isinstance(encoded, dict):
                    final[env] = {key: part[row] for key, part in encoded.items()}
                else:
                    final[env] = encoded[row]
        return self.encode.observation(observations, infos["action_mask"]), *results, infos


class EncodedAECEnv(BaseWrapper):  # type: ignore[misc]  # PettingZoo has no types
    """A PettingZoo environment with encoded observations.

    The observation stays a dictionary with the action mask. ``"masked-dict"`` renames ``"observation"`` to
    ``"observations"`` and makes both float32.

    Args:
        env: The environment.
        encoding: As in :class:`EncodedEnv`.

    Raises:
        TypeError, ValueError: As :class:`EncodedEnv`.
    """

    def __init__(self, env: AECEnv[Any, Any, Any], encoding: str) -> None:
        self.encode = _make_encoding(encoding, env)
        super().__init__(env)
        is_dict = isinstance(self.encode.space, Dict)
        self.observation_spaces = {
            agent: self.encode.space
            if is_dict
            else Dict({**env.observation_space(agent), "observation": self.encode.space})
            for agent in env.possible_agents
        }

    def observation_space(self, agent: str) -> Space[Any]:
        """The observation space of a player, always the same object.

        Args:
            agent: ``"player_0"`` or ``"player_1"``.

        Returns:
            The space of a dictionary, the same for both players.

        Raises:
            KeyError: ``agent`` is not a player.
        """
        return self.observation_spaces[agent]

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """The encoded observation of ``agent``."""
        return self._encoded(self.env.observe(agent))

    def last(self, observe: bool = True) -> Any:
        """As in the wrapped environment, with the observation encoded."""
        observation, *rest = self.env.last(observe)
        return None if observation is None else self._encoded(observation), *rest

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """As in the wrapped environment."""
        agents: Iterator[str] = self.env.agent_iter(max_iter)
        return agents

    def _encoded(self, observation: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        encoded = self.encode.observation(observation["observation"], observation["action_mask"])
        return encoded if isinstance(encoded, dict) else {**observation, "observation": encoded}
