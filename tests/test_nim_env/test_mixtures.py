"""Opponents that draw a member for each game, in all environments."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from strategies import seeds

from nim_env import MixturePolicy, NimEnv, NimRules, NimVectorEnv, evaluation
from nim_env.policies import InvalidPolicyOutput, batched, query_policy

RULES = NimRules((3, 4, 5), misere=False)
MODES = ["NextStep", "SameStep", "Disabled"]
few_games = settings(max_examples=8, deadline=None)


def first(observation, action_mask):  # noqa: ARG001
    return int(action_mask.argmax())


def last(observation, action_mask):  # noqa: ARG001
    return int(np.flatnonzero(action_mask)[-1])


def make_pool(**arguments):
    return MixturePolicy(RULES, [first, last], draw="game", **arguments)


def single_games(number, seed, opponent, at_reset=lambda _: None, **arguments):
    """The opponent's moves of games against random play: a list of ``(heaps, heaps after)`` for each game."""
    env = NimEnv(RULES.heaps, misere=False, opponent=opponent, **arguments)
    generator, games = np.random.default_rng(seed), []
    for game in range(number):
        observation, info = env.reset(seed=None if game else seed)
        at_reset(env)
        moves = [] if tuple(observation) == RULES.heaps else [(RULES.heaps, observation)]
        terminated = False
        while not terminated:
            action = generator.choice(np.flatnonzero(info["action_mask"]))
            between = RULES.apply(observation, action)
            observation, _, terminated, _, info = env.step(action)
            if between.any():
                moves.append((between, observation))
        games.append(moves)
    return games


def vector_games(number, seed, opponent, mode, at_reset=lambda _: None, **arguments):
    """The same of a vector environment, in the order in which the games end."""
    env = NimVectorEnv(7, RULES.heaps, misere=False, opponent=opponent, autoreset_mode=mode, **arguments)
    generator, games = np.random.default_rng(seed), []
    observations, infos = env.reset(seed=seed)
    at_reset(env)
    moves, is_over = [opening(heaps) for heaps in observations], np.zeros(7, dtype=bool)
    while len(games) < number:
        actions = [generator.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]]
        after, _, terminated, truncated, infos = env.step(actions)
        ended = terminated | truncated
        for i in np.flatnonzero(~is_over):
            between = RULES.apply(observations[i], actions[i])
            final = infos["final_obs"][i] if mode == "SameStep" and ended[i] else after[i]
            if between.any():
                moves[i].append((between, final))
            if ended[i]:
                games.append(moves[i])
        if mode == "Disabled" and ended.any():
            after, infos = env.reset(options={"reset_mask": ended})
        started = is_over if mode == "NextStep" else ended
        for i in np.flatnonzero(started):
            moves[i] = opening(after[i])
        observations, is_over = after, ended & (mode == "NextStep")
    return games


def opening(observation):
    return [] if tuple(observation) == RULES.heaps else [(RULES.heaps, observation)]


def made_by(member, moves):
    """Whether a member makes all the moves."""
    return all(
        np.array_equal(RULES.apply(heaps, member(None, RULES.action_mask(heaps))), after) for heaps, after in moves
    )


PLAYERS = {"single": single_games} | {
    mode: lambda *args, mode=mode, **kwargs: vector_games(*args, mode=mode, **kwargs) for mode in MODES
}
EVERY_ENVIRONMENT = pytest.mark.parametrize("play", PLAYERS.values(), ids=PLAYERS)


@EVERY_ENVIRONMENT
@few_games
@given(seed=seeds, first_player=st.sampled_from(["agent", "opponent", "random", "loser"]))
def test_one_member_makes_all_moves_of_a_game(play, seed, first_player):
    games = play(40, seed, make_pool(), first_player=first_player)
    makers = [(made_by(first, moves), made_by(last, moves)) for moves in games]
    assert {(True, False), (False, True)} <= set(makers) <= {(True, False), (False, True), (True, True)}
    by_move = play(40, seed, MixturePolicy(RULES, [first, last]), first_player=first_player)
    assert not all(made_by(first, moves) or made_by(last, moves) for moves in by_move)


@EVERY_ENVIRONMENT
def test_members_are_drawn_by_weight(play):
    """Where the opponent opens the game, its first move tells which member plays."""
    games = play(400, 5, make_pool(weights=[3, 1]), first_player="opponent")
    assert all(tuple(moves[0][0]) == RULES.heaps for moves in games)
    by_first = sum(made_by(first, moves[:1]) for moves in games)
    assert by_first + sum(made_by(last, moves[:1]) for moves in games) == len(games)
    # games that end sooner are counted sooner: a bias of the count in vector environments, not of the draws
    assert binomtest(by_first, len(games), 0.75).pvalue > 1e-4


@EVERY_ENVIRONMENT
def test_one_seed_gives_the_same_games(play):
    found = [play(30, seed, make_pool()) for seed in (1, 1, 2)]
    as_lists = [[[np.array(move).tolist() for move in moves] for moves in games] for games in found]
    assert as_lists[0] == as_lists[1] != as_lists[2]


