"""The interface of an agent."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from agents import saving

TO_PLAY = "to_play"
"""The info key of a Gymnasium environment in which the agent plays both sides: the player to move, 0 or 1."""


class Agent(ABC):
    """A learner that :func:`agents.train` can train and :func:`agents.load` can load.

    A custom agent is a subclass with :meth:`act` and :meth:`update`; its page in the documentation has an example.

    **Shapes.** One observation has the shape of ``observation_space``. Its mask is an int8 or bool array of shape
    ``(n_actions,)``, nonzero where an action is legal, or None where all are. A batch has leading dimensions
    before these.

    **Transitions.** In self-play the agent plays every side, and the transitions of the players alternate. An
    agent that plays one of several players gets the transitions of that player. In the last transition of a
    truncated episode ``terminated`` is False: there is a future. With several players, the one who has just moved
    when an episode is truncated does not observe what follows, so that it has no last transition.

    **Saving.** :meth:`save` stores the constructor's arguments other than the spaces and ``seed``: each must be an
    attribute of the same name and be expressible in JSON; a schedule is stored as its current value.
    :func:`agents.load` finds the class by its module and name, so the module must have been imported.

    Args:
        observation_space: The space of the observations. From a PettingZoo dictionary of ``"observation"`` and
            ``"action_mask"`` the agent keeps the ``"observation"``; of a tuple of ``Discrete`` spaces it makes a
            ``MultiDiscrete`` space.
        action_space: A ``Discrete`` space.
        seed: Seeds the agent's own generator.

    Attributes:
        n_actions: The number of actions.
        first_action: The lowest action, ``action_space.start``.
        generator: The agent's own ``numpy.random.Generator``.
        progress_remaining: Falls from 1 to 0 over a training run; :func:`agents.train` sets it.

    Raises:
        TypeError: A space is of the wrong kind.
    """

    bootstraps_from: ClassVar[Literal["own turn", "opponent turn"]] = "own turn"
    """Which next observation a transition has in self-play. It is what the same player observes when it is to move
    again, with everything it was rewarded since its action; or what the other player observes one ply later, with
    the mover's immediate reward (minimax). Minimax learns by self-play of two players only."""
    supports_self_play: ClassVar[bool] = True
    """Whether the agent can be trained where it controls several players."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.bootstraps_from not in ("own turn", "opponent turn"):
            raise ValueError(f'bootstraps_from must be "own turn" or "opponent turn"; got {cls.bootstraps_from!r}')
        for method in ("act", "update"):
            batch_method = f"{method}_batch"
            owner = next(parent for parent in cls.__mro__ if vars(parent).keys() & {method, batch_method})
            if batch_method not in vars(owner):  # an inherited one would not do what the new method does
                setattr(cls, batch_method, getattr(Agent, batch_method))
        saving.CLASSES[saving.class_name(cls)] = cls

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], *, seed: int | None = None
    ) -> None:
        if not isinstance(action_space, spaces.Discrete):
            raise TypeError(f"action_space must be Discrete; got {action_space!r}")
        self.observation_space = agent_observation_space(observation_space)
        self.action_space = action_space
        self.n_actions = int(action_space.n)
        self.first_action = int(action_space.start)
        # An environment of the same seed draws from default_rng(seed); this stream is independent of it.
        self.generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        self.progress_remaining = 1.0

    def __repr__(self) -> str:
        names = [name for name in saving.constructor_arguments(type(self)) if hasattr(self, name)]
        arguments = [str(self.observation_space), str(self.action_space)]
        arguments += [f"{name}={getattr(self, name)!r}" for name in names]
        return f"{type(self).__name__}({', '.join(arguments)})"

    @abstractmethod
    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> int | np.integer[Any]:
        """Chooses an action.

        Args:
            observation: One observation.
            action_mask: Nonzero where an action is legal, shape ``(n_actions,)``; None: all are.
            explore: Whether to explore, as :func:`agents.train` does.

        Returns:
            An action of ``action_space``, a Python or NumPy integer.
        """

    def act_batch(self, observations: Any, action_masks: Any = None, explore: bool = False) -> NDArray[np.integer]:
        """:meth:`act` for ``n`` observations, here one after another: integers of shape ``(n,)``."""
        masks = [None] * len(observations) if action_masks is None else action_masks
        actions = [self.act(*each, explore=explore) for each in zip(observations, masks, strict=True)]
        return np.array([checked_action(self, "act", action) for action in actions], np.int64)

    @abstractmethod
    def update(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any = None,
    ) -> None:
        """Learns from one transition.

        Args:
            observation: What the player observed.
            action: What it did, an action of ``action_space``.
            reward: Its reward, see :attr:`bootstraps_from`.
            next_observation: The next observation, see :attr:`bootstraps_from`; the last one if terminated.
            terminated: Whether the episode has ended for good; False where it was truncated.
            next_action_mask: The mask of the next observation, shape ``(n_actions,)``; None: all are legal.
        """

    def update_batch(
        self,
        observations: Any,
        actions: Any,
        rewards: Any,
        next_observations: Any,
        terminated: Any,
        next_action_masks: Any = None,
    ) -> None:
        """:meth:`update` for ``n`` transitions, here one after another: arrays with a row for each."""
        masks = [None] * len(observations) if next_action_masks is None else next_action_masks
        actions, rewards, terminated = (np.asarray(column).tolist() for column in (actions, rewards, terminated))
        for transition in zip(observations, actions, rewards, next_observations, terminated, masks, strict=True):
            self.update(*transition)

    def end_episode(self) -> None:  # noqa: B027  most agents do nothing
        """Called by :func:`agents.train` after each episode, also after one that an error cuts short.

        An agent that learns from whole episodes (Monte Carlo) collects the transitions in :meth:`update` and
        learns from them here. An agent that overrides this method does not train in vector environments.
        """

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """The Q-values of one observation or a batch: float64 of shape ``(..., n_actions)``."""
        raise NotImplementedError(f"{type(self).__name__} has no Q-values")

    def action_probabilities(self, observation: Any, action_mask: Any = None) -> NDArray[np.float64]:
        """The policy without exploration, float64 ``(..., n_actions)``: 1 for what :meth:`act_batch` returns."""
        observations = np.asarray(observation)
        n_leading = observations.ndim - len(self.observation_space.shape or ())
        shape = *observations.shape[:n_leading], self.n_actions
        observations = observations.reshape(-1, *observations.shape[n_leading:])
        masks = action_mask if action_mask is None else np.broadcast_to(action_mask, shape).reshape(-1, shape[-1])
        columns = self.act_batch(observations, masks) - self.first_action
        return np.asarray(columns[:, None] == np.arange(self.n_actions), np.float64).reshape(shape)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """What :meth:`save` stores in addition to the constructor's arguments: copies of arrays of numbers."""
        raise NotImplementedError(f"{type(self).__name__} must define state_dict and load_state_dict to be saved")

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned; raises any error if it cannot."""
        raise NotImplementedError(f"{type(self).__name__} must define load_state_dict to be loaded")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the agent to one file, whole or not at all, in the format of safetensors.

        Args:
            path: The file, which is replaced if it exists; a symbolic link to it stays.

        Raises:
            OSError: The file cannot be written, or ``path`` is a folder, a pipe or a device.
            TypeError: A space or an argument of the constructor cannot be written as JSON.
            ValueError: The constructor refuses an argument, such as the current value of a schedule.
        """
        saving.save(self, path)


