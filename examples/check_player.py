"""Check your player of Nim: exact figures, its mistakes, and the name of the bug in its learning.

The player is a function or a policy in a Python file, a saved agent, or a file in the form of CS50's project Nim,
whose player does not explore. docs/test_your_agent.md explains these forms, the figures and the bugs.

    python examples/check_player.py nim.py
    python examples/check_player.py my_players.py:choose --heaps 2 3 4 --normal

Install: pip install -e ".[examples]"
"""

from __future__ import annotations

import functools
import inspect
import random
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import tyro

import agents
from nim_env import NimRules, evaluation, policies
from nim_env.appearance import COLORS

from common import foreign_code, load_file, load_player, run, save_figure

GROUP_FIGURES = {
    "expert": "expert mastery",
    "value_accuracy_won": "value accuracy, won positions",
    "value_accuracy_lost": "value accuracy, lost positions",
}


@dataclass
class Args:
    """The options of this script."""

    player: Annotated[str, tyro.conf.Positional]
    """FILE.py, or FILE.py:NAME, where NAME is a policy or a function (heap sizes) -> (heap, count) or
    (observation, action_mask) -> action; or the file of an agent, a table (.npz), a network (.pt) or a MaskablePPO
    model (.zip). Files .py and .zip run code when loaded: give only those you trust."""
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    normal: bool = False
    """Whether the player who takes the last object wins."""
    opponent: str | None = None
    """Whom the values were learned against: random, take-N or expert; None for self-play."""
    discount: float = 1.0
    """The discount with which they were learned."""
    episodes: int = 10_000
    """The number of training games of a FILE.py without a name."""
    seed: int = 0
    """Random seed of Python and NumPy, set before the file is loaded."""
    picture: Path = Path("results/check_player.svg")
    """Where the picture is saved."""


def main(args: Args) -> evaluation.Report:
    """Prints and draws the figures of a player, and returns them."""
    rules = NimRules(args.heaps, args.max_take, misere=not args.normal)
    random.seed(args.seed)
    np.random.seed(args.seed)  # noqa: NPY002  the file may draw from it
    player = load(args, rules)
    policy = tabulated(rules, as_policy(player, rules, args.player))
    values = best = values_of(player, rules, args.player)
    remark = ""
    if np.ndim(values) == 2:
        legal = np.where(rules.action_mask(rules.all_positions()), values, -np.inf)
        best = legal.max(axis=1)
        if n_other := ((policy.probabilities > 0) & (legal < best[:, None])).any(axis=1).sum():
            remark = f"Look at choose_action, or at exploration: {n_other} moves have not the largest value. "
    report = evaluation.report(rules, policy, None if best is None else lambda heaps: best[rules.index(heaps)])
    show_report(report, f"{Path(args.player).name}, {rules}", args.picture)
    if n_drawn := (policy.probabilities % 1 > 0).any(axis=1).sum():
        print(f"it draws its move in {n_drawn} positions; if it is a function, its figures are estimates")
    mastery = evaluation.mastery(rules, policy)
    print(f"mistakes in {len(mastery.mistakes)} of {mastery.won_positions} won positions")
    for sentence in evaluation.mistake_sentences(rules, policy):
        print(sentence)
    diagnosis = evaluation.diagnose_moves(rules, policy)
    if values is not None:
        diagnosis = evaluation.diagnose(rules, values, args.opponent, args.discount)
    print(textwrap.fill(f"verdict: {remark}{diagnosis.verdict}", 80))
    return report


def load(args: Args, rules: NimRules) -> Any:
    """The player that the command line names: a function, a policy, or an object with ``choose_action``."""
    if not args.player.endswith(".py"):
        return load_player(args.player, rules)
    things = load_file(Path(args.player))
    names = [name for name, thing in things.items() if inspect.ismethod(getattr(thing, "choose_action", None))]
    if len(names) > 1:
        raise ValueError(f"{args.player} holds the players {', '.join(names)}: name one, as FILE.py:{names[0]}")
    if names:
        return things[names[0]]
    if "train" not in things:
        raise ValueError(f"{args.player} has no train(n) and no choose_action: name a function, as FILE.py:NAME")
    with foreign_code(args.player, f"in train({args.episodes})"):
        return things["train"](args.episodes)


