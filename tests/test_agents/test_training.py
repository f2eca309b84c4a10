"""Training in single environments: which transitions are delivered, and what is learned from them."""

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from other_games import GOAL, OnlyTheAPI, RaceAEC, RaceGym

import agents
import nim_env
from agents import QLearningAgent
from nim_env import NimRules, evaluation


def agent_for(env, **arguments):
    if isinstance(env, pettingzoo.AECEnv):
        player = env.possible_agents[0]
        return QLearningAgent(env.observation_space(player), env.action_space(player), **arguments)
    return QLearningAgent(env.observation_space, env.action_space, **arguments)


def played_greedily(agent, env):
    """The total reward of one episode without exploration, given up after 100 steps."""
    observation, info = env.reset(seed=0)
    total = 0.0
    for _ in range(100):
        observation, reward, terminated, truncated, info = env.step(
            agent.act(observation, info.get("action_mask"))
        )
        total += reward
        if terminated or truncated:
            break
    return total


def test_frozen_lake():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    agent = agent_for(
        env, learning_rate=0.5, gamma=0.99, epsilon=lambda remaining: 0.05 + 0.95 * remaining, seed=0
    )
    history = agents.train(agent, env, 1000, seed=0)
    assert len(history.returns) == len(history.lengths) == 1000
    assert played_greedily(agent, env) == 1  # nothing is random, so one success is a rate of 100 %


def test_cliff_walking():
    env = gym.make("CliffWalking-v1")
    agent = agent_for(env, learning_rate=0.5, seed=0)
    history = agents.train(agent, env, 300, seed=0)
    assert played_greedily(agent, env) == -13
    assert history.returns.max() == -13
    assert (history.returns <= -history.lengths).all()  # every step costs 1 or, off the cliff, 100


def test_tic_tac_toe():
    """An AEC environment of PettingZoo's own, with its wrappers."""
    env = pettingzoo.make("aec", "classic/tictactoe-v3")
    agent = agent_for(env, learning_rate=0.5, epsilon=0.1, seed=0)
    history = agents.train(agent, env, 500, seed=0)
    assert set(history.returns) == {-1, 0, 1}
    assert history.lengths.min() >= 5
    assert history.lengths.max() == 9


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_self_play_on_a_small_game(make):
    env = make()
    agent = agent_for(env, epsilon=0.3, seed=0)
    history = agents.train(agent, env, 3000, seed=0)
    assert set(history.returns) == {-1, 1}
    for counter in range(GOAL):
        if counter % 3 != 1:
            assert (counter + agent.act(counter)) % 3 == 1 or counter + agent.act(counter) >= GOAL


class Recorder(agents.Agent):
    """Plays given actions and writes the transitions down."""

    def __init__(self, env, actions):
        if isinstance(env, pettingzoo.AECEnv):
            super().__init__(env.observation_space("left_0"), env.action_space("left_0"))
        else:
            super().__init__(env.observation_space, env.action_space)
        self.actions, self.learned, self.progress = iter(actions), [], []

    def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
        assert explore
        self.progress.append(self.progress_remaining)
        return next(self.actions)

    def update(self, *transition):
        self.learned.append(transition)


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_the_transitions_of_self_play(make):
    """A transition is complete when its player is to move again; at the end those of both players are."""
    env = make()
    agent = Recorder(env, [2, 2, 2, 1, 1, 2])  # 2 4 6 7 8 10: player 1 wins
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


@pytest.mark.parametrize("make", [RaceGym, RaceAEC])
def test_the_transitions_of_a_truncated_game(make):
    env = make(truncate_after=3)
    agent = Recorder(env, [1, 1, 1])
    agents.train(agent, env, 1)
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
    agent = Recorder(env, [0] * 6)
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


def test_self_play_masters_1_3_5_7():
    """System 1 in its author's settings; two seeds play 98 % of 335 winning positions right."""
    found = []
    for seed in range(2):
        env = pettingzoo.make("aec", "nim-v0")
        agent = agent_for(env, learning_rate=0.5, epsilon=0.1, gamma=1, seed=seed)
        agents.train(agent, env, 10_000, seed=seed)
        found.append(evaluation.mastery(NimRules(), agent).expert)
    assert min(found) >= 0.97


def test_both_apis_give_the_same_self_play():
    tables = []
    for env in (pettingzoo.make("aec", "nim-v0"), gym.make("Nim-v0", opponent=None)):
        agent = agent_for(env, seed=3)
        history = agents.train(agent, env, 500, seed=3)
        tables.append((agent.table.values, history.returns, history.lengths))
    for first, second in zip(*tables, strict=True):
        np.testing.assert_array_equal(first, second)


def test_observations_with_more_in_them():
    """An environment whose dictionary holds more than observation and mask, and one that holds no observation."""

    class More(gym.ObservationWrapper):
        def __init__(self, env, names):
            super().__init__(env)
            self.names = names
            parts = {"observation": env.observation_space, "board": env.observation_space}
            parts |= {"extra": spaces.Discrete(2), "action_mask": spaces.MultiBinary(16)}
            self.observation_space = spaces.Dict({name: parts[name] for name in names})

        def observation(self, observation):
            parts = {"observation": observation, "board": observation, "extra": 1}
            parts["action_mask"] = self.env.unwrapped.action_masks()
            return {name: parts[name] for name in self.names}

    for names in (("observation", "extra", "action_mask"), ("board", "action_mask")):
        env = More(gym.make("Nim-v0"), names)
        agent = agent_for(env, seed=0)
        assert len(agents.train(agent, env, 20, seed=0).returns) == 20
    assert agent_for(More(gym.make("Nim-v0"), ("observation", "action_mask"))).observation_space.shape == (4,)


