"""The sweep of the documentation with Ray Tune, also after its driver was killed."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ray", reason='needs pip install -e ".[examples,rllib]"')

import ray

pytestmark = [
    pytest.mark.usefixtures("ray_on_this_machine"),
    # Tune leaves the files of a stopped trial open
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
]

PAGE = Path(__file__).parents[2] / "docs" / "experiments" / "scaling_out.md"


def test_the_sweep_of_the_documentation_is_resumed_after_a_crash():
    """With one learning rate and one seed."""
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[-1]
    for more, one in {"[0.1, 0.5]": "[0.5]", "[0, 1]": "[0]"}.items():
        assert more in code
        code = code.replace(more, one)
    Path("sweep.py").write_text(code)
    env = os.environ | {"RAY_ADDRESS": ray.get_runtime_context().gcs_address}
    with subprocess.Popen([sys.executable, "sweep.py"], env=env) as driver:
        while driver.poll() is None and not any(Path("results").rglob("result.json")):
            time.sleep(0.05)
        driver.kill()
    assert driver.returncode < 0
    variables = {"__name__": "__main__"}
    reports = []
    for _ in range(2):  # the second time it only shows the table
        exec(compile(code, PAGE.name, "exec"), variables)
        reports.append({path: path.read_text() for path in Path("results").rglob("result.json")})
        table = variables["table"]
        assert sorted(zip(table["learner"], map(len, table["heaps"]), strict=True)) == [
            ("minimax-q", 3),
            ("minimax-q", 3),
            ("q-learning", 3),
            ("q-learning", 3),
        ]
        assert (table["expert"] > 0.8).all()
    assert len(reports[0]) == 4  # the report of the killed driver is among them
    assert reports[0] == reports[1]
