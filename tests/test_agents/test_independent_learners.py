"""Tests independent learners, which ``train`` takes as a dictionary with an agent for each player."""

from functools import partial
from unittest import mock

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from agent_helpers import Constant, agent_for, recorder
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from other_games import GOAL, OnlyTheAPI, RaceAEC, RaceGym
from pettingzoo.classic import tictactoe_v3
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import agents
from agents import MinimaxQAgent, QLearningAgent, WinCountAgent
from nim_env import ExpertPolicy, NimRules, evaluation

NIM = partial(pettingzoo.make, "aec", "nim-v0")
GAMES = {"nim": NIM, "tic-tac-toe": tictactoe_v3.env, "race": RaceAEC, "truncated": partial(RaceAEC, 0, 6)}
EVERY_GAME = pytest.mark.parametrize("make", GAMES.values(), ids=list(GAMES))


def learners_for(env, kind=QLearningAgent, seed=0, **arguments):
    names = env.possible_agents
    return {name: agent_for(env, kind, seed=seed + number, **arguments) for number, name in enumerate(names)}


def results(learners, history):
    tables = [learner.table.values.tolist() for learner in learners.values()]
    return tables, history.returns.tolist(), history.lengths.tolist()


# --- What each agent learns ------------------------------------------------------------------------


def independent_q_learning(learners, episodes, alpha, gamma):
    """Trains two Q-learners on the race to ten by a loop that is written out here, and that changes their tables.

    For each of them the other player is part of the environment. The agents' own code only chooses the actions.
    """
    for _ in range(episodes):
        counter, number, last = 0, 0, [None, None]
        while counter < GOAL:
            learner = learners[number % 2]
            if last[number % 2]:
                value = learner.table.values[counter].max()
                learner.table.values[last[number % 2]] *= 1 - alpha
                learner.table.values[last[number % 2]] += alpha * gamma * value
            action = learner.act(counter, explore=True)
            last[number % 2] = counter, action - 1
            counter += action
            number += 1
        for learner, pair, reward in zip(learners, last, (1, -1) if number % 2 else (-1, 1), strict=True):
            learner.table.values[pair] = (1 - alpha) * learner.table.values[pair] + alpha * reward


@given(seed=st.integers(0, 999), alpha=st.sampled_from([0.25, 0.5, 1]), gamma=st.sampled_from([0.5, 1]))
def test_each_table_is_that_of_independent_q_learning_written_out(seed, alpha, gamma):
    env = OnlyTheAPI(RaceAEC(), pettingzoo.AECEnv)
    make = partial(learners_for, RaceAEC(), seed=seed, learning_rate=alpha, gamma=gamma, epsilon=0.3)
    trained, expected = make(), make()
    agents.train(trained, env, 60)
    independent_q_learning(list(expected.values()), 60, alpha, gamma)
    for name, learner in trained.items():
        np.testing.assert_allclose(learner.table.values, expected[name].table.values, atol=1e-12)


@given(data=st.data())
def test_each_agent_is_told_its_own_turns_only(data):
    """Each transition leads from a player's turn to the same player's next turn, with its rewards in between."""
    choices = st.lists(st.integers(1, 2), min_size=GOAL, max_size=GOAL)
    left, right = data.draw(choices), data.draw(choices)
    start, last_ply = data.draw(st.integers(0, GOAL - 1)), data.draw(st.none() | st.integers(1, 8))
    env = RaceAEC(start, last_ply)
    learners = {
        name: recorder(env, actions) for name, actions in zip(env.possible_agents, (left, right), strict=True)
    }
    history = agents.train(learners, env, 2)

    counters = [start]
    while counters[-1] < GOAL and len(counters) - 1 != last_ply:
        counters.append(counters[-1] + (left, right)[len(counters) % 2 - 1][counters[-1]])
    n = len(counters) - 1
    is_won = counters[-1] >= GOAL
    for player, learner in enumerate(learners.values()):
        turns = range(player, n, 2)
        expected = [
            (counters[i], counters[i + 1] - counters[i], 0, counters[i + 2], False) for i in turns if i + 2 < n
        ]
        if turns and (is_won or turns[-1] == n - 2):  # else it has just moved when the episode is truncated
            last = turns[-1]
            reward = (1 if last == n - 1 else -1) if is_won else 0
            expected.append((counters[last], counters[last + 1] - counters[last], reward, counters[-1], is_won))
        told = [[row[:5] for row in episode] for episode in learner.told]
        assert told == [expected, expected, []]  # one end of each episode
    assert history.lengths.tolist() == [n, n]
    assert history.returns.tolist() == [is_won * (1 if n % 2 else -1)] * 2


@EVERY_GAME
def test_one_agent_under_every_name_learns_by_self_play(make):
    learned = []
    for independent in (False, True):
        env = make()
        agent = agent_for(env, epsilon=lambda remaining: 0.5 * remaining)
        names = env.possible_agents
        history = agents.train(dict.fromkeys(names, agent) if independent else agent, env, 60, seed=1)
        learned.append(results({"": agent}, history))
    assert learned[0] == learned[1]