def test_an_agent_may_be_an_opponent():
    env = pettingzoo.make("aec", "nim-v0")
    agent = agent_for(env, seed=0)
    agents.train(agent, env, 8000, seed=0)
    other = gym.make("Nim-v0", opponent=agent)
    learner = agent_for(other, seed=1)
    history = agents.train(learner, other, 200, seed=1)
    assert (history.returns < 0).mean() > 0.85
    assert evaluation.play_match(NimRules(), agent, "random", 500, seed=0).win_rate > 0.9


def test_one_seed_gives_one_run():
    def run(seed):
        env = gym.make("Nim-v0")
        agent = agent_for(env, seed=seed)
        history = agents.train(agent, env, 300, seed=seed)
        return agent.table.values.tolist(), history.returns.tolist(), history.lengths.tolist()

    assert run(1) == run(1) != run(2)


def test_the_history_counts_every_episode():
    env = gym.make("Nim-v0")
    history = agents.train(agent_for(env, seed=0), env, 50, seed=0)
    assert history.returns.dtype == np.float64
    assert history.lengths.dtype == np.int64
    assert history.returns.shape == history.lengths.shape == (50,)
    assert set(history.returns) == {-1, 1}
    assert 1 <= history.lengths.min() <= history.lengths.max() <= 8


def test_no_episodes_at_all():
    env = gym.make("Nim-v0")
    agent = agent_for(env)
    history = agents.train(agent, env, 0)
    assert history.returns.shape == history.lengths.shape == (0,)
    assert not agent.table.values.any()


def test_the_callback_sees_every_episode_and_may_end_the_run():
    env, seen = gym.make("Nim-v0"), []
    agent = agent_for(env, seed=0)

    def callback(learner, history):
        assert learner is agent
        seen.append(len(history.returns))
        return len(history.lengths) != 7

    history = agents.train(agent, env, 20, seed=0, callback=callback)
    assert seen == [1, 2, 3, 4, 5, 6, 7]
    assert len(history.returns) == len(history.lengths) == 7
    assert len(agents.train(agent, env, 20, callback=lambda _, history: history.lengths.sum() < 0).returns) == 1
    seen.clear()
    assert len(agents.train(agent, env, 3, callback=lambda *_: seen.append(1)).returns) == len(seen) == 3


def test_an_error_of_the_callback_propagates():
    env = gym.make("Nim-v0")
    with pytest.raises(ZeroDivisionError):
        agents.train(agent_for(env), env, 3, callback=lambda *_: 1 / 0)


def test_the_callback_cannot_change_the_history():
    env = gym.make("Nim-v0")

    def tamper(_, history):
        history.returns[:] = 99

    with pytest.raises(ValueError, match="read-only"):
        agents.train(agent_for(env), env, 3, callback=tamper)
    agents.train(agent_for(env), env, 3).returns[:] = 99  # the returned history is writable


def test_the_progress_falls_from_1_to_0():
    env = RaceGym()
    agent = Recorder(env, [2] * 20)
    agents.train(agent, env, 4)
    assert agent.progress == [1.0] * 5 + [0.75] * 5 + [0.5] * 5 + [0.25] * 5
    assert agent.progress_remaining == 0


def test_a_progress_bar(capsys):
    env = gym.make("Nim-v0")
    agents.train(agent_for(env), env, 30, progress=True)
    assert "30.0/30.0" in capsys.readouterr().err
    agents.train(agent_for(env), env, 30)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("episodes", "error", "message"),
    [
        (-1, ValueError, "episodes must be 0 or more; got -1"),
        (1.0, TypeError, r"episodes must be an integer; got 1\.0"),
        (True, TypeError, "episodes must be an integer; got True"),
        ("5", TypeError, "episodes must be an integer; got '5'"),
    ],
)
def test_bad_numbers_of_episodes_are_named(episodes, error, message):
    env = gym.make("Nim-v0")
    with pytest.raises(error, match=message):
        agents.train(agent_for(env), env, episodes)


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


@pytest.mark.parametrize(
    "env", [None, 3, "Nim-v0", RaceGym, RaceAEC, pettingzoo.ParallelEnv(), [gym.make("Nim-v0")]], ids=str
)
def test_other_things_are_no_environments(env):
    with pytest.raises(
        TypeError, match="env must be a Gymnasium environment or vector environment, or a PettingZoo"
    ):
        agents.train(agent_for(gym.make("Nim-v0")), env, 1)


@pytest.mark.parametrize("opponent", ["random", None])
def test_training_needs_nothing_but_gymnasium(opponent):
    env = gym.make("Nim-v0", opponent=opponent)
    plain = agents.train(agent_for(env, seed=0), env, 50, seed=0)
    proxied = agents.train(agent_for(env, seed=0), OnlyTheAPI(env, OnlyTheAPI.GYMNASIUM), 50, seed=0)
    assert proxied.returns.tolist() == plain.returns.tolist()


def test_training_needs_nothing_but_pettingzoo():
    env = nim_env.aec_env.env()
    plain = agents.train(agent_for(env, seed=0), env, 50, seed=0)
    proxied = agents.train(agent_for(env, seed=0), OnlyTheAPI(env, OnlyTheAPI.PETTINGZOO), 50, seed=0)
    assert proxied.returns.tolist() == plain.returns.tolist()
