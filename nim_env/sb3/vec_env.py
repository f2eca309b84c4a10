"""The vector environment of Nim as a ``VecEnv``."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from nim_env._internal import limits
from nim_env.envs.vector_env import NimVectorEnv


class NimVecEnv(VecEnv):
    """A :class:`nim_env.envs.vector_env.NimVectorEnv` as a Stable-Baselines3 ``VecEnv``.

    For example::

        import gymnasium as gym
        from nim_env.sb3 import NimVecEnv
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.vec_env import VecMonitor

        env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=256, autoreset_mode="SameStep"))
        MaskablePPO("MlpPolicy", VecMonitor(env)).learn(100_000)  # VecMonitor logs the episodes' returns

    It behaves like ``DummyVecEnv``, with these differences:

    - sb3-contrib gets the masks from ``env_method("action_masks")``. These masks, and the masks in the infos, are
      read-only.
    - All environments share their attributes and one random generator. So of the seeds that ``seed`` sets, only
      the first is used.
    - The options of ``set_options`` must be the same for all environments, except ``heaps``.

    Args:
        env: A vector environment of Nim in same-step autoreset mode. It can be wrapped.

    Raises:
        TypeError: If ``env`` is not a vector environment of Nim.
        ValueError: If it has another autoreset mode.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        nim = env.unwrapped if isinstance(env, VectorEnv) else None
        if not isinstance(nim, NimVectorEnv):
            raise TypeError(f'env must be a vector environment made by gym.make_vec("Nim-v0", ...); got {env!r}')
        if nim.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f'env must be made with autoreset_mode="SameStep"; got {nim.autoreset_mode.value!r}')
        self.env = env
        self.unwrapped_env = nim
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.metadata = env.metadata
        self._finished_mask = np.ones(nim.rules.n_actions, dtype=np.int8)
        self._finished_mask.flags.writeable = False
        self._shared_rows: NDArray[np.object_] | None = None
        if nim.rules.n_pairs <= limits.TABULATED_MOVES:
            rows = _read_only_rows(nim.board.masks(np.arange(nim.board.n_states)))
            self._shared_rows = np.fromiter(rows, dtype=object, count=len(rows))
        self._masks: list[NDArray[np.int8]] | None = None  # None before the first reset

    def reset(self) -> Any:
        """Starts an episode in every environment. The options of ``set_options`` apply to this reset only."""
        observations, infos = self.env.reset(seed=self._seeds[0], options=self._shared_options())
        self._masks = self._mask_rows()
        self.reset_infos = _list_infos(self._masks, infos)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Stores the actions for the next :meth:`step_wait`, shape ``(num_envs,)``."""
        self.actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Takes the step with the stored actions, and returns observations, rewards, dones and infos."""
        observations, rewards, terminated, truncated, infos = self.env.step(self.actions)
        self._masks = self._mask_rows()
        listed = _list_infos(self._masks, infos)
        if "final_info" in infos:
            self._put_final_infos(listed, infos, has_truncated=bool(truncated.any()))
        for info, is_truncated in zip(listed, (truncated & ~terminated).tolist(), strict=True):
            info["TimeLimit.truncated"] = is_truncated
        return observations, rewards.astype(np.float32), terminated | truncated, listed

    def _put_final_infos(
        self, listed: list[dict[str, Any]], infos: dict[str, Any], *, has_truncated: bool
    ) -> None:
        """Puts the last info of each episode that has just ended into ``listed``, for :meth:`step_wait`.

        ``listed`` is the list of infos that the step will return, one for each environment. Where an episode has
        ended, it holds the first info of the next episode, since the environment has been reset. As in
        ``DummyVecEnv``, this info moves to ``reset_infos``, and the last info of the ended episode takes its place
        in the list. ``infos`` are the infos of the vector environment, which contain these last infos, and
        ``has_truncated`` says whether any episode was truncated.
        """
        final = infos["final_info"]
        ended = infos["_final_info"].nonzero()[0]
        masks = [self._finished_mask] * len(ended)  # all ones; sharing one array is faster
        if has_truncated:
            masks = _read_only_rows(final["action_mask"][ended])
        final_infos = _list_infos(masks, final, ended)
        are_illegal = final["illegal_action"][ended].tolist()
        ends = zip(ended.tolist(), final_infos, are_illegal, infos["final_obs"][ended], strict=True)
        for env, info, is_illegal, observation in ends:
            info["illegal_action"] = is_illegal
            info["terminal_observation"] = observation
            self.reset_infos[env] = listed[env]
            listed[env] = info

    def _mask_rows(self) -> list[NDArray[np.int8]]:
        """Returns a list with the action mask of each environment. The masks are read-only arrays.

        On a small board, environments in the same state get the same array, which is looked up in a table. This is
        faster than splitting a new array of masks into its rows.
        """
        if self._shared_rows is None:
            return _read_only_rows(self.unwrapped_env.action_masks())
        return self._shared_rows[self.unwrapped_env.states].tolist()

    def get_images(self) -> list[Any]:
        """Returns the pictures of all games if the render mode is ``"rgb_array"``; ``render`` tiles them."""
        return list(self.env.render() or ())

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Returns an attribute of the environment or of its wrappers, once for each of ``indices``."""
        value = getattr(_owner(self.env, attr_name), attr_name)
        return self._for_indices(indices, [value] * self.num_envs)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Sets an attribute of all environments, which share it.

        Raises ValueError if ``indices`` leaves out an environment.
        """
        if len(set(self._for_indices(indices, range(self.num_envs)))) != self.num_envs:
            raise ValueError(f"indices must include all environments, which share {attr_name!r}; got {indices!r}")
        setattr(_owner(self.env, attr_name), attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Calls a method of the vector environment once, for all environments.

        If the method has a result for each environment, as ``action_masks`` does, the results of ``indices`` are
        returned. If it returns ``None``, as ``set_opponent`` does, the result is ``None`` for each of them.
        """
        if method_name == "action_masks":  # sb3-contrib calls it at every step
            return self._for_indices(indices, self._masks or self._mask_rows())
        results = getattr(_owner(self.env, method_name), method_name)(*args, **kwargs)
        return self._for_indices(indices, [None] * self.num_envs if results is None else results)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:  # noqa: ARG002
        """Returns False for each of ``indices``, since there are no individual environments to wrap."""
        return self._for_indices(indices, [False] * self.num_envs)

    def _for_indices(self, indices: VecEnvIndices, results: Any) -> list[Any]:
        """Returns the elements of ``results`` at ``indices``, or all of them if ``indices`` is ``None``."""
        return list(results) if indices is None else [results[index] for index in self._get_indices(indices)]

    def _shared_options(self) -> dict[str, Any]:
        """Merges the options of all environments into one dictionary. They can differ only in ``heaps``."""
        heaps = [options["heaps"] for options in self._options if options.get("heaps") is not None]
        others = [{name: options[name] for name in options if name != "heaps"} for options in self._options]
        is_shared = all(options == others[0] for options in others)
        if not is_shared or len(others) != self.num_envs or len(heaps) not in (0, self.num_envs):
            raise ValueError(
                "options must be the same for all environments, except for heaps, which all or none of them must "
                f"have; got {self._options}"
            )
        return others[0] | ({"heaps": heaps} if heaps else {})


def _read_only_rows(masks: NDArray[np.int8]) -> list[NDArray[np.int8]]:
    """Makes the masks read-only, and returns a list of their rows."""
    masks.flags.writeable = False
    return list(masks)


def _list_infos(masks: Any, infos: dict[str, Any], envs: Any = slice(None)) -> list[dict[str, Any]]:
    """Turns the infos of a vector environment into a list of dictionaries, one for each environment.

    ``envs`` selects the environments, by default all. ``masks`` holds the action mask for each dictionary.
    """
    listed = [{"action_mask": mask, "illegal_action": False} for mask in masks]
    for name in ("to_play", "opponent"):
        if name in infos:
            for info, number in zip(listed, infos[name][envs].tolist(), strict=True):
                if number >= 0:  # the number is negative if the opponent is not from a pool
                    info[name] = number
    return listed


def _owner(env: Any, name: str) -> Any:
    """Returns the outermost wrapper that has the attribute ``name``, or the environment itself if none has it."""
    while not hasattr(env, name) and hasattr(env, "env"):
        env = env.env
    return env
