"""Nim as an environment of pgx, for training that runs on the device from start to end.

It needs pgx and JAX (``pip install "nim-env[jax]"``), so ``import nim_env`` does not import it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from nim_env._checks import checked_bool
from nim_env.appearance import COLORS
from nim_env.encodings import ObservationLike, checked_encoding
from nim_env.rules import NimRules

try:
    import jax
    import jax.numpy as jnp
    from pgx import core
except ImportError as error:
    raise DependencyNotInstalled('nim_env.pgx needs pgx and JAX; run pip install "nim-env[jax]"') from error

_MAX_ENTRIES = 100_000_000  # of both tables together: up to 400 MB


@dataclasses.dataclass(frozen=True)
class State(core.State):  # type: ignore[misc]  # pgx has no types
    """A state of :class:`Nim`, one or a batch, with the attributes of ``pgx.State``."""

    _index: jax.Array
    _rules: NimRules = dataclasses.field(metadata={"static": True})

    @property
    def env_id(self) -> str:
        """The name of the game."""
        return "nim"

    @property
    def heaps(self) -> NDArray[np.int64]:
        """The heap sizes as NumPy has them, int64 of shape ``(..., n_heaps)``. It does not work under ``jit``."""
        return self._rules.from_index(np.asarray(self._index))

    def to_svg(self, *, color_theme: str | None = None, scale: float | None = None) -> str:  # noqa: ARG002
        """A picture of the heaps as SVG, the games of a batch side by side.

        The block that is taken last is the lowest. A block is ``20 * scale`` pixels high. ``color_theme`` is
        ignored: the background is transparent.
        """
        columns = [size for heaps in np.atleast_2d(self.heaps).tolist() for size in (*heaps, 0)]
        width, height = len(columns), max(self._rules.heaps)
        pixels = 20 * (scale or 1.0)
        lines = [f'<path d="M{x + 1} {height}v-{size}"/>' for x, size in enumerate(columns) if size]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width * pixels:g}" '
            f'height="{height * pixels:g}"><g stroke="{COLORS["block"]}" stroke-width=".85" '
            f'stroke-dasharray=".85 .15">{"".join(lines)}</g></svg>'
        )

    def save_svg(self, filename: str | PathLike[str], **options: Any) -> None:
        """Saves :meth:`to_svg`, which takes the options."""
        Path(filename).write_text(self.to_svg(**options), encoding="utf-8")


jax.tree_util.register_dataclass(State)


class Nim(core.Env):  # type: ignore[misc]
    """The game of Nim for two players, as the games of pgx.

    For example::

        import jax
        from nim_env.pgx import Nim

        env = Nim(heaps=(1, 3, 5))
        states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 1024))
        states = jax.jit(jax.vmap(env.step))(states, states.legal_action_mask.argmax(axis=1))

    The state has pgx's attributes. Actions are indices into ``env.rules.moves``. ``current_player`` is drawn at
    the start. When the last object is taken, ``rewards`` holds +1 for the winner and −1 for the loser. An illegal
    action ends the game: its player gets −1 and the other +1, and the heaps stay as they were. The mask of a
    finished game is all True. Both players see the same observation: int32 heap sizes, or float32 in the other
    named encodings.

    Masks and observations are looked up in tables with a row for each position.

    Args:
        heaps: Starting heap sizes.
        max_take: The maximum number of objects that one move may take, or ``None`` for no limit.
        misere: Whether the player who takes the last object loses.
        random_start: Whether every game starts from a uniformly drawn position other than the empty one.
        observation: ``"heaps"``, ``"one_hot"``, ``"bits"``, ``"unary"`` or an :class:`nim_env.encodings.Encoding`;
            ``env.encoding`` encodes any positions.

    Raises:
        ValueError: A wrong argument, or a board too large for the tables: positions times the actions and the
            entries of an observation exceed 100 million.
    """

    def __init__(
        self,
        heaps: Sequence[int] = (1, 3, 5, 7),
        max_take: int | None = None,
        misere: bool = True,
        *,
        random_start: bool = False,
        observation: ObservationLike = "heaps",
    ) -> None:
        super().__init__()
        self.rules = NimRules(heaps, max_take, misere)  # type: ignore[arg-type]  # it makes the tuple
        self.encoding = checked_encoding(observation, self.rules)
        self.random_start = checked_bool("random_start", random_start)
        n_entries = self.rules.n_positions * (self.rules.n_actions + int(np.prod(self.encoding.space.shape or ())))
        if n_entries > _MAX_ENTRIES:
            raise ValueError(
                f"heaps={self.rules.heaps} is too large: masks and observations of all positions have "
                f"{n_entries:,} entries, and a table up to {_MAX_ENTRIES:,}; use smaller heaps or observations"
            )
        positions = self.rules.all_positions()
        masks = np.ones((self.rules.n_positions, self.rules.n_actions), dtype=np.bool_)  # all True at the end
        masks[1:] = self.rules.action_mask(positions[1:])
        last = self.rules.terminal_reward
        self._masks = jnp.asarray(masks)
        self._observations = jnp.asarray(self.encoding.encode(positions))
        self._strides = jnp.asarray(np.array(self.rules.strides, dtype=np.int32))
        self._offsets = jnp.asarray(np.array(self.rules.offsets, dtype=np.int32))
        self._last_rewards = jnp.asarray(np.array([[last, -last], [-last, last]], dtype=np.float32))

    @property
    def id(self) -> str:
        """The name of the game."""
        return "nim"

    @property
    def version(self) -> str:
        """The version of the environment."""
        return "v0"

    @property
    def num_players(self) -> int:
        """The number of players."""
        return 2

    def init_at(self, key: jax.Array, heaps: jax.Array | NDArray[np.integer[Any]]) -> State:
        """Starts a game at a position, as ``init`` does elsewhere: an array of heap sizes, not all 0.

        It works under ``jit`` and ``vmap``, so sizes are not checked.
        """
        return self._state(key, jnp.asarray(heaps, dtype=jnp.int32) @ self._strides)

    def _init(self, key: jax.Array) -> State:
        player_key, position_key = jax.random.split(key)
        index = jnp.int32(self.rules.n_positions - 1)
        if self.random_start:
            index = jax.random.randint(position_key, (), 1, self.rules.n_positions, dtype=jnp.int32)
        return self._state(player_key, index)

    def _state(self, key: jax.Array, index: jax.Array) -> State:
        return State(
            current_player=jax.random.bernoulli(key).astype(jnp.int32),
            observation=self._observations[index],
            rewards=jnp.zeros(2, dtype=jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            legal_action_mask=self._masks[index],
            _step_count=jnp.int32(0),
            _index=index,
            _rules=self.rules,
        )

    def _step(self, state: State, action: jax.Array, key: jax.Array | None) -> State:  # noqa: ARG002
        """The game after an action; pgx's ``step`` adds what ends an illegal one."""
        index = state._index - jnp.where(state.legal_action_mask[action], self._offsets[action], 0)
        is_over = index == 0
        return state.replace(
            current_player=1 - state.current_player,
            rewards=jnp.where(is_over, self._last_rewards[state.current_player], 0.0),
            terminated=is_over,
            legal_action_mask=self._masks[index],
            _index=index,
        )

    def _observe(self, state: State, player_id: jax.Array | None = None) -> jax.Array:  # noqa: ARG002
        return self._observations[state._index]
