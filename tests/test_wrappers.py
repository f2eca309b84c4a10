"""Other ways to show a position: against plain Python, and around each kind of environment."""

import contextlib
import copy
import io
import pickle

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from configurations import SIMPLE
from expected_warnings import EXPECTED_OF_PETTINGZOO, no_warning_but
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from pettingzoo.test import api_test
from strategies import rules as any_rules

import agents
import nim_env  # noqa: F401  registers
from nim_env import evaluation, wrappers

ENCODINGS = {"bits": wrappers.bits, "unary": wrappers.unary, "one-hot": wrappers.one_hot}
MODES = ["NextStep", "SameStep", "Disabled"]


def plainly(name, sizes, starts):
    """The numbers of a position, in plain Python."""
    heaps = list(zip(sizes, starts, strict=True))
    if name == "unary":
        text = "|".join("." * (start - size) + "o" * size for size, start in heaps)
        return [{".": 0, "o": 1, "|": -1}[token] for token in text]
    if name == "one-hot":
        return [int(size == other) for size, start in heaps for other in range(start + 1)]
    digits = [(size, len(f"{start:b}")) for size, start in heaps if start]
    return [int(digit) for size, width in digits for digit in reversed(f"{size:0{width}b}")]


def test_by_hand():
    env = gym.make("Nim-v0", heaps=(1, 3, 5))
    assert wrappers.bits(env).encode((1, 2, 4)).tolist() == [1, 0, 1, 0, 0, 1]
    assert wrappers.unary(env).encode((1, 2, 4)).tolist() == [1, -1, 0, 1, 1, -1, 0, 1, 1, 1, 1]
    assert wrappers.one_hot(env).encode((1, 2, 4)).tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
    assert wrappers.unary(env).encode((1, 3, 5)).tolist() == [1, -1, 1, 1, 1, -1, 1, 1, 1, 1, 1]  # the paper's own
    lengths = [f(gym.make("Nim-v0")).observation_space.shape for f in ENCODINGS.values()]
    assert lengths == [(9,), (19,), (20,)]


@given(any_rules, st.data())
def test_every_encoding_is_the_plain_one(rules, data):
    env = gym.make("Nim-v0", heaps=rules.heaps, max_take=rules.max_take, misere=rules.misere, opponent=None)
    batch = data.draw(st.lists(st.tuples(*(st.integers(0, heap) for heap in rules.heaps)), min_size=1, max_size=5))
    for name, wrap in ENCODINGS.items():
        encode = wrap(env).encode
        expected = [plainly(name, sizes, rules.heaps) for sizes in batch]
        shown = encode(batch)
        assert shown.dtype == np.float32
        np.testing.assert_array_equal(shown, np.array(expected, dtype=np.float32).reshape(shown.shape))
        np.testing.assert_array_equal(encode(batch[0]), shown[0])
        np.testing.assert_array_equal(encode([batch]), shown[None])
        assert encode(batch[0]) in encode.space


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_two_positions_look_alike(name):
    env = gym.make("Nim-v0", heaps=(3, 0, 4), opponent=None)
    every = np.indices(env.unwrapped.rules.shape).reshape(3, -1).T
    assert len(np.unique(ENCODINGS[name](env).encode(every), axis=0)) == len(every)


def both(env, name):
    """The environment wrapped by an encoding, and by the mask beside it."""
    return ENCODINGS[name](env), wrappers.masked_dict(ENCODINGS[name](env))


