"""A small two-player game that is not Nim, in both APIs, and a proxy that holds callers to an API.

Race to ten: players in turn add 1 or 2 to a counter; whoever brings it to ten or above wins. The winner is the
player who can leave 7, 4 and 1: the mover wins wherever ``counter % 3 != 1``, by leaving ``counter % 3 == 1``.
"""

import gymnasium as gym
from gymnasium import spaces
from pettingzoo import AECEnv

GOAL = 10


class RaceGym(gym.Env):
    """Race to ten, both sides played by the learner; says so by ``to_play``."""

    observation_space = spaces.Discrete(GOAL + 2)
    action_space = spaces.Discrete(2, start=1)

    def __init__(self, truncate_after=None):
        self.truncate_after = truncate_after

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        super().reset(seed=seed)
        self.counter, self.player, self.plies = 0, 0, 0
        return 0, {"to_play": 0}

    def step(self, action):
        assert action in self.action_space
        self.counter += int(action)
        self.player ^= 1
        self.plies += 1
        won = self.counter >= GOAL
        return self.counter, float(won), won, self.plies == self.truncate_after, {"to_play": self.player}


class RaceAEC(AECEnv):
    """Race to ten as an AEC environment with plain observations, without masks."""

    metadata = {"name": "race_v0"}
    possible_agents = ["left_0", "right_1"]

    def __init__(self, truncate_after=None):
        super().__init__()
        self.truncate_after = truncate_after
        self.space, self.actions = spaces.Discrete(GOAL + 2), spaces.Discrete(2, start=1)

    def observation_space(self, agent):  # noqa: ARG002
        return self.space

    def action_space(self, agent):  # noqa: ARG002
        return self.actions

    def observe(self, agent):  # noqa: ARG002
        return self.counter

    def reset(self, seed=None, options=None):  # noqa: ARG002
        self.counter, self.plies = 0, 0
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def step(self, action):
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        assert action in self.actions
        self.counter += int(action)
        mover = self.agent_selection
        other = self.possible_agents[1 - self.possible_agents.index(mover)]
        if self.counter >= GOAL:
            self.rewards = {mover: 1.0, other: -1.0}
            self._cumulative_rewards = dict(self.rewards)
            self.terminations = dict.fromkeys(self.agents, True)
        self.plies += 1
        self.truncations = dict.fromkeys(self.agents, self.plies == self.truncate_after)
        self.agent_selection = other
        if self.plies == self.truncate_after:
            self._deads_step_first()  # PettingZoo's idiom: in the order of the agents, whoever moved last


class OnlyTheAPI:
    """Passes on what an API names, and raises on anything else."""

    GYMNASIUM = frozenset({"reset", "step", "observation_space", "action_space"})
    VECTOR = frozenset(
        {"reset", "step", "num_envs", "metadata", "single_observation_space", "single_action_space"}
    )
    PETTINGZOO = frozenset(
        {
            "reset",
            "step",
            "last",
            "observe",
            "agent_iter",
            "observation_space",
            "action_space",
            "possible_agents",
            "agents",
            "agent_selection",
            "rewards",
            "terminations",
            "truncations",
            "infos",
        }
    )

    def __init__(self, env, names):
        self._env, self._names = env, names

    def __getattr__(self, name):
        if name not in self._names:
            raise AttributeError(f"{name} is not in the API")
        return getattr(self._env, name)
