"""Stable-Baselines3 on the environments, in a file of its own for machines without PyTorch."""

import re
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
import torch
from configurations import GYM, SIMPLE
from expected_warnings import no_warning_but
from pettingzoo.utils import BaseWrapper
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from sb3_contrib.common.wrappers import ActionMasker
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env

import nim_env
from nim_env import NimRules, evaluation
from nim_env.sb3_vec_env import NimVecEnv

torch.set_num_threads(1)  # the tests run beside each other


@pytest.mark.parametrize("name", [name for name in GYM if name != "raising"])
def test_stable_baselines3(name):  # plays random actions, so not where illegal ones are errors
    with no_warning_but({}):
        check_env(gym.make("Nim-v0", **GYM[name]))


def test_stable_baselines3_by_identifier():
    with no_warning_but({}):
        check_env(gym.make("Nim-v0"))
        check_env(gym.make("SimpleNim-v0"))


def test_the_identifier_is_enough():
    model = PPO("MlpPolicy", "nim_env:Nim-v0", n_steps=16, batch_size=16, n_epochs=1, device="cpu")
    assert model.learn(32).num_timesteps == 32
    envs = make_vec_env("nim_env:Nim-v0", n_envs=2)  # as an rgb_array, which it may be asked to render
    envs.reset()
    assert envs.render().shape == (800, 600, 3)


def test_masks_are_found():
    env = gym.make("Nim-v0", opponent=None)
    env.reset(seed=0)
    env.step(0)
    assert is_masking_supported(env)
    np.testing.assert_array_equal(get_action_masks(env), [0] + [1] * 15)


def test_maskable_ppo_learns_to_beat_random_play():
    env = gym.make("SimpleNim-v0", heaps=(7,), random_start=True)
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=256, batch_size=64, n_epochs=4, learning_rate=3e-3, seed=0, device="cpu"
    )
    rules = env.unwrapped.rules

    def play(observation, action_mask):
        return model.predict(observation, action_masks=action_mask, deterministic=True)[0]

    before = evaluation.mastery(rules, play).expert
    model.learn(6_000)
    assert evaluation.mastery(rules, play).expert > max(0.8, before)


def test_models_are_held_against_the_truth_as_they_stand():
    env = gym.make("Nim-v0")
    rules = env.unwrapped.rules
    model = MaskablePPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
    play = lambda o, m: model.predict(o, action_masks=m, deterministic=True)[0]  # noqa: E731  as in the docs
    found = evaluation.mastery(rules, play)
    assert 0 < found.expert < 1
    assert not found.champion
    assert 0 < evaluation.exploitability(rules, play) <= 1
    exact = evaluation.win_probability(rules, play, "random")
    sampled = evaluation.play_match(rules, play, "random", 4_000, seed=0).win_rate
    assert abs(sampled - exact) < 4 * (exact * (1 - exact) / 4_000) ** 0.5
    dqn = DQN("MlpPolicy", env, seed=0, device="cpu")
    with pytest.raises(ValueError, match=r"policy answered action \d+ at heaps \[.*\]; legal are"):
        evaluation.mastery(rules, lambda o, _: dqn.predict(o, deterministic=True)[0])


def test_dqn_steps_through_the_environment():
    model = DQN("MlpPolicy", gym.make("Nim-v0", **SIMPLE), learning_starts=50, seed=0, device="cpu")
    model.learn(200)
    action, _ = model.predict(np.array([21]), deterministic=True)
    assert action.shape == ()
    env = nim_env.gym_env.NimEnv(**SIMPLE, first_player="agent")
    env.reset()
    env.step(action)  # a 0-d integer array is an action


# --- PettingZoo's tutorial on Connect Four with Stable-Baselines3 and masks, retold ----------------


class OneAgentAtATime(BaseWrapper, gym.Env):
    """Whoever is to move is the learner; the mask is asked for beside."""

    def __init__(self, env):
        super().__init__(env)
        self.observation_space = env.observation_space(env.possible_agents[0])["observation"]
        self.action_space = env.action_space(env.possible_agents[0])

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        return self.observe(self.agent_selection), {}

    def step(self, action):
        mover = self.agent_selection
        super().step(action)
        seen = self.observe(self.agent_selection)
        return (
            seen,
            self._cumulative_rewards[mover],
            self.terminations[mover],
            self.truncations[mover],
            self.infos[mover],
        )

    def observe(self, agent):
        return super().observe(agent)["observation"]

    def action_mask(self):
        return super().observe(self.agent_selection)["action_mask"]


