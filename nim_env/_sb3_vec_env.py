"""The vector environment of Nim as a ``VecEnv`` of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from nim_env.envs._options import finished_mask
from nim_env.envs.vector_env import NimVectorEnv

Indices = int | Iterable[int] | None


class NimVecEnv(VecEnv):
    """A :class:`nim_env.envs.vector_env.NimVectorEnv` as a Stable-Baselines3 ``VecEnv``.

    For example::

        import gymnasium as gym
        from nim_env.sb3 import NimVecEnv
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.vec_env import VecMonitor

        env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=256, autoreset_mode="SameStep"))
        MaskablePPO("MlpPolicy", VecMonitor(env)).learn(100_000)  # VecMonitor logs the episodes' returns

    It behaves as ``DummyVecEnv``: rewards are float32; at the end of an episode the last observation is in
    ``info["terminal_observation"]``, the first observation of the next episode is returned, and its info is in
    ``reset_infos``; ``info["TimeLimit.truncated"]`` is always there. ``env_method("action_masks")`` returns the
    masks for sb3-contrib. They and the masks in the infos are read-only. One generator draws for all environments,
    so only the first of the seeds of ``seed`` counts.

    Args:
        env: A vector environment of Nim in same-step autoreset mode; wrapped or not.

    Raises:
        TypeError: ``env`` is not a vector environment of Nim.
        ValueError: It has another autoreset mode.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        nim = env.unwrapped if isinstance(env, VectorEnv) else None
        if not isinstance(nim, NimVectorEnv):
            raise TypeError(
                f'env must be a vector environment of Nim, from gym.make_vec("Nim-v0", ...); got {env!r}'
            )
        if nim.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f'env must be made with autoreset_mode="SameStep"; got {nim.autoreset_mode.value!r}')
        self.env, self.unwrapped_env = env, nim
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.metadata = env.metadata
        self._finished_mask = _read_only(finished_mask(nim.rules))
        self._masks: list[NDArray[np.int8]] | None = None  # None before the first reset

    def reset(self) -> Any:
        """Starts an episode in every environment.

        The seed of ``seed`` and the options of ``set_options`` are used once.

        Returns:
            The observations, shape ``(num_envs, ...)``.

        Raises:
            TypeError, ValueError: See :meth:`NimVectorEnv.reset`.
        """
        observations, infos = self.env.reset(seed=self._seeds[0], options=self._batched_options())
        self.reset_infos = self._list_infos(infos)
        for info in self.reset_infos:
            del info["TimeLimit.truncated"]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Stores the actions of the next :meth:`step_wait`, shape ``(num_envs,)``."""
        self.actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Plays the stored actions.

        Returns:
            Observations, shape ``(num_envs, ...)``; rewards, float32 of shape ``(num_envs,)``; dones, bool of
            shape ``(num_envs,)``; and a list of ``num_envs`` infos.

        Raises:
            gymnasium.error.ResetNeeded, gymnasium.error.InvalidAction, TypeError, ValueError: See
                :meth:`NimVectorEnv.step`.
        """
        observations, rewards, terminated, truncated, infos = self.env.step(self.actions)
        listed = self._list_infos(infos)
        if "final_info" in infos:
            for env, info in self._final_infos(infos, truncated & ~terminated):
                reset_info = self.reset_infos[env] = listed[env]
                del reset_info["TimeLimit.truncated"]  # it belongs to the end of an episode
                listed[env] = info
        return observations, rewards.astype(np.float32), terminated | truncated, listed

    def get_images(self) -> list[Any]:
        """The pictures of all games with ``render_mode="rgb_array"``, from which ``render`` tiles one.

        Returns:
            RGB values, a list of ``num_envs`` uint8 arrays of shape ``(400, 600, 3)``.

        Raises:
            gymnasium.error.ResetNeeded, gymnasium.error.DependencyNotInstalled: See :meth:`NimVectorEnv.render`.
        """
        return list(self.env.render() or ())

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def has_attr(self, attr_name: str) -> bool:
        """Whether the environment or one of its wrappers has an attribute."""
        return hasattr(_owner(self.env, attr_name), attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the environment or of its wrappers.

        Args:
            attr_name: The name of the attribute.
            indices: The environments to repeat it for; ``None`` for all.

        Returns:
            The attribute, once for each of ``indices``.

        Raises:
            AttributeError: There is no attribute of that name.
            IndexError: An index is out of range.
        """
        return [getattr(_owner(self.env, attr_name), attr_name)] * len(self._checked_indices(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Sets an attribute of all environments.

        Args:
            attr_name: The name of the attribute.
            value: Its new value.
            indices: All environments; ``None`` also means all of them.

        Raises:
            IndexError: An index is out of range.
            ValueError: ``indices`` leave environments out, which share their attributes.
        """
        if sorted(set(self._checked_indices(indices))) != list(range(self.num_envs)):
            raise ValueError(f"all environments share {attr_name!r}; set it for all, got indices={indices!r}")
        setattr(_owner(self.env, attr_name), attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """Calls a method of the vector environment once.

        Args:
            method_name: A method that returns one result for each environment, such as ``action_masks``, or None,
                such as ``set_opponent``.
            *args: Its arguments.
            indices: The environments whose results are returned; ``None`` for all. A method that returns None acts
                on all environments.
            **kwargs: Its keyword arguments.

        Returns:
            The result of each of ``indices``.

        Raises:
            AttributeError: There is no method of that name.
            IndexError: An index is out of range.
            ValueError: The method does not return one result for each environment.
        """
        wanted = self._checked_indices(indices)
        if method_name == "action_masks":  # sb3-contrib calls it at every step
            masks = self._masks or self.unwrapped_env.mask_rows()
            return list(masks) if indices is None else [masks[index] for index in wanted]
        method = getattr(_owner(self.env, method_name), method_name)
        results = [] if method_name in ("reset", "step") else method(*args, **kwargs)
        if results is None:
            results = [None] * self.num_envs
        if not isinstance(results, np.ndarray | tuple | list) or len(results) != self.num_envs:
            raise ValueError(
                f"env_method needs a method with one result for each environment; got {method_name!r}"
            )
        return [results[index] for index in wanted]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:  # noqa: ARG002
        """Whether single environments are wrapped: never, as there are none.

        Args:
            wrapper_class: Ignored.
            indices: The environments to answer for; ``None`` for all.

        Returns:
            False for each of ``indices``.

        Raises:
            IndexError: An index is out of range.
        """
        return [False] * len(self._checked_indices(indices))

    def _checked_indices(self, indices: Indices) -> Sequence[int]:
        every = range(self.num_envs)
        return every if indices is None else [every[index] for index in self._get_indices(indices)]

    def _batched_options(self) -> dict[str, Any] | None:
        """The options of all environments as those of the vector environment."""
        if len(self._options) != self.num_envs or not all(isinstance(options, dict) for options in self._options):
            raise ValueError(
                f"set_options needs a dictionary, or one for each of the {self.num_envs} environments; "
                f"got {self._options!r}"
            )
        names = {name for options in self._options for name in options}
        return {name: [options.get(name) for options in self._options] for name in names} or None

    def _list_infos(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        """One info for each environment, without the final ones."""
        self._masks = self.unwrapped_env.mask_rows()
        listed: list[dict[str, Any]] = [
            {"action_mask": mask, "illegal_action": False, "TimeLimit.truncated": False} for mask in self._masks
        ]
        if "to_play" in infos:
            for info, player in zip(listed, infos["to_play"].tolist(), strict=True):
                info["to_play"] = player
        return listed

    def _final_infos(
        self, infos: dict[str, Any], is_truncated: NDArray[np.bool_]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """The environments whose episodes have ended, each with its info."""
        ended, final = infos["_final_info"].nonzero()[0], infos["final_info"]
        columns = ended, final["illegal_action"][ended], is_truncated[ended], infos["final_obs"][ended]
        for env, illegal, truncated, observation in zip(*(column.tolist() for column in columns), strict=True):
            info = {
                # one array for all finished games, which is faster than a row for each
                "action_mask": _read_only(final["action_mask"][env]) if truncated else self._finished_mask,
                "illegal_action": illegal,
                "TimeLimit.truncated": truncated,
                "terminal_observation": observation,
            }
            if "to_play" in final:
                info["to_play"] = int(final["to_play"][env])
            yield env, info


def _read_only(mask: NDArray[np.int8]) -> NDArray[np.int8]:
    mask.flags.writeable = False
    return mask


def _owner(env: Any, name: str) -> Any:
    """The outermost wrapper of an environment that has an attribute, or the environment itself."""
    while not hasattr(env, name) and hasattr(env, "env"):
        env = env.env
    return env
