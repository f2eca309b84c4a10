"""d3rlpy: DQN in games, and DiscreteCQL from what it recorded."""

import d3rlpy
import gymnasium as gym

env = gym.make("nim_env:NimOneHot-v0")
buffer = d3rlpy.dataset.create_fifo_replay_buffer(limit=10_000, env=env)
dqn = d3rlpy.algos.DQNConfig().create()
dqn.fit_online(env, buffer, n_steps=1_000, n_steps_per_epoch=500, update_start_step=200)
cql = d3rlpy.algos.DiscreteCQLConfig().create()
cql.fit(buffer, n_steps=500, n_steps_per_epoch=250)