def check_mask_beside(shown, observation, mask):
    assert shown.keys() == {"observations", "action_mask"}
    for part in shown.values():
        assert part.dtype == np.float32
    np.testing.assert_array_equal(shown["observations"], observation)
    np.testing.assert_array_equal(shown["action_mask"], mask)


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_single_environment(name):
    plain = gym.make("Nim-v0", opponent="take-3")
    encoded, _ = both(gym.make("Nim-v0", opponent="take-3"), name)
    _, masked = both(gym.make("Nim-v0", opponent="take-3"), name)
    ends = 0
    for seed in range(20):
        (heaps, info), (one, one_info), (other, other_info) = (
            env.reset(seed=seed) for env in (plain, encoded, masked)
        )
        over = False
        while True:
            np.testing.assert_array_equal(one, plainly(name, heaps.tolist(), (1, 3, 5, 7)))
            assert one in encoded.observation_space
            assert other in masked.observation_space
            check_mask_beside(other, one, info["action_mask"])
            np.testing.assert_equal((one_info, other_info), (info, info))
            if over:
                break
            action = info["action_mask"].argmax()
            heaps, *outcome, info = plain.step(action)
            one, *one_outcome, one_info = encoded.step(action)
            other, *other_outcome, other_info = masked.step(action)
            assert outcome == one_outcome == other_outcome
            over = outcome[1]
        ends += 1
    assert ends == 20


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ENCODINGS)
def test_the_vector_environment(name, mode):
    def games():
        return gym.make_vec("Nim-v0", num_envs=6, opponent="take-3", autoreset_mode=mode)

    plain, (encoded, _), (_, masked) = games(), both(games(), name), both(games(), name)
    every = plain, encoded, masked
    told = [env.reset(seed=3) for env in every]
    ended = 0
    for _ in range(40):
        (heaps, infos), (one, one_infos), (other, other_infos) = ((step[0], step[-1]) for step in told)
        expected = [plainly(name, sizes, (1, 3, 5, 7)) for sizes in heaps.tolist()]
        np.testing.assert_array_equal(one, expected)
        assert one in encoded.observation_space
        assert other in masked.observation_space
        check_mask_beside(other, one, infos["action_mask"])
        assert infos.keys() == one_infos.keys() == other_infos.keys()
        for game in np.flatnonzero(infos.get("_final_obs", [])):
            final = plainly(name, infos["final_obs"][game].tolist(), (1, 3, 5, 7))
            np.testing.assert_array_equal(one_infos["final_obs"][game], final)
            assert one_infos["final_obs"][game] in encoded.single_observation_space
            check_mask_beside(other_infos["final_obs"][game], final, infos["final_info"]["action_mask"][game])
            assert other_infos["final_obs"][game] in masked.single_observation_space
        actions = infos["action_mask"].argmax(axis=1)
        told = [env.step(actions) for env in every]
        for step in told[1:]:
            for mine, theirs in zip(step[1:4], told[0][1:4], strict=True):
                np.testing.assert_array_equal(mine, theirs)
        over = told[0][2]
        ended += over.sum()
        if mode == "Disabled" and over.any():
            told = [env.reset(options={"reset_mask": over}) for env in every]
    assert ended > 10


@pytest.mark.parametrize("name", ENCODINGS)
def test_two_players(name):
    plain = pettingzoo.make("aec", "nim-v0")
    encoded, masked = both(pettingzoo.make("aec", "nim-v0"), name)
    _, masked = both(pettingzoo.make("aec", "nim-v0"), name)
    generator = np.random.default_rng(0)
    for env in (plain, encoded, masked):
        env.reset(seed=0)
    plies = 0
    for player in plain.agent_iter():
        assert encoded.agent_selection == masked.agent_selection == player
        seen, *rest = plain.last()
        one, *one_rest = encoded.last()
        other, *other_rest = masked.last()
        assert rest == one_rest == other_rest
        np.testing.assert_array_equal(
            one["observation"], plainly(name, seen["observation"].tolist(), (1, 3, 5, 7))
        )
        np.testing.assert_array_equal(one["action_mask"], seen["action_mask"])
        assert one["action_mask"].dtype == np.int8
        check_mask_beside(other, one["observation"], seen["action_mask"])
        for player_seen in plain.possible_agents:
            assert encoded.observe(player_seen) in encoded.observation_space(player_seen)
            assert masked.observe(player_seen) in masked.observation_space(player_seen)
        assert encoded.last(observe=False)[0] is None
        action = None if rest[1] else generator.choice(np.flatnonzero(seen["action_mask"]))
        for env in (plain, encoded, masked):
            env.step(action)
        plies += 1
    assert plies > 4
    assert list(encoded.agent_iter()) == []


def test_the_mask_beside_the_heap_sizes():
    env = wrappers.masked_dict(gym.make("Nim-v0"))
    shown, info = env.reset(seed=0)
    check_mask_beside(shown, gym.make("Nim-v0").reset(seed=0)[0], info["action_mask"])
    assert env.observation_space["observations"].high.tolist() == [1, 3, 5, 7]
    assert shown in env.observation_space
    aec = wrappers.masked_dict(pettingzoo.make("aec", "nim-v0"))
    aec.reset()
    check_mask_beside(aec.observe("player_0"), [1, 3, 5, 7], [1] * 16)
    check_mask_beside(aec.observe("player_1"), [1, 3, 5, 7], [0] * 16)


@pytest.mark.parametrize("wrap", [*ENCODINGS.values(), wrappers.masked_dict])
def test_the_checkers_of_the_libraries(wrap):
    for game in ({}, {**SIMPLE, "opponent": None}):
        with pytest.warns(UserWarning, match="is different from the unwrapped version") as told:
            check_env(wrap(gym.make("Nim-v0", **game)), skip_render_check=True)
        assert len(told) == 1
    if wrap is wrappers.masked_dict:
        return  # PettingZoo's own draws from integer masks called "action_mask"
    with contextlib.redirect_stdout(io.StringIO()), no_warning_but(EXPECTED_OF_PETTINGZOO):
        api_test(wrap(pettingzoo.make("aec", "nim-v0")), num_cycles=100)


