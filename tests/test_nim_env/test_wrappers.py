"""Observation encodings against plain Python, around each kind of environment."""

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

from nim_env import wrappers

ENCODINGS = {"bits": wrappers.bits, "unary": wrappers.unary, "one-hot": wrappers.one_hot}
EVERY_ENCODING = pytest.mark.parametrize("name", ENCODINGS)


def encoded_plainly(name, sizes, starts=(1, 3, 5, 7)):
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
    assert wrappers.unary(env).encode((1, 3, 5)).tolist() == [1, -1, 1, 1, 1, -1, 1, 1, 1, 1, 1]  # as in the paper
    lengths = [wrap(gym.make("Nim-v0")).observation_space.shape for wrap in ENCODINGS.values()]
    assert lengths == [(9,), (19,), (20,)]


@given(any_rules, st.data())
def test_encodings_equal_plain_python(rules, data):
    arguments = {"heaps": rules.heaps, "max_take": rules.max_take, "misere": rules.misere, "opponent": None}
    env = gym.make("Nim-v0", **arguments)
    batch = data.draw(st.lists(st.tuples(*(st.integers(0, heap) for heap in rules.heaps)), min_size=1, max_size=5))
    for name, wrap in ENCODINGS.items():
        encode = wrap(env).encode
        encoded = encode(batch)
        assert encoded.dtype == np.float32
        expected = np.array([encoded_plainly(name, sizes, rules.heaps) for sizes in batch])
        np.testing.assert_array_equal(encoded, expected.reshape(encoded.shape))
        np.testing.assert_array_equal(encode(batch[0]), encoded[0])
        np.testing.assert_array_equal(encode([batch]), encoded[None])
        assert encode(batch[0]) in encode.space
        check_masked(wrappers.masked_dict(wrap(env)).encode(batch), encoded, rules.action_mask(batch))


def test_classes_take_names():
    for wrapper, env in (
        (wrappers.EncodedEnv, gym.make("Nim-v0")),
        (wrappers.EncodedVectorEnv, gym.make_vec("Nim-v0", 2)),
        (wrappers.EncodedAECEnv, pettingzoo.make("aec", "nim-v0")),
    ):
        check_masked(wrapper(env, "masked-dict").encode((1, 0, 0, 0)), [1, 0, 0, 0], [1] + [0] * 15)
        for name in ENCODINGS:
            encoded = wrapper(env, name)
            np.testing.assert_array_equal(encoded.encode((1, 2, 0, 4)), encoded_plainly(name, (1, 2, 0, 4)))
            masked = wrapper(encoded, "masked-dict").encode((1, 0, 0, 0))
            check_masked(masked, encoded.encode((1, 0, 0, 0)), [1] + [0] * 15)
        with pytest.raises(ValueError, match=r"encoding.*'hex'"):
            wrapper(env, "hex")
    with pytest.raises(ValueError, match=r"name.*'hex'"):
        wrappers.HeapEncoding("hex", env)


def check_masked(observation, expected, mask):
    assert observation.keys() == {"observations", "action_mask"}
    for part, value in (("observations", expected), ("action_mask", mask)):
        assert observation[part].dtype == np.float32
        np.testing.assert_array_equal(observation[part], value)


@EVERY_ENCODING
def test_gymnasium(name):
    plain, inner, outer = (gym.make("Nim-v0", opponent="take-3") for _ in range(3))
    encoded, masked = ENCODINGS[name](inner), wrappers.masked_dict(ENCODINGS[name](outer))
    for seed in range(20):
        results, is_over = [env.reset(seed=seed) for env in (plain, encoded, masked)], False
        while True:
            (heaps, *rest), (first, *first_rest), (second, *second_rest) = results
            np.testing.assert_array_equal(first, encoded_plainly(name, heaps.tolist()))
            check_masked(second, first, rest[-1]["action_mask"])
            np.testing.assert_equal((first_rest, second_rest), (rest, rest))
            assert first in encoded.observation_space
            assert second in masked.observation_space
            if is_over:
                break
            action = rest[-1]["action_mask"].argmax()
            results = [env.step(action) for env in (plain, encoded, masked)]
            is_over = results[0][2]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@EVERY_ENCODING
def test_vector_environment(name, mode):
    arguments = {"num_envs": 6, "opponent": "take-3", "autoreset_mode": mode, "max_episode_steps": 6}
    plain, inner, outer = (gym.make_vec("Nim-v0", **arguments) for _ in range(3))
    encoded, masked = ENCODINGS[name](inner), wrappers.masked_dict(ENCODINGS[name](outer))
    results, episodes = [env.reset(seed=3) for env in (plain, encoded, masked)], 0
    for _ in range(40):
        (heaps, *rest), (first, *first_rest), (second, *second_rest) = results
        infos, first_infos, second_infos = rest.pop(), first_rest.pop(), second_rest.pop()
        np.testing.assert_array_equal(first, [encoded_plainly(name, sizes) for sizes in heaps.tolist()])
        check_masked(second, first, infos["action_mask"])
        np.testing.assert_equal((first_rest, second_rest), (rest, rest))
        assert first in encoded.observation_space
        assert second in masked.observation_space
        assert infos.keys() == first_infos.keys() == second_infos.keys()
        for env in np.flatnonzero(infos.get("_final_obs", [])):
            final = encoded_plainly(name, infos["final_obs"][env].tolist())
            np.testing.assert_array_equal(first_infos["final_obs"][env], final)
            check_masked(second_infos["final_obs"][env], final, infos["final_info"]["action_mask"][env])
            assert first_infos["final_obs"][env] in encoded.single_observation_space
            assert second_infos["final_obs"][env] in masked.single_observation_space
        results = [env.step(infos["action_mask"].argmax(axis=1)) for env in (plain, encoded, masked)]
        is_over = results[0][2] | results[0][3]
        episodes += is_over.sum()
        if mode == "Disabled" and is_over.any():
            results = [env.reset(options={"reset_mask": is_over}) for env in (plain, encoded, masked)]
    assert episodes > 10


