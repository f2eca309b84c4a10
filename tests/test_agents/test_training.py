"""Training in single environments: which transitions are delivered, and what is learned from them."""

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from agent_helpers import agent_for, recorder
from gymnasium import spaces
from other_games import GOAL, OnlyTheAPI, RaceAEC, RaceGym

import agents
import nim_env
from agents import QLearningAgent
from nim_env import NimRules, evaluation


def test_frozen_lake():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    agent = agent_for(env, gamma=0.99, epsilon=lambda remaining: 0.05 + 0.95 * remaining)
    history = agents.train(agent, env, 1000, seed=0)
    assert len(history.returns) == len(history.lengths) == 1000
    observation, _ = env.reset()
    for _ in range(6):  # the shortest way; nothing is random, so one success is a rate of 100 %
        observation, reward, terminated, _, _ = env.step(agent.act(observation))
    assert terminated
    assert reward == 1


def test_tic_tac_toe():
    """An AEC environment of PettingZoo's own, with its wrappers."""
    env = pettingzoo.make("aec", "classic/tictactoe-v3")
    agent = agent_for(env, learning_rate=0.5, epsilon=0.1)
    history = agents.train(agent, env, 500, seed=0)
    assert set(history.returns) == {-1, 0, 1}
    assert history.lengths.min() >= 5
    assert history.lengths.max() == 9


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_self_play_on_a_small_game(make):
    env = make()
    agent = agent_for(env, epsilon=0.3)
    history = agents.train(agent, env, 1500, seed=0)
    assert set(history.returns) == {-1, 1}
    for counter in range(GOAL):
        if counter % 3 != 1:
            assert (counter + agent.act(counter)) % 3 == 1 or counter + agent.act(counter) >= GOAL


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_the_transitions_of_self_play(make):
    """A transition is complete when its player is to move again; at the end those of both players are."""
    env = make()
    agent = recorder(env, [2, 2, 2, 1, 1, 2])  # 2 4 6 7 8 10: player 1 wins
    history = agents.train(agent, env, 1)
    assert agent.learned[:4] == [
        (0, 2, 0.0, 4, False, None),
        (2, 2, 0.0, 6, False, None),
        (4, 2, 0.0, 7, False, None),
        (6, 1, 0.0, 8, False, None),
    ]
    assert sorted(agent.learned[4:]) == [(7, 1, -1.0, 10, True, None), (8, 2, 1.0, 10, True, None)]
    assert history.returns.tolist() == [-1]
    assert history.lengths.tolist() == [6]
    agent.play([1, 1, 1])
    agents.train(agent, make(truncate_after=3), 1)
    # player 1 is to move at 3; player 0, who has just moved, does not observe its next turn
    assert agent.learned == [(0, 1, 0.0, 2, False, None), (1, 1, 0.0, 3, False, None)]


class Corridor(gym.Env):
    """Five cells, one action; the last step is truncated or terminated."""

    observation_space, action_space = spaces.Discrete(6), spaces.Discrete(1)

    def __init__(self, terminated):
        self.terminated = terminated

    def reset(self, *, seed=None, options=None):  # noqa: ARG002
        self.cell = 0
        return 0, {"action_mask": np.ones(1, np.int8)}

    def step(self, action):  # noqa: ARG002
        self.cell += 1
        over = self.cell == 3
        return self.cell, 1.0, over and self.terminated, over and not self.terminated, {"action_mask": [1]}


@pytest.mark.parametrize("terminated", [True, False])
def test_one_learner_learns_every_step_and_truncation_bootstraps(terminated):
    env = Corridor(terminated)
    agent = recorder(env, [0] * 6)
    history = agents.train(agent, env, 2)
    assert agent.learned[:3] == [
        (0, 0, 1.0, 1, False, [1]),
        (1, 0, 1.0, 2, False, [1]),
        (2, 0, 1.0, 3, terminated, [1]),
    ]
    assert history.returns.tolist() == [3, 3]
    assert history.lengths.tolist() == [3, 3]


