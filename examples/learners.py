"""What the comparing scripts share: a game, the learners, and the settings that each is defined for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from script import check_at_least, fail

import gymnasium as gym
import numpy as np
from tqdm import tqdm

import agents
from nim_env import NimRules

BASELINES = ("random", "take-3", "expert")
SELF_PLAY = "self-play"
TEACHERS = (*BASELINES, SELF_PLAY)
LEARNERS = {
    "q-learning": agents.QLearningAgent,
    "minimax-q": agents.MinimaxQAgent,
    "win-counting": agents.WinCountAgent,
}
GAMES_AT_ONCE = 64


@dataclass
class Training:
    """The game, and how it is learnt."""

    heaps: tuple[int, ...] = (21,)
    """Starting heap sizes."""
    max_take: int | None = 3
    """The most objects one move may take; None for no limit."""
    misere: bool = False
    """Whether taking the last object loses."""
    games: int = 10_000
    """Training games of each learner."""
    learning_rate: float = 0.2
    """How far a value moves towards its target, 0 to 1 (not in win counting, nor the next two)."""
    gamma: float = 1.0
    """The discount of the future, 0 to 1."""
    epsilon: float = 0.2
    """The share of random moves while training, 0 to 1."""
    seed: int = 0
    """Decides every draw: the same seed gives the same figures."""

    @property
    def rules(self) -> NimRules:
        return NimRules(self.heaps, self.max_take, self.misere)


Setting = tuple[str, str]  # a learner and its teacher
Games = gym.Env | gym.vector.VectorEnv
Measure = TypeVar("Measure")


def make_all(training: Training) -> dict[Setting, tuple[agents.Agent, Games]]:
    """An agent that knows nothing, and its games, for every setting that is defined."""
    check_at_least(1, games=training.games)
    return {
        (learner, teacher): make(training, learner, teacher)
        for learner in LEARNERS
        for teacher in TEACHERS
        if is_defined(learner, teacher)
    }


def is_defined(learner: str, teacher: str) -> bool:
    """Whether a learner learns in a setting at all."""
    kind = LEARNERS[learner]
    return kind.supports_self_play if teacher == SELF_PLAY else kind.supports_single_agent


def make(training: Training, learner: str, teacher: str) -> tuple[agents.Agent, Games]:
    """An agent that knows nothing, and its games.

    Many at once where that changes little but the time. Win counting, whose draws are its exploration, learns
    otherwise the more games it plays between two lessons, so it plays one after another.
    """
    game = {
        "heaps": training.heaps,
        "max_take": training.max_take,
        "misere": training.misere,
        "opponent": None if teacher == SELF_PLAY else teacher,
    }
    if learner == "win-counting":
        env = gym.make("nim_env:Nim-v0", **game)
        return agents.WinCountAgent(env.observation_space, env.action_space, seed=training.seed), env
    env = gym.make_vec("nim_env:Nim-v0", num_envs=GAMES_AT_ONCE, **game)
    agent = LEARNERS[learner](
        env.single_observation_space,
        env.single_action_space,
        learning_rate=training.learning_rate,
        gamma=training.gamma,
        epsilon=training.epsilon,
        seed=training.seed,
    )
    return agent, env


def train(
    training: Training,
    agent: agents.Agent,
    env: Games,
    checkpoints: int,
    measure: Callable[[agents.Agent], Measure],
    name: str,
) -> tuple[agents.History, dict[int, Measure]]:
    """Trains an agent and measures it at ever wider intervals: what was found after how many games."""
    found: dict[int, Measure] = {}
    left = np.geomspace(1, training.games, checkpoints).round().tolist()
    with tqdm(total=training.games, desc=name, unit=" games", leave=False, disable=None) as bar:

        def look(agent: agents.Agent, history: agents.History) -> None:
            played = len(history.lengths)
            bar.update(played - bar.n)
            if left and played >= left[0]:
                found[played] = measure(agent)
                while left and played >= left[0]:
                    left.pop(0)

        history = agents.train(agent, env, training.games, seed=training.seed, callback=look)
    return history, found


def check_network(options: Any) -> None:
    """Ends the script unless the options of a network that learns by PPO make sense."""
    if any(layer < 1 for layer in options.layers):
        fail(f"--layers must be 1 or more each; got {' '.join(map(str, options.layers))}")
    if not 0 < options.learning_rate < float("inf"):
        fail(f"--learning-rate must be above 0; got {options.learning_rate}")
    if not 0 <= options.entropy < float("inf"):
        fail(f"--entropy must be 0 or more; got {options.entropy}")
    if not 0 <= options.gae_lambda <= 1:
        fail(f"--gae-lambda must lie between 0 and 1; got {options.gae_lambda}")


def name_of(rules: NimRules) -> str:
    """A game in words."""
    return f"{'-'.join(map(str, rules.heaps))}, {'misère' if rules.misere else 'normal'} play, {takes_of(rules)}"


def board_of(rules: NimRules) -> str:
    """A game in words but for who wins, which no space says."""
    return f"{'-'.join(map(str, rules.heaps))}, {takes_of(rules)}"


def takes_of(rules: NimRules) -> str:
    """How many objects a move takes, in words."""
    return f"take {'any number' if rules.max_take is None else f'1 to {rules.max_take}'}"


def percent(share: float, digits: int = 1) -> str:
    """A share in %, of which only what is certain is written as 0 or 100."""
    least = 10**-digits
    value = 100 * share if share in (0, 1) else min(max(100 * share, least), 100 - least)
    return f"{value:.{digits}f}"
