"""Rendering: a game as text, as pixels, in a window and as an animation."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray
from pettingzoo import AECEnv

from nim_env.encodings import checked_encoding
from nim_env.policies import PolicyLike, checked_policy, query_policy, sample
from nim_env.rules import NimRules, checked_integer

if TYPE_CHECKING:
    import pygame

Color = tuple[int, int, int]

FRAMES_PER_SECOND = 2
_FRAME = 600, 400  # width and height, in pixels
_TOP, _BOTTOM, _SIDE = 80, 46, 20  # margins for the texts and the names of the heaps, and at the sides
_MAX_BLOCKS = 50  # of a heap whose blocks are drawn one by one
_MAX_HEIGHT, _MAX_WIDTH = 30, 80  # of a block with the space above it
_MIN_OUTLINED_HEIGHT = 6  # of a block with an outline
_MIN_MARKED_HEIGHT = 14  # of a block with the mark of the player who has just taken it
_MAX_RADIUS = 6  # of a corner
_OVERSAMPLING = 4  # shapes and text are drawn larger and then scaled down, so that their edges are smooth

COLORS = {
    "player_1": "#1659c7",  # blue and magenta, which color-blind people can tell apart
    "player_2": "#ad1f6b",
    "block": "#f2b744",
    "edge": "#a3660c",
    "good": "#12694a",
    "flag": "#b0330f",
    "ink": "#1f1c1a",
    "muted": "#5d574f",
    "line": "#e0dacd",
    "page": "#faf8f3",
}
"""The palette of all pictures and figures, and of the page on which you play, in its light color scheme."""


def _rgb(name: str) -> Color:
    """A color of the palette as red, green and blue, 0 to 255."""
    red, green, blue = bytes.fromhex(COLORS[name].removeprefix("#"))
    return red, green, blue


_BACKGROUND, _TEXT, _FAINT_TEXT = _rgb("page"), _rgb("ink"), _rgb("muted")
_PLAYERS = _rgb("player_1"), _rgb("player_2")


class _Style(NamedTuple):
    """How a block is drawn: its colors, and the player whose mark it has."""

    fill: Color
    outline: Color
    player: int | None = None


_BLOCK = _Style(_rgb("block"), _rgb("edge"))
_JUST_TAKEN = _Style((213, 222, 236), _PLAYERS[0], 0), _Style((238, 213, 221), _PLAYERS[1], 1)
_TAKEN = _Style((243, 240, 232), (205, 198, 184))


PLAYER_NAMES = ("Player 1", "Player 2")
"""Those of the two sides of self-play and of PettingZoo, in the order in which they move."""


class Move(NamedTuple):
    """A move.

    Attributes:
        player: Who made it, 0 or 1.
        before: The heap sizes before it.
        after: The heap sizes after it.
    """

    player: int
    before: Sequence[int]
    after: Sequence[int]


class View(NamedTuple):
    """A game as it is drawn.

    Attributes:
        heaps: The heap sizes.
        rules: The game.
        names: The names of the players.
        player: The player to move, 0 or 1; in a finished game the winner.
        is_over: Whether the game is over.
        moves: The moves since the agent's last observation, in order.
    """

    heaps: Sequence[int]
    rules: NimRules
    names: tuple[str, str]
    player: int
    is_over: bool
    moves: Sequence[Move] = ()

    @property
    def status(self) -> str:
        """The player to move, or the winner; with the reason where blocks are left."""
        if not self.is_over:
            return f"{self.names[self.player]} to move"
        reason = f": {self.names[1 - self.player]}'s move was illegal" if any(self.heaps) else ""
        return f"{self.names[self.player]} won{reason}"

    @property
    def last_moves(self) -> str:
        """The last moves in words."""
        return ", ".join(f"{self.names[move.player]} took {_taken(move)}" for move in self.moves)

    @property
    def goal(self) -> str:
        """Who wins, and how many blocks one move may take if there is a limit."""
        limit = "" if self.rules.max_take is None else f"At most {self.rules.max_take:,} in one move. "
        return f"{limit}The player who takes the last block {'loses' if self.rules.misere else 'wins'}."


def heap_name(heap: int) -> str:
    """The letters of a heap, as of the columns of a spreadsheet.

    Args:
        heap: Its number, from 0.

    Returns:
        A to Z, then AA, AB and so on.
    """
    name = ""
    while heap >= 0:
        heap, letter = heap // 26 - 1, chr(ord("A") + heap % 26)
        name = letter + name
    return name


def _taken(move: Move) -> str:
    counts = [before - after for before, after in zip(move.before, move.after, strict=True)]
    heap = max(range(len(counts)), key=counts.__getitem__)
    return f"{counts[heap]:,} from {heap_name(heap)}"


def view_of(
    heaps: Sequence[int],
    rules: NimRules,
    last_positions: Sequence[Sequence[int]],
    to_play: int | None,
    is_over: bool,
    mover_won: bool,
) -> View:
    """The view of a game in a Gymnasium environment.

    Args:
        heaps: The heap sizes.
        rules: The game.
        last_positions: The heap sizes before the agent's last move, and after it.
        to_play: The player to move in self-play, 0 or 1; ``None`` against an opponent.
        is_over: Whether the game is over.
        mover_won: Whether the agent, in self-play the player who moved last, won it.

    Returns:
        The view, with the last moves in which a heap changed.
    """
    mover = 0 if to_play is None else 1 - to_play
    names = ("Agent", "Opponent") if to_play is None else PLAYER_NAMES
    before, between = last_positions
    moves = Move(mover, before, between), Move(1 - mover, between, heaps)
    player = (mover if mover_won else 1 - mover) if is_over else (to_play or 0)
    return View(heaps, rules, names, player, is_over, [move for move in moves if move.before != move.after])


class Display:
    """Shows a game in a render mode.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or ``None``.

    Raises:
        gymnasium.error.DependencyNotInstalled: ``"human"`` without pygame.
    """

    def __init__(self, render_mode: str | None) -> None:
        if render_mode == "human":
            check_pygame(render_mode)
        self.render_mode, self._has_window = render_mode, False

    def open(self) -> None:
        """Opens the window of ``"human"``.

        Raises:
            RuntimeError: There is no display.
        """
        if self.render_mode == "human":
            open_window()
            self._has_window = True

    def render(self, view: View) -> str | NDArray[np.uint8] | None:
        """Renders a view.

        Args:
            view: The game.

        Returns:
            ``"ansi"``: a text. ``"rgb_array"``: RGB values, uint8 of shape ``(400, 600, 3)``. ``"human"``: None,
            the window is drawn again. Without a render mode: None, and a warning.

        Raises:
            gymnasium.error.DependencyNotInstalled: ``"rgb_array"`` without pygame.
            RuntimeError: ``"human"`` without a display.
        """
        if self.render_mode == "ansi":
            return as_text(view)
        if self.render_mode == "rgb_array":
            return as_pixels(view)
        if self.render_mode == "human":
            show(view)
            self._has_window = True
        else:
            gymnasium.logger.warn('render() shows nothing without a render mode; pass render_mode="ansi"')
        return None

    def close(self) -> None:
        """Closes the window; the next frame opens another."""
        if self._has_window:
            close_window()
            self._has_window = False


def as_text(view: View) -> str:
    """A line for each heap, blocks as bars and taken blocks as dots, and a line for the status."""
    sizes = view.rules.heaps
    names = [heap_name(heap) for heap in range(len(sizes))]
    name_width, size_width = len(names[-1]), len(str(max(sizes)))
    lines = [
        f"heap {name:>{name_width}}: {left:>{size_width}}  {bars(left, size)}".rstrip()
        for name, left, size in zip(names, view.heaps, sizes, strict=True)
    ]
    return "\n".join([*lines, view.status])


def bars(left: int, size: int) -> str:
    """A heap's blocks as bars and its taken blocks as dots; empty for heaps of more than 50."""
    return " ".join("|" * left + "·" * (size - left)) if size <= _MAX_BLOCKS else ""


