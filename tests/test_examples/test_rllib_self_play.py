import pandas as pd
import pytest

ray = pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')
pytest.importorskip("torch", reason='needs pip install -e ".[examples,rllib]"')

import rllib_self_play  # noqa: E402
from ray.rllib.core.rl_module.rl_module import RLModule  # noqa: E402
from ray.rllib.env.env_context import EnvContext  # noqa: E402
from rllib_self_play import Args, SelfPlayEnv, main  # noqa: E402

from nim_env import NimRules, evaluation  # noqa: E402

import common  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("ray_on_this_machine"),
    # RLlib registers its environment anew for each algorithm of a process
    pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-multi-agent-env:UserWarning"),
]

RULES = NimRules((2, 3))
SMALL = {"heaps": RULES.heaps, "num_env_runners": 0, "num_envs": 32, "batch_size": 128}
SMALL |= {"train_batch_size": 512, "eval_interval": 1}


@pytest.fixture(scope="module")
def learned(tmp_path_factory, ray_on_this_machine):  # noqa: ARG001
    """The result of a run with its own env runner, and its folder."""
    options = SMALL | {"num_env_runners": 1, "train_batch_size": 1024, "eval_interval": 3}
    folder = tmp_path_factory.mktemp("learned")
    return main(Args(**options, total_timesteps=8000, folder=folder)), folder


def test_it_learns_the_exact_solution(learned):
    table, folder = learned
    assert table["timesteps"].iloc[0] == 0
    assert table["expert"].iloc[0] < 1
    assert 8000 <= table["timesteps"].iloc[-1] < 9500
    assert table["champion"].iloc[-1]
    assert (folder / "rllib_self_play.svg").read_bytes().startswith(b"<?xml")
    checkpoint = max((folder / "checkpoints").glob("[0-9]*"))
    module = RLModule.from_checkpoint(checkpoint / "learner_group" / "learner" / "rl_module" / "player")
    report = evaluation.report(RULES, rllib_self_play.policy_of(module, RULES)).to_dict()
    for metric in ("win_probability_random", "exploitability"):
        assert table[metric].iloc[-1] == pytest.approx(report[metric], abs=1e-6)
    player = common.load_player(str(folder / "player.npz"), RULES)
    mastery = evaluation.mastery(RULES, player)
    assert mastery.champion
    assert table["expert"].iloc[-1] == mastery.expert


def test_an_interrupted_run_is_continued(tmp_path, monkeypatch):
    evaluate = rllib_self_play.evaluate

    def interrupt(*args):
        if args[-1] >= 1000:
            raise KeyboardInterrupt
        return evaluate(*args)

    options = {**SMALL, "policies": "separate", "total_timesteps": 1500, "folder": tmp_path}
    with monkeypatch.context() as patch:
        patch.setattr(rllib_self_play, "evaluate", interrupt)
        with pytest.raises(KeyboardInterrupt):
            main(Args(**options))
    before = pd.read_csv(tmp_path / "rllib_self_play.csv")
    table = main(Args(**options, resume=True))
    pd.testing.assert_frame_equal(table[: len(before)], before, check_dtype=False)
    assert table["timesteps"].iloc[len(before)] > before["timesteps"].iloc[-1]
    assert 1500 <= table["timesteps"].iloc[-1] < 2500
    player = common.load_player(str(tmp_path / "player_1.npz"), RULES)
    assert table["expert"].iloc[-1] == evaluation.mastery(RULES, player).expert


def test_the_seed_decides_the_result(tmp_path):
    first, again = (main(Args(**SMALL, total_timesteps=500, seed=5, folder=tmp_path / name)) for name in "ab")
    assert first.equals(again)


def test_environments_of_neighboring_env_runners_start_elsewhere():
    def starts(worker, index, seed):
        env = SelfPlayEnv(EnvContext({"rules": NimRules((9, 9, 9))}, worker_index=worker, vector_index=index))
        return [str(env.reset(seed=seed)), *(str(env.reset()) for _ in range(3))]

    # the seeds that RLlib gives: one more for each env runner and for each of its environments
    envs = {(worker, index): starts(worker, index, worker + index) for worker in (1, 2) for index in range(3)}
    assert len(set(map(tuple, envs.values()))) == 6
    assert envs[1, 1] == starts(1, 1, 2)


def test_wrong_values(learned, refused):
    with refused("--resume"):
        main(Args(folder=learned[1]))
    with refused("minibatch_size", "10000"):
        main(Args(batch_size=10_000))
