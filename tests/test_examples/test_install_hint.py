"""After a plain `pip install -e .` a script says in one line what else to install."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = [path for path in EXAMPLES.rglob("*.py") if "import run\n" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_missing_package_is_one_line_that_says_what_to_install(script, tmp_path):
    for name in ("matplotlib", "tyro", "torch", "jax", "ray"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError({name!r}, name={name!r})")
    module = ".".join(script.relative_to(EXAMPLES).with_suffix("").parts)
    done = subprocess.run(
        [sys.executable, "-m", module],
        cwd=EXAMPLES,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith(script.name)
    assert 'pip install -e ".[examples' in line
