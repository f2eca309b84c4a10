"""rllib_self_play.py: it learns, what it reports is what its module plays, is saved, and seeds decide."""

import pandas as pd
import pytest

pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')
pytest.importorskip("torch", reason='needs pip install -e ".[examples,rllib]"')

import rllib_self_play
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.env_context import EnvContext
from rllib_self_play import Args, SelfPlayEnv, main

from nim_env import NimRules, evaluation

from saved_players import load_player

pytestmark = [
    pytest.mark.usefixtures("ray_on_this_machine"),
    # RLlib registers its environment anew for each algorithm of a process
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env:UserWarning"),
]

RULES = NimRules((2, 3))
SMALL = {"heaps": RULES.heaps, "num_envs": 32, "batch_size": 128}


def policy_in(checkpoint):
    module = RLModule.from_checkpoint(checkpoint / "learner_group" / "learner" / "rl_module" / "player")
    return rllib_self_play.policy_of(module, RULES)


def test_it_learns_the_exact_solution(tmp_path):
    options = SMALL | {"num_env_runners": 1, "train_batch_size": 1024, "eval_interval": 3}
    table = main(Args(**options, total_timesteps=8000, folder=tmp_path))
    assert table["timesteps"].iloc[0] == 0
    assert table["expert"].iloc[0] < 1
    assert 8000 <= table["timesteps"].iloc[-1] < 9500
    assert table["champion"].iloc[-1]
    assert "expert mastery" in (tmp_path / "rllib_self_play.svg").read_text()
    report = evaluation.report(RULES, policy_in(tmp_path / "checkpoint")).to_dict()
    for metric in ("win_probability_random", "exploitability"):
        assert table[metric].iloc[-1] == pytest.approx(report[metric], abs=1e-6)
    mastery = evaluation.mastery(RULES, load_player(str(tmp_path / "player.npz"), RULES).policy)
    assert mastery.champion
    assert table["expert"].iloc[-1] == mastery.expert


def test_the_seed_decides_the_result_and_ctrl_c_leaves_it(tmp_path, monkeypatch):
    options = SMALL | {"num_env_runners": 0, "train_batch_size": 256, "eval_interval": 1, "seed": 5}
    first = main(Args(**options, total_timesteps=500))
    assert len(first) == 3
    evaluate = rllib_self_play.evaluate

    def stops(args, rules, module, timesteps):
        if timesteps == first["timesteps"].iloc[-1]:
            raise KeyboardInterrupt
        return evaluate(args, rules, module, timesteps)

    monkeypatch.setattr(rllib_self_play, "evaluate", stops)
    with pytest.raises(KeyboardInterrupt):
        main(Args(**options, total_timesteps=500, folder=tmp_path))
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "rllib_self_play.csv"), first[:2])
    report = evaluation.report(RULES, policy_in(tmp_path / "checkpoint"))
    assert first["exploitability"].iloc[1] == pytest.approx(report.exploitability, abs=1e-6)


def test_environments_of_neighboring_env_runners_start_elsewhere():
    def starts(worker, index, seed):
        env = SelfPlayEnv(EnvContext({"rules": NimRules((9, 9, 9))}, worker_index=worker, vector_index=index))
        return [str(env.reset(seed=seed)), *(str(env.reset()) for _ in range(3))]

    # the seeds that RLlib gives: one more for each env runner and for each of its environments
    envs = {(worker, index): starts(worker, index, worker + index) for worker in (1, 2) for index in range(3)}
    assert len(set(map(tuple, envs.values()))) == 6
    assert envs[1, 1] == starts(1, 1, 2)


def test_a_wrong_value(refused):
    with refused("minibatch_size", "10000"):
        main(Args(batch_size=10_000))
    with refused("num_env_runners", "3", "at most 2"):
        main(Args(num_env_runners=3))