def as_pixels(view: View, render_mode: str = "rgb_array") -> NDArray[np.uint8]:
    """The heaps as stacked blocks, below the status and the last moves, above the goal of the game.

    Blocks taken by the last moves are drawn in a light shade of the player's color, with the player's mark; blocks
    taken before are faint.

    Args:
        view: The game.
        render_mode: The render mode to name in an error.

    Returns:
        RGB values, uint8 of shape ``(400, 600, 3)``.

    Raises:
        gymnasium.error.DependencyNotInstalled: pygame is missing.
    """
    check_pygame(render_mode)
    import pygame

    surface = pygame.Surface(_FRAME)
    surface.fill(_BACKGROUND)
    _draw_status(surface, view)
    sizes = view.rules.heaps
    column = (_FRAME[0] - 2 * _SIDE) / len(sizes)
    width = round(max(1.0, min(0.7 * column, _MAX_WIDTH)))
    for heap in range(len(sizes)):
        middle = _SIDE + (heap + 0.5) * column
        left = round(middle - width / 2)
        for start, end, style in _parts(view, heap):
            for bottom, height in _blocks(start, end, max(sizes)):
                surface.blit(_block(width, height, style), (left, _FRAME[1] - _BOTTOM - bottom - height))
        _write(surface, f"{view.heaps[heap]:,}", 22, _TEXT, middle, _TOP - 20, column)
        _write(surface, heap_name(heap), 20, _FAINT_TEXT, middle, _FRAME[1] - _BOTTOM + 6, column)
    _write(surface, view.goal, 20, _FAINT_TEXT, _FRAME[0] / 2, _FRAME[1] - 19, _FRAME[0])
    pixels = np.frombuffer(bytearray(pygame.image.tobytes(surface, "RGB")), dtype=np.uint8)
    return pixels.reshape(_FRAME[1], _FRAME[0], 3)


