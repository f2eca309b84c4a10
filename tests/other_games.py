"""A small two-player game that is not Nim, in both APIs, and a proxy that hides everything outside an API.

In the race to ten, players take turns adding 1 or 2 to a counter. The player who brings it to ten or more wins.
The player to move can win if ``counter % 3 != 1``, by leaving a counter of 1, 4 or 7 (``counter % 3 == 1``).
"""

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

GOAL = 10


class RaceGym(gym.Env):
    """Race to ten. The learner plays both sides, and the info ``to_play`` says which side is to move.

    Args:
        start: The counter at the beginning.
        truncate_after: The number of plies after which the episode is truncated.
        bonuses: The additional reward for a move, indexed by the counter before the move.
        alone: Whether to leave out ``to_play``, as in an environment with a single player.
        masks: The place of the action mask, ``"info"`` or ``"observation"``, or None for no mask. With a mask,
            adding 2 is illegal if the counter is 3.
    """

    action_space = spaces.Discrete(2, start=1)

    def __init__(self, start=0, truncate_after=None, bonuses=(0.0,) * GOAL, alone=False, masks=None):
        self.start, self.truncate_after, self.bonuses = start, truncate_after, bonuses
        self.alone, self.masks = alone, masks
        self.observation_space = counters = spaces.Discrete(GOAL + 2)
        if masks == "observation":
            parts = {"observation": counters, "action_mask": spaces.MultiBinary(2), "more": spaces.Discrete(1)}
            self.observation_space = spaces.Dict(parts)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.counter, self.player, self.plies = self.start, 0, 0
        return self.described()

    def step(self, action):
        assert action in self.action_space
        bonus = self.bonuses[self.counter]
        self.counter += int(action)
        self.player ^= 1
        self.plies += 1
        won = self.counter >= GOAL
        observation, info = self.described()
        return observation, won + bonus, won, not won and self.plies == self.truncate_after, info

    def described(self):
        observation = np.int64(self.counter)
        info = {} if self.alone else {"to_play": self.player}
        mask = np.array([1, self.counter != 3], dtype=np.int8)
        if self.masks == "observation":
            return {"observation": observation, "action_mask": mask, "more": 0}, info
        if self.masks == "info":
            info["action_mask"] = mask
        return observation, info


class RaceAEC(AECEnv):
    """Race to ten as an AEC environment. Masks can be in its observations or in its infos."""

    metadata = {"name": "race_v0"}
    possible_agents = ["left_0", "right_1"]

    def __init__(self, *arguments, **options):
        super().__init__()
        self.game = RaceGym(*arguments, **options)
        if self.game.alone:
            self.possible_agents = self.possible_agents[:1]

    def observation_space(self, agent):  # noqa: ARG002
        return self.game.observation_space

    def action_space(self, agent):  # noqa: ARG002
        return self.game.action_space

    def observe(self, agent):  # noqa: ARG002
        return self.game.described()[0]

    def reset(self, seed=None, options=None):  # noqa: ARG002
        self.game.reset()
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = dict.fromkeys(self.agents, self.game.described()[1])

    def step(self, action):
        if self.terminations[self.agent_selection] or self.truncations[self.agent_selection]:
            self._was_dead_step(action)
            return
        mover = self.agent_selection
        other = self.possible_agents[self.possible_agents.index(mover) - 1]  # itself if there is no other player
        _, reward, terminated, truncated, info = self.game.step(action)
        self._cumulative_rewards[mover] = 0.0
        self.rewards = {other: -reward, mover: reward}
        self._accumulate_rewards()
        self.terminations = dict.fromkeys(self.agents, terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.infos = dict.fromkeys(self.agents, info)
        self.agent_selection = other
        if truncated:
            self._deads_step_first()  # PettingZoo's idiom: by the order of the agents, whoever moved last


class OnlyTheAPI:
    """Passes on the attributes of an API's class except ``unwrapped``; all others raise AttributeError."""

    def __init__(self, env, api):
        self._env = env
        self._names = {*dir(api), *api.__annotations__} - {"unwrapped"}

    def __getattr__(self, name):
        if name not in self._names or name.startswith("_"):
            raise AttributeError(f"{name} is not in the API")
        return getattr(self._env, name)
