"""Nim as an environment of pgx, for training that runs entirely on an accelerator.

This module needs pgx and JAX (``pip install "nim-env[jax]"``), so ``import nim_env`` does not import it.
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
    """The state of one game of :class:`Nim` or of a batch of games, with the attributes of ``pgx.State``."""

    _heaps: jax.Array  # private, since the API test of pgx allows no other public fields
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
        """Returns a picture of the heaps as SVG text, with the games of a batch side by side.

        A block is ``20 * scale`` pixels high. ``color_theme`` is ignored, since the background is transparent.
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
        """Saves the picture as an SVG file. The options are the arguments of :meth:`to_svg`."""
        Path(filename).write_text(self.to_svg(**options), encoding="utf-8")


jax.tree_util.register_dataclass(State)


class Nim(core.Env):  # type: ignore[misc]
    """The game of Nim for two players, in the form of pgx's games.

    For example, this starts 1,024 games and makes the first legal move in each::

        env = Nim(heaps=(1, 3, 5))
        states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), 1024))
        states = jax.jit(jax.vmap(env.step))(states, states.legal_action_mask.argmax(axis=1))

    Actions are indices into ``env.rules.moves``. The player who moves first, ``current_player``, is drawn at
    random. When the last object is taken, ``rewards`` is +1 for the winner and −1 for the loser. An illegal action
    ends the game: the player who chose it gets −1 and the other player +1, and the heaps do not change. In a
    finished game all actions are marked as legal. Both players see the same observation. Observations are
    int32 for the encodings ``"heaps"`` and ``"index"``, and float32 for the other named encodings.

    Args:
        heaps: The starting heap sizes.
        max_take: The maximum number of objects that one move can take, or ``None`` for no limit.
        misere: Whether the player who takes the last object loses.
        random_start: Whether every game starts from a position drawn uniformly from all except the empty one.
        observation: The observation: ``"heaps"``, ``"one_hot"``, ``"bits"``, ``"unary"``, ``"index"``, or an
            :class:`nim_env.encodings.Encoding`. ``env.encoding`` encodes any positions.

    Raises:
        ValueError: If an argument is invalid, if a heap size (or, with ``random_start``, the number of positions)
            does not fit in int32, or if a custom encoding would need too large a table.
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
            raise ValueError(f"heaps={self.rules.heaps} are too large to be counted in int32; use smaller heaps")
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
        """Starts a game from the given heap sizes, for use under ``jit`` and ``vmap``.

        The heap sizes are not checked. At least one must be positive.
        """
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
            legal_action_mask=self._legal(heaps),
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
            legal_action_mask=is_over | self._legal(heaps),
            _heaps=heaps,
        )

    def _legal(self, heaps: jax.Array) -> jax.Array:
        return (heaps[:, None] >= self._takes.T).all(axis=0)

    def _observe(self, state: State, player_id: jax.Array | None = None) -> jax.Array:  # noqa: ARG002
        return self._encode(state._heaps)

    def _encode(self, heaps: jax.Array) -> jax.Array:
        if self._table is not None:
            return self._table[heaps @ jnp.asarray(self.rules.strides, dtype=jnp.int32)]
        function: Any = self.encoding.function  # the functions of named encodings take JAX arrays too
        return function(heaps).astype(jnp.int32 if self.encoding.space.dtype == np.int64 else jnp.float32)
