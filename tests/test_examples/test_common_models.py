"""MaskablePPO models as players by name."""

import os
import zipfile

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from common import load_player

import torch
from sb3_contrib import MaskablePPO

from nim_env import NimRules
from nim_env.envs.gym_env import NimEnv

RULES = NimRules((2, 3))


def make_model(env):
    return MaskablePPO("MlpPolicy", env, seed=0, n_steps=8, batch_size=8, policy_kwargs={"net_arch": [4]})


@pytest.mark.parametrize("observation", ["heaps", "bits", "one_hot", "unary"])
def test_a_saved_model_plays_its_most_probable_action(observation, tmp_path):
    env = NimEnv(RULES.heaps, observation=observation)
    model = make_model(env)
    model.save(tmp_path / "model.zip")
    player = load_player("model.zip", RULES)
    for heaps in RULES.all_positions()[1:]:
        mask = RULES.action_mask(heaps)
        observation, _ = env.reset(options={"heaps": heaps.tolist()})
        action, _ = model.predict(observation, action_masks=mask, deterministic=True)
        np.testing.assert_array_equal(
            player.action_probabilities(heaps, mask), np.arange(RULES.n_actions) == action
        )
    with pytest.raises(ValueError, match="another game"):
        load_player("model.zip", NimRules((2, 4)))


def test_a_damaged_model_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as file:
        file.writestr("policy.pth", b"not a model")
    with pytest.raises(ValueError, match=r"model\.zip is damaged"):
        load_player("model.zip", RULES)


class MakesFolder:
    """A pickle of it creates the folder ``ran`` when it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


def test_only_zip_files_run_pickled_code(tmp_path):
    model = make_model(NimEnv(RULES.heaps))
    model.note = MakesFolder()
    model.save("model.zip")
    torch.save({"weights": MakesFolder()}, "network.zip")
    for content, names in (
        ("model.zip", ["x.agent", "x.npz", "x.pt", "x"]),
        ("network.zip", ["y.agent", "y.npz", "y.pt", "y"]),
    ):
        for name in names:
            (tmp_path / name).write_bytes((tmp_path / content).read_bytes())
            with pytest.raises(ValueError, match=name):
                load_player(name, RULES)
    assert not (tmp_path / "ran").exists()
    load_player("model.zip", RULES)
    assert (tmp_path / "ran").exists()  # so the file would have run its code
