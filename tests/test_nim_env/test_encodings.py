"""Compares encodings, in every kind of environment, with plain Python and with environments without encoding."""

import gymnasium as gym
import numpy as np
import pytest
from agent_helpers import agent_for
from configurations import first_legal
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from hypothesis import given
from hypothesis import strategies as st
from strategies import rules as any_rules

from nim_env import EncodedPolicy, Encoding, NimEnv, NimRules, evaluation
from nim_env.encodings import checked_encoding, encoding_of
from nim_env.policies import batched, checked_policy, tabulate


def sorted_heaps(heaps):
    return np.sort(heaps, axis=-1)


def number(heaps):
    return heaps @ [192, 48, 8, 1]


FULL = (1, 3, 5, 7)
NAMES = ["one_hot", "bits", "unary", "index"]
TABLE = np.random.default_rng(0).uniform(size=(384, 2, 3)).astype(np.float32)
OWN = {  # custom encodings of 1-3-5-7, which take no larger heaps
    "sorted": Encoding(MultiDiscrete([8] * 4), sorted_heaps),
    "number": Encoding(Discrete(384), number),
    "table": Encoding(Box(0, 1, (2, 3)), lambda heaps: TABLE[number(heaps)]),
}


def opponent_on_heap_sizes(observation, action_mask):
    assert observation.dtype == np.int64
    np.testing.assert_array_equal(action_mask, NimRules().action_mask(observation))
    return first_legal(observation, action_mask)


EVERY_ENCODING = pytest.mark.parametrize("observation", [*NAMES, *OWN.values()], ids=[*NAMES, *OWN])


def expected(observation, sizes, starts=FULL):
    """Returns the observation of a position, computed in plain Python for a named encoding."""
    heaps = list(zip(sizes, starts, strict=True))
    if observation == "unary":
        text = "|".join("." * (start - size) + "o" * size for size, start in heaps)
        return [{".": 0, "o": 1, "|": -1}[token] for token in text]
    if observation == "one_hot":
        return [int(size == other) for size, start in heaps for other in range(start + 1)]
    if observation == "bits":
        digits = [(size, len(f"{start:b}")) for size, start in heaps if start]
        return [int(digit) for size, width in digits for digit in reversed(f"{size:0{width}b}")]
    if observation == "index":
        line = 0  # the place of the position in a list of all positions
        for size, start in heaps:
            line = line * (start + 1) + size
        return line
    return observation.function(np.array(sizes))


@given(any_rules, st.data())
def test_named_encodings_equal_plain_python(rules, data):
    batch = data.draw(st.lists(st.tuples(*(st.integers(0, heap) for heap in rules.heaps)), min_size=1, max_size=5))
    for name in NAMES:
        encoding = checked_encoding(name, rules)
        encoded = encoding([batch])[0]
        assert encoded.dtype == (np.int64 if name == "index" else np.float32)
        plain = np.array([expected(name, sizes, rules.heaps) for sizes in batch])
        np.testing.assert_array_equal(encoded, plain.reshape(encoded.shape))
        np.testing.assert_array_equal(encoding(batch[0]), encoded[0])
        assert encoding(batch[0]) in encoding.space
        assert encoding_of(rules, encoding.space) == encoding


def test_encodings_are_found_where_others_are_too_large():
    rules = NimRules((10_000_001, 5) * 4, max_take=1)
    encoding = checked_encoding("bits", rules)
    assert encoding_of(rules, encoding.space) == encoding
    for space in (OWN["sorted"].space, checked_encoding("bits", NimRules()).space, Discrete(384)):
        with pytest.raises(ValueError, match="another game"):
            encoding_of(rules, space)


@EVERY_ENCODING
@pytest.mark.parametrize(
    "opponent", ["take-3", opponent_on_heap_sizes, None], ids=["take-3", "function", "self-play"]
)
def test_gymnasium(observation, opponent):
    plain, encoded = (gym.make("Nim-v0", opponent=opponent, observation=name) for name in ("heaps", observation))
    encoded = gym.make(encoded.spec)  # the spec contains the encoding
    generator = np.random.default_rng(0)
    for seed in range(15):
        is_over, results = False, [env.reset(seed=seed) for env in (plain, encoded)]
        while not is_over:
            (heaps, *rest), (found, *encoded_rest) = results
            np.testing.assert_array_equal(found, expected(observation, heaps.tolist()))
            np.testing.assert_equal(encoded_rest, rest)
            assert found in encoded.observation_space
            is_over = len(rest) > 1 and rest[1]
            if not is_over:
                action = int(generator.choice(np.flatnonzero(rest[-1]["action_mask"])))
                action = action if generator.random() < 0.95 else 15  # 15 is often illegal
                results = [env.step(action) for env in (plain, encoded)]


@pytest.mark.parametrize("adapter", [lambda policy: policy, batched], ids=["callable", "batched"])
def test_functions_get_encoded_observations(adapter):
    """A function of one observation gets them one by one, and a batched function gets all at once."""
    rules = NimRules()
    chosen = rules.action_mask(rules.all_positions()).argmax(axis=1)  # by index
    policy = EncodedPolicy(adapter(lambda index, _: chosen[index]), checked_encoding("index", rules))
    np.testing.assert_array_equal(tabulate(rules, policy).probabilities[1:], np.eye(16)[chosen[1:]])


FRACTIONS = Encoding(Box(0, 1, (4,)), lambda heaps: heaps / np.array([1, 3, 5, 7]))  # the shape of the heaps
WRONG = [
    "hex",
    None,
    sorted_heaps,
    Encoding(Box(0, 7, (3,)), sorted_heaps),
    Encoding(Discrete(17), lambda heaps: heaps.sum()),  # wrong for a batch
    Encoding(Box(0, 1, (4,)), sorted_heaps),
    Encoding(Box(0, 14, (4,)), lambda heaps: heaps + heaps.max()),  # the maximum over a whole batch
    Encoding(MultiDiscrete([2] * 4), lambda heaps: heaps / 10),  # not integers
    Encoding(Box(0, 255, (4,), np.uint8), lambda heaps: heaps * 100),
    Encoding(Discrete(16, start=1), lambda heaps: heaps.sum(axis=-1)),  # 0 is outside
    checked_encoding("bits", NimRules((1, 2))),
]


@pytest.mark.parametrize("observation", WRONG, ids=range(len(WRONG)))
def test_wrong_observations(observation):
    with pytest.raises(ValueError, match=r"observation|heaps"):
        checked_encoding(observation, NimRules())


def agent_on(observation, **arguments):
    return agent_for(gym.make("Nim-v0", observation=observation, **arguments))


BITS = checked_encoding("bits", NimRules())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: EncodedPolicy(agent_on("bits"), OWN["sorted"]), ValueError, "policy"),
        (lambda: checked_policy(EncodedPolicy(first_legal, BITS), NimRules(misere=False)), ValueError, "misère"),
        (lambda: evaluation.mastery(NimRules(), agent_on("bits")), ValueError, "EncodedPolicy"),
        (lambda: gym.make("Nim-v0", opponent=agent_on(FRACTIONS)), ValueError, "EncodedPolicy"),
        (lambda: BITS((1, 3, 5, 8)), ValueError, "heaps"),
        (lambda: gym.make("Nim-v0", heaps=(10**9,), max_take=3, observation="one_hot"), ValueError, "bits"),
        (lambda: NimEnv((2**16 - 1, 2**15), max_take=3, observation="index"), ValueError, "heaps"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()
