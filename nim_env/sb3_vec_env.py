"""Nim as a Stable-Baselines3 vector environment: thousands of games a step, masks included.

Needs Stable-Baselines3 (``pip install "nim-env[sb3]"``), so it is imported only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from nim_env.vector_env import NimVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise DependencyNotInstalled(
        'nim_env.sb3_vec_env needs Stable-Baselines3; run pip install "nim-env[sb3]"'
    ) from error

Indices = int | Iterable[int] | None


class Told(NamedTuple):
    """What a step has to say: of all games, and then of those that it has ended.

    Attributes:
        observations: The observations now.
        rewards: The rewards.
        is_over: Which games have ended.
        ended: Their numbers.
        illegal: Whether by an illegal action.
        cut_short: Whether by truncation.
        last: Their last observations.
        to_play: In self-play, whose turn it is now.
        last_to_play: In self-play, whose turn it would have been in those that ended.
    """

    observations: Any
    rewards: NDArray[np.float64]
    is_over: NDArray[np.bool_]
    ended: list[int]
    illegal: list[bool]
    cut_short: list[bool]
    last: list[Any]
    to_play: list[int] | None
    last_to_play: list[int] | None


class NimVecEnv(VecEnv):
    """The games of a :class:`nim_env.vector_env.NimVectorEnv`, as Stable-Baselines3 steps through them.

    ```python
    import gymnasium as gym
    from nim_env.sb3_vec_env import NimVecEnv
    from sb3_contrib import MaskablePPO

    env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=256, autoreset_mode="SameStep"))
    MaskablePPO("MlpPolicy", env).learn(100_000)
    ```

    It keeps the contract of ``DummyVecEnv``: rewards are float32; of a game that is over the last observation is
    in ``info["terminal_observation"]``, the first of the next game is returned, with its info in ``reset_infos``;
    ``info["TimeLimit.truncated"]`` is always there. ``env_method("action_masks")`` gives the masks that
    sb3-contrib asks for; like the same masks in the infos they are read-only. One generator decides all that is
    random in the games, so the seeds of :meth:`seed` count as one.

    Args:
        env: The games, in same-step autoreset mode; wrapped or not.

    Raises:
        TypeError: ``env`` is not a vector environment of Nim.
        ValueError: It is in another autoreset mode.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        if not isinstance(env, VectorEnv) or not isinstance(env.unwrapped, NimVectorEnv):
            raise TypeError(
                f'env must be a vector environment of Nim, from gym.make_vec("Nim-v0", ...); got {env!r}'
            )
        self.games = env.unwrapped
        if self.games.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                f'env must be made with autoreset_mode="SameStep"; got {self.games.autoreset_mode.value!r}'
            )
        self.env = env
        self._masks: list[NDArray[np.int8]] | None = None  # until the first reset
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.metadata = env.metadata

    def reset(self) -> Any:
        """Starts a game everywhere, with what :meth:`seed` and :meth:`set_options` have set; they hold once.

        Returns:
            The observations, shape ``(num_envs, ...)``.

        Raises:
            TypeError, ValueError: As :meth:`NimVectorEnv.reset`; of options before any game has started anew.
        """
        options = self._merged_options()
        self._masks = None
        observations, infos = self.env.reset(seed=self._seeds[0])
        for merged in options:
            observations, infos = self.env.reset(options=merged)
        self._masks = self.games.mask_rows()
        self.reset_infos = [{"action_mask": mask, "illegal_action": False} for mask in self._masks]
        _add_players(self.reset_infos, infos["to_play"].tolist() if "to_play" in infos else None)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Takes the actions of the next :meth:`step_wait`, shape ``(num_envs,)``."""
        self.actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Plays them.

        Returns:
            Observations, shape ``(num_envs, ...)``; rewards, float32, and whether games have ended, bool, of shape
            ``(num_envs,)``; and an info for each game.

        Raises:
            gymnasium.error.ResetNeeded, gymnasium.error.InvalidAction: As :meth:`NimVectorEnv.step`.
        """
        told = self._played() if self.env is self.games else self._played_through_wrappers()
        self._masks = self.games.mask_rows()
        by_game: list[dict[str, Any]] = [
            {"action_mask": mask, "illegal_action": False, "TimeLimit.truncated": False} for mask in self._masks
        ]
        _add_players(by_game, told.to_play)
        if told.ended:
            all_ones = np.ones(self.games.rules.n_actions, dtype=np.int8)
            all_ones.flags.writeable = False
            final: list[dict[str, Any]] = [
                {
                    "action_mask": all_ones,
                    "illegal_action": is_illegal,
                    "TimeLimit.truncated": is_cut_short,
                    "terminal_observation": seen,
                }
                for is_illegal, is_cut_short, seen in zip(told.illegal, told.cut_short, told.last, strict=True)
            ]
            _add_players(final, told.last_to_play)
            for game, info in zip(told.ended, final, strict=True):
                begun = by_game[game]
                del begun["TimeLimit.truncated"]
                self.reset_infos[game], by_game[game] = begun, info
        return told.observations, told.rewards.astype(np.float32), told.is_over, by_game

    def _played(self) -> Told:
        """The step of games without wrappers, straight from their states."""
        games = self.games
        played = games._play(self.actions)
        ended, of_states = played.ended, games._games
        return Told(
            of_states.heaps(played.states),
            played.rewards,
            played.is_over,
            ended.tolist(),
            of_states.are_illegal(played.last[ended]).tolist(),
            [False] * len(ended),
            list(of_states.heaps(played.last[ended])),
            None if games.opponent is not None else games._to_play.tolist(),
            None if games.opponent is not None else played.to_play[ended].tolist(),
        )

    def _played_through_wrappers(self) -> Told:
        """The step of wrapped games, from what they show."""
        observations, rewards, terminated, truncated, infos = self.env.step(self.actions)
        is_over = terminated | truncated
        ended = np.flatnonzero(is_over)
        final = infos.get("final_info", {})
        return Told(
            observations,
            rewards,
            is_over,
            ended.tolist(),
            final["illegal_action"][ended].tolist() if len(ended) else [],
            (truncated & ~terminated)[ended].tolist(),
            infos["final_obs"][ended].tolist() if len(ended) else [],
            infos["to_play"].tolist() if "to_play" in infos else None,
            final["to_play"][ended].tolist() if "to_play" in final else None,
        )

    def close(self) -> None:
        """Closes the games."""
        self.env.close()

    def has_attr(self, attr_name: str) -> bool:
        """Whether the games or their wrappers have an attribute, for :meth:`get_attr` or :meth:`env_method`."""
        return hasattr(self._owner(attr_name), attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the games or their wrappers, which they share, once for each of ``indices``.

        Raises:
            AttributeError: They have none of that name.
            IndexError: There is no game of an index.
        """
        return [getattr(self._owner(attr_name), attr_name)] * len(self._games(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Sets an attribute of all games.

        Raises:
            IndexError: There is no game of an index.
            ValueError: ``indices`` leave games out, but they share their attributes.
        """
        if sorted(set(self._games(indices))) != list(range(self.num_envs)):
            raise ValueError(f"the games share {attr_name!r}; set it for all of them, got indices={indices!r}")
        setattr(self._owner(attr_name), attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Indices = None, **kwargs: Any) -> list[Any]:
        """What a method that answers for every game, such as ``action_masks``, says of those of ``indices``.

        Raises:
            AttributeError: The games have no method of that name.
            IndexError: There is no game of an index.
            ValueError: The method does not answer for every game.
        """
        wanted = range(self.num_envs) if indices is None else self._games(indices)
        method = getattr(self._owner(method_name), method_name)
        if (
            method_name == "action_masks" and self._masks is not None
        ):  # asked for at every step: those of the infos
            return self._masks.copy() if indices is None else [self._masks[game] for game in wanted]
        answers = [] if method_name in ("reset", "step") else method(*args, **kwargs)
        if answers is None:
            answers = [None] * self.num_envs
        if not isinstance(answers, np.ndarray | tuple | list) or len(answers) != self.num_envs:
            raise ValueError(f"env_method needs a method that answers for every game, not {method_name!r}")
        return [answers[game] for game in wanted]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:  # noqa: ARG002
        """False for each of ``indices``: single games are not wrapped."""
        return [False] * len(self._games(indices))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_masks": None}  # copies of arrays can be written to, so they are made anew

    def _owner(self, name: str) -> Any:
        """The outermost wrapper that has an attribute, or the games."""
        owner: Any = self.env
        while owner is not self.games and not hasattr(owner, name):
            owner = owner.env
        return owner

    def _games(self, indices: Indices) -> list[int]:
        """The numbers of the games meant, from 0 on."""
        every_game = range(self.num_envs)
        return [every_game[index] for index in self._get_indices(indices)]

    def _merged_options(self) -> list[dict[str, Any]]:
        """The options of all games, checked, as those of resets: of games from given heaps, and of the others."""
        if len(self._options) != self.num_envs or not all(isinstance(options, dict) for options in self._options):
            games = f"{self.num_envs} games"
            raise ValueError(
                f"set_options needs a dictionary, or one for each of the {games}; got {self._options!r}"
            )
        has_heaps = np.array([options.get("heaps") is not None for options in self._options])
        has_others = np.array([bool(options) for options in self._options]) & ~has_heaps
        merged = [self._merged(group) for group in (has_heaps, has_others) if group.any()]
        for options in merged:
            self.games._checked_options({name: value for name, value in options.items() if name != "reset_mask"})
        return merged

    def _merged(self, group: NDArray[np.bool_]) -> dict[str, Any]:
        """The options of some of the games as those of the vector environment."""
        merged: dict[str, Any] = {"reset_mask": group}
        for name in {
            name for options, is_in in zip(self._options, group, strict=True) if is_in for name in options
        }:
            values = [
                options.get(name) if is_in else None for options, is_in in zip(self._options, group, strict=True)
            ]
            if all(value is None for value in values):
                continue
            if name == "heaps":
                values = [self.games.rules.heaps if value is None else value for value in values]
            merged[name] = values
        return merged


def _add_players(by_game: list[dict[str, Any]], to_play: list[int] | None) -> None:
    """In self-play, whose turn it is."""
    if to_play is not None:
        for info, player in zip(by_game, to_play, strict=True):
            info["to_play"] = player