def _parts(view: View, heap: int) -> Iterator[tuple[int, int, _Style]]:
    """The parts of a heap: first and last block counted from below, and their style."""
    yield 0, view.heaps[heap], _BLOCK
    for move in view.moves:
        yield move.after[heap], move.before[heap], _JUST_TAKEN[move.player]
    before = view.moves[0].before if view.moves else view.heaps
    yield before[heap], view.rules.heaps[heap], _TAKEN


def _blocks(start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """The height above the ground and the height of each block from ``start`` to ``end``, in pixels.

    They are in groups of five. In a game with a heap of more than 50 blocks, all of them are one block.
    """
    room = _FRAME[1] - _TOP - _BOTTOM
    if most > _MAX_BLOCKS:
        bottom, top = (round(room * number / most) for number in (start, end))
        if top > bottom:
            yield bottom, top - bottom
        return
    row = next(row for row in range(_MAX_HEIGHT, 0, -1) if row * most + _gap(row) * ((most - 1) // 5) <= room)
    for number in range(start, end):
        yield row * number + _gap(row) * (number // 5), row - max(1, row // 8)


def _gap(row: int) -> int:
    """The space between groups of five, in pixels."""
    return max(2, row // 4)


def _draw_status(surface: pygame.Surface, view: View) -> None:
    """Draws the status, after the player's mark, and the last moves."""
    words = _words(view.status, 32, _TEXT)
    left = (_FRAME[0] - words.get_width() + 28) // 2
    surface.blit(words, (left, 10))
    surface.blit(_mark(18, view.player), (left - 28, 10 + (words.get_height() - 18) // 2))
    _write(surface, view.last_moves, 22, _FAINT_TEXT, _FRAME[0] / 2, 37, _FRAME[0])


@lru_cache(maxsize=1024)
def _block(width: int, height: int, style: _Style) -> pygame.Surface:
    import pygame

    scale, has_outline = _OVERSAMPLING, height >= _MIN_OUTLINED_HEIGHT
    surface = _transparent(width, height, style.outline if has_outline else style.fill)
    radius = round(scale * min(0.22 * height, _MAX_RADIUS, width / 2))
    area = surface.get_rect()
    if has_outline:
        pygame.draw.rect(surface, style.outline, area, border_radius=radius)
        line = round(1.5 * scale)
        area, radius = area.inflate(-2 * line, -2 * line), radius - line
    pygame.draw.rect(surface, style.fill, area, border_radius=max(0, radius))
    block = _scaled_down(surface)
    if style.player is not None and height >= _MIN_MARKED_HEIGHT and width >= height:
        size = height // 2
        block.blit(_mark(size, style.player), ((width - size) // 2, (height - size) // 2))
    return block


@lru_cache(maxsize=64)
def _mark(size: int, player: int) -> pygame.Surface:
    """A disk for the first player, a diamond for the second, so that color alone need not tell them apart."""
    import pygame

    surface = _transparent(size, size, _PLAYERS[player])
    middle = size * _OVERSAMPLING / 2
    corners = [(middle, 0), (2 * middle, middle), (middle, 2 * middle), (0, middle)]
    if player == 0:
        pygame.draw.circle(surface, _PLAYERS[player], (middle, middle), middle)
    else:
        pygame.draw.polygon(surface, _PLAYERS[player], corners)
    return _scaled_down(surface)


def _transparent(width: int, height: int, color: Color) -> pygame.Surface:
    """A surface to draw on before :func:`_scaled_down`; edges blend with the color, not with black."""
    import pygame

    surface = pygame.Surface((width * _OVERSAMPLING, height * _OVERSAMPLING), pygame.SRCALPHA)
    surface.fill((*color, 0))
    return surface


def _scaled_down(surface: pygame.Surface) -> pygame.Surface:
    import pygame

    size = [math.ceil(length / _OVERSAMPLING) for length in surface.get_size()]
    return pygame.transform.smoothscale(surface, size)


def _write(
    surface: pygame.Surface, text: str, size: int, color: Color, middle: float, top: int, room: float
) -> None:
    """Writes centered text, unless it is wider than ``room``."""
    words = _words(text, size, color)
    if words.get_width() <= room:
        surface.blit(words, (round(middle - words.get_width() / 2), top))


@lru_cache(maxsize=1024)
def _words(text: str, size: int, color: Color) -> pygame.Surface:
    import pygame

    pygame.font.init()  # each time, since pygame.quit() undoes it
    return _scaled_down(pygame.font.Font(None, size * _OVERSAMPLING).render(text, True, color))


def check_pygame(render_mode: str) -> None:
    """Raises DependencyNotInstalled unless pygame is installed."""
    if importlib.util.find_spec("pygame") is None:
        raise DependencyNotInstalled(
            f'render_mode="{render_mode}" needs pygame; run pip install "nim-env[render]"'
        )


def open_window() -> pygame.Surface:
    """Opens pygame's one window unless it is open.

    Returns:
        Its surface, 600 pixels wide and 400 high.

    Raises:
        RuntimeError: There is no display.
    """
    import pygame

    try:
        pygame.display.init()
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            pygame.display.quit()  # SDL's choice where it finds no display
            raise pygame.error("no video device")
        window = pygame.display.get_surface()
        if window is None or window.get_size() != _FRAME:
            window = pygame.display.set_mode(_FRAME)
            pygame.display.set_caption("Nim")
    except pygame.error as error:
        raise RuntimeError(
            f'render_mode="human" found no display to open a window on ({error}); "rgb_array" needs none'
        ) from None
    return window


def show(view: View) -> None:
    """Draws a game in the window and waits for the duration of a frame.

    Args:
        view: The game.

    Raises:
        gymnasium.error.DependencyNotInstalled: pygame is missing.
        RuntimeError: There is no display.
    """
    import pygame

    pixels = as_pixels(view, "human")
    pygame.surfarray.blit_array(open_window(), pixels.swapaxes(0, 1))
    pygame.display.flip()
    pygame.event.pump()  # keeps the window alive
    _clock().tick(FRAMES_PER_SECOND)


def close_window() -> None:
    """Closes pygame's window if it is open."""
    import pygame

    pygame.display.quit()


@lru_cache(maxsize=1)
def _clock() -> pygame.time.Clock:
    import pygame

    return pygame.time.Clock()


def animate(
    env: gymnasium.Env[Any, Any] | AECEnv[Any, Any, Any], policy: PolicyLike, seed: int | None = None
) -> list[NDArray[np.uint8]]:
    """Plays one game and returns what the environment draws: a film for :func:`save_gif`.

    Args:
        env: A Gymnasium or PettingZoo environment of Nim that observes heap sizes, made with
            ``render_mode="rgb_array"``.
        policy: Chooses every move that the environment asks for: the agent's, in self-play and PettingZoo those of
            both players.
        seed: Seeds the environment and the moves of a stochastic policy.

    Returns:
        The picture after the reset and after each step, uint8 of shape ``(400, 600, 3)``.

    Raises:
        TypeError: ``env`` is not such an environment, or ``seed`` is not an integer.
        ValueError: ``env`` has another render mode or encoding, the policy is unknown or was made for another
            game, or ``seed`` is below 0.
        gymnasium.error.DependencyNotInstalled: pygame is missing.
    """
    rules = getattr(getattr(env, "unwrapped", None), "rules", None)
    if not isinstance(env, (gymnasium.Env, AECEnv)) or not isinstance(rules, NimRules):
        raise TypeError(
            f'env must be a Gymnasium or PettingZoo environment, such as gym.make("Nim-v0"); got {env!r}'
        )
    if env.render_mode != "rgb_array":
        raise ValueError(f'env must be made with render_mode="rgb_array"; got render_mode={env.render_mode!r}')
    encoding: Any = env.unwrapped.encoding  # type: ignore[union-attr]
    if encoding != checked_encoding("heaps", rules):
        raise ValueError(f'env must be made with observation="heaps"; it observes {encoding.space}')
    player = checked_policy(policy, rules)
    if seed is not None:
        seed = checked_integer("seed", seed, 0)
    # not the stream of the environment, which draws from default_rng(seed)
    generator = np.random.default_rng(None if seed is None else [seed, 1])

    def choose(heaps: NDArray[np.int64], action_mask: NDArray[np.int8]) -> int:
        return int(sample(query_policy(player, heaps, action_mask), generator))

    is_over = False
    if isinstance(env, AECEnv):
        env.reset(seed=seed)
        frames = [env.render()]
        while not is_over:
            observation, *_ = env.last()
            env.step(choose(observation["observation"], observation["action_mask"]))
            frames.append(env.render())
            is_over = any(env.terminations.values())
    else:
        observation, info = env.reset(seed=seed)
        frames = [env.render()]
        while not is_over:
            observation, _, terminated, truncated, info = env.step(choose(observation, info["action_mask"]))
            frames.append(env.render())
            is_over = terminated or truncated
    return frames


def save_gif(frames: Sequence[NDArray[np.uint8]], path: str | PathLike[str], seconds: float = 1.0) -> None:
    """Saves frames as an animation that repeats.

    All frames share the colors of their palette, which are as many as a GIF can hold, without dithering.

    Args:
        frames: RGB values, uint8 of shape ``(height, width, 3)``, one frame at least.
        path: The file.
        seconds: The duration of a frame, 200 at most. The last one lasts three times as long.

    Raises:
        TypeError: ``seconds`` is not a number.
        ValueError: There are no frames, their shapes differ, or ``seconds`` is out of range.
        gymnasium.error.DependencyNotInstalled: Pillow is missing.
        OSError: The file cannot be written.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise DependencyNotInstalled('save_gif needs Pillow; run pip install "nim-env[render]"') from error
    if len(frames) == 0:
        raise ValueError("frames must hold one frame or more; got none")
    shapes = {np.shape(frame) for frame in frames}
    if len(shapes) > 1:
        raise ValueError(f"frames must all have the same shape; got {shapes}")
    if not isinstance(seconds, Real):
        raise TypeError(f"seconds must be a number; got {seconds!r}")
    if not 0 <= seconds <= 200:  # a GIF holds durations up to 655 seconds
        raise ValueError(f"seconds must be between 0 and 200; got {seconds!r}")
    height = len(frames[0])
    film = Image.fromarray(np.concatenate(frames)).quantize(
        256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    first, *rest = [film.crop((0, top, film.width, top + height)) for top in range(0, film.height, height)]
    durations = [round(1000 * seconds)] * len(rest) + [round(3000 * seconds)]
    first.save(path, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)
