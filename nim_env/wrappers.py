"""Other ways to show a position to a learner: as float32 numbers that every library takes as they are.

:func:`bits`, :func:`unary` and :func:`one_hot` encode the heap sizes; :func:`masked_dict` puts the action mask
beside them. Each takes a single environment, a vector environment or a PettingZoo environment of Nim, and gives it
back wrapped::

    env = wrappers.bits(gym.make("Nim-v0"))
    envs = wrappers.masked_dict(wrappers.unary(gym.make_vec("Nim-v0", num_envs=1024)))
    env = wrappers.one_hot(pettingzoo.make("aec", "nim-v0"))

An encoded environment also has ``encode(heaps)``, which shows any positions as it does, so that what has learnt in
it can be held against the truth (``env.env.encode`` below a :func:`masked_dict`). Of vector environments these are
for the native one, which ``gym.make_vec`` makes unless told otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
Observation = Any


def bits(env: AnyEnv) -> AnyEnv:
    """Shows each heap by its binary digits, the least first: as many as its starting size has.

    The nim-sum, which decides the game, is the parity of each digit over the heaps (Bouton 1901).

    Args:
        env: An environment of Nim that shows heap sizes: of Gymnasium, single or vector, or of PettingZoo.

    Returns:
        The environment, its observations float32 of shape ``(..., n_digits)``; 1-3-5-7 has 9 digits.

    Raises:
        TypeError: ``env`` is no environment of Nim, or shows something else already.
    """
    return _encoded(env, "bits")


def unary(env: AnyEnv) -> AnyEnv:
    """Shows each heap by a token for each object it started with, −1 between heaps.

    0 for the objects taken, then 1 for those left, as Zhou and Riis (2022, arXiv:2205.12787, section 5) show it to
    AlphaZero: 2 left of 3 are 0 1 1.

    Args:
        env: As in :func:`bits`.

    Returns:
        The environment, its observations float32 of shape ``(..., sum(heaps) + n_heaps - 1)``; 1-3-5-7 has 19.

    Raises:
        TypeError: As in :func:`bits`.
    """
    return _encoded(env, "unary")


def one_hot(env: AnyEnv) -> AnyEnv:
    """Shows each heap by a 1 at its size and 0 elsewhere, as Stable-Baselines3 by itself shows ``MultiDiscrete``.

    Args:
        env: As in :func:`bits`.

    Returns:
        The environment, its observations float32 of shape ``(..., sum(heaps) + n_heaps)``; 1-3-5-7 has 20.

    Raises:
        TypeError: As in :func:`bits`.
    """
    return _encoded(env, "one-hot")


def masked_dict(env: AnyEnv) -> AnyEnv:
    """Shows ``{"observations": ..., "action_mask": ...}``, float32, as RLlib's action-masking module wants it.

    Args:
        env: An environment of Nim, as in :func:`bits` or already wrapped by one of these functions.

    Returns:
        The environment; ``observations`` is what it showed before, as float32, and ``action_mask`` has shape
        ``(..., n_actions)``, which of Gymnasium's finished games is all ones and of PettingZoo's zeros.

    Raises:
        TypeError: ``env`` is no environment of Nim, or shows something else already.
    """
    rules = _rules_of(env)
    shown = _shown_by(env)
    is_encoding = isinstance(shown, Box) and shown.dtype == np.float32
    if not is_encoding and shown != MultiDiscrete(np.array(rules.shape)):
        raise TypeError(f"env must show heap sizes or one of their encodings; got {env!r}, which shows {shown}")
    wrapper: Any = _wrapper_for(env, MaskedDictEnv, MaskedDictVectorEnv, MaskedDictAECEnv)
    wrapped: AnyEnv = wrapper(env)
    return wrapped


# --- Encodings ------------------------------------------------------------------------------------


class Encoding:
    """Heap sizes as float32 numbers, each of them about one heap.

    Args:
        name: ``"bits"``, ``"unary"`` or ``"one-hot"``.
        rules: The game.

    Attributes:
        name: Its name.
        space: The numbers, a ``Box`` of shape ``(n,)``.
    """

    def __init__(self, name: str, rules: NimRules) -> None:
        entries, _, low = ENCODINGS[name]
        self.name = name
        asked = [entries(size) for size in rules.heaps]
        if name == "unary":
            asked = [*(np.append(tokens, SEPARATOR) for tokens in asked[:-1]), asked[-1]]
        self._heap = np.repeat(np.arange(rules.n_heaps), [len(part) for part in asked])
        self._asked = np.concatenate(asked)
        self._rules = rules
        self.space = Box(low, 1.0, self._asked.shape, np.float32)

    def __call__(self, heaps: ArrayLike) -> NDArray[np.float32]:
        """Positions, shape ``(..., n_heaps)``, as float32 numbers, shape ``(..., n)``.

        Raises:
            TypeError, ValueError: ``heaps`` are no positions of the game.
        """
        sizes = self._rules.positions(heaps).take(self._heap, axis=-1)
        _, number_of, _ = ENCODINGS[self.name]
        numbers: NDArray[np.float32] = number_of(sizes, self._asked).astype(np.float32)
        return numbers


SEPARATOR = 0  # asked for as a least size, which no object is
Numbers = NDArray[Any]
ENCODINGS: dict[str, tuple[Callable[[int], Numbers], Callable[[Numbers, Numbers], Numbers], float]] = {
    "bits": (lambda size: np.arange(size.bit_length()), lambda sizes, digit: sizes >> digit & 1, 0.0),
    "unary": (
        lambda size: np.arange(size, 0, -1),
        lambda sizes, least: np.where(least == SEPARATOR, -1, sizes >= least),
        -1.0,
    ),
    "one-hot": (lambda size: np.arange(size + 1), lambda sizes, size: sizes == size, 0.0),
}
"""By name: what is asked of a heap of some starting size, the answers for heaps as they are, the least answer."""


def _encoded(env: AnyEnv, name: str) -> AnyEnv:
    wrapper: Any = _wrapper_for(env, EncodedEnv, EncodedVectorEnv, EncodedAECEnv)
    wrapped: AnyEnv = wrapper(env, name)
    return wrapped


def _encoding(name: str, env: Any) -> Encoding:
    """The encoding of what an environment shows, if that is heap sizes."""
    if name not in ENCODINGS:
        raise ValueError(f"encoding must be one of {', '.join(map(repr, ENCODINGS))}; got {name!r}")
    rules = _rules_of(env)
    if _shown_by(env) != MultiDiscrete(np.array(rules.shape)):
        raise TypeError(f"env must show heap sizes; got {env!r}, which shows {_shown_by(env)}")
    return Encoding(name, rules)


def _rules_of(env: Any) -> NimRules:
    rules = getattr(getattr(env, "unwrapped", None), "rules", None)
    if not isinstance(env, gymnasium.Env | VectorEnv | AECEnv) or not isinstance(rules, NimRules):
        raise TypeError(f"env must be an environment of Nim, of Gymnasium or PettingZoo; got {env!r}")
    return rules


def _shown_by(env: Any) -> Space[Any]:
    """The space of one game's observation, without the mask that PettingZoo has beside it."""
    if isinstance(env, VectorEnv):
        return env.single_observation_space
    if isinstance(env, gymnasium.Env):
        return env.observation_space
    space: Space[Any] = env.observation_space(env.possible_agents[0])
    return space["observation"] if isinstance(space, Dict) and "observation" in space.spaces else space


