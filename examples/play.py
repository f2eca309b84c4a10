"""Play Nim in the terminal against an agent trained on the spot, a built-in policy, or a saved player.

By default the game is 1-3-5-7, and the player who takes the last block loses. A move is a heap and a count, such
as C 3. At every question, q, -1 and Ctrl-D leave.

    python examples/play.py

Install: pip install -e ".[examples]"; for --picture pip install -e ".[examples,render]"
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from command_line import run

import gymnasium as gym
import numpy as np
import pettingzoo
from pettingzoo.utils import BaseWrapper

import agents
from nim_env import NimRules
from nim_env.rendering.animation import save_gif

from saved_players import load_player
from terminal_game import Leave, ask_choice, play_game


@dataclass
class Args:
    opponent: str = "q-learning"
    """q-learning, minimax-q or win-counting, trained on the spot; random, take-N or expert; FILE.py:NAME; or the
    file of a saved player for the same heaps (README.md lists them)."""
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of blocks that one move can take. None means no limit."""
    misere: bool = True
    """Whether the player who takes the last block loses."""
    first: Literal["human", "opponent"] | None = None
    """Who moves first. If not given, this is random in every game."""
    episodes: int = 10_000
    """The number of training games, if the agent is trained on the spot."""
    save: Path | None = None
    """Where to save the agent, if it is trained on the spot."""
    picture: Path | None = None
    """Where to save the last game as an animated GIF."""
    seed: int | None = None


def main(args: Args) -> Any:
    """Plays games until the human leaves, and returns the opponent."""
    rules = NimRules(args.heaps, args.max_take, args.misere)
    opponent: Any
    if args.opponent in agents.ALGORITHMS:
        opponent = train(rules, args)
    elif args.save is None:
        opponent = load_player(args.opponent, rules).policy
    else:
        raise ValueError(f"--save works only if --opponent is trained on the spot; got {args.opponent}")

    env = pettingzoo.make("aec", "nim-v0", **asdict(rules), render_mode="rgb_array")
    if args.picture is not None:
        env = RecordFrames(env)
    generator = np.random.default_rng(args.seed)
    try:
        while True:
            human = int(generator.integers(2)) if args.first is None else ["human", "opponent"].index(args.first)
            play_game(env, opponent, human, generator, name=Path(args.opponent).name)
            if ask_choice("\nAnother game, yes or no? ", ["yes", "no"]) == "no":
                break
    except Leave:
        print()
    if args.picture is not None:
        save_gif(env.frames, args.picture, seconds=1.5)
        print(f"picture: {args.picture}")
    print("Goodbye.")
    return opponent


def train(rules: NimRules, args: Args) -> agents.Agent:
    """Trains a new agent by self-play, or if it does not learn that way, against random play. Saves it."""
    kind = agents.ALGORITHMS[args.opponent]
    env = gym.make("nim_env:Nim-v0", **asdict(rules), opponent=None if kind.supports_self_play else "random")
    agent = kind(env.observation_space, env.action_space, seed=args.seed)
    print(f"Training your opponent: {args.opponent} plays {args.episodes:,} games.")
    agents.train(agent, env, args.episodes, seed=args.seed, progress=True)
    if args.save is not None:
        args.save.parent.mkdir(parents=True, exist_ok=True)
        agent.save(args.save)
        print(f"saved: {args.save}")
    return agent


class RecordFrames(BaseWrapper):
    """Keeps a picture of each position of the current game in ``frames``."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self.frames = [self.env.render()]

    def step(self, action: int | None) -> None:
        super().step(action)
        self.frames.append(self.env.render())


if __name__ == "__main__":
    run(main, Args)