@pytest.mark.parametrize("identifier", ["classic/connect_four-v3", "nim-v0"])
def test_the_tutorial_runs_with_its_id_changed(identifier):
    env = ActionMasker(OneAgentAtATime(pettingzoo.make("aec", identifier)), lambda env: env.action_mask())
    model = MaskablePPO("MlpPolicy", env, n_steps=128, batch_size=64, n_epochs=2, seed=0, device="cpu")
    model.learn(256)
    games = pettingzoo.make("aec", identifier)
    for seed in range(3):  # the learner against random play, as the tutorial evaluates it
        games.reset(seed=seed)
        games.action_space("player_0").seed(seed)
        plies = 0
        for player in games.agent_iter():
            seen, reward, terminated, truncated, _ = games.last()
            if terminated or truncated:
                break
            if player == games.possible_agents[0]:
                action = games.action_space(player).sample(seen["action_mask"])
            else:
                action = int(model.predict(seen["observation"], action_masks=seen["action_mask"])[0])
            assert seen["action_mask"][action]
            games.step(action)
            plies += 1
        assert plies > 1
        assert abs(reward) == 1
        assert sum(games.rewards.values()) == 0


# --- A loop of one's own, as CleanRL writes them ----------------------------------------------------


def test_a_loop_in_plain_pytorch_learns():
    torch.manual_seed(0)
    game = {"heaps": (7,), "max_take": 3, "misere": False}
    envs = gym.make_vec("Nim-v0", num_envs=64, random_start=True, autoreset_mode="SameStep", **game)
    network = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    observations, infos = envs.reset(seed=0)
    for _ in range(60):
        rewards_of, probabilities, ends = [], [], []
        for _ in range(16):
            logits = network(torch.nn.functional.one_hot(torch.as_tensor(observations)[:, 0], 8).float())
            mask = torch.as_tensor(infos["action_mask"]).bool()
            policy = torch.distributions.Categorical(logits=logits.masked_fill(~mask, -1e8))
            actions = policy.sample()
            observations, rewards, terminations, truncations, infos = envs.step(actions.numpy())
            rewards_of.append(rewards)
            probabilities.append(policy.log_prob(actions))
            ends.append(terminations | truncations)
        losses, returns = [], np.zeros(64)
        for step in reversed(range(16)):  # what each game brought from here on
            returns = rewards_of[step] + returns * ~ends[step]
            losses.append(-(probabilities[step] * torch.as_tensor(returns)).mean())
        optimiser.zero_grad()
        torch.stack(losses).mean().backward()
        optimiser.step()

    def play(observation, action_mask):
        with torch.no_grad():
            logits = network(torch.nn.functional.one_hot(torch.as_tensor(observation)[:, 0], 8).float())
        return logits.masked_fill(torch.as_tensor(action_mask) == 0, -1e8).argmax(dim=1).numpy()

    assert evaluation.mastery(NimRules((7,), 3, misere=False), play).expert == 1


# --- The README's table of libraries ----------------------------------------------------------------

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| ([^|`]+[^|]*) \| `(.+)` \|$", README, re.M)


@pytest.mark.parametrize(("library", "line"), [line for line in LINES if "TorchRL" not in line[0]])
def test_the_lines_of_the_readme(library, line):  # noqa: ARG001
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=3)
    small = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "device": "cpu"}
    known = {
        "gym": gym,
        "pettingzoo": pettingzoo,
        "PPO": partial(PPO, **small),
        "MaskablePPO": partial(MaskablePPO, **small),
        "DQN": partial(DQN, device="cpu"),
        "NimVecEnv": NimVecEnv,
        "torch": torch,
        "Categorical": torch.distributions.Categorical,
        "logits": torch.zeros(3, 16),
        "infos": envs.reset(seed=0)[1],
    }
    exec(line, known)
    if "model" in known:
        assert known["model"].learn(100).num_timesteps >= 100
    elif "policy" in known:
        mask = known["infos"]["action_mask"]
        actions = known["policy"].sample().numpy()
        assert mask[np.arange(3), actions].all()
    else:
        (known.get("env") or known["envs"]).reset(seed=0)


def test_the_table_of_libraries_is_read():
    assert len(LINES) == 10
