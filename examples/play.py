"""Play Nim in a terminal: against a saved agent, a built-in policy, or an agent trained on the spot.

The game is 1-3-5-7, whoever takes the last object loses, unless flags say otherwise. At every prompt "q", -1 and
Ctrl-D leave.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from script import check_at_least, check_file, check_picture, checking_arguments, fail, need, run

import numpy as np
from learners import LEARNERS
from players import is_saved, saved_agent, trained
from terminal import Leave, ask_choice, play_game, player_of
from tqdm import tqdm

import agents
from nim_env import NimRules
from nim_env.policies import as_policy


@dataclass
class Arguments:
    """The options of this script."""

    opponent: str = "q-learning"
    """q-learning, minimax-q or win-counting, trained on the spot; random, take-N or expert; or the file of a
    saved agent or of a model of sb3_self_play.py, which know their heaps but not whether misère play."""
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The most objects one move may take; None for no limit."""
    misere: bool = True
    """Whether taking the last object loses."""
    first: Literal["human", "ai"] | None = None
    """Who moves first; drawn for every game when not given."""
    games: int = 10_000
    """Training games of an agent trained on the spot."""
    save: Path | None = None
    """Where to save an agent trained on the spot."""
    hints: bool = False
    """Whether you are told what the opponent thinks of each of your moves, and which of them win."""
    picture: Path | None = None
    """Where to save the last game as a moving picture, a .gif; needs pygame."""
    seed: int | None = None
    """The same seed gives the same opponent; drawn when not given."""


def main(arguments: Arguments) -> None:
    check_at_least(0, games=arguments.games, seed=arguments.seed or 0)
    if arguments.save is not None:
        check_file("save", arguments.save)
    if arguments.picture is not None:
        need("pygame", extras="examples,render")
        check_picture(arguments.picture, endings=(".gif",))
    with checking_arguments():
        rules = NimRules(arguments.heaps, arguments.max_take, arguments.misere)
        generator = np.random.default_rng(arguments.seed)
        opponent = opponent_of(arguments, rules)
    film: list[np.ndarray] = []
    try:
        player = player_of(opponent, arguments.seed)
        while True:
            human = {"human": 0, "ai": 1, None: int(generator.integers(2))}[arguments.first]
            film.clear()
            play_game(
                rules,
                player,
                human,
                adviser=opponent if arguments.hints else None,
                film=None if arguments.picture is None else film,
            )
            if not ask_choice("\nAnother game, yes or no? ", {"yes": True, "no": False}):
                break
    except Leave:
        pass
    if arguments.picture is not None:
        save_film(film, arguments.picture)
    print("Goodbye.")


def opponent_of(arguments: Arguments, rules: NimRules) -> Any:
    """The agent or policy to play against."""
    if arguments.opponent in LEARNERS:
        agent = train(arguments, rules)
        if arguments.save is not None:
            agent.save(arguments.save)
            print(f"saved: {arguments.save}")
        return agent
    if arguments.save is not None:
        fail(f"--save needs an --opponent trained on the spot: {', '.join(LEARNERS)}")
    with contextlib.suppress(ValueError):
        return as_policy(arguments.opponent, rules, "opponent")
    path = Path(arguments.opponent)
    if not is_saved(path):
        fail(
            f"--opponent {arguments.opponent} is neither {', '.join(LEARNERS)}, random, take-N or expert, "
            "nor a saved agent or model"
        )
    return saved_agent(path, rules)


def train(arguments: Arguments, rules: NimRules) -> agents.Agent:
    """A new agent, trained under a progress bar."""
    with tqdm(total=arguments.games, desc="training", unit=" games", leave=False, disable=None) as bar:
        return trained(
            arguments.opponent, rules, arguments.games, arguments.seed, lambda *_: bar.update() and None
        )


def save_film(film: list[np.ndarray], path: Path) -> None:
    """Saves the pictures of a game as one that moves."""
    from PIL import Image

    if film:
        first, *rest = [Image.fromarray(frame).quantize(64) for frame in film]
        with checking_arguments():
            path.parent.mkdir(parents=True, exist_ok=True)
            first.save(path, save_all=True, append_images=rest, duration=1500, loop=0, optimize=True)
        print(f"picture: {path}")


if __name__ == "__main__":
    run(main, Arguments)
