"""A game has ended when its objects are gone or an action was illegal, whatever the rewards are."""

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from configurations import SIMPLE, first_legal
from gymnasium.vector import AutoresetMode

from nim_env import NimRules
from nim_env.policies import batched

LAST_LEGAL = batched(lambda _, masks: masks.shape[1] - 1 - masks[:, ::-1].argmax(axis=1))
OPPONENTS = {"self-play": None, "random": "random", "callable": first_legal, "batched": LAST_LEGAL}
EVERY_OPPONENT = pytest.mark.parametrize("opponent", OPPONENTS.values(), ids=OPPONENTS)


@pytest.fixture
def without_and_with_terminal_rewards(monkeypatch):
    """Calls a function as the game is, and with a reward of 0 for the last object."""

    def call(function):
        found = [function()]
        monkeypatch.setattr(NimRules, "terminal_reward", 0.0)
        return [*found, function()]

    return call


def actions(mask, generator):
    """Random legal actions, two in a hundred from all of them."""
    is_any = generator.random((len(mask), 1)) < 0.02
    return (generator.random(mask.shape) * (mask | is_any)).argmax(axis=1)


def check(with_rewards, without):
    """Both games are the same except for the rewards; returns how many games ended with the last object."""
    assert with_rewards[0] == without[0]
    rewards, zeros = (np.ravel(found[1]) for found in (with_rewards, without))
    assert ((zeros == 0) | (zeros == -1)).all()  # an illegal action
    return ((rewards != 0) & (zeros == 0)).sum()


@EVERY_OPPONENT
def test_gymnasium(opponent, without_and_with_terminal_rewards):
    def play():
        env, generator, games, rewards = gym.make("Nim-v0", opponent=opponent), np.random.default_rng(0), [], []
        for seed in range(60):
            observation, info = env.reset(seed=seed)
            is_over = False
            while not is_over:
                action = int(actions(info["action_mask"][None], generator)[0])
                games.append((observation.tolist(), action))
                observation, reward, is_over, _, info = env.step(action)
                rewards.append(reward)
            games.append((observation.tolist(), info["illegal_action"], info["action_mask"].tolist()))
        return games, rewards

    assert check(*without_and_with_terminal_rewards(play)) > 10


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    "game", [{}, SIMPLE, {"heaps": (1,) * 21}, {"heaps": (2, 2), "max_episode_steps": 3}], ids=str
)
@EVERY_OPPONENT
def test_vector_environment(opponent, game, mode, without_and_with_terminal_rewards):
    def play():
        env = gym.make_vec("Nim-v0", num_envs=12, opponent=opponent, autoreset_mode=mode, **game)
        generator, games, rewards = np.random.default_rng(0), [], []
        observations, infos = env.reset(seed=0)
        for _ in range(50):
            games.append((observations.tolist(), infos["action_mask"].tolist(), infos["illegal_action"].tolist()))
            observations, reward, terminated, truncated, infos = env.step(actions(infos["action_mask"], generator))
            rewards.append(reward)
            final = [None if row is None else row.tolist() for row in infos.get("final_obs", [])]
            games.append((terminated.tolist(), truncated.tolist(), final))
            if mode is AutoresetMode.DISABLED and (terminated | truncated).any():
                observations, infos = env.reset(options={"reset_mask": terminated | truncated})
        return games, rewards

    assert check(*without_and_with_terminal_rewards(play)) > 10


def test_pettingzoo(without_and_with_terminal_rewards):
    def play():
        env, generator, games, rewards = pettingzoo.make("aec", "nim-v0"), np.random.default_rng(0), [], []
        for _ in range(60):
            env.reset()
            while not any(env.terminations.values()):
                mask = env.last()[0]["action_mask"]
                env.step(int(actions(mask[None], generator)[0]))
                games.append((env.state().tolist(), env.agent_selection, env.terminations.copy(), str(env.infos)))
                rewards.append(list(env.rewards.values()))
            for _ in range(2):
                env.step(None)
            assert env.agents == []
        return games, rewards

    assert check(*without_and_with_terminal_rewards(play)) > 10
