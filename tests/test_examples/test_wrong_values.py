"""Scripts name a wrong value or type; `command_line.run` prints it as one line."""

import importlib
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("script", "options", "words"),
    [
        ("compare_opponents", {"heaps": (1,)}, ["opening"]),
        ("compare_opponents", {"enter": ("grandmaster",)}, ["grandmaster"]),
        ("play_in_browser", {"port": 70000}, ["port", "70000"]),
        ("play_in_browser", {"heaps": (1,) * 16}, ["heaps", "15"]),
        ("play_in_browser", {"agents": ("illegal.py:zero",)}, ["zero", "legal"]),
        ("play_in_browser", {"heaps": (30, 40, 50), "agents": ("expert",)}, ["expert", "64,821", "20,000"]),
        ("q_learning_self_play", {"episodes": -1}, ["episodes", "-1"]),
        ("scaling_study", {"heaps": (8,)}, ["--heaps", "8"]),
        ("scaling_study", {"heaps": (9,) * 12}, ["positions"]),
        ("sb3_self_play", {"algorithm": "DQN"}, ["DQN", "--opponent"]),
        ("sticks", {"opponent": "take-0"}, ["take-0"]),
    ],
)
def test_a_wrong_value_is_named(script, options, words, refused):
    if script == "sb3_self_play":
        pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')
    Path("illegal.py").write_text("def zero(observation, action_mask): return 0")
    module = importlib.import_module(script)
    with refused(*words):
        module.main(module.Args(**options))
