"""Tests Stable-Baselines3's checker, NimVecEnv against DummyVecEnv, models as players, and the callbacks."""

import copy
import pickle
import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pettingzoo
import pytest

INSTALL = 'pip install "nim-env[sb3]"'
torch = pytest.importorskip("torch", reason=INSTALL)
pytest.importorskip("stable_baselines3", reason=INSTALL)
pytest.importorskip("sb3_contrib", reason=INSTALL)

from configurations import LAST_LEGAL, SIMPLE, first_legal, plain  # noqa: E402
from gymnasium.error import InvalidAction  # noqa: E402
from gymnasium.wrappers import FlattenObservation, RescaleObservation  # noqa: E402
from sb3_contrib import ARS, QRDQN, TRPO, MaskablePPO, RecurrentPPO  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3 import A2C, DQN, PPO, SAC  # noqa: E402
from stable_baselines3.common.callbacks import CheckpointCallback  # noqa: E402
from stable_baselines3.common.env_checker import check_env  # noqa: E402
from stable_baselines3.common.logger import KVWriter, Logger  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor, VecNormalize  # noqa: E402

from nim_env import NimRules, evaluation  # noqa: E402
from nim_env.check.players import load_player  # noqa: E402
from nim_env.encodings import checked_encoding  # noqa: E402
from nim_env.policies import OpponentPool, TabularPolicy, tabulate  # noqa: E402
from nim_env.sb3 import (  # noqa: E402
    EvaluationCallback,
    ModelPolicy,
    NimVecEnv,
    SelfPlayCallback,
    load_model,
    load_policy,
)

torch.set_num_threads(1)  # other tests run at the same time


FULL = [1, 3, 5, 7]


def make(num_envs=5, **arguments):
    return NimVecEnv(gym.make_vec("Nim-v0", num_envs=num_envs, autoreset_mode="SameStep", **arguments))


def test_checker():
    check_env(gym.make("Nim-v0", observation="bits"))
    check_env(gym.make("Nim-v0", opponent=None, random_start=True))


def test_tensors_are_actions():
    env, board = gym.make("Nim-v0", opponent=None), pettingzoo.make("aec", "nim-v0")
    for each in (env, board):
        each.reset()
        for wrong in (torch.tensor(9.0), torch.tensor(True), torch.tensor([9]), torch.tensor(16)):
            with pytest.raises(InvalidAction, match="action"):
                each.step(wrong)
        each.step(torch.tensor(9, dtype=torch.int32))
    assert env.unwrapped.action_masks().tolist() == NimRules().action_mask((1, 3, 5, 6)).tolist()
    assert board.state().tolist() == [1, 3, 5, 6, 1]


DETERMINISTIC = {
    "agent first": {"opponent": first_legal, "first_player": "agent"},
    "opponent first": {"opponent": LAST_LEGAL, "first_player": "opponent", "heaps": (5, 4, 3)},
    "self-play": {"opponent": None},
    "truncated self-play": {"opponent": None, "heaps": (2, 2), "max_episode_steps": 3},  # some end in that step
    "truncated": {"opponent": first_legal, "first_player": "opponent", **SIMPLE, "max_episode_steps": 3},
}


