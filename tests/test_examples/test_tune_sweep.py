import gc
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ray = pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')

import tune_sweep  # noqa: E402
from tune_sweep import Args, main  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("ray_on_this_machine"),
    # Tune leaves the files of an interrupted trial open
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]

SMALL = {"heaps": (1, 2, 3), "trials": 4, "episodes": 1500, "n_evals": 3, "grace_period": 3, "n_seeds": 2}
HYPERPARAMETERS = ["learning_rate", "gamma", "epsilon"]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory, ray_on_this_machine):  # noqa: ARG001
    """The result of a sweep that stops no trial, and its folder."""
    folder = tmp_path_factory.mktemp("sweep")
    return main(Args(**SMALL, folder=folder)), folder


def test_the_table_has_a_row_for_each_trial(sweep):
    table, folder = sweep
    assert sorted(table["learner"]) == ["minimax-q"] * 4 + ["q-learning"] * 4
    assert (table["episodes"] == 1500).all()
    assert table["worst"].max() == 1
    drawn = [rows[HYPERPARAMETERS].sort_values("gamma").to_numpy() for _, rows in table.groupby("learner")]
    np.testing.assert_allclose(drawn[0], drawn[1])  # the same for both learners
    assert len(np.unique(drawn[0])) == 12
    assert len(pd.read_csv(folder / "tune_sweep.csv")) == 8
    assert (folder / "tune_sweep.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_sweep_is_continued(sweep, tmp_path, monkeypatch):
    completed = []

    def interrupt(scheduler, controller, trial, result):  # noqa: ARG001
        if completed:  # the last of four trials has not begun, since two run at the same time
            signal.raise_signal(signal.SIGINT)
        completed.append(Path(trial.path) / "result.json")

    with monkeypatch.context() as patch:
        patch.setattr(tune_sweep.ASHAScheduler, "on_trial_complete", interrupt)
        with pytest.raises(KeyboardInterrupt):
            main(Args(**SMALL, folder=tmp_path))
    gc.collect()  # closes the files of the interrupted trial
    before = completed[0].read_text()
    resumed = main(Args(**SMALL, resume=True, folder=tmp_path))
    assert completed[0].read_text() == before  # a finished trial is not run again
    tables = [table.sort_values(["learner", "gamma"], ignore_index=True) for table in (sweep[0], resumed)]
    pd.testing.assert_frame_equal(*tables)


def test_another_sweep_is_left_alone(sweep, refused):
    with refused("--resume"):
        main(Args(folder=sweep[1]))
