"""System 4: minimax-Q on three heaps, then as many games against you as you like.

The player who takes the last object loses. Player A moves first and maximizes; player B minimizes. A game is worth
1000 if A wins and -1000 if B wins, discounted by 0.9 for each move before the end. The agent learns by minimax-Q
(Littman 1994) from random self-play and updates its values after every move. It then wins every game that can be
won. Piles are numbered from 0. Source: system 4 in docs/experiments/five_systems.md.

    python examples/minimax_q.py

Install: pip install -e ".[examples]"
"""

from dataclasses import dataclass
from pathlib import Path

from command_line import run

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pettingzoo

import agents
from nim_env import NimRules

from common import save_figure
from terminal_game import Leave, ask_choice, ask_number, play_game

REWARD = 1000  # in the published system; the environment's rewards are 1 and -1


@dataclass
class Args:
    heaps: tuple[int, int, int] | None = None
    """Three starting heap sizes from 0 to 9. If not given, the script asks for them."""
    episodes: int | None = None
    """The number of training games. If not given, the script asks for it."""
    table: bool = False
    """Whether to print the values of all positions that can occur in a game, for both players."""
    seed: int = 0
    picture: Path | None = None
    """Where to save a figure of the values of all first moves."""


def main(args: Args) -> agents.MinimaxQAgent | None:
    """Returns the trained agent, or None if the human leaves before the training."""
    agent = None
    try:
        rules = NimRules(args.heaps or ask_heaps())
        if max(rules.heaps) > 9:
            raise ValueError(f"--heaps must be at most 9, so each is printed as one digit; got {args.heaps}")
        episodes = args.episodes
        if episodes is None:
            episodes = ask_number("How many games shall I simulate? ", 0, 100_000_000)
        agent = train(rules, episodes, args.seed)
        print("Q[player and piles, pile and count] of player A's first moves; a positive value wins:")
        print_values(agent, rules, "A", rules.heaps)
        if args.table:
            print("All values, player B's from player A's point of view:")
            print_table(agent, rules)
        if args.picture is not None:
            save_figure(plot(REWARD * agent.q_values(rules.heaps), rules), args.picture)
        play(agent, rules, args.seed)
    except Leave:
        print("\nGoodbye.")
    return agent


def ask_heaps() -> tuple[int, ...]:
    """Asks the human for three heap sizes until at least one of them is positive."""
    while True:
        heaps = tuple(ask_number(f"Size of pile {pile}? ", 0, 9) for pile in range(3))
        if any(heaps):
            return heaps
        print("At least one pile must have a size of 1 or more; try again, or q to leave.")


def train(rules: NimRules, episodes: int, seed: int) -> agents.MinimaxQAgent:
    """Trains an agent by random self-play, with one environment for each 100 episodes and at most 256."""
    num_envs = max(1, min(1 + episodes // 100, 256))
    env = gym.make_vec("nim_env:Nim-v0", num_envs=num_envs, heaps=rules.heaps, opponent=None)
    agent = agents.MinimaxQAgent(
        env.single_observation_space, env.single_action_space, learning_rate=1.0, gamma=0.9, epsilon=1.0, seed=seed
    )
    agents.train(agent, env, episodes, seed=seed, progress=True)
    return agent


def print_values(agent: agents.MinimaxQAgent, rules: NimRules, player: str, heaps: tuple[int, ...]) -> None:
    """Prints the values of a player's moves in one position, from player A's point of view."""
    sign = {"A": 1, "B": -1}[player]  # the agent's values are from the mover's point of view
    for heap, count in rules.legal_moves(heaps):
        value = REWARD * sign * agent.q_values(heaps)[rules.action(heap, count)] + 0.0  # turns -0.0 into 0.0
        print(f"Q[{player}{''.join(map(str, heaps))}, {heap}{count}] = {value:.1f}")


def print_table(agent: agents.MinimaxQAgent, rules: NimRules) -> None:
    """Prints the values of all moves in all positions that each player can face."""
    faced: dict[str, set[tuple[int, ...]]] = {"A": set(), "B": set()}

    def visit(heaps: tuple[int, ...], player: str, other: str) -> None:
        if heaps not in faced[player]:
            faced[player].add(heaps)
            for move in rules.legal_moves(heaps):
                visit(tuple(rules.apply(heaps, rules.action(*move)).tolist()), other, player)

    visit(rules.heaps, "A", "B")
    for player, positions in faced.items():
        for heaps in sorted(positions, reverse=True):
            print_values(agent, rules, player, heaps)


def plot(values: np.ndarray, rules: NimRules) -> plt.Figure:
    """Draws the values of all first moves."""
    names = [f"{count} from pile {heap}" for heap, count in rules.moves]
    figure, axes = plt.subplots(figsize=(7.4, 1.2 + 0.2 * len(names)), layout="constrained")
    axes.bar_label(axes.barh(names, values), fmt=lambda value: f"{value:.1f}".replace("-", "−"), padding=3)
    axes.margins(x=0.15)
    axes.grid(axis="y", visible=False)
    axes.invert_yaxis()
    axes.set(
        title=f"First moves from {'-'.join(map(str, rules.heaps))}, misère; those with a positive value win",
        xlabel=f"value for player A: {REWARD:,} for a win, −{REWARD:,} for a loss, times 0.9 for each later move",
    )
    return figure


def play(agent: agents.MinimaxQAgent, rules: NimRules, seed: int) -> None:
    """Plays games in the terminal until the human leaves."""
    env = pettingzoo.make("aec", "nim-v0", heaps=rules.heaps)
    generator = np.random.default_rng(seed)
    while True:
        first = ask_choice("\nWho goes first, computer or human? (q to leave) ", ["human", "computer"])
        play_game(env, agent, int(first == "computer"), generator, name="Computer", numbered=True)


if __name__ == "__main__":
    run(main, Args)