def test_an_episode_ends_once_for_an_agent_under_every_name():
    agent = recorder(RaceAEC(), [1] * GOAL)
    agents.train(dict.fromkeys(RaceAEC.possible_agents, agent), RaceAEC(), 2)
    assert list(map(len, agent.told)) == [GOAL, GOAL, 0]


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_both_learners_master_a_small_board(seed):
    env = NIM(heaps=(1, 2, 3), random_start=True)
    learners = learners_for(env, seed=seed)
    agents.train(learners, env, 2000, seed=seed)
    for learner in learners.values():
        assert evaluation.mastery(NimRules((1, 2, 3)), learner).expert >= 0.9


def test_a_learner_against_a_fixed_player():
    """From a winning position the agent learns to beat the expert. From a losing one it learns that it loses."""
    rules = NimRules((2, 3))

    class Expert(Constant):
        def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
            return ExpertPolicy(rules).action_probabilities(observation, action_mask).argmax()

    env = NIM(heaps=rules.heaps)
    learner, expert = agent_for(env, epsilon=lambda remaining: remaining), agent_for(env, Expert)
    history = agents.train({"player_0": learner, "player_1": expert}, env, 500, seed=0)
    assert -1 in history.returns
    assert (history.returns[-20:] == 1).all()
    other = agent_for(env)
    history = agents.train({"player_0": expert, "player_1": other}, env, 50, seed=0)
    assert (history.returns == 1).all()
    assert other.table.values.min() < other.table.values.max() == 0


def test_agents_of_different_kinds_and_spaces():
    class Longer(RaceAEC):
        def observation_space(self, agent):
            return spaces.Discrete(GOAL + 2 + 10 * self.possible_agents.index(agent))

    env = Longer()
    kinds = zip(env.possible_agents, (QLearningAgent, WinCountAgent), strict=True)
    learners = {name: kind(env.observation_space(name), env.action_space(name), seed=0) for name, kind in kinds}
    agents.train(learners, env, 300)
    assert learners["left_0"].q_values(8)[1] > 0.9
    assert learners["right_1"].counts(8)[1] > 2
    with pytest.raises(ValueError, match="made for"):
        agents.train(learners["left_0"], env, 1)


# --- The run ---------------------------------------------------------------------------------------


@EVERY_GAME
def test_one_seed_gives_one_run(make):
    def run(seed):
        env = make()
        learners = learners_for(env, seed=seed)
        return results(learners, agents.train(learners, env, 50, seed=seed))

    assert run(1) == run(1) != run(2)


def test_the_callback_gets_the_dictionary():
    env = NIM(heaps=(1, 2))
    learners = learners_for(env)
    called = []

    def watch(given, history):
        assert given is learners
        assert {learner.progress_remaining for learner in learners.values()} == {1 - len(called) / 20}
        called.append(len(history.returns))
        return len(called) < 12

    assert len(agents.train(learners, env, 20, callback=watch).returns) == 12
    assert called == list(range(1, 13))
    agents.train(learners, env, 20)
    assert {learner.progress_remaining for learner in learners.values()} == {0}


# --- What is refused, before anything has changed --------------------------------------------------


def refused(learners, env, error, message):
    with mock.patch.object(type(env), "reset", side_effect=AssertionError), pytest.raises(error, match=message):
        agents.train(learners, env, 5)
    assert {learner.progress_remaining for learner in learners.values()} <= {1.0}
    assert not any(learner.table.values.any() for learner in learners.values())


@pytest.mark.parametrize("names", [(), ("left_0",), ("left_0", "right"), ("left_0", "right_1", "middle_2")])
def test_the_keys_are_the_players(names):
    env = RaceAEC()
    learner = agent_for(env)
    refused(dict.fromkeys(names, learner), env, ValueError, r"agent .*'left_0', 'right_1'.*got \[")


@pytest.mark.parametrize(
    "env",
    [RaceGym(), gym.make_vec("Nim-v0", 2), turn_based_aec_to_parallel(NIM())],
    ids=["gymnasium", "vector", "parallel"],
)
def test_other_environments(env):
    refused(learners_for(RaceAEC()), env, TypeError, "env .*AEC")


def test_other_spaces():
    env = NIM()
    refused(learners_for(env) | {"player_1": agent_for(NIM(heaps=(1, 2)))}, env, ValueError, "made for")


@pytest.mark.parametrize("both", [False, True])
def test_agents_that_learn_by_self_play_and_those_that_do_not(both):
    """Minimax-Q must learn for both players. Win counting cannot learn for several players at once."""
    env = RaceAEC()
    minimax = agent_for(env, MinimaxQAgent)
    refused(
        {"left_0": minimax if both else agent_for(env), "right_1": minimax}, env, ValueError, "Minimax.*own turn"
    )
    refused(
        dict.fromkeys(env.possible_agents, agent_for(env, WinCountAgent)), env, ValueError, "WinCount.*self-play"
    )
