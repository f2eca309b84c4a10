"""Play Nim in the terminal against an agent trained on the spot, a built-in policy, or a saved player.

By default the game is 1-3-5-7, and the player who takes the last block loses. A move is a heap and a count, such
as C 3. At every question, q, -1 and Ctrl-D leave.

    python examples/play.py

Install: pip install -e ".[examples]"; for --picture pip install -e ".[examples,render]"
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from command_line import load_player, run

import gymnasium as gym
import numpy as np
import pettingzoo

import agents
from nim_env import NimRules, theory
from nim_env.policies import checked_player
from nim_env.rendering.animation import save_gif
from nim_env.rules import heap_name

from terminal_game import Leave, ask_choice, play_game


@dataclass
class Args:
    opponent: str = "q-learning"
    """q-learning, minimax-q or win-counting, trained on the spot; random, take-N or expert; FILE.py:NAME; or the
    file of a saved player for the same heaps (README.md lists them)."""
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    max_take: int | None = None
    """The maximum number of objects that one move can take. None means no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    first: Literal["human", "opponent"] | None = None
    """Who moves first. If not given, this is random in every game."""
    episodes: int = 10_000
    """The number of training games, if the agent is trained on the spot."""
    save: Path | None = None
    """Where to save the agent, if it is trained on the spot."""
    hints: bool = False
    """Whether to show, at each of your turns, how the opponent rates each move and which moves win."""
    picture: Path | None = None
    """Where to save the last game as an animated GIF."""
    seed: int | None = None


def main(args: Args) -> Any:
    """Plays games until the human leaves, and returns the opponent."""
    if args.save is not None and args.opponent not in agents.ALGORITHMS:
        raise ValueError(f"--save works only if --opponent is trained on the spot; got {args.opponent}")
    rules = NimRules(args.heaps, args.max_take, args.misere)
    env = pettingzoo.make("aec", "nim-v0", **asdict(rules), render_mode="rgb_array" if args.picture else None)
    opponent: Any
    if args.opponent in agents.ALGORITHMS:
        opponent = train(rules, args)
    else:
        opponent = load_player(args.opponent, rules).policy
    if args.save is not None:
        args.save.parent.mkdir(parents=True, exist_ok=True)
        opponent.save(args.save)
        print(f"saved: {args.save}")
    generator = np.random.default_rng(args.seed)
    frames: list[np.ndarray] = []

    def show(heaps: list[int], is_human: bool) -> None:
        if args.picture is not None:
            frames.append(env.render())
        if args.hints and is_human:
            print_hints(rules, opponent, heaps)

    try:
        while True:
            human = int(generator.integers(2)) if args.first is None else ["human", "opponent"].index(args.first)
            frames.clear()
            play_game(env, opponent, human, generator, Path(args.opponent).name, show)
            if ask_choice("\nAnother game, yes or no? ", ["yes", "no"]) == "no":
                break
    except Leave:
        print()
    if args.picture is not None:
        save_gif(frames, args.picture, seconds=1.5)
        print(f"picture: {args.picture}")
    print("Goodbye.")
    return opponent


def train(rules: NimRules, args: Args) -> agents.Agent:
    """Trains a new agent by self-play, or if it does not learn that way, against random play."""
    kind = agents.ALGORITHMS[args.opponent]
    env = gym.make("nim_env:Nim-v0", **asdict(rules), opponent=None if kind.supports_self_play else "random")
    agent = kind(env.observation_space, env.action_space, seed=args.seed)
    print(f"Training your opponent: {args.opponent} plays {args.episodes:,} games.")
    agents.train(agent, env, args.episodes, seed=args.seed, progress=True)
    return agent


def print_hints(rules: NimRules, opponent: Any, heaps: list[int]) -> None:
    """Prints the opponent's Q-values of the legal moves, or its probabilities if it has none, and what wins."""
    position = np.array(heaps)
    mask = rules.action_mask(heaps)
    if isinstance(opponent, agents.QLearningAgent):
        print("\nHints: the opponent's Q-value of each move, from -1 (loses) to 1 (wins)")
        numbers = opponent.q_values(position)
    else:
        print("\nHints: the opponent's probability of each move")
        numbers = checked_player(opponent, rules).action_probabilities(position, mask)
    wins = theory.winning_action_mask(rules, position)
    for action in np.flatnonzero(mask):
        heap, count = rules.moves[action]
        start = f"\nHeap {heap_name(heap)}" if count == 1 else ""
        print(f"{start}  {count}: {numbers[action]:.2f}{'*' if wins[action] else ''}", end="")
    print("\n* wins against perfect play." if wins.any() else "\nNo move wins against perfect play.")


if __name__ == "__main__":
    run(main, Args)
