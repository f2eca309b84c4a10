"""The interface that all agents implement."""

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from agents import saving
from agents._observations import agent_observation_space

TO_PLAY = "to_play"
"""The key that the infos of a Gymnasium environment have if the agent plays both sides.

Its value is the player to move, 0 or 1.
"""


class Agent(ABC):
    """The base class of all agents.

    :func:`agents.train` trains an agent, :meth:`save` writes it to a file, and :func:`agents.load` reads the file
    again. To write your own agent, define two methods in a subclass: :meth:`act` chooses an action, and
    :meth:`update` learns from one transition. An agent that learns values in a table should be a subclass of
    :class:`TabularAgent`, which provides the table.

    For example, this agent draws a random legal action and learns nothing:

        >>> import agents
        >>> import gymnasium as gym
        >>> import numpy as np
        >>> class RandomAgent(agents.Agent):
        ...     def act(self, observation, action_mask=None, explore=False):
        ...         legal = np.ones(self.n_actions) if action_mask is None else action_mask
        ...         return self.generator.choice(np.flatnonzero(legal)) + self.first_action
        ...
        ...     def update(self, *transition):
        ...         pass
        >>> env = gym.make("nim_env:Nim-v0", opponent=None)
        >>> agent = RandomAgent(env.observation_space, env.action_space, seed=0)
        >>> history = agents.train(agent, env, episodes=100, seed=0)
        >>> history.returns.shape
        (100,)

    **Shapes.** An observation has the shape of ``observation_space``, and its action mask has the shape
    ``(n_actions,)``. The mask is an int8 or bool array that is nonzero for each legal action, or ``None`` if all
    actions are legal. A batch adds leading dimensions to both.

    **Transitions.** Training passes to :meth:`update` the transitions of each player that the agent plays. In
    self-play these are all players, so transitions of different players alternate. :attr:`bootstraps_from` says
    whether the next observation in a transition is what the same player sees at its next turn ("own turn"), or
    what the other player sees one ply later.

    When an episode is truncated, it could have continued, so ``terminated`` is False in its last transition. With
    "own turn", the transition of the player who moved last is then incomplete, because that player has no next
    turn. This one transition is left out.

    **Saving.** The file holds the arguments of the constructor, except the spaces and ``seed``, and the arrays
    that :meth:`state_dict` returns. Each of these arguments must be stored as an attribute of the same name, and
    it must be possible to write it as JSON. A schedule, which is a function of the training progress, is saved as
    its current value. :func:`agents.load` looks up the class by its module and name, so import the module before
    you load the file.

    Args:
        observation_space: The space of the observations. If it is a PettingZoo dictionary with the keys
            ``"observation"`` and ``"action_mask"``, the agent uses the ``"observation"`` space. A tuple of
            ``Discrete`` spaces is converted to a ``MultiDiscrete`` space.
        action_space: A ``Discrete`` space.
        seed: The seed of the agent's own random generator.

    Attributes:
        n_actions: The number of actions.
        first_action: The lowest action, ``action_space.start``.
        generator: The agent's own ``numpy.random.Generator``.
        progress_remaining: The fraction of the training run that is still to come. :func:`agents.train` lowers it
            from 1 to 0.

    Raises:
        TypeError: If the action space is not ``Discrete``, or if the observations are not arrays.
    """

    bootstraps_from: ClassVar[Literal["own turn", "opponent turn"]] = "own turn"
    """What the next observation and the reward of a transition are in self-play.

    With ``"own turn"``, the next observation is what the same player sees when it is to move again, and the reward
    is the sum of that player's rewards since its action. With ``"opponent turn"`` (minimax), the next observation
    is what the other player sees one ply later, and the reward is the mover's immediate reward. Agents of the
    second kind can be trained only by self-play with two players.
    """
    supports_self_play: ClassVar[bool] = True
    """Whether one agent can be trained while it plays several players."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.bootstraps_from not in ("own turn", "opponent turn"):
            raise ValueError(f'bootstraps_from must be "own turn" or "opponent turn"; got {cls.bootstraps_from!r}')
        for method in ("act", "update"):
            batch_method = f"{method}_batch"
            owner = next(parent for parent in cls.__mro__ if vars(parent).keys() & {method, batch_method})
            if batch_method not in vars(owner):  # the inherited batch method would not call the new one
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
        # An environment with the same seed may draw from default_rng(seed); this stream is independent of it.
        self.generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        self.progress_remaining = 1.0

    def __repr__(self) -> str:
        names = [name for name in saving.constructor_arguments(type(self)) if hasattr(self, name)]
        arguments = [str(self.observation_space), str(self.action_space)]
        arguments += [f"{name}={getattr(self, name)!r}" for name in names]
        return f"{type(self).__name__}({', '.join(arguments)})"

    @abstractmethod
    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> int | np.integer[Any]:
        """Chooses an action for one observation.

        Args:
            observation: One observation.
            action_mask: Nonzero for each legal action, shape ``(n_actions,)``. ``None`` means that all are legal.
            explore: Whether to explore, as in training, rather than to play as well as possible.

        Returns:
            An action in ``action_space``, as a Python or NumPy integer.
        """

    def act_batch(self, observations: Any, action_masks: Any = None, explore: bool = False) -> NDArray[np.integer]:
        """Chooses an action for each of ``n`` observations.

        Training in a vector environment calls this method. By default it calls :meth:`act` for one observation
        after another; an agent that is faster with batches overrides it.

        Args:
            observations: The observations, one in each row.
            action_masks: Nonzero for each legal action, shape ``(n, n_actions)``. ``None`` means that all are
                legal.
            explore: Whether to explore, as in training, rather than to play as well as possible.

        Returns:
            Actions in ``action_space``, an integer array of shape ``(n,)``.
        """
        masks = [None] * len(observations) if action_masks is None else action_masks
        actions = [self.act(*each, explore=explore) for each in zip(observations, masks, strict=True)]
        return np.array([self.checked_action(action) for action in actions], np.int64)

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
            observation: What the player observed before it acted.
            action: The action that it took, in ``action_space``.
            reward: The reward for the action. In self-play, this is the sum of the player's rewards until its next
                turn or, if :attr:`bootstraps_from` is ``"opponent turn"``, only the immediate reward.
            next_observation: What the player observes at its next turn or, if :attr:`bootstraps_from` is
                ``"opponent turn"``, what the other player observes at the turn in between. If the episode has
                terminated, this is its last observation.
            terminated: Whether the episode has ended for good. It is False if the episode was truncated.
            next_action_mask: The action mask of the next observation, shape ``(n_actions,)``. ``None`` means that
                all actions are legal.
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
        """Learns from ``n`` transitions.

        Training in a vector environment calls this method. By default it calls :meth:`update` for one transition
        after another; an agent that is faster with batches overrides it. Each argument has one row per transition
        and otherwise means the same as in :meth:`update`.

        Args:
            observations: What the players observed before they acted.
            actions: Integers of shape ``(n,)``.
            rewards: Numbers of shape ``(n,)``.
            next_observations: The next observations.
            terminated: Booleans of shape ``(n,)``.
            next_action_masks: Action masks of shape ``(n, n_actions)``. ``None`` means that all actions are legal.
        """
        masks = [None] * len(observations) if next_action_masks is None else next_action_masks
        actions, rewards, terminated = (np.asarray(column).tolist() for column in (actions, rewards, terminated))
        for transition in zip(observations, actions, rewards, next_observations, terminated, masks, strict=True):
            self.update(*transition)

    def checked_action(self, action: Any) -> int:
        """Returns an action as an int. Raises TypeError or ValueError if it is not in ``action_space``."""
        if type(action) is int and 0 <= action - self.first_action < self.n_actions:
            return action
        is_integer = np.asarray(action).dtype.kind in "iu"
        if is_integer and action in self.action_space:
            return int(action)
        error = ValueError if is_integer else TypeError
        raise error(f"{type(self).__name__}'s action must be an integer in {self.action_space}; got {action!r}")

    def end_episode(self) -> None:  # noqa: B027  most agents do nothing
        """Ends an episode for the agent. By default it does nothing.

        Training calls this method after each episode, even if an error has interrupted the episode. An agent that
        learns from whole episodes (Monte Carlo) collects the transitions in :meth:`update` and learns from them
        here. An agent that overrides this method can be trained only in single environments, not in vector
        environments.
        """

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """Returns the Q-values of one observation or of a batch.

        Args:
            observation: An observation, or a batch with leading dimensions ``(...)``.

        Returns:
            A value for each action, float64 of shape ``(..., n_actions)``.

        Raises:
            NotImplementedError: If the agent has no Q-values.
        """
        raise NotImplementedError(f"{type(self).__name__} has no Q-values")

    def action_probabilities(self, observation: Any, action_mask: Any = None) -> NDArray[np.float64]:
        """Returns the probability of each action when the agent does not explore.

        By default, the action that :meth:`act_batch` returns has the probability 1. An agent with a stochastic
        policy overrides this method.

        Args:
            observation: An observation, or a batch with leading dimensions ``(...)``.
            action_mask: Nonzero for each legal action, shape ``(..., n_actions)``. ``None`` means that all are
                legal.

        Returns:
            Probabilities, float64 of shape ``(..., n_actions)``.
        """
        observations = np.asarray(observation)
        n_leading = observations.ndim - len(self.observation_space.shape or ())
        shape = *observations.shape[:n_leading], self.n_actions
        observations = observations.reshape(-1, *observations.shape[n_leading:])
        masks = action_mask if action_mask is None else np.broadcast_to(action_mask, shape).reshape(-1, shape[-1])
        columns = self.act_batch(observations, masks) - self.first_action
        return np.asarray(columns[:, None] == np.arange(self.n_actions), np.float64).reshape(shape)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Returns what the agent has learned, as numeric arrays by name, for :meth:`save`.

        An agent that is to be saved defines this method and :meth:`load_state_dict`. The constructor's arguments
        and the state of the generator are saved separately.

        Returns:
            The arrays by name. They are copies, so later training does not change them.

        Raises:
            NotImplementedError: If the class does not define the method.
        """
        raise NotImplementedError(f"{type(self).__name__} must define state_dict and load_state_dict to be saved")

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Restores what :meth:`state_dict` returned, in an agent that has just been made.

        Args:
            arrays: The arrays by name. If they do not fit the agent, this method can raise any exception;
                :func:`agents.load` turns it into a ValueError.

        Raises:
            NotImplementedError: If the class does not define the method.
        """
        raise NotImplementedError(f"{type(self).__name__} must define load_state_dict to be loaded")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the agent in a file, in the safetensors format.

        The file holds no code. If saving fails, an existing file stays unchanged and no incomplete file is left.

        Args:
            path: The file. An existing file is replaced; if ``path`` is a symbolic link, the file that it points
                to is replaced and the link stays.

        Raises:
            OSError: If the file cannot be written, or if ``path`` is a folder, a pipe or a device.
            TypeError: If a space or an argument of the constructor cannot be written as JSON.
            ValueError: If the constructor does not accept an argument in the form in which it is saved, so the
                agent could not be loaded. For example, a schedule is saved as its current value, and the
                constructor of a subclass may accept only functions.
        """
        saving.save(self, path)


def load(path: str | os.PathLike[str]) -> Agent:
    """Loads an agent from a file that :meth:`Agent.save` has written.

    The file contains the name of the agent's class. If you wrote the class yourself, import its module first. The
    agent's random generator is restored too, so training can continue where it stopped.

    Args:
        path: The file.

    Returns:
        The agent.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If the file is damaged, is not a saved agent, or names a class that has not been imported.
    """
    return saving.load(path)
