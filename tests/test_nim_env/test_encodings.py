"""Encodings of the observation, in every kind of environment, against plain Python and plain environments."""

import contextlib
import copy
import io
import pickle
from itertools import product

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest
from agent_helpers import agent_for
from configurations import SIMPLE, first_legal
from expected_warnings import EXPECTED_OF_PETTINGZOO, no_warning_but
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st
from pettingzoo.test import api_test
from strategies import rules as any_rules

import agents
from nim_env import EncodedPolicy, Encoding, NimEnv, NimRules, TabularPolicy, evaluation
from nim_env.encodings import checked_encoding
from nim_env.policies import InvalidPolicyOutput, MixturePolicy, batched, checked_policy, query_policy, tabulate


def sorted_heaps(heaps):
    return np.sort(heaps, axis=-1)


def parities(heaps):
    """The nim-sum's binary digits."""
    return np.bitwise_xor.reduce(heaps, axis=-1)[..., None] >> np.arange(3) & 1


def number(heaps):
    return heaps @ [192, 48, 8, 1]


NAMES = ["one_hot", "bits", "unary"]
OWN = {  # encodings of 1-3-5-7, and of no larger heaps
    "sorted": Encoding(Box(0, 7, (4,)), sorted_heaps),
    "parities": Encoding(MultiDiscrete([2, 2, 2]), parities),
    "number": Encoding(Discrete(384), number),
    "table": Encoding(Box(0, 1, (2, 3)), lambda heaps: TABLE[number(heaps)]),
}
TABLE = np.random.default_rng(0).uniform(size=(384, 2, 3))
EVERY_ENCODING = pytest.mark.parametrize("observation", [*NAMES, *OWN.values()], ids=[*NAMES, *OWN])
EVERY_MODE = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


def encoded_plainly(observation, sizes, starts=(1, 3, 5, 7)):
    """The numbers of a position, in plain Python."""
    heaps = list(zip(sizes, starts, strict=True))
    if observation == "unary":
        text = "|".join("." * (start - size) + "o" * size for size, start in heaps)
        return [{".": 0, "o": 1, "|": -1}[token] for token in text]
    if observation == "one_hot":
        return [int(size == other) for size, start in heaps for other in range(start + 1)]
    if observation == "bits":
        digits = [(size, len(f"{start:b}")) for size, start in heaps if start]
        return [int(digit) for size, width in digits for digit in reversed(f"{size:0{width}b}")]
    if observation is OWN["sorted"]:
        return sorted(sizes)
    nim_sum = f"{sizes[0] ^ sizes[1] ^ sizes[2] ^ sizes[3]:03b}"
    if observation is OWN["parities"]:
        return [int(digit) for digit in reversed(nim_sum)]
    index = list(product(*(range(start + 1) for start in starts))).index(tuple(sizes))
    return index if observation is OWN["number"] else TABLE[index].astype(np.float32)


# --- The encodings --------------------------------------------------------------------------------


def test_by_hand():
    rules = NimRules((1, 3, 5))
    for name, heaps, expected in (
        ("bits", (1, 2, 4), [1, 0, 1, 0, 0, 1]),
        ("unary", (1, 2, 4), [1, -1, 0, 1, 1, -1, 0, 1, 1, 1, 1]),
        ("unary", (1, 3, 5), [1, -1, 1, 1, 1, -1, 1, 1, 1, 1, 1]),  # as in the paper
        ("one_hot", (1, 2, 4), [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]),
        ("heaps", (1, 2, 4), [1, 2, 4]),
    ):
        assert checked_encoding(name, rules)(heaps).tolist() == expected
    assert [checked_encoding(name, NimRules()).space.shape for name in NAMES] == [(20,), (9,), (19,)]
    assert checked_encoding("heaps", rules).space == MultiDiscrete([2, 4, 6])


