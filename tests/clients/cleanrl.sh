#!/usr/bin/env bash
# CleanRL's scripts, unmodified; the argument is the folder of its repository.
set -euo pipefail
export PYTHONPATH=$1
evaluate="python $(dirname "$0")/evaluate.py"
$evaluate "agent.actor(x.float())" "$1/cleanrl/ppo.py" --env-id nim_env:Nim-v0 --total-timesteps 2000
$evaluate "q_network(x.float())" "$1/cleanrl/pqn.py" --env-id nim_env:Nim-v0 --total-timesteps 2000
$evaluate "q_network(x)" "$1/cleanrl/dqn.py" --env-id nim_env:NimOneHot-v0 --total-timesteps 11000
$evaluate "(q_network.network(x).view(len(x), -1, 101).softmax(2) * q_network.atoms).sum(2)" \
    "$1/cleanrl/c51.py" --env-id nim_env:NimOneHot-v0 --total-timesteps 11000
