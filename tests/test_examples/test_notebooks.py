"""The notebooks: they run, and show what their files show.

``NIM_ENV_NEW_NOTEBOOKS=1 pytest tests/test_examples/test_notebooks.py`` stores their outputs anew.
"""

import pytest
from notebooks import check


@pytest.mark.parametrize("name", ["1_play_and_look.ipynb", "2_train_evaluate_compare.ipynb"])
def test_notebook(name, tmp_path):
    now, stored = check(name, tmp_path)
    assert now == stored