@given(any_rules, st.data())
def test_named_encodings_equal_plain_python(rules, data):
    batch = data.draw(st.lists(st.tuples(*(st.integers(0, heap) for heap in rules.heaps)), min_size=1, max_size=5))
    for name in NAMES:
        encoding = checked_encoding(name, rules)
        encoded = encoding(batch)
        assert encoded.dtype == np.float32
        expected = np.array([encoded_plainly(name, sizes, rules.heaps) for sizes in batch])
        np.testing.assert_array_equal(encoded, expected.reshape(encoded.shape))
        np.testing.assert_array_equal(encoding(batch[0]), encoded[0])
        np.testing.assert_array_equal(encoding([batch]), encoded[None])
        assert encoding(batch[0]) in encoding.space
        assert checked_encoding(name, rules) is encoding is checked_encoding(encoding, rules)
        with pytest.raises(ValueError, match="heaps"):
            encoding(np.array(rules.heaps) + 1)


@EVERY_ENCODING
def test_arrays_are_new(observation):
    encoding, heaps = checked_encoding(observation, NimRules()), np.array([1, 2, 3, 4])
    for positions in (heaps, heaps[None]):
        expected = encoding(positions).tolist()
        if positions.ndim > 1 or encoding.space.shape:  # else a number
            encoding(positions)[...] = 0
        assert encoding(positions).tolist() == expected
    mutating = Encoding(Box(0, 7, (4,)), lambda heaps: heaps.__imul__(0))
    mutating(heaps)
    assert heaps.tolist() == [1, 2, 3, 4]


# --- Environments against plain ones --------------------------------------------------------------


@EVERY_ENCODING
@pytest.mark.parametrize("opponent", ["take-3", first_legal, None], ids=["take-3", "callable", "self-play"])
def test_gymnasium(observation, opponent):
    plain, encoded = (gym.make("Nim-v0", opponent=opponent, observation=name) for name in ("heaps", observation))
    generator = np.random.default_rng(0)
    for seed in range(15):
        results, is_over = [env.reset(seed=seed) for env in (plain, encoded)], False
        while True:
            (heaps, *rest), (found, *encoded_rest) = results
            np.testing.assert_array_equal(found, encoded_plainly(observation, heaps.tolist()))
            np.testing.assert_array_equal(found, encoded.unwrapped.encoding(heaps))
            np.testing.assert_equal(encoded_rest, rest)
            assert found in encoded.observation_space
            assert found.dtype == encoded.observation_space.dtype
            if is_over:
                break
            action = int(generator.choice(np.flatnonzero(rest[-1]["action_mask"])))
            action = action if generator.random() < 0.95 else 15  # often illegal
            results = [env.step(action) for env in (plain, encoded)]
            is_over = results[0][2]


DYNAMICS = {  # opponents, and heaps in front of 1-3-5-7, for which a vector environment computes differently
    "tables": ("take-3", ()),
    "computed observations": ("take-3", (12, 12, 12)),
    "computed steps": (first_legal, ()),
    "self-play": (None, ()),
}


@EVERY_MODE
@pytest.mark.parametrize("dynamics", DYNAMICS)
@EVERY_ENCODING
def test_vector_environment(observation, mode, dynamics):
    opponent, more = DYNAMICS[dynamics]
    starts = (*more, 1, 3, 5, 7)
    if more and observation not in NAMES:
        own = observation
        observation = Encoding(own.space, lambda heaps: own(heaps[..., len(more) :]))
    else:
        own = observation

    def expected(heaps):
        sizes = heaps.tolist()
        return encoded_plainly(own, sizes, starts) if own in NAMES else encoded_plainly(own, sizes[len(more) :])

    arguments = {"num_envs": 6, "opponent": opponent, "heaps": starts, "autoreset_mode": mode}
    plain, encoded = (
        gym.make_vec("Nim-v0", max_episode_steps=5, observation=name, **arguments)
        for name in ("heaps", observation)
    )
    results, episodes = [env.reset(seed=3) for env in (plain, encoded)], 0
    for _ in range(25):
        (heaps, *rest), (found, *encoded_rest) = results
        infos, encoded_infos = rest.pop(), encoded_rest.pop()
        np.testing.assert_array_equal(found, [expected(sizes) for sizes in heaps])
        np.testing.assert_equal(encoded_rest, rest)
        assert found in encoded.observation_space
        assert infos.keys() == encoded_infos.keys()
        np.testing.assert_equal(
            *({key: each[key] for key in each if key != "final_obs"} for each in (infos, encoded_infos))
        )
        for env in np.flatnonzero(infos.get("_final_obs", [])):
            np.testing.assert_array_equal(encoded_infos["final_obs"][env], expected(infos["final_obs"][env]))
            assert encoded_infos["final_obs"][env] in encoded.single_observation_space
        results = [env.step(infos["action_mask"].argmax(axis=1)) for env in (plain, encoded)]
        is_over = results[0][2] | results[0][3]
        episodes += is_over.sum()
        if mode is AutoresetMode.DISABLED and is_over.any():
            results = [env.reset(options={"reset_mask": is_over}) for env in (plain, encoded)]
    assert episodes > 10


