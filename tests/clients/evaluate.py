"""Runs a program, and evaluates what it has learned: evaluate.py EXPRESSION PROGRAM [ARGUMENT ...].

EXPRESSION gives the logits or values of all actions, shape (n, n_actions), of the observations ``x``, a tensor. It
may use the variables of the program. The environment of the program is ``env`` or ``envs``.
"""

import runpy
import sys

import numpy as np
import torch

from nim_env import EncodedPolicy, NimRules, evaluation
from nim_env.encodings import encoding_of
from nim_env.policies import batched

expression = sys.argv[1]
del sys.argv[:2]
variables = runpy.run_path(sys.argv[0], run_name="__main__")
env = variables.get("env") or variables["envs"]
rules = NimRules()
space = getattr(env, "single_observation_space", env.observation_space)


@torch.no_grad()
def best_actions(observations, masks):
    values = eval(expression, variables, {"x": torch.as_tensor(observations)})
    return np.where(masks, values, -np.inf).argmax(axis=1)


player = EncodedPolicy(batched(best_actions), encoding_of(rules, space))
expert = evaluation.mastery(rules, player).expert
print(f"win probability {evaluation.win_probability(rules, player, 'random'):.2f}, expert mastery {expert:.2f}")