def checked_action(agent: Agent, method: str, action: Any) -> int:
    """The action that ``act`` returned or ``update`` got, as an int; a TypeError or ValueError if it is none."""
    if type(action) is int and 0 <= action - agent.first_action < agent.n_actions:
        return action
    is_integer = np.asarray(action).dtype.kind in "iu"
    if is_integer and action in agent.action_space:
        return int(action)
    error = ValueError if is_integer else TypeError
    name = f"the action of {type(agent).__name__}.{method}"
    raise error(f"{name} must be an integer in {agent.action_space}; got {action!r}")


def legal_columns(action_mask: Any, n_actions: int, may_be_empty: bool = False) -> Sequence[int]:
    """The indices of the legal actions of one observation, all of them without a mask.

    A ValueError if the shape is wrong, or if no action is legal, unless the indices ``may_be_empty``.
    """
    if action_mask is None:
        return range(n_actions)
    mask = np.asarray(action_mask)
    if mask.shape != (n_actions,):
        raise ValueError(f"action_mask must have shape {(n_actions,)}; got {mask.shape}")
    columns = _nonzero_bytes((mask if mask.itemsize == 1 else mask != 0).tobytes())
    if not columns and not may_be_empty:
        raise ValueError("action_mask leaves no legal action")
    return columns


@lru_cache(maxsize=2**14)
def _nonzero_bytes(mask: bytes) -> Sequence[int]:
    """The indices of the nonzero bytes; cached, since the same masks recur."""
    return tuple(np.frombuffer(mask, np.uint8).nonzero()[0].tolist())


def agent_observation_space(space: Space[Any]) -> Space[Any]:
    """What an agent learns on: arrays, without the mask of a dictionary of PettingZoo.

    A TypeError for other dictionaries, and for tuples of other spaces than ``Discrete``.
    """
    if isinstance(space, spaces.Dict) and {"observation", "action_mask"} <= set(space.spaces):
        space = space["observation"]
    if isinstance(space, spaces.Tuple) and all(isinstance(part, spaces.Discrete) for part in space):
        parts: Any = space.spaces
        space = spaces.MultiDiscrete([part.n for part in parts], start=[part.start for part in parts])
    if space.shape is None:
        raise TypeError(f"observation_space must hold arrays; got {space}; FlattenObservation may help")
    return space


def check_spaces(agent: Agent, observation_space: Any, action_space: Any) -> None:
    """Raises a ValueError unless the agent was made for these spaces of an environment."""
    agent_spaces = agent.observation_space, agent.action_space
    if agent_spaces != (agent_observation_space(observation_space), action_space):
        given = observation_space, action_space
        raise ValueError(f"the agent was made for the spaces {agent_spaces}, but the environment has {given}")


def check_setting(agent: Agent, n_players: int) -> None:
    """Raises a ValueError unless the agent can be trained while controlling this many players."""
    name = type(agent).__name__
    if n_players > 1 and not agent.supports_self_play:
        raise ValueError(f"{name} does not learn by self-play; train it against an opponent")
    if n_players != 2 and agent.bootstraps_from == "opponent turn":
        raise ValueError(f"{name} learns by self-play of two players; the environment has {n_players} to control")


def split_observation(observation: Any, info: dict[str, Any]) -> tuple[Any, Any]:
    """The agent's observation and its action mask, None where an environment gives none."""
    if isinstance(observation, dict):
        return observation["observation"], observation["action_mask"]
    return observation, info.get("action_mask")


def load(path: str | os.PathLike[str]) -> Agent:
    """Loads the agent that :meth:`Agent.save` wrote, its generator included.

    Args:
        path: The file.

    Returns:
        The agent.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is damaged, is not a saved agent, or holds an agent of an unknown class.
    """
    return saving.load(path)
