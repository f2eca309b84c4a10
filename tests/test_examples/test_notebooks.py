"""The notebooks: they run, and show what their files show.

``NIM_ENV_NEW_NOTEBOOKS=1 pytest tests/test_examples/test_notebooks.py`` stores their outputs anew.
"""

import nbformat
import pytest
from notebooks import check, execute


@pytest.mark.parametrize("name", ["1_play_and_look.ipynb", "2_train_evaluate_compare.ipynb"])
def test_notebook(name, tmp_path):
    now, stored = check(name, tmp_path)
    assert now == stored


def test_progress_bar(tmp_path):
    """It is a widget, and there is no warning."""
    code = """
import agents, gymnasium
env = gymnasium.make("nim_env:Nim-v0", opponent=None)
agent = agents.QLearningAgent(env.observation_space, env.action_space)
agents.train(agent, env, episodes=20, progress=True).lengths.size
"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    execute(notebook, tmp_path)
    bar, result = notebook.cells[0].outputs
    assert "application/vnd.jupyter.widget-view+json" in bar["data"]
    assert result["data"]["text/plain"] == "20"
