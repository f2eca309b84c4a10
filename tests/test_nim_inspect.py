"""nim_inspect.py: the score of a model whose play is known."""

import pytest

pytest.importorskip("inspect_ai", reason="needs pip install inspect-ai")

import numpy as np
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from nim_inspect import RULES, nim

from nim_env import theory


@pytest.mark.filterwarnings("ignore")  # those of Inspect's own streams
def test_the_score_is_the_mean_of_the_exact_rewards(tmp_path):
    def answer(*_):
        output = ModelOutput.from_content("player", "Move: C 2")
        output.usage = ModelUsage()  # else its tokens are counted by a file from the network
        return output

    model = get_model("mockllm/player", custom_outputs=answer)
    [log] = evaluate(nim(), model=model, display="none", log_dir=str(tmp_path))
    positions = RULES.all_positions()[1:]
    action = RULES.action(2, 2)
    legal = RULES.action_mask(positions)[:, action]
    rewards = np.where(legal, theory.winning_action_mask(RULES, positions)[:, action], -1.0)
    assert log.status == "success"
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(rewards.mean())