@EVERY_ENCODING
def test_pettingzoo(name):
    plain, inner, outer = (pettingzoo.make("aec", "nim-v0") for _ in range(3))
    encoded, masked = ENCODINGS[name](inner), wrappers.masked_dict(ENCODINGS[name](outer))
    generator, plies = np.random.default_rng(0), 0
    for env in (plain, encoded, masked):
        env.reset(seed=0)
    for player in plain.agent_iter():
        (observation, *rest), (first, *first_rest), (second, *second_rest) = (
            env.last() for env in (plain, encoded, masked)
        )
        assert encoded.agent_selection == masked.agent_selection == player
        assert rest == first_rest == second_rest
        np.testing.assert_array_equal(
            first["observation"], encoded_plainly(name, observation["observation"].tolist())
        )
        np.testing.assert_array_equal(first["action_mask"], observation["action_mask"])
        assert first["action_mask"].dtype == np.int8
        check_masked(second, first["observation"], observation["action_mask"])
        for each in plain.possible_agents:
            assert encoded.observe(each) in encoded.observation_space(each)
            assert masked.observe(each) in masked.observation_space(each)
        assert encoded.last(observe=False)[0] is None
        action = None if rest[1] else generator.choice(np.flatnonzero(observation["action_mask"]))
        for env in (plain, encoded, masked):
            env.step(action)
        plies += 1
    assert plies > 4
    assert list(encoded.agent_iter()) == []


@pytest.mark.parametrize("wrap", [*ENCODINGS.values(), wrappers.masked_dict])
def test_checkers(wrap):
    for arguments in ({}, {**SIMPLE, "opponent": None}):
        with pytest.warns(UserWarning, match="is different from the unwrapped version") as warned:
            check_env(wrap(gym.make("Nim-v0", **arguments)), skip_render_check=True)
        assert len(warned) == 1
    if wrap is not wrappers.masked_dict:  # PettingZoo's checker draws from integer masks called "action_mask"
        with contextlib.redirect_stdout(io.StringIO()), no_warning_but(EXPECTED_OF_PETTINGZOO):
            api_test(wrap(pettingzoo.make("aec", "nim-v0")), num_cycles=100)


def test_copies_and_specs():
    env = wrappers.masked_dict(wrappers.unary(gym.make("Nim-v0")))
    again = gym.make(env.spec)
    assert again.observation_space == env.observation_space
    np.testing.assert_equal(again.reset(seed=1), env.reset(seed=1))
    for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        np.testing.assert_equal(other.step(0), copy.deepcopy(env).step(0))
    envs = wrappers.masked_dict(wrappers.bits(gym.make_vec("Nim-v0", num_envs=3)))
    other = pickle.loads(pickle.dumps(envs))
    np.testing.assert_equal(envs.reset(seed=5), other.reset(seed=5))
    aec = wrappers.one_hot(pettingzoo.make("aec", "nim-v0"))
    aec.reset()
    aec.step(3)
    np.testing.assert_equal(pickle.loads(pickle.dumps(aec)).last(), aec.last())


def test_returned_arrays_are_copies():
    env, other = (wrappers.masked_dict(gym.make_vec("Nim-v0", num_envs=3, opponent=None)) for _ in range(2))
    results = env.reset(seed=0), other.reset(seed=0)
    for _ in range(10):
        np.testing.assert_equal(*results)
        for part in results[0][0].values():
            part[:] = 7
        assert results[0][-1]["action_mask"].max() <= 1
        results = env.step([0, 1, 2]), other.step([0, 1, 2])


def test_sync_vector_environment():
    """The error says how to wrap the environments in it, and that works."""
    with pytest.raises(TypeError, match="native vector environment") as caught:
        wrappers.one_hot(gym.make_vec("Nim-v0", num_envs=4, vectorization_mode="sync"))
    message = str(caught.value)
    envs = eval(message[message.index("gym.make_vec(") : message.rindex(")")])
    observations, infos = envs.reset(seed=0)
    assert observations.shape == (4, 20)
    np.testing.assert_array_equal(observations[:, -8:].argmax(axis=1) > 0, infos["action_mask"][:, 9] > 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wrappers.bits("Nim-v0"), TypeError, "env.*'Nim-v0'"),
        (lambda: wrappers.unary(gym.make("CartPole-v1")), TypeError, "env.*CartPole"),
        (lambda: wrappers.masked_dict(gym.make_vec("CartPole-v1", 2)), TypeError, "env.*Nim"),
        (lambda: wrappers.bits(wrappers.bits(gym.make("Nim-v0"))), TypeError, "env.*Box"),
        (lambda: wrappers.bits(wrappers.masked_dict(gym.make("Nim-v0"))), TypeError, "env.*Dict"),
        (lambda: wrappers.bits(wrappers.masked_dict(aec())), TypeError, "env"),
        (lambda: wrappers.masked_dict(wrappers.masked_dict(aec())), TypeError, "env"),
        (lambda: wrappers.masked_dict(gym.wrappers.FlattenObservation(gym.make("Nim-v0"))), TypeError, "env.*Box"),
        (lambda: wrappers.bits(gym.make("Nim-v0")).encode((1, 3, 5, 8)), ValueError, "heaps.*8"),
        (lambda: wrappers.bits(gym.make("Nim-v0")).step(0), gym.error.ResetNeeded, "reset"),
        (lambda: wrappers.bits(aec()).last(), gym.error.ResetNeeded, "reset"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def aec():
    return pettingzoo.make("aec", "nim-v0")
