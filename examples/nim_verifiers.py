r"""Defines Nim in words as an environment of the library verifiers, to evaluate and train language models.

The model plays whole games against an opponent. Its reward is 1 if it wins the game and -1 if it loses. An answer
without a legal move loses the game. The command below plays 100 games and prints the mean reward.

    pip install -e . "verifiers>=0.4,<0.5"
    export PYTHONPATH=examples OPENAI_API_KEY=none
    vf-eval nim_verifiers --no-push -n 100 --model NAME --client.base-url http://localhost:8000/v1 \
        --client.api-key-var OPENAI_API_KEY
"""

from collections.abc import Iterator
from itertools import count

import gymnasium as gym
import verifiers.v1 as vf

from nim_env import text

__all__ = ["NimEnv", "NimTaskset"]


class NimConfig(vf.TasksetConfig):
    """The options of a run, set as in ``--env.taskset.heaps "[3, 4, 5]" --env.taskset.opponent expert``."""

    heaps: list[int] = [1, 3, 5, 7]
    max_take: int | None = None
    misere: bool = True
    opponent: str = "random"


class NimData(vf.TaskData):
    """The options and the seed of the game of one task."""

    options: dict
    seed: int


class NimTask(vf.Task[NimData, vf.State, vf.TaskConfig]):
    """A task is one game."""


class NimTaskset(vf.Taskset[NimTask, NimConfig]):
    """A game for each seed. The model moves first in every other game."""

    INFINITE = True

    def load(self) -> Iterator[NimTask]:
        rules = self.config.model_dump(include={"heaps", "max_take", "misere", "opponent"})
        for seed in count():
            options = rules | {"first_player": "opponent" if seed % 2 else "agent"}
            _, prompt = start(options, seed)
            yield NimTask(NimData(options=options, seed=seed, prompt=prompt), self.config.task)


class NimEnvConfig(vf.EnvConfig):
    """Makes the model the player. The harness ``null`` gives it no tools."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime=vf.SubprocessConfig())


class NimEnv(vf.Env[NimEnvConfig]):
    """The environment, which plays the game of a task."""

    async def run(self, task: NimTask, agents: vf.Agents) -> None:
        env, _ = start(task.data.options, task.data.seed)
        rules = env.unwrapped.rules
        outcome = None
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while outcome is None and not segment.terminated:
                move = text.parse_move(segment.last_reply)
                if move not in rules.moves:
                    break
                observation, reward, terminated, _, _ = env.step(rules.action(*move))
                if terminated:
                    outcome = reward
                else:
                    segment = await interaction.turn(text.describe(rules, observation))
        interaction.trace.record_reward("outcome", -1.0 if outcome is None else outcome)


def start(options: dict, seed: int) -> tuple[gym.Env, str]:
    """Makes and resets an environment; returns it with the first prompt."""
    env = gym.make("nim_env:Nim-v0", **options)
    observation, _ = env.reset(seed=seed)
    return env, text.describe(env.unwrapped.rules, observation)
