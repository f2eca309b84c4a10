r"""Games of Nim in words as an environment of verifiers 0.4, to evaluate and train language models.

The model plays whole games against an opponent. Its reward is 1 for a won game and -1 for a lost one. An answer
without a legal move loses.

    pip install -e . verifiers==0.4.0
    export PYTHONPATH=examples OPENAI_API_KEY=none
    vf-eval nim_verifiers --no-push -n 100 --model NAME --client.base-url http://localhost:8000/v1 \
        --client.api-key-var OPENAI_API_KEY
"""

from collections.abc import Iterator
from itertools import count

import gymnasium as gym
import verifiers.v1 as vf

from nim_env import NimRules, text

__all__ = ["NimEnv", "NimTaskset"]


class NimConfig(vf.TasksetConfig):
    """The options of a run, as in ``--env.taskset.heaps "[3, 4, 5]" --env.taskset.opponent expert``."""

    heaps: list[int] = [1, 3, 5, 7]
    misere: bool = True
    opponent: str = "random"


class NimData(vf.TaskData):
    """The game of one task."""

    options: dict
    seed: int


class NimTask(vf.Task[NimData, vf.State, vf.TaskConfig]):
    """One game."""


class NimTaskset(vf.Taskset[NimTask, NimConfig]):
    """A game for each seed. The model makes the first move of every other one."""

    INFINITE = True

    def load(self) -> Iterator[NimTask]:
        for seed in count():
            first_player = "agent" if seed % 2 == 0 else "opponent"
            options = self.config.model_dump(include={"heaps", "misere", "opponent"}) | {
                "first_player": first_player
            }
            yield NimTask(NimData(options=options, seed=seed, prompt=start(options, seed)[2]), self.config.task)


class NimEnvConfig(vf.EnvConfig):
    """The model is the player; the harness ``null`` has no tools."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime=vf.SubprocessConfig())


class NimEnv(vf.Env[NimEnvConfig]):
    """Plays the game of a task."""

    async def run(self, task: NimTask, agents: vf.Agents) -> None:
        env, rules, _ = start(task.data.options, task.data.seed)
        reward, terminated = -1.0, False
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated and (action := text.parse_move(rules, segment.last_reply)) is not None:
                observation, reward, terminated, _, _ = env.step(action)
                if terminated:
                    break
                segment = await interaction.turn(text.describe(rules, observation))
        interaction.trace.record_reward("outcome", reward if terminated else -1.0)


def start(options: dict, seed: int) -> tuple[gym.Env, NimRules, str]:
    """The environment after its reset, its rules and the first prompt."""
    env = gym.make("nim_env:Nim-v0", **options)
    observation, _ = env.reset(seed=seed)
    rules = env.unwrapped.rules
    return env, rules, text.describe(rules, observation)
