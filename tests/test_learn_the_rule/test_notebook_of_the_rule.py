"""The notebook of the network's study; its figures may differ between machines in the last digits.

``NIM_ENV_NEW_NOTEBOOKS=1 pytest tests/test_learn_the_rule/test_notebook_of_the_rule.py`` stores its outputs anew.
"""

import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[proof,sb3]"')

from notebooks import NOTEBOOKS, check


def test_notebook(tmp_path, monkeypatch):
    for folder in (NOTEBOOKS.parent, NOTEBOOKS.parents[1] / "docs" / "scripts"):
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    now, stored = check("3_learn_the_rule.ipynb", tmp_path)
    assert [kinds for kinds, _ in now] == [kinds for kinds, _ in stored]
    assert float(now[-1][1]) > 0  # the margin of the proof
