"""Tests training: which transitions agents get in each kind of environment, and what they learn from them."""

from functools import partial
from itertools import chain

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from agent_helpers import MODES, SELF_PLAY, Constant, agent_for, recorder
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from other_games import GOAL, OnlyTheAPI, RaceAEC, RaceGym
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import agents
from agents import MinimaxQAgent, QLearningAgent, WinCountAgent
from nim_env import NimRules, evaluation

# --- Against the definition: the episodes of Race, written down and cut into transitions -----------


def written_down(actions, start, truncate_after, bonuses):
    """Plays an episode of the race to ten. Returns its plies, the last counter, and whether it has terminated.

    A ply is a tuple ``(player, counter, action, reward)``.
    """
    plies, counter = [], start
    while counter < GOAL and len(plies) != truncate_after:
        action = actions[counter]
        plies.append((len(plies) % 2, counter, action, bonuses[counter] + (counter + action >= GOAL)))
        counter += action
    return plies, counter, counter >= GOAL


def transitions_of(plies, last, terminated, alone, bootstraps_from, has_masks):
    """Returns the transitions that the agents must get from an episode, by the definition in ``agents.Agent``."""
    told = []
    for number, (player, counter, action, reward) in enumerate(plies):
        rest = plies[number + 1 :]
        if not alone and bootstraps_from == "own turn":
            own = next((index for index, ply in enumerate(rest) if ply[0] == player), None)
            if own is None and not terminated and len(plies) % 2 != player:
                continue  # the player has just moved when the episode is truncated
            reward -= sum(ply[3] for ply in rest[:own])
            rest = [] if own is None else rest[own:]
        observed, over = (rest[0][1], False) if rest else (last, terminated)
        mask = (1, int(observed != 3 or not has_masks or over))
        told.append((counter, action, reward, observed, over, mask))
    return told


def first_to_begin(lengths, mode, n):
    """Returns the environments of the ``n`` episodes that begin first, in the order in which the episodes end.

    Each episode of environment i has ``lengths[i]`` plies.
    """
    pauses = int(mode is AutoresetMode.NEXT_STEP)
    begins = [(k * (length + pauses), i, length) for i, length in enumerate(lengths) for k in range(n)]
    counted = sorted(begins)[:n]
    return [i for _, i, _ in sorted(counted, key=lambda each: (each[0] + each[2], each[1]))]  # as they end


@pytest.mark.parametrize("bootstraps_from", ["own turn", "opponent turn"])
@pytest.mark.parametrize("api", ["gymnasium", "aec", *MODES])
@given(data=st.data())
@settings(max_examples=60)
def test_the_transitions_are_those_of_the_definition(api, bootstraps_from, data):
    masks, alone = data.draw(st.sampled_from([None, "info", "observation"])), data.draw(st.booleans())
    alone = alone and bootstraps_from == "own turn"
    actions = data.draw(st.lists(st.integers(1, 2), min_size=GOAL + 2, max_size=GOAL + 2))
    actions[3] = 1
    bonuses = data.draw(st.lists(st.sampled_from([0.0, 0.25, -1.0]), min_size=GOAL, max_size=GOAL))
    n_envs = data.draw(st.integers(1, 4)) if api in MODES else 1
    games = [(data.draw(st.integers(0, 9)), data.draw(st.none() | st.integers(1, 8))) for _ in range(n_envs)]
    n = data.draw(st.integers(0, 9))

    makers = [partial(RaceGym, *game, bonuses, alone, masks) for game in games]
    if api in MODES:
        env = SyncVectorEnv(makers, copy=data.draw(st.booleans()), autoreset_mode=api)
    else:
        env = RaceAEC(*games[0], bonuses, alone, masks) if api == "aec" else makers[0]()
    agent = recorder(env, actions, bootstraps_from=bootstraps_from)
    history = agents.train(agent, env, n)

    episodes = [written_down(actions, *game, bonuses) for game in games]
    order = first_to_begin([len(plies) for plies, *_ in episodes], api, n)
    expected = [transitions_of(*episodes[i], alone, bootstraps_from, masks is not None) for i in order]
    assert history.lengths.tolist() == [len(episodes[i][0]) for i in order]
    signs = (1, 1) if alone else (1, -1)
    returns = [sum(signs[player] * reward for player, _, _, reward in episodes[i][0]) for i in order]
    assert history.returns.tolist() == returns
    if api in MODES:
        expected = [list(chain.from_iterable(expected))]
    else:
        assert agent.told.pop() == []
    assert list(map(sorted, agent.told)) == list(map(sorted, expected))