@EVERY_ENCODING
def test_pettingzoo(observation):
    plain, encoded = (pettingzoo.make("aec", "nim-v0", observation=name) for name in ("heaps", observation))
    generator, plies = np.random.default_rng(0), 0
    for env in (plain, encoded):
        env.reset(seed=0)
    for player in plain.agent_iter():
        (shown, *rest), (found, *encoded_rest) = (env.last() for env in (plain, encoded))
        assert encoded.agent_selection == player
        assert rest == encoded_rest
        np.testing.assert_array_equal(
            found["observation"], encoded_plainly(observation, shown["observation"].tolist())
        )
        np.testing.assert_array_equal(found["action_mask"], shown["action_mask"])
        np.testing.assert_array_equal(encoded.state(), plain.state())
        for each in plain.possible_agents:
            assert encoded.observe(each) in encoded.observation_space(each)
        action = None if rest[1] else generator.choice(np.flatnonzero(shown["action_mask"]))
        for env in (plain, encoded):
            env.step(action)
        plies += 1
    assert plies > 4


@EVERY_ENCODING
def test_checkers(observation):
    with no_warning_but({}):
        check_env(NimEnv(observation=observation), skip_render_check=True)
        check_env(NimEnv(observation=observation, opponent=None), skip_render_check=True)
    with contextlib.redirect_stdout(io.StringIO()), no_warning_but(EXPECTED_OF_PETTINGZOO):
        api_test(pettingzoo.make("aec", "nim-v0", observation=observation), num_cycles=50)


@EVERY_ENCODING
def test_returned_arrays_are_copies(observation):
    env = gym.make("Nim-v0", opponent=None, observation=observation)
    envs = gym.make_vec("Nim-v0", num_envs=1, opponent=None, observation=observation)
    board = pettingzoo.make("aec", "nim-v0", observation=observation)

    def play(overwrites):
        for each, batch in ((env, int), (envs, lambda action: [action])):
            found, info = each.reset()
            for action in (0, 1, 4, 9):
                yield copy.deepcopy((found, info))
                if overwrites:
                    overwrite(found, info["action_mask"])
                found, *_, info = each.step(batch(action))
        board.reset()
        for action in (0, 1, 4, 9):
            found = board.last()[0]
            yield copy.deepcopy(found)
            if overwrites:
                overwrite(*found.values())
            board.step(action)

    def overwrite(*arrays):
        for array in arrays:
            if isinstance(array, np.ndarray):  # else a number
                array[...] = 0

    expected = list(play(False))
    np.testing.assert_equal(list(play(True)), expected)
    np.testing.assert_equal(list(play(False)), expected)


# --- Copies and specifications --------------------------------------------------------------------

MODULE_LEVEL = [*NAMES, OWN["sorted"], OWN["number"]]  # whose functions pickle can store by name


@pytest.mark.parametrize("observation", MODULE_LEVEL, ids=str)
def test_copies(observation):
    env, envs = NimEnv(observation=observation), gym.make_vec("Nim-v0", num_envs=3, observation=observation)
    board = pettingzoo.make("aec", "nim-v0", observation=observation)
    for each in (env, envs, board):
        each.reset(seed=3)
    for copied in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))):
        others = copied(env), copied(envs), copied(board)
        np.testing.assert_equal(others[0].step(1), copy.deepcopy(env).step(1))
        np.testing.assert_equal(others[0].reset(), copy.deepcopy(env).reset())
        np.testing.assert_equal(others[1].step([1, 2, 3]), copy.deepcopy(envs).step([1, 2, 3]))
        others[2].step(1)
        np.testing.assert_equal(others[2].last()[0]["observation"], env.encoding((1, 2, 5, 7)))
    assert copy.deepcopy(env).encoding is env.encoding


