import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ray = pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')
torch = pytest.importorskip("torch", reason='needs pip install -e ".[examples,rllib]"')

import common  # noqa: E402

import rllib_self_play  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModule  # noqa: E402
from ray.rllib.env.env_context import EnvContext  # noqa: E402
from rllib_self_play import Args, SelfPlayEnv, main  # noqa: E402

from nim_env import NimRules, evaluation  # noqa: E402

# RLlib registers its environment anew for each algorithm of a process
pytestmark = pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env:UserWarning")

RULES = NimRules((2, 3))
SMALL = {
    "heaps": RULES.heaps,
    "num_env_runners": 0,
    "num_envs": 32,
    "train_batch_size": 512,
    "batch_size": 128,
    "eval_interval": 1,
}


@pytest.fixture(scope="module", autouse=True)
def ray_on_this_machine():
    with pytest.MonkeyPatch.context() as patch:
        examples = str(Path(rllib_self_play.__file__).parent)
        patch.setenv("PYTHONPATH", examples, prepend=os.pathsep)  # for Ray's processes
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """The result of a run with its own env runner, and its folder."""
    options = SMALL | {"num_env_runners": 1, "train_batch_size": 1024, "eval_interval": 3}
    folder = tmp_path_factory.mktemp("learned")
    return main(Args(**options, total_timesteps=8000, folder=folder)), folder


def test_it_learns_the_exact_solution(learned):
    table, folder = learned
    first, last = table.iloc[0], table.iloc[-1]
    assert first["timesteps"] == 0
    assert first["expert"] < 1
    assert 8000 <= last["timesteps"] < 9500
    assert table["timesteps"].is_monotonic_increasing
    assert last["expert"] == 1
    assert last["champion"]
    assert last["exploitability"] < 0.2
    player = common.load_player(str(folder / "player.npz"), RULES)
    assert evaluation.mastery(RULES, player).champion
    assert evaluation.play_match(RULES, player, "random", 400, seed=0).win_rate > 0.9
    assert (folder / "rllib_self_play.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_is_the_evaluation_of_the_module(learned):
    table, folder = learned
    checkpoint = max((folder / "checkpoints").glob("[0-9]*"))
    module = RLModule.from_checkpoint(checkpoint / "learner_group" / "learner" / "rl_module" / "player")

    class Player:
        def action_probabilities(self, observation, action_mask):
            one_hot = [np.eye(heap + 1, dtype=np.float32)[observation[:, n]] for n, heap in enumerate(RULES.heaps)]
            obs = {
                "observations": torch.as_tensor(np.concatenate(one_hot, axis=1)),
                "action_mask": torch.ones(action_mask.shape),
            }
            with torch.no_grad():
                logits = module.forward_inference({"obs": obs})["action_dist_inputs"].double().numpy()
            weights = np.exp(logits) * action_mask
            return weights / weights.sum(axis=-1, keepdims=True)

    last, player = table.iloc[-1], common.load_player(str(folder / "player.npz"), RULES)
    assert last["exploitability"] == pytest.approx(evaluation.exploitability(RULES, Player()), abs=1e-6)
    assert last["win_probability_random"] == pytest.approx(
        evaluation.win_probability(RULES, Player(), "random"), abs=1e-6
    )
    mastery = evaluation.mastery(RULES, player)
    assert (last["expert"], last["champion"]) == (mastery.expert, mastery.champion)
    heaps = RULES.all_positions()[1:]
    best = Player().action_probabilities(heaps, RULES.action_mask(heaps)).argmax(axis=1)
    np.testing.assert_array_equal(player.probabilities[1:].argmax(axis=1), best)


def test_a_restored_checkpoint_is_the_same_policy(learned):
    table, folder = learned
    policy = folder / "player.npz"
    before = common.load_player(str(policy), RULES).probabilities
    policy.unlink()
    resumed = main(Args(resume=True, folder=folder, num_env_runners=0))
    pd.testing.assert_frame_equal(resumed, table, check_dtype=False)
    np.testing.assert_array_equal(common.load_player(str(policy), RULES).probabilities, before)


def test_an_interrupted_run_is_continued_with_its_options(tmp_path, monkeypatch):
    evaluate = rllib_self_play.evaluate

    def interrupt(*args):
        if args[-1] >= 1000:
            raise KeyboardInterrupt
        return evaluate(*args)

    with monkeypatch.context() as patch:
        patch.setattr(rllib_self_play, "evaluate", interrupt)
        with pytest.raises(KeyboardInterrupt):
            main(Args(**SMALL, policies="separate", total_timesteps=1500, folder=tmp_path))
    before = pd.read_csv(tmp_path / "rllib_self_play.csv")
    table = main(Args(resume=True, folder=tmp_path, num_env_runners=0))
    pd.testing.assert_frame_equal(table[: len(before)], before, check_dtype=False)
    assert table["timesteps"].iloc[len(before)] > before["timesteps"].iloc[-1]
    assert 1500 <= table["timesteps"].iloc[-1] < 2500
    assert set(table["module"]) == {"player_0", "player_1"}
    players = [common.load_player(str(tmp_path / f"player_{n}.npz"), RULES) for n in range(2)]
    for player, (_, row) in zip(players, table.tail(2).iterrows(), strict=True):
        assert row["expert"] == evaluation.mastery(RULES, player).expert
    assert table["exploitability"].iloc[-1] != table["exploitability"].iloc[-2]


def test_the_seed_decides_the_result():
    tables = [
        main(Args(**SMALL, total_timesteps=500, seed=seed, folder=Path(name)))
        for name, seed in (("one", 5), ("same", 5), ("other", 6))
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1], check_exact=True)
    assert not tables[0].equals(tables[2])


def test_environments_of_neighboring_env_runners_start_elsewhere():
    def starts(worker, index, seed):
        env = SelfPlayEnv(EnvContext({"rules": NimRules((9, 9, 9))}, worker_index=worker, vector_index=index))
        return [str(env.reset(seed=seed)), *(str(env.reset()) for _ in range(3))]

    # the seeds that RLlib gives: one more for each env runner and for each of its environments
    envs = {(worker, index): starts(worker, index, worker + index) for worker in (1, 2) for index in range(3)}
    assert len(set(map(tuple, envs.values()))) == 6
    assert envs[1, 1] == starts(1, 1, 2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"resume": True, "folder": Path("nowhere")}, ["--resume", "nowhere"]),
        ({"batch_size": 10_000}, ["minibatch_size", "10000", "8192"]),
        ({"heaps": (0, 0)}, ["heaps"]),
        ({"heaps": (9,) * 12}, ["positions"]),
    ],
)
def test_wrong_values(refused, wrong, words):
    with refused(*words):
        main(Args(**wrong))
    assert not list(Path().rglob("*.json"))


def test_another_run_is_left_alone(learned, refused):
    with refused("--resume", "another folder"):
        main(Args(folder=learned[1]))


def test_a_damaged_checkpoint(tmp_path, refused):
    checkpoint = tmp_path / "checkpoints" / "000000000512"
    checkpoint.mkdir(parents=True)
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in SMALL.items()}
    del options["num_env_runners"]
    (tmp_path / "checkpoints" / "args.json").write_text(json.dumps(options))
    with refused("--resume", checkpoint.name):
        main(Args(resume=True, folder=tmp_path, num_env_runners=0))