def play(env, steps=30):
    """What a vector environment shows."""
    shown, infos = env.reset(seed=5)
    seen = [shown]
    for _ in range(steps):
        shown, *_, infos = env.step(infos["action_mask"].argmax(axis=1))
        seen.append(shown)
    return seen


def test_wrapped_environments_are_copied_and_made_anew():
    env = wrappers.masked_dict(wrappers.unary(gym.make("Nim-v0")))
    again = gym.make(env.spec)
    assert again.observation_space == env.observation_space
    np.testing.assert_equal(again.reset(seed=1), env.reset(seed=1))
    for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        np.testing.assert_equal(other.step(0), copy.deepcopy(env).step(0))
    envs = wrappers.masked_dict(wrappers.bits(gym.make_vec("Nim-v0", num_envs=3)))
    np.testing.assert_equal(play(pickle.loads(pickle.dumps(envs))), play(envs))
    aec = wrappers.one_hot(pettingzoo.make("aec", "nim-v0"))
    aec.reset()
    aec.step(3)
    np.testing.assert_equal(pickle.loads(pickle.dumps(aec)).last(), aec.last())


def test_what_is_shown_is_the_callers_to_overwrite():
    env, other = (wrappers.masked_dict(gym.make_vec("Nim-v0", num_envs=3, opponent=None)) for _ in range(2))
    for seen in (env.reset(seed=0)[0], other.reset(seed=0)[0]):
        assert seen["action_mask"].all()
    for _ in range(10):
        shown, *_, infos = env.step([0, 1, 2])
        expected = other.step([0, 1, 2])[0]
        np.testing.assert_equal(shown, expected)
        shown["action_mask"][:] = 7
        shown["observations"][:] = 7
        assert infos["action_mask"].max() <= 1


def test_an_agent_learns_from_what_is_shown():
    env = wrappers.bits(gym.make("Nim-v0", heaps=(2, 1), opponent=None))
    agent = agents.QLearningAgent(env.observation_space, env.action_space, learning_rate=0.5, seed=0)
    agents.train(agent, env, 300, seed=0)
    assert evaluation.mastery(env.unwrapped.rules, lambda o, m: agent.act(env.encode(o), m)).expert == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wrappers.bits("Nim-v0"), TypeError, "env must be an environment of Nim.*got 'Nim-v0'"),
        (
            lambda: wrappers.unary(gym.make("CartPole-v1")),
            TypeError,
            "env must be an environment of Nim.*CartPole",
        ),
        (
            lambda: wrappers.masked_dict(gym.make_vec("CartPole-v1", 2)),
            TypeError,
            "env must be an environment of Nim",
        ),
        (lambda: wrappers.one_hot(gym.make), TypeError, "env must be an environment of Nim"),
        (
            lambda: wrappers.bits(wrappers.bits(gym.make("Nim-v0"))),
            TypeError,
            "env must show heap sizes; got.*Box",
        ),
        (
            lambda: wrappers.bits(wrappers.masked_dict(gym.make("Nim-v0"))),
            TypeError,
            "env must show heap sizes; got",
        ),
        (
            lambda: wrappers.masked_dict(wrappers.masked_dict(pettingzoo.make("aec", "nim-v0"))),
            TypeError,
            "env must show heap sizes or one of their encodings; got",
        ),
        (
            lambda: wrappers.masked_dict(gym.wrappers.FlattenObservation(gym.make("Nim-v0"))),
            TypeError,
            "env must show heap sizes or one of their encodings; got",
        ),
        (
            lambda: wrappers.bits(wrappers.masked_dict(pettingzoo.make("aec", "nim-v0"))),
            TypeError,
            "env must show heap sizes; got",
        ),
        (lambda: wrappers.EncodedEnv(gym.make("Nim-v0"), "hex"), ValueError, "encoding must be one of.*got 'hex'"),
        (lambda: wrappers.bits(gym.make("Nim-v0")).encode((1, 3, 5)), ValueError, "heaps"),
        (lambda: wrappers.bits(gym.make("Nim-v0")).encode((1, 3, 5, 8)), ValueError, "heaps"),
        (lambda: wrappers.bits(gym.make("Nim-v0")).encode((1, 3, 5, 0.5)), TypeError, "heaps"),
        (lambda: wrappers.bits(gym.make("Nim-v0")).step(0), gym.error.ResetNeeded, "reset"),
        (lambda: wrappers.bits(pettingzoo.make("aec", "nim-v0")).last(), gym.error.ResetNeeded, "reset"),
        (
            lambda: wrappers.bits(pettingzoo.make("aec", "nim-v0")).observe("player_0"),
            gym.error.ResetNeeded,
            "reset",
        ),
        (lambda: wrappers.bits(pettingzoo.make("aec", "nim-v0")).agent_iter(), gym.error.ResetNeeded, "reset"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
