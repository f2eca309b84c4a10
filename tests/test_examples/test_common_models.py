"""MaskablePPO models as players by name."""

import zipfile

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[sb3]"')

from sb3_contrib import MaskablePPO

from nim_env import NimRules
from nim_env.gym_env import NimEnv

from common import load_player

RULES = NimRules((2, 3))


@pytest.mark.parametrize("observation", ["heaps", "bits", "one_hot", "unary"])
def test_a_saved_model_plays_its_most_probable_action(observation, tmp_path):
    env = NimEnv(RULES.heaps, observation=observation)
    model = MaskablePPO("MlpPolicy", env, seed=0, n_steps=8, batch_size=8, policy_kwargs={"net_arch": [4]})
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
