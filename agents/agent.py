"""What the tabular agents share: spaces, a table, hyperparameters, randomness, and saving."""

from __future__ import annotations

import errno
import json
import math
import operator
import os
import tokenize
import zipfile
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from agents.batches import row_counts
from agents.checks import as_integer, as_share
from agents.q_table import QTable, Rows
from agents.space_json import space_from_json, space_to_json

FORMAT = 1
MOST = 1e300  # a reward may be, so that sums of them stay finite
DAMAGE = (
    *(EOFError, KeyError, MemoryError, OverflowError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What reading a damaged file may raise."""


class Batch(NamedTuple):
    """Transitions, n of them, with columns of the table for actions and masks."""

    observations: NDArray[Any]
    columns: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_observations: NDArray[Any]
    terminated: NDArray[np.bool_]
    next_legal: NDArray[np.bool_] | None


class Agent(ABC):
    """A learner with a table over observations and actions.

    Args:
        observation_space: The space of what the agent sees; of a PettingZoo dictionary of ``"observation"``
            and ``"action_mask"``, the former.
        action_space: A ``Discrete`` space.
        seed: Seeds the agent's own generator, which draws its exploration and its ties.
        rows: How the table finds the row of an observation, see :class:`QTable`.
        memory_limit: The most bytes the table may take; by default half of the machine's memory.

    Raises:
        TypeError: A space is of a kind that a table cannot hold, or ``seed`` is not an integer.
        ValueError: The table would pass ``memory_limit``, or ``seed`` is below 0.
    """

    kinds: ClassVar[dict[str, type[Agent]]] = {}
    hyperparameters: ClassVar[tuple[str, ...]] = ()
    """The names of the constructor's further arguments, which :meth:`save` keeps."""
    learns_against_opponents: ClassVar[bool] = True
    """Whether the agent learns as one player, the others being part of the world."""
    learns_whole_episodes: ClassVar[bool] = False
    """Whether the transitions of an episode must come one after another, those of no other between them."""
    self_play: ClassVar[Literal["own turns", "every ply"] | None] = "own turns"
    """What comes next in self-play: what a player sees when it is to move again, or what the other player sees
    one ply on; ``None`` for an agent that does not learn by self-play."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Agent.kinds[cls.__name__] = cls

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        seed: int | None = None,
        rows: Rows = "auto",
        memory_limit: int | None = None,
    ) -> None:
        if not isinstance(action_space, spaces.Discrete):
            raise TypeError(f"action_space must be Discrete; got {action_space!r}")
        if not isinstance(observation_space, Space):
            raise TypeError(f"observation_space must be a gymnasium Space; got {observation_space!r}")
        self.observation_space = seen_space(observation_space)
        shape = self.observation_space.shape
        self._ndim = None if shape is None else len(shape)  # of one observation; None where there are no batches
        self.action_space = action_space
        self.n_actions = int(action_space.n)
        self._mask_shape = (self.n_actions,)
        self._first_action = int(action_space.start)
        limit = _half_the_memory() if memory_limit is None else as_integer("memory_limit", memory_limit, 1)
        self.table = QTable(self.observation_space, self.n_actions, rows, limit)
        self.generator = np.random.default_rng(None if seed is None else _own_stream(as_integer("seed", seed, 0)))
        self.progress_remaining = 1.0

    @abstractmethod
    def act(self, observation: Any, action_mask: Any = None, explore: bool = False) -> Any:
        """An action for one observation, or an array of them for a batch."""

    @abstractmethod
    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[np.float64]:
        """How the agent plays without exploration: float64 probabilities, shape ``(..., n_actions)``."""

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
        """Learns from one transition."""

    def end_episode(self) -> None:  # noqa: B027  most agents have nothing to do
        """Told by :func:`agents.train` that an episode is over, terminated or cut short.

        In a vector environment other episodes go on meanwhile; where several end at once it is told of each.
        """

    def q_values(self, observation: Any) -> NDArray[np.float64]:
        """The value of every action, 0 for pairs never updated: a float64 copy, shape ``(..., n_actions)``.

        Args:
            observation: One observation, or a batch with any number of leading dimensions.

        Raises:
            ValueError: An observation is not in the observation space.
        """
        if not self._is_batch(observation):
            return np.array(self._values_of(observation))
        return self._values_of_batch(np.asarray(observation))

    def _values_of_batch(self, observations: NDArray[Any]) -> NDArray[np.float64]:
        rows = self.table.rows(observations)
        values = self.table.values.take(rows, axis=0, mode="clip")
        if self.table.hashed:
            values[rows < 0] = 0.0
        return values

    def _is_batch(self, observation: Any) -> bool:
        if self._ndim is None:
            return False
        ndim: int = observation.ndim if isinstance(observation, np.ndarray) else np.ndim(observation)
        return ndim > self._ndim

    def _values_of(self, observation: Any) -> list[float]:
        row = self.table.find(observation)
        values: list[float] = self.table.values[row].tolist() if row >= 0 else [0.0] * self.n_actions
        return values

    def _column(self, action: Any) -> int:
        """The column of an action in the table."""
        if type(action) is not int:
            if isinstance(action, np.ndarray) and action.ndim == 0:
                action = action[()]
            if isinstance(action, bool) or not isinstance(action, int | np.integer):
                raise TypeError(f"action must be an integer of {self.action_space}; got {action!r}")
        column = operator.index(action) - self._first_action
        if not 0 <= column < self.n_actions:
            raise ValueError(f"action {action!r} is not in {self.action_space}")
        return column

    def _columns(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        """The columns of a batch of actions."""
        columns = actions.astype(np.int64, copy=False)
        if self._first_action:
            columns = columns - self._first_action
        is_outside = columns.view(np.uint64) >= self.n_actions  # negative ones too
        if is_outside.any():
            raise ValueError(f"action {actions[is_outside][0]!r} is not in {self.action_space}")
        return columns

    def _checked_batch(
        self,
        observation: Any,
        action: Any,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        next_action_mask: Any,
    ) -> Batch:
        """A batch of transitions with its leading dimensions made one, nothing being wrong with it."""
        observation = _as_array("observation", observation, "biuf")
        action = _as_array("action", action, "iu")
        reward = _as_array("reward", reward, "biuf").astype(np.float64, copy=False)
        next_observation = _as_array("next_observation", next_observation, "biuf")
        terminated = _as_array("terminated", terminated, "biuf") != 0
        leading, shape = action.shape, self.observation_space.shape or ()
        for name, part, expected in (
            ("observation", observation, leading + shape),
            ("reward", reward, leading),
            ("next_observation", next_observation, leading + shape),
            ("terminated", terminated, leading),
        ):
            if part.shape != expected:
                raise ValueError(f"{name} must have shape {expected}, as action has; got {part.shape}")
        n = math.prod(leading)
        legal = None
        if next_action_mask is not None:
            legal = self._legal_in_batch(next_action_mask, leading, "next_action_mask")
        columns = self._columns(action.reshape(n))
        if not (np.abs(reward) <= MOST).all():
            raise ValueError(f"reward must be finite, {MOST:g} at most; got {reward!r}")
        return Batch(
            observation.reshape(n, *shape),
            columns,
            reward.reshape(n),
            next_observation.reshape(n, *shape),
            terminated.reshape(n),
            legal,
        )

    def _legal(self, action_mask: Any, name: str = "action_mask") -> list[int]:
        """The columns of the legal actions of one observation; all of them without a mask."""
        if action_mask is None:
            return list(range(self.n_actions))
        mask = np.asarray(action_mask)
        if mask.shape != self._mask_shape:
            raise ValueError(f"{name} must have shape {self._mask_shape}; got {mask.shape}")
        legal: list[int] = mask.nonzero()[0].tolist()
        return legal

    def _some_legal_in_batch(
        self, action_mask: Any, leading: tuple[int, ...]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """The legal actions, and how many there are for each observation."""
        legal = self._legal_in_batch(action_mask, leading)
        number = row_counts(legal)
        if not number.all():
            raise ValueError("action_mask leaves an observation without a legal action")
        return legal, number

    def _some_legal(self, action_mask: Any) -> list[int]:
        legal = self._legal(action_mask)
        if not legal:
            raise ValueError("action_mask leaves no legal action")
        return legal

    def _leading(self, observations: NDArray[Any]) -> tuple[int, ...]:
        """The shape of a batch."""
        assert self._ndim is not None
        return observations.shape[: observations.ndim - self._ndim]

    def _legal_in_batch(
        self, action_mask: Any, leading: tuple[int, ...], name: str = "action_mask"
    ) -> NDArray[np.bool_]:
        """The legal actions of a batch, all of them without a mask: shape ``(n, n_actions)``."""
        shape = *leading, self.n_actions
        if action_mask is None:
            legal = np.ones(shape, dtype=np.bool_)
        else:
            legal = _as_array(name, action_mask, "biuf") != 0
            if legal.shape != shape:
                raise ValueError(f"{name} must have shape {shape}; got {legal.shape}")
        return legal.reshape(math.prod(leading), self.n_actions)

    def _now(self, hyperparameter: str) -> float:
        """The value of a hyperparameter at this point of the training run."""
        value = getattr(self, hyperparameter)
        return as_share(hyperparameter, value(self.progress_remaining)) if callable(value) else value

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the agent to one file, whole or not at all: arrays and JSON, no pickle.

        A hyperparameter that is a function is kept as its value now; of an episode under way nothing is kept.

        Raises:
            OSError: The file cannot be written.
            TypeError: The observation space is of a kind that cannot be saved.
        """
        about = {
            "format": FORMAT,
            "kind": type(self).__name__,
            "observation_space": space_to_json(self.observation_space),
            "action_space": space_to_json(self.action_space),
            "hyperparameters": {
                name: self._now(name) if callable(value := getattr(self, name)) else value
                for name in self.hyperparameters
            },
            "hashed": self.table.hashed,
            "generator": self.generator.bit_generator.state,
        }
        arrays = {**self.table.to_arrays(), "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)}
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "there is no such folder to save to", str(target.parent))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "the agent needs a file to be saved to", str(target))
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with open(unfinished, "wb") as file:
                np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # it sees its own flag in them
            os.replace(unfinished, target)
        finally:
            unfinished.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Agent:
    """The agent that :meth:`Agent.save` wrote to ``path``, of the class it had; it goes on as it would have.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is damaged, is no saved agent, or holds a kind of agent that is not known.
    """
    name = os.fspath(path)
    with open(path, "rb") as stream:
        try:
            file = np.load(stream, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds a single array")
            with file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(arrays.pop("about").tobytes())
            kind, version = str(about["kind"]), about["format"]
        except (*DAMAGE, OSError) as error:  # an OSError where a wrong offset leads out of the file
            raise ValueError(f"{name} is damaged or is no saved agent: {error}") from None
    if version != FORMAT or kind not in Agent.kinds:
        raise ValueError(
            f"{name} holds a {kind!r} in format {version!r}; known are {sorted(Agent.kinds)} in format {FORMAT}"
        )
    try:
        agent = Agent.kinds[kind](
            space_from_json(about["observation_space"]),
            space_from_json(about["action_space"]),
            rows="hashed" if about["hashed"] else "arithmetic",
            memory_limit=max(_half_the_memory(), arrays["values"].nbytes),
            **about["hyperparameters"],
        )
        agent.table.from_arrays(arrays)
        agent.generator.bit_generator.state = about["generator"]
    except DAMAGE as error:
        raise ValueError(f"{name} is damaged: {error}") from None
    return agent


def _own_stream(seed: int) -> np.random.SeedSequence:
    """A stream apart, since an environment of the same seed draws the numbers of ``default_rng(seed)``."""
    return np.random.SeedSequence(seed, spawn_key=(0,))


def seen_space(space: Space[Any]) -> Space[Any]:
    """What an agent sees of an observation space: ``"observation"`` where ``"action_mask"`` is beside it."""
    if isinstance(space, spaces.Dict) and {"observation", "action_mask"} <= set(space.spaces):
        return space["observation"]
    return space


def _as_array(name: str, value: Any, kinds: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be one array for the whole batch; {error}") from None
    if array.dtype.kind not in kinds:
        expected = "an integer" if kinds == "iu" else "a number"
        raise TypeError(f"{name} must be {expected} in all of a batch; got {array!r}")
    return array


def _half_the_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):  # not every system says
        return 4 * 2**30
