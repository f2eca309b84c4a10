"""Functions that record a game as an animated GIF file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from nim_env.encodings import checked_encoding
from nim_env.policies import PolicyLike, checked_player, sample
from nim_env.rendering.display import check_installed


def animate(env: Any, policy: PolicyLike, seed: int | None = None) -> list[NDArray[np.uint8]]:
    """Plays one game in an environment and returns its pictures: one after the reset and one after each step.

    For example::

        env = gym.make("Nim-v0", opponent="expert", render_mode="rgb_array")
        save_gif(animate(env, "random", seed=0), "game.gif")

    Args:
        env: A Gymnasium or PettingZoo environment of Nim with ``render_mode="rgb_array"`` and heap sizes as
            observations.
        policy: The policy that chooses the actions. In self-play and in PettingZoo's environment it chooses them
            for both players.
        seed: The seed of the game and of the policy's moves.

    Returns:
        The pictures. Each consists of RGB values, uint8 of shape ``(400, 600, 3)``.

    Raises:
        ValueError: If ``env`` has another render mode or another observation.
    """
    rules = env.unwrapped.rules
    if env.render_mode != "rgb_array" or env.unwrapped.encoding != checked_encoding("heaps", rules):
        raise ValueError(f'env must be made with render_mode="rgb_array" and observation="heaps"; got {env}')
    player = checked_player(policy, rules, illegal_action="raise")
    # default_rng(seed) would repeat the random numbers of the environment
    generator = np.random.default_rng(None if seed is None else [seed, 1])

    def choose(observation: NDArray[np.int64], action_mask: NDArray[np.int8]) -> int:
        return int(sample(player.query(observation, action_mask).probabilities, generator))

    if isinstance(env, AECEnv):
        env.reset(seed=seed)
        frames = [env.render()]
        while not any(env.terminations.values()):
            env.step(choose(**env.observe(env.agent_selection)))
            frames.append(env.render())
        return frames
    observation, info = env.reset(seed=seed)
    frames = [env.render()]
    while True:
        observation, _, terminated, truncated, info = env.step(choose(observation, info["action_mask"]))
        frames.append(env.render())
        if terminated or truncated:
            return frames


def save_gif(frames: Sequence[NDArray[np.uint8]], path: str | PathLike[str], seconds: float = 1.0) -> None:
    """Saves pictures as an animated GIF file that repeats.

    Args:
        frames: The pictures, RGB values of shape ``(height, width, 3)``.
        path: The file to write.
        seconds: The time for which each picture is shown. The last one is shown three times as long.
    """
    check_installed("PIL", "save_gif")
    from PIL import Image

    palette = Image.fromarray(np.concatenate(frames)).quantize(256, Image.Quantize.MAXCOVERAGE)
    first, *rest = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    durations = [round(1000 * seconds)] * len(rest) + [round(3000 * seconds)]
    first.save(path, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)