def test_lambdas_are_copied_but_not_pickled():
    env = NimEnv(observation=Encoding(Box(0, 7, (4,)), lambda heaps: 7 - heaps))
    env.reset(seed=0)
    np.testing.assert_equal(copy.deepcopy(env).step(1), env.step(1))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(env)


@EVERY_ENCODING
def test_specifications(observation):
    env = gym.make("Nim-v0", observation=observation, opponent="expert")
    again = gym.make(env.spec)
    assert again.observation_space == env.observation_space
    np.testing.assert_equal(again.reset(seed=1), env.reset(seed=1))
    envs = gym.make_vec("Nim-v0", num_envs=2, vectorization_mode="sync", observation=observation)
    assert envs.reset(seed=0)[0].shape == (2, *env.observation_space.shape)


# --- Players --------------------------------------------------------------------------------------


def test_an_agent_trained_on_an_encoding_is_a_player():
    for observation in ("bits", OWN["sorted"], OWN["number"]):
        env = gym.make("Nim-v0", observation=observation, opponent=None)
        agent = agent_for(env, epsilon=0.3)
        agents.train(agent, env, 600, seed=0)
        rules, encoding = NimRules(), env.unwrapped.encoding
        positions = rules.all_positions()[1:]
        masks = rules.action_mask(positions)
        table = np.zeros((rules.n_positions, rules.n_actions))
        for row, (sizes, mask) in enumerate(zip(positions.tolist(), masks, strict=True), 1):
            plain = np.array(encoded_plainly(observation, sizes), dtype=encoding.space.dtype)
            q_values = np.where(mask, agent.q_values(plain), -np.inf)
            table[row, int(q_values.argmax())] = 1
        player = EncodedPolicy(agent, encoding)
        by_hand = TabularPolicy(rules, table)
        np.testing.assert_array_equal(query_policy(player, positions, masks), table[1:])
        assert evaluation.report(rules, player) == evaluation.report(rules, by_hand)
        assert evaluation.report(rules, player).win_probability_random > 0.6
        for kind in (gym.make, lambda name, **arguments: gym.make_vec(name, 1, **arguments)):
            games = [play(kind("Nim-v0", opponent=opponent)) for opponent in (player, by_hand)]
            assert games[0] == games[1]


def play(env):
    """The positions of an environment under random play."""
    generator, found = np.random.default_rng(0), [env.reset(seed=0)[0].tolist()]
    for _ in range(40):
        mask = np.atleast_2d(env.unwrapped.action_masks())
        action = (generator.random(mask.shape) * mask).argmax(axis=1)
        is_single = not isinstance(env, gym.vector.VectorEnv)
        observation, _, terminated, *_ = env.step(int(action[0]) if is_single else action)
        found.append(observation.tolist())
        if is_single and terminated:
            found.append(env.reset()[0].tolist())
    return found


def test_callables_and_functions_on_batches():
    """They get encoded observations; a callable gets one at a time."""
    rules, shapes = NimRules(), []
    encoding = checked_encoding("one_hot", rules)

    def last(observation, action_mask):
        shapes.append((observation.shape, action_mask.shape))
        return int(np.flatnonzero(observation[-8:])[0]) + 8 if action_mask[9] else int(action_mask.argmax())

    def last_of_batch(observations, action_masks):
        return [last(*position) for position in zip(observations, action_masks, strict=True)]

    expected = tabulate(rules, lambda heaps, mask: int(heaps[3]) + 8 if heaps[3] else int(mask.argmax()))
    for policy in (last, batched(last_of_batch)):
        np.testing.assert_array_equal(
            tabulate(rules, EncodedPolicy(policy, encoding)).probabilities, expected.probabilities
        )
    assert set(shapes) == {((20,), (16,))}
    nested = MixturePolicy(rules, [EncodedPolicy(last, encoding), "random"])
    assert evaluation.mastery(rules, nested).expert == pytest.approx(
        evaluation.mastery(rules, MixturePolicy(rules, [expected, "random"])).expert, abs=1e-6
    )