def test_an_aec_environment_with_masks_in_its_infos():
    class Masked(RaceAEC):
        def reset(self, seed=None, options=None):
            super().reset(seed, options)
            self.infos = {agent: {"action_mask": np.array([0, 1])} for agent in self.agents}

    env = Masked()
    agent = agent_for(env, epsilon=1, seed=0)
    assert set(agents.train(agent, env, 5).lengths) == {GOAL // 2}


@pytest.fixture(scope="module")
def masters():
    """System 1 in its author's settings, after 10,000 games, with five seeds."""
    env = pettingzoo.make("aec", "nim-v0")
    trained = [agent_for(env, learning_rate=0.5, epsilon=0.1, gamma=1, seed=seed) for seed in range(5)]
    for seed, agent in enumerate(trained):
        agents.train(agent, env, 10_000, seed=seed)
    return trained


def test_self_play_masters_1_3_5_7(masters):
    """The median seed plays 98 % of the 335 winning positions right."""
    assert np.median([evaluation.mastery(NimRules(), agent).expert for agent in masters]) >= 0.98


def test_both_apis_give_the_same_self_play():
    tables = []
    for env in (pettingzoo.make("aec", "nim-v0"), gym.make("Nim-v0", opponent=None)):
        agent = agent_for(env, seed=3)
        history = agents.train(agent, env, 500, seed=3)
        tables.append((agent.table.values, history.returns, history.lengths))
    for first, second in zip(*tables, strict=True):
        np.testing.assert_array_equal(first, second)


def test_observations_with_more_in_them():
    """Of a dictionary with observation and mask, and more, the observation is kept; any other is kept whole."""
    env = gym.make("Nim-v0")
    parts = {"observation": env.observation_space, "board": env.observation_space}
    parts |= {"extra": spaces.Discrete(2), "action_mask": spaces.MultiBinary(16)}
    for names in (("observation", "extra", "action_mask"), ("board", "action_mask")):

        def described(observation, names=names):
            other = {"extra": 1, "action_mask": env.unwrapped.action_masks()}
            return {name: other.get(name, observation) for name in names}

        space = spaces.Dict({name: parts[name] for name in names})
        wrapped = gym.wrappers.TransformObservation(env, described, space)
        agent = agent_for(wrapped)
        assert agent.observation_space == (space if "board" in names else env.observation_space)
        assert len(agents.train(agent, wrapped, 20, seed=0).returns) == 20


def test_an_agent_may_be_an_opponent(masters):
    master = masters[0]
    env = gym.make("Nim-v0", opponent=master)
    history = agents.train(agent_for(env, seed=1), env, 200, seed=1)
    assert (history.returns < 0).mean() > 0.85
    assert evaluation.play_match(NimRules(), master, "random", 500, seed=0).win_rate > 0.9


def test_one_seed_gives_one_run():
    def run(seed):
        env = gym.make("Nim-v0")
        agent = agent_for(env, seed=seed)
        history = agents.train(agent, env, 300, seed=seed)
        return agent.table.values.tolist(), history.returns.tolist(), history.lengths.tolist()

    assert run(1) == run(1) != run(2)


def test_the_history_counts_every_episode():
    env = gym.make("Nim-v0")
    agent = agent_for(env)
    for episodes in (0, 50):
        history = agents.train(agent, env, episodes, seed=0)
        assert (history.returns.dtype, history.lengths.dtype) == (np.float64, np.int64)
        assert history.returns.shape == history.lengths.shape == (episodes,)
        assert agent.table.values.any() == (episodes > 0)
    assert set(history.returns) == {-1, 1}
    assert 1 <= history.lengths.min() <= history.lengths.max() <= 8


def test_the_callback_gets_every_episode_and_may_end_the_run():
    env, called = gym.make("Nim-v0"), []
    agent = agent_for(env)

    def callback(learner, history):
        assert learner is agent
        called.append(len(history.returns))
        return len(history.lengths) != 7

    history = agents.train(agent, env, 20, seed=0, callback=callback)
    assert called == [1, 2, 3, 4, 5, 6, 7]
    assert len(history.returns) == len(history.lengths) == 7
    assert len(agents.train(agent, env, 20, callback=lambda _, history: history.lengths.sum() < 0).returns) == 1
    called.clear()
    assert len(agents.train(agent, env, 3, callback=lambda *_: called.append(1)).returns) == len(called) == 3
    with pytest.raises(ZeroDivisionError):
        agents.train(agent, env, 3, callback=lambda *_: 1 / 0)


def test_the_callback_cannot_change_the_history():
    env = gym.make("Nim-v0")
    with pytest.raises(ValueError, match="read-only"):
        agents.train(agent_for(env), env, 3, callback=lambda _, history: history.returns.fill(99))
    agents.train(agent_for(env), env, 3).returns[:] = 99  # the returned history is writable


def test_the_progress_falls_from_1_to_0():
    env = RaceGym()
    agent = recorder(env, [2] * 20)
    agents.train(agent, env, 4)
    assert agent.progress == [1.0] * 5 + [0.75] * 5 + [0.5] * 5 + [0.25] * 5
    assert agent.progress_remaining == 0


def test_a_progress_bar(capsys):
    env = gym.make("Nim-v0")
    agents.train(agent_for(env), env, 30, progress=True)
    assert "30.0/30.0" in capsys.readouterr().err
    agents.train(agent_for(env), env, 30)
    assert not capsys.readouterr().err


def test_bad_numbers_of_episodes_are_named():
    env = gym.make("Nim-v0")
    for episodes, error, message in (
        (-1, ValueError, "episodes must be 0 or more; got -1"),
        (1.0, TypeError, r"episodes must be an integer; got 1\.0"),
        (True, TypeError, "episodes must be an integer; got True"),
    ):
        with pytest.raises(error, match=message):
            agents.train(agent_for(env), env, episodes)


def test_a_callback_that_is_no_function_changes_nothing():
    env = gym.make("SimpleNim-v0")
    agent = agent_for(env)
    with pytest.raises(TypeError, match=r"callback.*5"):
        agents.train(agent, env, 10, callback=5)
    assert not agent.q_values(env.unwrapped.rules.all_positions()).any()


def test_an_agent_made_for_other_spaces_is_refused():
    agent = agent_for(gym.make("SimpleNim-v0"))
    for env in (gym.make("Nim-v0"), pettingzoo.make("aec", "nim-v0")):
        with pytest.raises(ValueError, match=r"observation_space=MultiDiscrete\(\[22\]\)"):
            agents.train(agent, env, 1)
    with pytest.raises(TypeError, match=r"agent must be an agents\.Agent; got None"):
        agents.train(None, gym.make("Nim-v0"), 1)
    agent = QLearningAgent(gym.make("Nim-v0").observation_space, spaces.Discrete(15))
    with pytest.raises(ValueError, match=r"action_space=Discrete\(15\).*Discrete\(16\)"):
        agents.train(agent, gym.make("Nim-v0"), 1)


def test_other_things_are_no_environments():
    agent = agent_for(gym.make("Nim-v0"))
    for env in (None, "Nim-v0", RaceGym, RaceAEC, pettingzoo.ParallelEnv(), [gym.make("Nim-v0")]):
        with pytest.raises(TypeError, match="env must be a Gymnasium environment or vector environment, or a Pet"):
            agents.train(agent, env, 1)


@pytest.mark.parametrize(
    ("env", "names"),
    [
        (gym.make("Nim-v0"), OnlyTheAPI.GYMNASIUM),
        (gym.make("Nim-v0", opponent=None), OnlyTheAPI.GYMNASIUM),
        (nim_env.envs.aec_env.env(), OnlyTheAPI.PETTINGZOO),
    ],
    ids=["gymnasium", "self-play", "pettingzoo"],
)
def test_training_needs_nothing_but_the_api(env, names):
    plain = agents.train(agent_for(env), env, 50, seed=0)
    proxied = agents.train(agent_for(env), OnlyTheAPI(env, names), 50, seed=0)
    assert proxied.returns.tolist() == plain.returns.tolist()
