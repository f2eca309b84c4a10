"""rllib_self_play.py: it learns, what it reports is what its module plays, and seeds decide."""

import pytest

pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')
pytest.importorskip("torch", reason='needs pip install -e ".[examples,rllib]"')

import rllib_self_play
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.rllib.env.env_context import EnvContext
from rllib_self_play import Args, SelfPlayEnv, main

from nim_env import NimRules, evaluation

from command_line import load_player
from common import percent

pytestmark = [
    pytest.mark.usefixtures("ray_on_this_machine"),
    # RLlib registers its environment anew for each algorithm of a process
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env:UserWarning"),
]

RULES = NimRules((2, 3))
SMALL = {"heaps": RULES.heaps, "num_envs": 32, "batch_size": 128}


def test_it_learns_the_exact_solution(tmp_path):
    options = SMALL | {"num_env_runners": 1, "train_batch_size": 1024, "eval_interval": 3}
    table = main(Args(**options, total_timesteps=8000, folder=tmp_path))
    assert table["timesteps"].iloc[0] == 0
    assert table["expert"].iloc[0] < 1
    assert 8000 <= table["timesteps"].iloc[-1] < 9500
    assert table["champion"].iloc[-1]
    assert (
        f"{percent(table['expert'].iloc[-1])} % expert mastery" in (tmp_path / "rllib_self_play.svg").read_text()
    )
    module = RLModule.from_checkpoint(
        tmp_path / "checkpoint" / "learner_group" / "learner" / "rl_module" / "player"
    )
    report = evaluation.report(RULES, rllib_self_play.policy_of(module, RULES)).to_dict()
    for metric in ("win_probability_random", "exploitability"):
        assert table[metric].iloc[-1] == pytest.approx(report[metric], abs=1e-6)
    mastery = evaluation.mastery(RULES, load_player(str(tmp_path / "player.npz"), RULES).policy)
    assert mastery.champion
    assert table["expert"].iloc[-1] == mastery.expert


def test_the_seed_decides_the_result():
    options = SMALL | {"num_env_runners": 0, "train_batch_size": 512, "eval_interval": 1}
    first, again = (main(Args(**options, total_timesteps=500, seed=5)) for _ in range(2))
    assert first.equals(again)


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