@EVERY_MODE
def test_opponents_get_heap_sizes(mode):
    seen = set()

    def opponent(observation, action_mask):
        assert observation.dtype == np.int64
        np.testing.assert_array_equal(action_mask, NimRules().action_mask(observation))
        seen.add(tuple(observation.tolist()))
        return first_legal(observation, action_mask)

    for observation in ("one_hot", OWN["number"]):
        seen.clear()
        env = gym.make("Nim-v0", opponent=opponent, observation=observation)
        envs = gym.make_vec(
            "Nim-v0",
            4,
            opponent=batched(
                lambda observations, masks: [opponent(*each) for each in zip(observations, masks, strict=True)]
            ),
            observation=observation,
            autoreset_mode=mode,
        )
        for each, action in ((env, 9), (envs, [9] * 4)):
            each.reset(seed=0)
            each.step(action)
        assert len(seen) > 2


# --- Bad input ------------------------------------------------------------------------------------


FRACTIONS = Encoding(Box(0, 1, (4,)), lambda heaps: heaps / np.array([1, 3, 5, 7]))  # of the shape of the heaps


def halved(heaps):
    heaps //= 2  # in place
    return heaps


def test_a_function_that_works_in_place_changes_nothing_else():
    encoding = Encoding(Box(0, 3, (4,)), halved)
    env, envs = gym.make("Nim-v0", observation=encoding), gym.make_vec("Nim-v0", 2, observation=encoding)
    for reset in (env.reset, envs.reset):
        observation, info = reset(options={"heaps": (1, 2, 4, 7)})
        np.testing.assert_array_equal(np.atleast_2d(observation)[0], [0, 1, 2, 3])
        np.testing.assert_array_equal(np.atleast_2d(info["action_mask"])[0], NimRules().action_mask((1, 2, 4, 7)))


def test_named_encodings_stay_equal_however_many_games_there_are():
    rules = NimRules((2, 3))
    env = gym.make("Nim-v0", heaps=rules.heaps, observation="bits")
    for heap in range(1, 100):
        checked_encoding("bits", NimRules((heap,)))
    assert env.unwrapped.encoding == checked_encoding("bits", rules)
    assert env.unwrapped.encoding != checked_encoding("bits", NimRules((2, 3), misere=False))


def agent_on(observation, **arguments):
    return agent_for(gym.make("Nim-v0", observation=observation, **arguments))


