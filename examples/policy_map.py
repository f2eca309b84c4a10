"""Draws the policy and values of a player of two heaps in every position, next to the exact solution.

The figure has four panels: the player's values and moves, with its mistakes framed; the exact values and winning
moves; its win probability from every position; and the mastery and exploitability of an agent in training. All
but the agent's own values are exact.
The player is an agent that the script trains by Q-learning (Watkins 1989), minimax-Q (Littman 1994) or win
counting, or any other: --player my.agent, --player expert or --player my_file.py:my_function.

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from common import (
    FIGURE_SUFFIXES,
    check_at_least,
    check_output,
    checking_args,
    fail,
    load_player,
    percent,
    run,
    save_figure,
)

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

import agents
from nim_env import NimRules, evaluation, solver, theory
from nim_env.policies import PolicyLike, tabulate

LEARNERS: dict[str, type[agents.Agent]] = {
    "q-learning": agents.QLearningAgent,
    "minimax-q": agents.MinimaxQAgent,
    "win-counting": agents.WinCountAgent,
}


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, int] = (9, 9)
    """Two starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = False
    """Whether the player who takes the last object loses."""
    learner: Literal["q-learning", "minimax-q", "win-counting"] = "q-learning"
    """The agent to train."""
    opponent: str | None = None
    """Trained against: self-play, random, take-N or expert; by default self-play (win-counting: random)."""
    player: str | None = None
    """Another player instead: random, take-N, expert, file.py:name, or the file of a saved agent, table (.npz),
    network (.pt) or MaskablePPO model (.zip). Files .py and .zip run code when loaded: give only those you
    trust."""
    eval_opponent: str = "random"
    """The opponent of the win probabilities: random, take-N or expert."""
    episodes: int = 3_000
    """Training episodes."""
    learning_rate: float = 0.2
    """The learning rate of Q-learning and minimax-Q, 0 to 1."""
    gamma: float = 1.0
    """Their discount factor, 0 to 1."""
    epsilon: float = 0.2
    """Their probability of a random action in training, 0 to 1."""
    n_evals: int = 40
    """The number of evaluations in training, at growing intervals."""
    seed: int = 0
    """The random seed."""
    picture: Path = Path("results/policy_map.png")
    """Where the figure is saved."""


def main(args: Args) -> dict[str, Any]:
    check_at_least(1, episodes=args.episodes, n_evals=args.n_evals)
    check_output("picture", args.picture, FIGURE_SUFFIXES)
    opponent = args.opponent or ("random" if args.learner == "win-counting" else "self-play")
    with checking_args():
        rules = NimRules(args.heaps, args.max_take, args.misere)
        eval_opponent = load_player(args.eval_opponent, rules)
        if args.player:
            name, player, env = args.player, load_player(args.player, rules), None
        else:
            setting = "by self-play" if opponent == "self-play" else f"against {opponent}"
            name = f"{args.learner} after {args.episodes:,} training episodes {setting}"
            player, env = make(args, opponent)
        evaluation.win_probability(rules, player, eval_opponent)  # rejects large games and illegal actions
    curve = None if env is None else train(args, rules, player, env)
    mastery, exploitability = evaluation.mastery(rules, player), evaluation.exploitability(rules, player)
    print(f"{name}:")
    print(f"expert mastery: {percent(mastery.expert)} % of {mastery.winning_positions} winning positions")
    print(f"champion mastery: {'yes' if mastery.champion else 'no'}")
    print(f"exploitability: {exploitability:.4f}")
    figure = plot(args, rules, player, eval_opponent, mastery.mistakes, curve)
    figure.suptitle(f"{rules}: {name}\n(↓3 takes 3 objects from the first heap, ←3 from the second)")
    save_figure(figure, args.picture)
    return {
        "player": player,
        "mastery": mastery,
        "exploitability": exploitability,
        "learning_curve": curve,
        "figure": figure,
    }


# --- Environment and agent ------------------------------------------------------------------------


def make(args: Args, opponent: str) -> tuple[agents.Agent, gym.Env | gym.vector.VectorEnv]:
    """An untrained agent and its environment."""
    agent_class = LEARNERS[args.learner]
    if not (agent_class.supports_self_play if opponent == "self-play" else agent_class.supports_single_agent):
        fail(f"--learner {args.learner} cannot be trained against --opponent {opponent}")
    game = {
        "heaps": args.heaps,
        "max_take": args.max_take,
        "misere": args.misere,
        "opponent": None if opponent == "self-play" else opponent,
    }
    if args.learner == "win-counting":  # its counts are its exploration, and a batch would update them late
        env = gym.make("nim_env:Nim-v0", **game)
        return agents.WinCountAgent(env.observation_space, env.action_space, seed=args.seed), env
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=64, **game)
    agent = agent_class(
        envs.single_observation_space,
        envs.single_action_space,
        learning_rate=args.learning_rate,
        gamma=args.gamma,
        epsilon=args.epsilon,
        seed=args.seed,
    )
    return agent, envs