def _wrapper_for(env: Any, single: type, vector: type, aec: type) -> type:
    _rules_of(env)
    return vector if isinstance(env, VectorEnv) else aec if isinstance(env, AECEnv) else single


# --- Gymnasium ------------------------------------------------------------------------------------


class EncodedEnv(gymnasium.ObservationWrapper[Any, Any, Any], RecordConstructorArgs):
    """A single environment that shows heap sizes by an encoding, of ``"bits"``, ``"unary"`` and ``"one-hot"``."""

    def __init__(self, env: gymnasium.Env[Any, Any], encoding: str) -> None:
        RecordConstructorArgs.__init__(self, encoding=encoding)
        super().__init__(env)
        self.encode = _encoding(encoding, env)
        self.observation_space = self.encode.space

    def observation(self, observation: Observation) -> NDArray[np.float32]:
        """The heap sizes as numbers."""
        return self.encode(observation)


class EncodedVectorEnv(VectorWrapper, RecordConstructorArgs):
    """A vector environment that shows heap sizes by an encoding, in every autoreset mode."""

    def __init__(self, env: VectorEnv[Any, Any, Any], encoding: str) -> None:
        RecordConstructorArgs.__init__(self, encoding=encoding)
        super().__init__(env)
        self.encode = _encoding(encoding, env)
        self.single_observation_space = self.encode.space
        self.observation_space = batch_space(self.encode.space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """As that of the environment, the observations as numbers."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self.encode(observations), infos

    def step(self, actions: Any) -> Any:
        """As that of the environment, the observations as numbers, the final ones too."""
        observations, *outcome, infos = self.env.step(actions)
        if "final_obs" in infos:
            ended = np.flatnonzero(infos["_final_obs"])
            _put(infos["final_obs"], ended, self.encode(np.stack(infos["final_obs"][ended])))
        return self.encode(observations), *outcome, infos


class MaskedDictEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A single environment that shows a dictionary of its observations and the action mask."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.observation_space = _dict_space(env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """As that of the environment, with the mask beside the observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _with_mask(observation, info["action_mask"]), info

    def step(self, action: Any) -> Any:
        """As that of the environment, with the mask beside the observation."""
        observation, *outcome, info = self.env.step(action)
        return _with_mask(observation, info["action_mask"]), *outcome, info


class MaskedDictVectorEnv(VectorWrapper, RecordConstructorArgs):
    """A vector environment that shows a dictionary of its observations and the action masks."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.single_observation_space = _dict_space(env)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """As that of the environment, with the masks beside the observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return _with_mask(observations, infos["action_mask"]), infos

    def step(self, actions: Any) -> Any:
        """As that of the environment, with the masks beside the observations, the final ones too."""
        observations, *outcome, infos = self.env.step(actions)
        if "final_obs" in infos:
            ended, masks = np.flatnonzero(infos["_final_obs"]), infos["final_info"]["action_mask"]
            shown = infos["final_obs"]
            _put(shown, ended, [_with_mask(shown[game], masks[game]) for game in ended])
        return _with_mask(observations, infos["action_mask"]), *outcome, infos


def _put(column: NDArray[np.object_], games: NDArray[np.int64], values: Any) -> None:
    """Sets one entry of an array of objects for each game."""
    for game, value in zip(games.tolist(), values, strict=True):
        column[game] = value


def _with_mask(observation: Observation, action_mask: NDArray[np.int8]) -> dict[str, NDArray[np.float32]]:
    return {
        "observations": np.asarray(observation).astype(np.float32),
        "action_mask": np.asarray(action_mask).astype(np.float32),
    }


def _dict_space(env: Any) -> Dict:
    shown, rules = _shown_by(env), _rules_of(env)
    if isinstance(shown, MultiDiscrete):
        shown = Box(0.0, np.array(rules.heaps, dtype=np.float32), dtype=np.float32)
    return Dict({"observations": shown, "action_mask": Box(0.0, 1.0, (rules.n_actions,), np.float32)})


# --- PettingZoo -----------------------------------------------------------------------------------


class ShownAECEnv(BaseWrapper, ABC):  # type: ignore[misc]  # PettingZoo has no types
    """A PettingZoo environment that shows its observations in another way, and else is what it wraps."""

    def __init__(self, env: AECEnv[Any, Any, Any]) -> None:
        super().__init__(env)
        self.observation_spaces = {agent: self._space_of(agent) for agent in env.possible_agents}

    @abstractmethod
    def _space_of(self, agent: str) -> Dict:
        """The space of what a player sees."""

    @abstractmethod
    def _shown(self, seen: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """What a player sees instead."""

    def observation_space(self, agent: str) -> Dict:
        """The observation space of ``agent``, always the same object."""
        return self.observation_spaces[agent]

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """What ``agent`` sees."""
        return self._shown(self.env.observe(agent))

    def last(self, observe: bool = True) -> Any:
        """As that of the environment, the observation shown in this way."""
        seen, *rest = self.env.last(observe)
        return None if seen is None else self._shown(seen), *rest

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """As that of the environment."""
        agents: Iterator[str] = self.env.agent_iter(max_iter)
        return agents


class EncodedAECEnv(ShownAECEnv):
    """A PettingZoo environment that shows heap sizes by an encoding, beside the mask."""

    def __init__(self, env: AECEnv[Any, Any, Any], encoding: str) -> None:
        self.encode = _encoding(encoding, env)
        super().__init__(env)

    def _space_of(self, agent: str) -> Dict:
        return Dict({**self.env.observation_space(agent), "observation": self.encode.space})

    def _shown(self, seen: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return {**seen, "observation": self.encode(seen["observation"])}


class MaskedDictAECEnv(ShownAECEnv):
    """A PettingZoo environment that shows ``"observations"`` and ``"action_mask"``, both float32."""

    def _space_of(self, agent: str) -> Dict:  # noqa: ARG002  the same for both
        return _dict_space(self.env)

    def _shown(self, seen: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return _with_mask(seen["observation"], seen["action_mask"])
