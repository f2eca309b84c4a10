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

from nim_env._internal.checks import checked_bool
from nim_env.encodings import Encoding, ObservationLike, checked_encoding
from nim_env.rendering.appearance import COLORS
from nim_env.rules import NimRules

try:
    import jax
    import jax.numpy as jnp
    from pgx import core
except ImportError as error:
    raise DependencyNotInstalled('nim_env.pgx needs pgx and JAX; run pip install "nim-env[jax]"') from error


@dataclasses.dataclass(frozen=True)
class State(core.State):  # type: ignore[misc]  # pgx has no types
    """A state of :class:`Nim`, one or a batch, with the attributes of ``pgx.State``."""

    _heaps: jax.Array
    _rules: NimRules = dataclasses.field(metadata={"static": True})

    @property
    def env_id(self) -> str:
        """The name of the game."""
        return "nim"

    @property
    def heaps(self) -> jax.Array:
        """The heap sizes, int32 of shape ``(..., n_heaps)``."""
        return self._heaps

    def to_svg(self, *, color_theme: str | None = None, scale: float | None = None) -> str:  # noqa: ARG002
        """A picture of the heaps as SVG, the games of a batch side by side.

        A block is ``20 * scale`` pixels high. ``color_theme`` is ignored: the background is transparent.
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

        env = Nim(heaps=(1, 3, 5))
        states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 1024))
        states = jax.jit(jax.vmap(env.step))(states, states.legal_action_mask.argmax(axis=1))

    Actions are indices into ``env.rules.moves``. ``current_player`` is drawn at the start. When the last object is
    taken, ``rewards`` holds +1 for the winner and −1 for the loser. An illegal action ends the game: its player
    gets −1 and the other +1, and the heaps stay as they were. The mask of a finished game is all True. Both
    players see the same observation: int32 heap sizes, or float32 in the other named encodings.

    Args:
        heaps: Starting heap sizes.
        max_take: The maximum number of objects that one move may take, or ``None`` for no limit.
        misere: Whether the player who takes the last object loses.
        random_start: Whether every game starts from a uniformly drawn position other than the empty one.
        observation: ``"heaps"``, ``"one_hot"``, ``"bits"``, ``"unary"`` or an :class:`nim_env.encodings.Encoding`;
            ``env.encoding`` encodes any positions.

    Raises:
        ValueError: A wrong argument, or positions or heaps too large to list for an Encoding or to count in int32.
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
        self.rules = NimRules(heaps, max_take, misere)
        self.encoding = checked_encoding(observation, self.rules)
        self.random_start = checked_bool("random_start", random_start)
        if (self.rules.n_positions if random_start else max(self.rules.shape)) > 2**31 - 1:
            raise ValueError(f"heaps={self.rules.heaps} are too large to count in int32; use smaller heaps")
        is_heap = self.rules.move_heaps[:, None] == np.arange(self.rules.n_heaps)
        self._takes = jnp.asarray(is_heap * self.rules.move_counts[:, None], dtype=jnp.int32)
        self._last_rewards = jnp.float32(self.rules.terminal_reward) * (2 * jnp.eye(2, dtype=jnp.float32) - 1)
        is_custom = isinstance(observation, Encoding)
        self._table = jnp.asarray(self.encoding.encode(self.rules.all_positions())) if is_custom else None

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

    def init_at(self, key: jax.Array, heaps: jax.typing.ArrayLike) -> State:
        """Starts a game at heap sizes, not all 0, which are not checked. It works under ``jit`` and ``vmap``."""
        return self._state(key, jnp.asarray(heaps, dtype=jnp.int32))

    def _init(self, key: jax.Array) -> State:
        player_key, position_key = jax.random.split(key)
        heaps = jnp.asarray(self.rules.heaps, dtype=jnp.int32)
        if self.random_start:
            index = jax.random.randint(position_key, (), 1, self.rules.n_positions, dtype=jnp.int32)
            heaps = index // jnp.asarray(self.rules.strides, dtype=jnp.int32) % (heaps + 1)
        return self._state(player_key, heaps)

    def _state(self, key: jax.Array, heaps: jax.Array) -> State:
        return State(
            current_player=jax.random.bernoulli(key).astype(jnp.int32),
            observation=self._encode(heaps),
            rewards=jnp.zeros(2, dtype=jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            legal_action_mask=(heaps[:, None] >= self._takes.T).all(axis=0),
            _step_count=jnp.int32(0),
            _heaps=heaps,
            _rules=self.rules,
        )

    def _step(self, state: State, action: jax.Array, key: jax.Array | None) -> State:  # noqa: ARG002
        heaps = state._heaps - jnp.where(state.legal_action_mask[action], self._takes[action], 0)
        is_over = ~heaps.any()
        return state.replace(
            current_player=1 - state.current_player,
            rewards=is_over * self._last_rewards[state.current_player],
            terminated=is_over,
            legal_action_mask=is_over | (heaps[:, None] >= self._takes.T).all(axis=0),
            _heaps=heaps,
        )

    def _observe(self, state: State, player_id: jax.Array | None = None) -> jax.Array:  # noqa: ARG002
        return self._encode(state._heaps)

    def _encode(self, heaps: jax.Array) -> jax.Array:
        if self._table is not None:
            return self._table[heaps @ jnp.asarray(self.rules.strides, dtype=jnp.int32)]
        function: Any = self.encoding.function  # the named ones take arrays of JAX too
        return function(heaps).astype(jnp.int32 if self.encoding.space.dtype == np.int64 else jnp.float32)