@pytest.mark.parametrize("encoding", ["heaps", "bits"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_equal_to_dummy_vec_env(name, encoding):
    number, arguments = 6, {**DETERMINISTIC[name], "observation": encoding}
    ours = make(number, **arguments)
    theirs = DummyVecEnv([lambda: gym.make("Nim-v0", **arguments)] * number)
    for attribute in ("observation_space", "action_space", "num_envs", "render_mode"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    generator, episodes, n_truncated = np.random.default_rng(0), 0, 0
    results = (ours.reset(), theirs.reset())
    for _ in range(60):
        assert plain(results[0]) == plain(results[1])
        assert plain(ours.reset_infos) == plain(theirs.reset_infos)
        masks = get_action_masks(ours)
        np.testing.assert_array_equal(masks, get_action_masks(theirs))
        weights = masks + (generator.random((number, 1)) < 0.1)  # illegal actions too
        actions = (generator.random(weights.shape) * weights).argmax(axis=1)
        results = ours.step(actions), theirs.step(actions)
        episodes += results[0][2].sum()
        n_truncated += sum(info["TimeLimit.truncated"] for info in results[0][3])
    assert episodes > 40
    assert (n_truncated > 20) == ("max_episode_steps" in arguments)


def test_wrapped_vector_environment():
    envs = gym.make_vec("Nim-v0", 3, heaps=(1, 1), opponent=None, autoreset_mode="SameStep")
    env = NimVecEnv(gym.wrappers.vector.TransformReward(envs, lambda reward: 10 * reward))
    env.reset()
    env.step(np.array([0, 0, 1]))
    _, rewards, *_ = env.step(np.array([1, 0, 0]))
    assert rewards.tolist() == [-10, -10, -10]
    assert env.get_attr("encoding") == [envs.unwrapped.encoding] * 3


def play(env):
    """Returns the observations of a reset and the following steps."""
    return [env.reset().tolist()] + [env.step(get_action_masks(env).argmax(axis=1))[0].tolist() for _ in range(40)]


def test_seeds():
    env, other = make(6), make(6)
    for each in (env, other):
        assert list(each.seed(3)) == [3, 4, 5, 6, 7, 8]
    games = play(env)
    assert games == play(other)
    other = pickle.loads(pickle.dumps(env))
    assert play(env) == play(other) != games  # the seed is used once


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"heaps": (1, 0, 0, 2)}, [[1, 0, 0, 2]] * 3),
        ([{"heaps": (0, 1, 0, 1)}, {"heaps": np.ones(4, int)}, {"heaps": FULL}], [[0, 1, 0, 1], [1] * 4, FULL]),
        ({"first_player": "opponent"}, [[0, 3, 5, 7]] * 3),  # from the first legal action
    ],
)
def test_set_options(options, expected):
    env = make(3, first_player="agent", opponent=first_legal)
    env.set_options(options)
    observations = env.reset()
    assert observations.tolist() == expected
    np.testing.assert_array_equal(get_action_masks(env), NimRules().action_mask(observations))
    assert (env.reset() == FULL).all()  # they are used once


def test_methods_and_attributes():
    env = make(4, observation="bits", opponent=None, render_mode="rgb_array")
    env.reset()
    env.step(np.array([0, 1, 2, 3]))
    masks = get_action_masks(env)
    for indices, rows in (([3, 1], [3, 1]), (2, [2]), (-1, [3]), (None, [0, 1, 2, 3])):
        np.testing.assert_array_equal(env.env_method("action_masks", indices=indices), masks[rows])
        assert env.get_attr("rules", indices=indices) == [NimRules()] * len(rows)
    assert env.env_is_wrapped(Monitor, indices=0) == [False]
    assert is_masking_supported(env)
    env.set_attr("note", "here")
    assert env.get_attr("note", indices=3) == ["here"]
    images = env.get_images()
    np.testing.assert_array_equal(images, env.env.render())
    np.testing.assert_array_equal(env.env_method("render", indices=[1]), [images[1]])
    env.close()


@pytest.mark.parametrize("arguments", [{"max_episode_steps": 1}, {"heaps": (1, 3, 5, 7, 9, 11)}])
def test_masks_are_read_only(arguments):
    env = make(3, **arguments)
    env.reset()
    *_, infos = env.step(get_action_masks(env).argmax(axis=1))
    for mask in (*env.env_method("action_masks"), *(info["action_mask"] for info in infos)):
        with pytest.raises(ValueError, match="read-only"):
            mask[0] = 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: NimVecEnv(gym.make_vec("CartPole-v1", 2)), TypeError),
        (lambda: NimVecEnv(gym.make_vec("Nim-v0", 2)), ValueError),
        (lambda: make().env_method("action_masks"), gym.error.ResetNeeded),
        (lambda: make().set_attr("note", 1, indices=[0, 1]), ValueError),
        (lambda: make(opponent=None).env_method("set_opponent", "random"), ValueError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call()


def test_wrong_options_change_nothing():
    env = make(3, opponent=None)
    env.reset()
    env.step(np.array([3, 0, 1]))
    masks = env.env_method("action_masks")
    for options in ({"heap": FULL}, [{}, {"first_player": "agent"}, {}], [{"heaps": FULL}, {}, {}], [{}, {}]):
        env.set_options(options)
        with pytest.raises(ValueError, match=r"options|heaps"):
            env.reset()
    np.testing.assert_array_equal(env.env_method("action_masks"), masks)


RULES = NimRules((1, 2, 3))
POSITIONS = RULES.all_positions()[1:]
MASKS = RULES.action_mask(POSITIONS)
SMALL = {"seed": 0, "device": "cpu", "policy_kwargs": {"net_arch": [16]}}
ALGORITHMS = {
    DQN: {"buffer_size": 500, "learning_starts": 16, "batch_size": 16, "learning_rate": 0.05},
    PPO: {"n_steps": 16, "batch_size": 16, "n_epochs": 2, "learning_rate": 0.05},
    A2C: {"n_steps": 16, "learning_rate": 0.05},
    MaskablePPO: {"n_steps": 16, "batch_size": 16, "n_epochs": 2, "learning_rate": 0.05},
    TRPO: {"n_steps": 16, "batch_size": 16, "learning_rate": 0.05},
    QRDQN: {"buffer_size": 500, "learning_starts": 16, "batch_size": 16, "learning_rate": 0.05},
    ARS: {"n_delta": 4, "delta_std": 0.5, "alive_bonus_offset": 1, "zero_policy": False, "learning_rate": 0.5},
}
ENVIRONMENTS = {
    "gym": lambda **arguments: gym.make("Nim-v0", **arguments),
    "DummyVecEnv": lambda **arguments: DummyVecEnv([lambda: gym.make("Nim-v0", **arguments)] * 2),
    "NimVecEnv": lambda **arguments: VecMonitor(make(2, **arguments)),
}
EVERY_ALGORITHM = pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.__name__)


