"""tune_sweep.py: the trials of both learners, after a crash too; and the sweep of the documentation."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')

import ray
import tune_sweep

from common import percent

pytestmark = [
    pytest.mark.usefixtures("ray_on_this_machine"),
    # Tune leaves the files of a stopped trial open
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]


PAGE = Path(__file__).parents[2] / "docs" / "experiments" / "scaling_out.md"


def test_a_sweep_whose_driver_was_killed(tmp_path):
    args = tune_sweep.Args(heaps=(1, 2, 3), trials=4, episodes=60, folder=tmp_path)
    options = ["--heaps", "1", "2", "3", "--trials", "4", "--episodes", "60", "--folder"]
    env = os.environ | {"RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    with subprocess.Popen([sys.executable, tune_sweep.__file__, *options, tmp_path], env=env) as driver:
        while driver.poll() is None and not any(tmp_path.rglob("result.json")):
            time.sleep(0.05)
        driver.kill()
    assert driver.returncode < 0

    table = tune_sweep.main(args)
    assert sorted(table["learner"]) == ["minimax-q"] * 4 + ["q-learning"] * 4
    ends = table.groupby("learner")["episodes"]
    assert (ends.max() == 27 * 60).all()
    assert (ends.min() < 27 * 60).all()  # stopped
    assert (table.groupby("learner")["expert"].max() > 0.9).all()
    drawn = [rows[[*tune_sweep.HYPERPARAMETERS]].sort_values("gamma") for _, rows in table.groupby("learner")]
    np.testing.assert_allclose(*drawn)  # the same for the learner that was stopped and for the other
    assert drawn[0].nunique().eq(4).all()
    assert len(pd.read_csv(tmp_path / "tune_sweep.csv")) == 8
    assert f"up to {percent(table['expert'].max())} %" in (tmp_path / "tune_sweep.svg").read_text()

    reports = {path: path.read_text() for path in tmp_path.rglob("result.json")}
    assert len(reports) == 8  # those of the killed driver are among them
    again = tune_sweep.main(args)
    columns = [*table.columns]
    pd.testing.assert_frame_equal(*(rows.sort_values(columns).reset_index(drop=True) for rows in (table, again)))
    assert {path: path.read_text() for path in tmp_path.rglob("result.json")} == reports
    other = tune_sweep.Args(heaps=(1, 2), trials=1, episodes=1, folder=tmp_path)
    assert tune_sweep.sweep(other, "q-learning")["episodes"].tolist() == [27]


def test_the_sweep_of_the_documentation():
    """With one learning rate and one seed."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    for more, one in {"[0.1, 0.5]": "[0.5]", "[0, 1]": "[0]"}.items():
        assert more in code
        code = code.replace(more, one)
    variables = {"__name__": "__main__"}
    for _ in range(2):  # the second time it shows the table
        exec(compile(code, PAGE.name, "exec"), variables)
        table = variables["table"]
        assert sorted(zip(table["learner"], map(len, table["heaps"]), strict=True)) == [
            ("minimax-q", 3),
            ("minimax-q", 3),
            ("q-learning", 3),
            ("q-learning", 3),
        ]
        assert (table["expert"] > 0.8).all()


def test_a_wrong_value(refused):
    with refused("heaps", "-3"):
        tune_sweep.main(tune_sweep.Args(heaps=(1, -3)))
