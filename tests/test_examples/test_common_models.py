"""MaskablePPO models as players by name."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

import torch
from sb3_contrib import MaskablePPO

from nim_env import NimRules
from nim_env.envs.gym_env import NimEnv

from common import load_player

RULES = NimRules((2, 3))


def make_model(env):
    return MaskablePPO("MlpPolicy", env, seed=0, n_steps=8, batch_size=8, policy_kwargs={"net_arch": [4]})


@pytest.mark.parametrize("observation", ["heaps", "bits", "one_hot", "unary"])
def test_a_saved_model_plays_its_most_probable_action(observation, refused):
    env = NimEnv(RULES.heaps, observation=observation)
    model = make_model(env)
    model.save("model.zip")
    player = load_player("model.zip", RULES)
    for heaps in RULES.all_positions()[1:]:
        mask = RULES.action_mask(heaps)
        encoded, _ = env.reset(options={"heaps": heaps.tolist()})
        action, _ = model.predict(encoded, action_masks=mask, deterministic=True)
        np.testing.assert_array_equal(
            player.action_probabilities(heaps, mask), np.arange(RULES.n_actions) == action
        )
    with refused("model.zip", "another game"):
        load_player("model.zip", NimRules((2, 4)))


def test_only_zip_files_run_pickled_code(refused, makes_folder):
    model = make_model(NimEnv(RULES.heaps))
    model.note = makes_folder
    model.save("model.zip")
    torch.save({"weights": makes_folder}, "network.zip")
    for content in ("model.zip", "network.zip"):
        for name in ("x.agent", "x.npz", "x.pt", "x"):
            Path(name).write_bytes(Path(content).read_bytes())
            with refused(name):
                load_player(name, RULES)
    assert not Path("ran").exists()
    load_player("model.zip", RULES)
    assert Path("ran").exists()  # so the file would have run its code