def make_small(observation="bits", environment="gym", **arguments):
    """Makes an environment of the small game."""
    return ENVIRONMENTS[environment](observation=observation, **{"heaps": RULES.heaps, **arguments})


def make_model(algorithm, env):
    small = copy.deepcopy(SMALL)  # A2C adds its optimizer to policy_kwargs
    return algorithm("MlpPolicy", env, **small, **ALGORITHMS[algorithm])


def own_probabilities(model, encoding):
    """Returns a model's probabilities or best actions and its values, in all positions, by Stable-Baselines3."""
    observations = model.policy.obs_to_tensor(checked_encoding(encoding, RULES)(POSITIONS))[0]
    with torch.no_grad():
        if isinstance(model, DQN | QRDQN | ARS):
            if isinstance(model, DQN):
                scores = model.q_net(observations)
            elif isinstance(model, QRDQN):
                scores = model.quantile_net(observations).mean(1)
            else:
                scores = model.policy.action_net(model.policy.extract_features(observations, torch.nn.Flatten()))
            legal = np.where(MASKS, scores.numpy(), -np.inf)
            best = np.eye(RULES.n_actions)[legal.argmax(axis=1)]
            return best, None if isinstance(model, ARS) else legal.max(axis=1)
        masks = {"action_masks": MASKS} if isinstance(model, MaskablePPO) else {}
        probabilities = model.policy.get_distribution(observations, **masks).distribution.probs.numpy() * MASKS
        values = model.policy.predict_values(observations).numpy()[:, 0]
        return probabilities / probabilities.sum(axis=1, keepdims=True), values


@pytest.mark.parametrize(
    ("encoding", "environment"), [("heaps", "gym"), ("one_hot", "DummyVecEnv"), ("bits", "NimVecEnv")]
)
@EVERY_ALGORITHM
def test_models_are_players(algorithm, encoding, environment):
    env = make_small(encoding, environment)
    model = make_model(algorithm, env)
    policy = ModelPolicy(model, env)
    own, values = own_probabilities(model, encoding)
    probabilities = policy.action_probabilities(POSITIONS[:, None], MASKS[:, None])[:, 0]
    assert probabilities.dtype == np.float64
    assert not probabilities[MASKS == 0].any()
    np.testing.assert_allclose(probabilities, own, atol=1e-6)
    np.testing.assert_allclose(policy.action_probabilities(POSITIONS[4], MASKS[4]), own[4], atol=1e-6)
    assert (policy.values is None) == (values is None)
    if values is not None:
        np.testing.assert_allclose(policy.values(POSITIONS), values, rtol=1e-5, atol=1e-6)
    best = ModelPolicy(model, env, deterministic=True).action_probabilities(POSITIONS, MASKS)
    assert (best == np.eye(RULES.n_actions)[probabilities.argmax(axis=1)]).all()