def test_an_episode_that_an_error_cuts_short_ends():
    class Broken(RaceGym):
        def step(self, action):
            return super().step(action if self.plies < 3 else 0)

    agent = recorder(RaceGym(), [2] * 12)
    with pytest.raises(AssertionError):
        agents.train(agent, Broken(), 1)
    episode, rest = agent.told
    assert episode
    assert not rest


# --- What is learned -------------------------------------------------------------------------------


def test_self_play_masters_1_3_5_7():
    """With the settings of system 1, 97.5 % of all seeds make the right move in 98 % of the winning positions."""
    env = pettingzoo.make("aec", "nim-v0")
    agent = agent_for(env, learning_rate=0.5, epsilon=0.1, gamma=1)
    agents.train(agent, env, 10_000, seed=0)
    assert evaluation.mastery(NimRules(), agent).expert >= 0.98


@pytest.mark.parametrize("kind", [QLearningAgent, MinimaxQAgent])
def test_every_api_gives_the_same_self_play_with_illegal_actions(kind):
    """A player who chooses an illegal action loses, and the other player gets no reward, as in PettingZoo."""

    class IgnoresMasks(kind):
        def act(self, observation, action_mask=None, explore=False):  # noqa: ARG002
            return super().act(observation, None, explore)

    learned = []
    for make in SELF_PLAY:
        env = make(heaps=(1, 2, 3))
        agent = agent_for(env, IgnoresMasks)
        history = agents.train(agent, env, 200, seed=3)
        assert 0 in history.returns  # an illegal action of the other player
        learned.append((agent.table.values.tolist(), history.returns.tolist()))
    assert learned == learned[:1] * len(learned)


# --- The run ---------------------------------------------------------------------------------------

ENVIRONMENTS = {
    "gymnasium": partial(gym.make, "Nim-v0"),
    "self-play": partial(gym.make, "Nim-v0", opponent=None, random_start=True),
    "pettingzoo": partial(pettingzoo.make, "aec", "nim-v0", random_start=True),
    **{mode: partial(gym.make_vec, "Nim-v0", 8, autoreset_mode=mode) for mode in MODES},
    "vector self-play": partial(gym.make_vec, "Nim-v0", 8, opponent=None, random_start=True),
}
EVERY_KIND = pytest.mark.parametrize("make", ENVIRONMENTS.values(), ids=list(ENVIRONMENTS))
APIS = gym.Env, gym.vector.VectorEnv, pettingzoo.AECEnv


@EVERY_KIND
def test_one_seed_gives_one_run_which_needs_nothing_but_the_api(make):
    def run(seed, proxied):
        env = make()
        agent = agent_for(env, seed=0)
        api = next(api for api in APIS if isinstance(env, api))
        history = agents.train(agent, OnlyTheAPI(env, api) if proxied else env, 100, seed=seed)
        return agent.table.values.tolist(), history.returns.tolist(), history.lengths.tolist()

    assert run(1, False) == run(1, True) != run(2, False)


@EVERY_KIND
@pytest.mark.parametrize("answer", [bool, np.bool_])
def test_the_history_and_the_callback(make, answer):
    env = make()
    agent = agent_for(env)
    called = []

    def watch(learner, history):
        assert learner is agent
        assert agent.progress_remaining == 1 - [0, *called][-1] / 50
        called.append(len(history.returns))
        return answer(called[-1] < 30)

    history = agents.train(agent, env, 50, seed=0, callback=watch)
    assert len(history.returns) == len(history.lengths) == called[-1] >= 30 > called[-2]
    assert called == sorted(set(called))
    for episodes in (0, 1, 20):
        history = agents.train(agent, env, episodes, callback=lambda *_: None)
        assert (history.returns.dtype, history.lengths.dtype) == (np.float64, np.int64)
        assert history.returns.shape == history.lengths.shape == (episodes,)
        assert set(history.returns) <= {-1, 1}
        assert agent.progress_remaining == 0


def test_a_progress_bar(capsys):
    env = gym.make("Nim-v0")
    agents.train(agent_for(env), env, 30, progress=True)
    assert "30.0/30.0" in capsys.readouterr().err
    agents.train(agent_for(env), env, 30)
    assert not capsys.readouterr().err


@pytest.mark.parametrize("mode", [None, *MODES])
def test_a_tuple_of_numbers(mode):
    """An observation of Blackjack is a tuple. The agent learns to stick on 20 and to hit on 11."""
    kwargs = {"vector_kwargs": {"autoreset_mode": mode}}
    env = gym.make("Blackjack-v1") if mode is None else gym.make_vec("Blackjack-v1", 8, "sync", **kwargs)
    agent = agent_for(env, learning_rate=lambda left: 0.02 + 0.3 * left, epsilon=0.3)
    agents.train(agent, env, 1500, seed=0)
    assert np.mean([agent.act((20, dealer, 0)) for dealer in range(2, 10)]) < 0.2
    assert np.mean([agent.act((11, dealer, 0)) for dealer in range(2, 10)]) > 0.6


