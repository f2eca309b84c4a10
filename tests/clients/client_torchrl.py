"""TorchRL: random games by the identifier alone, and with both players."""

import pettingzoo
from torchrl.envs import GymEnv, PettingZooWrapper

import nim_env  # noqa: F401  registers nim-v0

assert GymEnv("nim_env:Nim-v0").rollout(100, break_when_any_done=False).batch_size == (100,)
env = PettingZooWrapper(pettingzoo.make("aec", "nim-v0"), use_mask=True)
assert env.rollout(100, break_when_any_done=True)["next", "done"][-1]