def as_policy(player: Any, rules: NimRules, name: str) -> policies.PolicyLike:
    """The player as a policy that does not explore; what a function raises names the position."""
    if isinstance(player, str | policies.Policy):
        return player
    choose = getattr(player, "choose_action", player)
    if not callable(choose) or inspect.isclass(player):
        raise ValueError(f"{name} must be a function, a policy or an object with choose_action; got {player!r}")
    parameters = inspect.signature(choose).parameters
    options = {"epsilon": False} if "epsilon" in parameters else {}

    @functools.wraps(choose)
    def ask(heaps: Any, *mask: Any) -> Any:
        with foreign_code(name, f"at {'-'.join(map(str, heaps))}"):
            return choose(heaps, *mask, **options)

    needed = [parameter for parameter in parameters.values() if parameter.default is parameter.empty]
    is_of_heaps = player is not choose or len(needed) == 1
    return policies.from_moves(rules, ask) if is_of_heaps else policies.FunctionPolicy(ask)


def tabulated(rules: NimRules, player: policies.PolicyLike, n_answers: int = 100) -> policies.TabularPolicy:
    """The player's probabilities; of a function that draws its moves, its frequencies."""
    if not isinstance(player, policies.FunctionPolicy):
        return policies.tabulate(rules, player, np.float64)
    policy = policies.tabulate(rules, policies.SampledPolicy(player, 2), np.float64)
    if (policy.probabilities == 0.5).any():
        policy = policies.tabulate(rules, policies.SampledPolicy(player, n_answers), np.float64)
    return policy


def values_of(player: Any, rules: NimRules, name: str) -> np.ndarray | None:
    """A player's Q-values ``(n_positions, n_actions)``, or values ``(n_positions,)``; None if it has neither."""
    if isinstance(player, agents.QLearningAgent):
        return player.q_values(rules.all_positions())
    if isinstance(getattr(player, "q", None), dict):
        with foreign_code(name, "in its dictionary q"):
            if player.q and not any(tuple(heaps) == rules.heaps for heaps, _ in player.q):
                raise ValueError(f"no value at the start of {rules}; --heaps must be the board that it learns")
            return policies.q_values_of(rules, player.q)
    return player.values(rules.all_positions()) if callable(getattr(player, "values", None)) else None


def show_report(report: evaluation.Report, player: str, path: Path) -> None:
    """Prints all figures of a player and draws them by number of heaps."""
    for name, figure in report.to_dict().items():
        print(f"{name:24} {figure:.4f}")
    groups = pd.DataFrame(report.groups).dropna(axis="columns")
    print(groups.to_string(index=False))
    heaps = groups["n_heaps"].map(lambda n: f"{n} heap" if n == 1 else f"{n} heaps")
    names = heaps + groups["endgame"].map({True: ", endgames", False: ""})
    shown = groups[[name for name in GROUP_FIGURES if name in groups]].set_index(names)
    is_empty = groups[["lost" if name.endswith("lost") else "won" for name in shown]].to_numpy() == 0
    worst = shown["expert"].mask(is_empty[:, 0]).idxmin()
    drawing, axis = plt.subplots(figsize=(7.4, 3), layout="constrained")
    colors = sns.light_palette(COLORS["flag"], reverse=True, as_cmap=True)
    style = {"vmin": 0, "vmax": 1, "cmap": colors, "cbar": False, "rasterized": True}
    sns.heatmap(shown.rename(columns=GROUP_FIGURES), mask=is_empty, annot=True, fmt=".1%", ax=axis, **style)
    axis.set(title=f"{player}: worst with {worst} ({shown.loc[worst, 'expert']:.1%} expert mastery)", ylabel="")
    axis.grid(visible=False)
    save_figure(drawing, path)


if __name__ == "__main__":
    run(main, Args)