# --- What is refused -------------------------------------------------------------------------------


def test_a_negative_number_of_episodes_is_refused():
    env = gym.make("SimpleNim-v0")
    with pytest.raises(ValueError, match="-1"):
        agents.train(agent_for(env), env, -1)


@EVERY_KIND
def test_an_agent_made_for_other_spaces_is_refused(make):
    env = make()
    for other in (gym.make("SimpleNim-v0"), gym.make("Nim-v0", heaps=(1, 3, 5, 8))):
        with pytest.raises(ValueError, match="made for"):
            agents.train(agent_for(other), env, 1)
    agent = QLearningAgent(gym.make("Nim-v0").observation_space, spaces.Discrete(15))
    with pytest.raises(ValueError, match="made for"):
        agents.train(agent, env, 1)


@EVERY_KIND
def test_minimax_learns_by_self_play_and_win_counting_on_single_environments(make):
    env = make()
    is_self_play = not isinstance(env, gym.Env | gym.vector.VectorEnv) or env.unwrapped.opponent is None
    is_single = not isinstance(env, gym.vector.VectorEnv)
    for kind, suits in ((MinimaxQAgent, is_self_play), (WinCountAgent, is_single and not is_self_play)):
        agent = agent_for(env, kind)
        if suits:
            assert len(agents.train(agent, env, 5).returns) == 5
        else:
            with pytest.raises(ValueError, match=rf"{kind.__name__} .*learn"):
                agents.train(agent, env, 1)


def test_parallel_environments_are_refused():
    env = pettingzoo.make("aec", "nim-v0")
    with pytest.raises(TypeError, match=r"env .*parallel"):
        agents.train(agent_for(env), turn_based_aec_to_parallel(env), 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_player_who_moves_twice_in_a_row(mode):
    """Training supports this in a single environment, but not in a vector environment."""

    class MovesAgain(RaceGym):
        def step(self, action):
            results = super().step(action)
            self.player = results[-1]["to_play"] = self.plies // 2 % 2
            return results

    agent = recorder(MovesAgain(), [1] * GOAL)
    agents.train(agent, MovesAgain(), 1)
    observed = [(transition[0], transition[3]) for transition in agent.told[0]]
    assert sorted(observed) == [(0, 1), (1, 4), (2, 3), (3, 6), (4, 5), (5, 8), (6, 7), (7, 10), (8, 9), (9, 10)]
    env = SyncVectorEnv([MovesAgain] * 2, autoreset_mode=mode)
    with pytest.raises(ValueError, match="alternate"):
        agents.train(agent_for(env), env, 1)


@pytest.mark.parametrize("n", [1, 3])
def test_minimax_needs_two_players(n):
    class Players(RaceAEC):
        possible_agents = ["left_0", "right_1", "middle_2"][:n]

    with pytest.raises(ValueError, match="MinimaxQAgent"):
        agents.train(agent_for(Players(), MinimaxQAgent), Players(), 1)


@EVERY_KIND
def test_an_action_outside_the_space(make):
    env = make()
    agent = agent_for(env, Constant)
    for agent.answer, error in ((16, ValueError), (-1, ValueError), (1.0, TypeError), (None, TypeError)):
        with pytest.raises(error, match=rf"Constant's action .*{agent.answer}"):
            agents.train(agent, env, 1, seed=0)


def test_what_is_an_action():
    env = gym.make("SimpleNim-v0", opponent=None)
    agent = agent_for(env, Constant)
    for agent.answer in (np.int64(2), np.array(2), np.uint8(2)):
        assert agents.train(agent, env, 1).lengths.tolist() == [7]
    agent.act_batch = lambda observations, *_, **__: np.full(len(observations), 1.5)
    with pytest.raises(TypeError):
        agents.train(agent, gym.make_vec("SimpleNim-v0", 3), 1)


@pytest.mark.parametrize("in_vector", [False, True])
@pytest.mark.parametrize(("legal", "bonus", "message"), [(1, np.nan, "reward"), (0, 0.0, "action_mask")])
def test_wrong_rewards_and_masks_of_an_environment(legal, bonus, message, in_vector):
    class Careless(RaceGym):
        def described(self):
            return super().described()[0], {"action_mask": np.full(2, legal)}

    make = partial(Careless, bonuses=[bonus] * GOAL)
    env = SyncVectorEnv([make] * 3) if in_vector else make()
    agent = agent_for(env)
    with pytest.raises(ValueError, match=message):
        agents.train(agent, env, 5, seed=0)
    assert not agent.table.values.any()