@pytest.mark.parametrize(
    ("observation", "error", "message"),
    [
        ("hex", ValueError, "observation.*'heaps', 'one_hot', 'bits', 'unary'.*'hex'"),
        ("one-hot", ValueError, "observation.*'one_hot'.*'one-hot'"),
        (None, TypeError, "observation.*'heaps'.*None"),
        (sorted_heaps, TypeError, "observation.*Encoding.*sorted_heaps"),
        (Box(0, 7, (4,)), TypeError, "observation.*Encoding.*Box"),
        (Encoding(Box(0, 7, (3,)), sorted_heaps), ValueError, r"observation.*\(3,\).*\(4,\)"),
        (Encoding(Box(0, 7, (4, 1)), sorted_heaps), ValueError, r"observation.*\(4, 1\).*\(4,\)"),
        (Encoding(Discrete(17), lambda heaps: heaps.sum()), ValueError, r"observation.*\(2,\).*\(2, 4\).*\(\)"),
        (Encoding(Box(0, 7, (4,)), lambda heaps: sorted(heaps.ravel())), ValueError, r"observation.*\(2, 4\)"),
        (Encoding(Box(0, 1, (4,)), sorted_heaps), ValueError, r"observation.*\(1, 3, 5, 7\)"),
        (Encoding(Box(0, 7, (4,)), lambda heaps: [heaps[heap] for heap in range(4)]), ValueError, "observation"),
        (Encoding(Box(0, 14, (4,)), lambda heaps: heaps + heaps.max()), ValueError, "observation.*batch"),
        (Encoding(MultiDiscrete([2] * 4), lambda heaps: heaps / 10), ValueError, r"observation.*int64.*0\.7"),
        (Encoding(Box(0, 255, (4,), np.uint8), lambda heaps: heaps * 100), ValueError, "observation.*uint8.*700"),
        (Encoding(Box(0, 7, (4,)), lambda heaps: heaps.astype(str)), ValueError, "observation.*float32.*'7'"),
        (Encoding(Discrete(16), lambda heaps: heaps.sum(axis=-1)), ValueError, r"observation.*Discrete\(16\).*16"),
    ],
)
def test_wrong_observations(observation, error, message):
    for make in (
        lambda **arguments: gym.make("Nim-v0", **arguments),
        lambda **arguments: gym.make_vec("Nim-v0", 2, **arguments),
        lambda **arguments: pettingzoo.make("aec", "nim-v0", **arguments),
    ):
        with pytest.raises(error, match=message):
            make(observation=observation)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Encoding("Box", sorted_heaps), TypeError, "space.*'Box'"),
        (lambda: Encoding(Dict({"heaps": Box(0, 7, (4,))}), sorted_heaps), TypeError, "space.*Dict"),
        (lambda: Encoding(Box(0, 7, (4,)), "sorted"), TypeError, "function.*'sorted'"),
        (lambda: EncodedPolicy(first_legal, "bits"), TypeError, r"encoding.*unwrapped\.encoding.*'bits'"),
        (lambda: EncodedPolicy("expert", OWN["sorted"]), TypeError, "policy.*'expert'"),
        (lambda: EncodedPolicy(agent_on("bits"), OWN["sorted"]), ValueError, r"policy.*\(9,\).*\(4,\)"),
        (
            lambda: EncodedPolicy(agent_on("heaps"), checked_encoding("bits", NimRules())),
            ValueError,
            "policy.*MultiD",
        ),
        (
            lambda: checked_policy(
                EncodedPolicy(first_legal, checked_encoding("bits", NimRules())), NimRules(misere=False)
            ),
            ValueError,
            "policy.*misère.*normal",
        ),
        (
            lambda: checked_policy(EncodedPolicy(agent_on(OWN["sorted"], max_take=2), OWN["sorted"]), NimRules()),
            ValueError,
            "policy.*7 actions.*16",
        ),
        (lambda: evaluation.mastery(NimRules(), agent_on("bits")), ValueError, "policy.*EncodedPolicy"),
        (lambda: gym.make("Nim-v0", opponent=agent_on("unary")), ValueError, "opponent.*EncodedPolicy"),
        (lambda: gym.make("Nim-v0", opponent=agent_on(OWN["number"])), ValueError, "opponent.*EncodedPolicy"),
        (lambda: gym.make("Nim-v0", opponent=agent_on(FRACTIONS)), ValueError, "opponent.*EncodedPolicy"),
        (lambda: EncodedPolicy(agents.QLearningAgent, OWN["sorted"]), TypeError, "policy.*QLearningAgent"),
        (lambda: checked_encoding("bits", NimRules())((1, 3, 5, 8)), ValueError, "heaps.*8"),
        (lambda: gym.make("Nim-v0", heaps=(2**63 - 2,), max_take=3, observation="one_hot"), ValueError, "bits"),
        (lambda: gym.make_vec("Nim-v0", 2, heaps=(10**9,), max_take=3, observation="unary"), ValueError, "bits"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_encoded_policy_is_checked_as_any_other():
    encoding = checked_encoding("bits", NimRules(**SIMPLE))
    for policy, message in (
        (lambda *_: 9, "action 9"),
        (lambda *_: None, "None"),
        (batched(lambda *_: [0.5]), "0.5"),
    ):
        env = gym.make("SimpleNim-v0", opponent=EncodedPolicy(policy, encoding), first_player="agent")
        env.reset()
        with pytest.raises(InvalidPolicyOutput, match=f"opponent: .*{message}"):
            env.step(0)
