"""tune_sweep.py: the trials of both learners, and what they report."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')

import tune_sweep

from common import percent

pytestmark = [
    pytest.mark.usefixtures("ray_on_this_machine"),
    # Tune leaves the files of a stopped trial open
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


def test_a_sweep(tmp_path):
    table = tune_sweep.main(tune_sweep.Args(heaps=(1, 2, 3), trials=4, episodes=60, folder=tmp_path))
    assert sorted(table["learner"]) == ["minimax-q"] * 4 + ["q-learning"] * 4
    ends = table.groupby("learner")["episodes"]
    assert (ends.max() == 27 * 60).all()
    assert (ends.min() < 27 * 60).all()  # stopped
    assert (table.groupby("learner")["expert"].max() > 0.9).all()
    drawn = [rows[[*tune_sweep.HYPERPARAMETERS]].sort_values("gamma") for _, rows in table.groupby("learner")]
    np.testing.assert_allclose(*drawn)  # the same for both learners
    assert drawn[0].nunique().eq(4).all()
    assert len(pd.read_csv(tmp_path / "tune_sweep.csv")) == 8
    assert f"up to {percent(table['expert'].max())} %" in (tmp_path / "tune_sweep.svg").read_text()
