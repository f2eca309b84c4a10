#!/usr/bin/env bash
# CleanRL's scripts, unmodified; the argument is the folder of its repository.
set -euo pipefail
export PYTHONPATH=$1
for name in ppo pqn; do
    python "$1/cleanrl/$name.py" --env-id nim_env:Nim-v0 --total-timesteps 2000
done
for name in dqn c51; do
    python "$1/cleanrl/$name.py" --env-id nim_env:NimOneHot-v0 --total-timesteps 11000
done