# --- Training -------------------------------------------------------------------------------------


def train(args: Args, rules: NimRules, agent: agents.Agent, env: gym.Env | gym.vector.VectorEnv) -> pd.DataFrame:
    """Trains an agent; returns its expert mastery and exploitability by training episodes."""
    due = np.geomspace(1, args.episodes, args.n_evals).round().tolist()
    curve = []

    def evaluate(agent: agents.Agent, history: agents.History) -> None:
        episodes = len(history.returns)
        if due and episodes >= due[0]:
            due[:] = [n for n in due if n > episodes]
            expert = evaluation.mastery(rules, agent).expert
            curve.append((episodes, expert, evaluation.exploitability(rules, agent)))

    agents.train(agent, env, args.episodes, seed=args.seed, callback=evaluate)
    return pd.DataFrame(curve, columns=["episodes", "expert mastery", "exploitability"]).set_index("episodes")


# --- Figure ---------------------------------------------------------------------------------------


def plot(
    args: Args,
    rules: NimRules,
    player: PolicyLike,
    eval_opponent: PolicyLike,
    mistakes: NDArray[np.int64],
    curve: pd.DataFrame | None,
) -> Figure:
    """The four panels; three for a player that was not trained here."""
    positions = np.stack(np.indices(rules.shape), axis=-1)  # shape (size, size, 2)
    figure, ((own, exact), (wins, training)) = plt.subplots(2, 2, figsize=(13, 12), layout="constrained")

    if isinstance(player, agents.QLearningAgent | agents.MinimaxQAgent):
        values = np.where(rules.action_mask(positions) != 0, player.q_values(positions), -np.inf).max(axis=-1)
        title = "The player's values and moves (mistakes framed)"
    else:
        values = -solver.best_response(rules, player).afterstate_values(positions)
        title = "The player's moves and best-response values (mistakes framed)"
    likely_moves = tabulate(rules, player).action_probabilities(positions) > 0.499  # half or more
    draw_map(own, rules, values, title, "value", moves=likely_moves)
    for first, second in mistakes:
        width = min(2.5, 25 / max(rules.shape))
        own.add_patch(Rectangle((second, first), 1, 1, fill=False, linewidth=width, clip_on=False))

    exact_values = solver.solve(rules, args.gamma).values(positions)
    winning_moves = theory.winning_action_mask(rules, positions) != 0
    draw_map(
        exact, rules, exact_values, "The exact solution: values and winning moves", "value", moves=winning_moves
    )

    probabilities = evaluation.win_probability(rules, player, eval_opponent, moves_first=True, heaps=positions)
    title = f"The player's win probability against {args.eval_opponent}, moving first"
    draw_map(wins, rules, probabilities, title, "win probability", minimum=0)

    if curve is None:
        training.set_axis_off()
    else:
        curve.plot(ax=training, marker=".", logx=True, ylim=(-0.02, 1.02), xlabel="training episodes", grid=True)
        training.set_title("Expert mastery and exploitability in training")
    return figure


def draw_map(
    axes: Axes,
    rules: NimRules,
    values: NDArray[np.float64],
    title: str,
    unit: str,
    minimum: int = -1,
    moves: NDArray[np.bool_] | None = None,
) -> None:
    """A heat map of one value for each position, up to 1, with moves as arrows."""
    labels: NDArray[np.str_] | None = None
    if moves is not None and max(rules.shape) <= 17:  # in smaller cells they cannot be read
        arrows = np.array([f"{'↓←'[heap]}{count}" for heap, count in rules.moves])
        labels = np.array([["\n".join(arrows[cell]) for cell in row] for row in moves])
    sns.heatmap(
        values,
        vmin=minimum,
        vmax=1,
        cmap="vlag_r",
        mask=np.arange(values.size).reshape(values.shape) == 0,  # the game is over
        annot=labels,
        fmt="",
        annot_kws={"fontsize": 9},
        cbar_kws={"label": unit},
        ax=axes,
    )
    axes.invert_yaxis()
    axes.tick_params(axis="y", rotation=0)
    axes.set(title=title, xlabel="objects in the second heap", ylabel="objects in the first heap")


if __name__ == "__main__":
    run(main, Args)
