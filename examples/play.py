"""Play Nim in the terminal against perfect play, random play, a saved player, or a function of your own.

By default the game is 1-3-5-7, and the player who takes the last block loses. A move is a heap and a count, such
as C 3. At every question, q, -1 and Ctrl-D leave.

    python examples/play.py

Install: pip install -e ".[examples]"
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from command_line import run

import numpy as np
import pettingzoo

from nim_env import NimRules

from saved_players import load_player
from terminal_game import Leave, ask_choice, play_game


@dataclass
class Args:
    opponent: str = "expert"
    """random, take-N, expert, FILE.py:NAME, or the file of a saved player (README.md lists them)."""
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of blocks that one move can take. None means no limit."""
    misere: bool = True
    """Whether the player who takes the last block loses."""
    first: Literal["human", "opponent"] | None = None
    """Who moves first. If not given, this is random in every game."""
    seed: int | None = None


def main(args: Args) -> None:
    """Plays games until the human leaves."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    opponent = load_player(args.opponent, rules).policy
    env = pettingzoo.make("aec", "nim-v0", **asdict(rules))
    generator = np.random.default_rng(args.seed)
    try:
        while True:
            human = int(generator.integers(2)) if args.first is None else ["human", "opponent"].index(args.first)
            play_game(env, opponent, human, generator, name=Path(args.opponent).name)
            if ask_choice("\nAnother game, yes or no? ", ["yes", "no"]) == "no":
                break
    except Leave:
        print()
    print("Goodbye.")


if __name__ == "__main__":
    run(main, Args)