@EVERY_ALGORITHM
def test_trained_and_saved_models_are_players(algorithm, tmp_path):
    path, callback = tmp_path / "model.zip", EvaluationCallback(1_000)
    unmasked = EvaluationCallback(1_000, name="unmasked", use_masking=None)
    encoding = ("heaps", "one_hot", "bits", "unary", "index")[[*ALGORITHMS].index(algorithm) % 5]
    model = make_model(algorithm, make_small(encoding)).learn(
        40, callback=[SelfPlayCallback(1), callback, unmasked]
    )
    assert len(model.opponent_pool.policies) >= 2
    model.save(path)
    masks = {"action_masks": MASKS} if algorithm is MaskablePPO else {}
    observations = checked_encoding(encoding, RULES)(POSITIONS)
    played, _ = model.predict(observations, deterministic=True, **masks)
    assert (load_model(path).predict(observations, deterministic=True, **masks)[0] == played).all()
    is_illegal = MASKS[np.arange(len(MASKS)), played] == 0
    assert is_illegal.any() == (algorithm is not MaskablePPO)
    player = load_player(str(path), RULES)
    assert (player.policy.action_probabilities(POSITIONS, MASKS) == np.eye(RULES.n_actions)[played]).all()
    report = evaluation.report(RULES, player.policy, player.state_values, illegal_action="lose")
    assert report.illegal_probability == is_illegal.mean()
    own, _ = own_probabilities(model, encoding)
    masked = load_policy(path, RULES)
    assert (masked.action_probabilities(POSITIONS, MASKS) == np.eye(RULES.n_actions)[own.argmax(axis=1)]).all()
    assert callback.evaluations[-1]["expert"] == evaluation.mastery(RULES, masked).expert
    assert unmasked.evaluations[-1]["illegal_probability"] == is_illegal.mean()