@pytest.mark.parametrize("mode", MODES)
def test_truncated_episodes_get_a_new_member(mode):
    games = vector_games(200, 0, make_pool(), mode, first_player="opponent", max_episode_steps=1)
    assert all(made_by(first, moves) or made_by(last, moves) for moves in games)
    assert 60 < sum(made_by(first, moves[:1]) for moves in games) < 140


@EVERY_ENVIRONMENT
def test_a_game_keeps_its_member(play):
    """Also when the pool changes."""
    pool = MixturePolicy(RULES, [first], max_size=1, draw="game")
    games = play(8, 0, pool, at_reset=lambda _: pool.add(last), first_player="opponent")
    n_first = 1 if play is single_games else 7
    is_first = [made_by(first, moves) for moves in games]
    assert sum(is_first) == n_first
    assert all(made_by(last, moves) for moves, is_made in zip(games, is_first, strict=True) if not is_made)


@EVERY_ENVIRONMENT
def test_a_changed_opponent_plays_at_once(play):
    pool = MixturePolicy(RULES, [last], draw="game")
    games = play(20, 0, first, at_reset=lambda env: env.set_opponent(pool), first_player="agent")
    assert all(made_by(last, moves) for moves in games)
    games = play(1, 0, pool, at_reset=lambda env: env.set_opponent(first), first_player="agent")
    assert all(made_by(first, moves) for moves in games)


@pytest.mark.parametrize("mode", MODES)
def test_returns_are_those_of_exact_evaluation(mode):
    mixture = MixturePolicy(RULES, ["random", "take-1", "expert"], weights=[2, 1, 1], draw="game")
    env = gym.make_vec(
        "Nim-v0", 500, heaps=RULES.heaps, misere=False, opponent=mixture, first_player="agent", autoreset_mode=mode
    )
    _, infos = env.reset(seed=3)
    generator, wins, is_open = np.random.default_rng(0), [], np.ones(500, dtype=bool)
    while is_open.any():  # the first game of each environment
        scores = generator.random(infos["action_mask"].shape) * infos["action_mask"]
        _, rewards, terminated, _, infos = env.step(scores.argmax(axis=1))
        wins += (rewards[terminated & is_open] > 0).tolist()
        is_open &= ~terminated
        if mode == "Disabled" and terminated.any():
            _, infos = env.reset(options={"reset_mask": terminated})
    exact = evaluation.win_probability(RULES, "random", mixture, moves_first=True)
    assert binomtest(sum(wins), len(wins), exact).pvalue > 1e-4


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("make", [NimEnv, NimVectorEnv])
def test_copies_play_the_same_games(make, copied):
    env = make(heaps=RULES.heaps, misere=False, opponent=make_pool())
    env.reset(seed=4)
    twin = copied(env)
    for _ in range(40):
        action = env.action_masks().argmax(axis=-1)
        if env.action_masks().all() and make is NimEnv:  # the game is over
            results = [each.reset() for each in (env, twin)]
        else:
            results = [each.step(action) for each in (env, twin)]
        np.testing.assert_array_equal(results[0][0], results[1][0])


@pytest.mark.parametrize("make", [NimEnv, NimVectorEnv])
def test_a_mixture_without_members_changes_nothing(make):
    empty = MixturePolicy(RULES, draw="game")
    with pytest.raises(ValueError, match="members"):
        make(heaps=RULES.heaps, misere=False, opponent=empty).reset(seed=0)
    env = make(heaps=RULES.heaps, misere=False, opponent=first)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="members"):
        env.set_opponent(empty)
    assert env.opponent is first
    env.step(env.action_masks().argmax(axis=-1))


def test_the_first_environment_with_a_wrong_member_is_named():
    def wrong(observations, action_masks):  # noqa: ARG001
        return np.full(len(observations), 99)

    pool = MixturePolicy(RULES, [first, batched(wrong)], draw="game")
    for seed in range(5):
        env = NimVectorEnv(40, RULES.heaps, misere=False, opponent=pool, first_player="agent")
        env.reset(seed=seed)
        drawn = pool.draw_members(np.random.default_rng(seed), 40)  # the first draws of the environment
        expected = [member is pool.policies[1] for member in drawn].index(True)
        with pytest.raises(InvalidPolicyOutput, match=f"environment {expected}: opponent.*99") as caught:
            env.step(np.zeros(40, dtype=int))
        assert caught.value.index == (expected,)


def test_members_in_the_aec_environment():
    """It takes no opponent: each game's player is drawn before it."""
    env = pettingzoo.make("aec", "nim-v0", heaps=RULES.heaps, misere=False)
    generator, made = np.random.default_rng(0), []
    for member in make_pool().draw_members(generator, 30):
        moves = []
        env.reset()
        for player in env.agent_iter():
            observation, _, terminated, _, _ = env.last()
            if terminated:
                break
            heaps, mask = observation["observation"], observation["action_mask"]
            if player == "player_0":
                action = int(query_policy(member, heaps, mask).argmax())
                moves.append((heaps, RULES.apply(heaps, action)))
            else:
                action = int(generator.choice(np.flatnonzero(mask)))
            env.step(action)
        made.append((made_by(first, moves), made_by(last, moves)))
    assert set(made) == {(True, False), (False, True)}