@EVERY_ALGORITHM
def test_a_file_has_the_values_the_discount_and_the_actor_of_its_model(algorithm, tmp_path):
    path = tmp_path / "model.zip"
    model = make_model(algorithm, make_small("one_hot")).learn(40)
    if algorithm is not ARS:
        model.gamma = 0.875
    model.save(path)
    player = load_player(str(path), RULES)
    assert player.discount == (None if algorithm is ARS else 0.875)
    assert (player.behavior_policy is None) == (algorithm in (DQN, QRDQN, ARS))
    observations = model.policy.obs_to_tensor(checked_encoding("one_hot", RULES)(POSITIONS))[0]
    with torch.no_grad():
        if algorithm is ARS:
            assert player.values is None
        elif algorithm in (DQN, QRDQN):
            q_values = model.q_net(observations) if algorithm is DQN else model.quantile_net(observations).mean(1)
            np.testing.assert_allclose(player.values(POSITIONS), q_values.numpy(), rtol=1e-5, atol=1e-6)
            assert (
                player.policy.action_probabilities(POSITIONS, MASKS).argmax(axis=1) == q_values.argmax(1)
            ).all()
        else:
            masks = {"action_masks": MASKS} if algorithm is MaskablePPO else {}
            values = model.policy.predict_values(observations)[:, 0]
            drawn = model.policy.get_distribution(observations, **masks).distribution.probs.numpy()
            np.testing.assert_allclose(player.values(POSITIONS), values.numpy(), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(
                player.behavior_policy.action_probabilities(POSITIONS, MASKS), drawn, rtol=1e-4, atol=1e-6
            )
            legal = tabulate(RULES, player.behavior_policy, illegal_action="lose").probabilities[1:]
            np.testing.assert_allclose(legal, drawn * MASKS, rtol=1e-4, atol=1e-6)
            assert (legal.sum(axis=1) < 0.99).any() == (algorithm is not MaskablePPO)


@pytest.mark.parametrize("use_masking", [True, False])
@pytest.mark.parametrize("algorithm", [PPO, MaskablePPO])
def test_the_policy_of_a_critic_is_the_actor_in_training(algorithm, use_masking):
    env = make_small()
    model = make_model(algorithm, env)
    player = ModelPolicy(model, env, deterministic=True, use_masking=use_masking)
    in_training = ModelPolicy(model, env, use_masking=algorithm is MaskablePPO)
    found, expected = (
        each.action_probabilities(POSITIONS, MASKS) for each in (player.behavior_policy, in_training)
    )
    np.testing.assert_array_equal(found, expected)
    assert (player.deterministic, player.use_masking) == (True, use_masking)


def test_a_network_of_pytorch_by_the_program_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    torch.save(torch.nn.Linear(3, RULES.n_actions), "net.pt")
    code = re.search(r"import torch\nnet = .*?(?=```)", page, re.DOTALL)[0]
    Path("mine.py").write_text(code, encoding="utf-8")
    player = load_player("mine.py:player", RULES)
    assert evaluation.report(RULES, player.policy, illegal_action="lose").illegal_probability == 0


def normalized(**arguments):
    return VecNormalize(make_small("one_hot", "NimVecEnv"), **arguments)


REFUSED = {
    "recurrent": lambda: RecurrentPPO("MlpLstmPolicy", make_small("one_hot"), device="cpu"),
    "another game": lambda: make_model(PPO, make_small("one_hot", max_take=2)),
    "flattened": lambda: make_model(PPO, FlattenObservation(make_small("heaps"))),
    "normalized": lambda: make_model(PPO, normalized()).learn(32),
    "normalized, off-policy": lambda: make_model(DQN, normalized()).learn(32),
    "CartPole": lambda: PPO("MlpPolicy", "CartPole-v1", device="cpu"),
    "SAC": lambda: SAC("MlpPolicy", "Pendulum-v1", device="cpu", buffer_size=10),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_are_refused_from_memory_and_from_files(name, tmp_path):
    model = REFUSED[name]()
    model.save(tmp_path / "model.zip")
    remedy = {"flattened": 'observation="one_hot"', "normalized": "norm_obs=False"}.get(name)
    error = TypeError if name == "recurrent" else (TypeError, ValueError)
    with pytest.raises(error, match=remedy):
        ModelPolicy(model, make_small("one_hot"))
    with pytest.raises(error):
        load_policy(tmp_path / "model.zip", RULES)


@pytest.mark.parametrize(("low", "high"), [(0, 0.5), (-1, 1)])
def test_a_file_of_a_model_behind_a_wrapper_says_so(low, high, tmp_path):
    env = RescaleObservation(make_small("one_hot"), np.float32(low), np.float32(high))
    make_model(PPO, env).learn(32).save(tmp_path / "model.zip")
    with pytest.raises(ValueError, match="wrapper"):
        load_policy(tmp_path / "model.zip", RULES)


def test_files_and_arguments_that_are_no_model(tmp_path):
    env = make_small()
    model = make_model(PPO, env)
    with pytest.raises(ValueError, match="env"):
        ModelPolicy(model, make_small("heaps"))
    with pytest.raises(TypeError, match="model"):
        ModelPolicy(model.policy, env)
    with pytest.raises(TypeError, match="ModelPolicy"):
        evaluation.mastery(RULES, make_model(PPO, make_small("heaps")))
    np.savez(tmp_path / "array.npz", np.ones(3))
    (tmp_path / "text.zip").write_text("no model")
    for name in ("array.npz", "text.zip"):
        with pytest.raises(ValueError, match=name):
            load_policy(tmp_path / name, RULES)


def test_the_environment_tells_of_normalized_observations_too(tmp_path):
    make_model(PPO, normalized()).save(tmp_path / "model.zip")
    with pytest.raises(ValueError, match="norm_obs=False"):
        ModelPolicy(PPO.load(tmp_path / "model.zip", device="cpu"), normalized())
    unchanged = normalized(norm_obs=False)
    evaluation.mastery(RULES, ModelPolicy(make_model(PPO, unchanged), unchanged))


@EVERY_ALGORITHM
@pytest.mark.parametrize("heaps", [RULES.heaps, (9,) * 6], ids=["table", "network"])
def test_snapshots_do_not_change(algorithm, heaps):
    env = make_small(heaps=heaps)
    model = make_model(algorithm, env)
    policy = ModelPolicy(model, env)
    snapshot = policy.snapshot()
    assert isinstance(snapshot, TabularPolicy) == (heaps == RULES.heaps)
    rules = env.unwrapped.rules
    positions = rules.from_index(np.random.default_rng(0).integers(1, rules.n_positions, size=200))
    masks = rules.action_mask(positions)
    before = policy.action_probabilities(positions, masks)
    np.testing.assert_allclose(snapshot.action_probabilities(positions, masks), before, atol=1e-6)
    model.learn(64)
    np.testing.assert_allclose(snapshot.action_probabilities(positions, masks), before, atol=1e-6)
    assert np.abs(policy.action_probabilities(positions, masks) - before).max() > 1e-3


class Recorder(KVWriter):
    """A log writer that keeps all values."""

    def __init__(self):
        self.rows = []

    def write(self, key_values, key_excluded, step=0):  # noqa: ARG002
        self.rows.append((step, dict(key_values)))


@pytest.mark.parametrize(("algorithm", "deterministic", "name"), [(DQN, True, "nim"), (PPO, False, "sampled")])
def test_evaluations_are_those_of_the_report(algorithm, deterministic, name, capsys):
    """The last evaluation is of the trained model, although PPO learns after the last step."""
    env = make_small("one_hot", "NimVecEnv")
    model, recorder = make_model(algorithm, env), Recorder()
    model.set_logger(Logger(None, [recorder]))

    def report():
        policy = ModelPolicy(model, env, deterministic)
        return evaluation.report(RULES, policy, values=policy.values).to_dict()

    callback = EvaluationCallback(48, deterministic, name, verbose=1)
    before = report()
    model.learn(96, callback=callback)
    assert callback.evaluations[0] == {"timesteps": 0, **before}
    assert callback.evaluations[-1] == {"timesteps": 96, **report()}
    logged = {step: row for step, row in recorder.rows if f"{name}/expert" in row}
    for (step, row), evaluated in zip(logged.items(), callback.evaluations, strict=True):
        assert {"timesteps": step, **{metric: row[f"{name}/{metric}"] for metric in before}} == evaluated
    model.learn(32, callback=callback, reset_num_timesteps=False)
    assert [row["timesteps"] for row in callback.evaluations] == [0, 48, 96, 128]  # 96 is not evaluated again
    assert capsys.readouterr().out.count("exploitability") == 5


def pool_probabilities(pool):
    return [snapshot.action_probabilities(POSITIONS, MASKS) for snapshot in pool.policies]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_pool_of_snapshots(environment):
    env = make_small("bits", environment)
    model = make_model(MaskablePPO, env)
    rollout = 16 * model.get_env().num_envs
    first = ModelPolicy(model, env).snapshot()
    callback = SelfPlayCallback(snapshot_interval=2, pool_size=3)
    model.learn(4 * rollout, callback=callback)  # snapshots before the rollouts 1 and 3
    assert model.get_env().get_attr("opponent")[0] is callback.pool
    assert isinstance(callback.pool, OpponentPool)
    before = pool_probabilities(callback.pool)
    assert len(before) == 2
    np.testing.assert_array_equal(before[0], first.action_probabilities(POSITIONS))
    assert np.abs(before[1] - before[0]).max() > 1e-3
    model.learn(4 * rollout, callback=callback, reset_num_timesteps=False)  # the oldest snapshot is removed
    np.testing.assert_array_equal(pool_probabilities(callback.pool)[0], before[1])
    assert len(callback.pool.policies) == 3


def test_the_pool_reaches_environments_in_other_processes():
    env = SubprocVecEnv([lambda: gym.make("nim_env:Nim-v0", heaps=RULES.heaps, observation="bits")] * 2, "fork")
    callback = SelfPlayCallback(snapshot_interval=1)
    make_model(MaskablePPO, env).learn(3 * 16 * 2, callback=callback)
    assert [len(pool.policies) for pool in env.get_attr("opponent")] == [len(callback.pool.policies)] * 2 == [3, 3]
    env.close()


def test_checkpoints_hold_the_pool(tmp_path):
    env = make_small("one_hot", "NimVecEnv")
    model, callback = make_model(MaskablePPO, env), SelfPlayCallback(1, pool_size=3)
    model.learn(96, callback=[callback, CheckpointCallback(32, str(tmp_path))])
    checkpoint = tmp_path / "rl_model_64_steps"
    loaded, continued = MaskablePPO.load(checkpoint, env=env, device="cpu"), SelfPlayCallback(1, pool_size=3)
    np.testing.assert_array_equal(pool_probabilities(loaded.opponent_pool), pool_probabilities(callback.pool)[:2])
    loaded.learn(32, callback=continued, reset_num_timesteps=False)
    assert loaded.num_timesteps == 96
    np.testing.assert_array_equal(pool_probabilities(continued.pool)[:2], pool_probabilities(callback.pool)[:2])
