"""Five programs for FrozenLake plan with ``env.unwrapped.P``; only the line that makes the environment is changed.

The arguments are the folders of ucla-rlcourse/RLexample and turhancan97/grokking-deep-reinforcement-learning. It
needs bettermdptools.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import gymnasium as gym
import numpy as np
from bettermdptools.algorithms.planner import Planner

from nim_env import NimRules, evaluation, solver
from nim_env.policies import greedy

COURSE, BOOK = (Path(folder).resolve() for folder in sys.argv[1:])
RULES = NimRules((3, 3))  # 16 positions, as FrozenLake has states
MAKE = 'gym.make("nim_env:Nim-v0", heaps=(3, 3), observation="index")'
VALUES = solver.response_values(RULES, "random").going_first[1:]
BEST = evaluation.win_probability(RULES, solver.best_response(RULES, "random"), "random")


def run(folder, *names):
    """Runs the last of the programs, of which it may import the others, in a copy; returns its variables."""
    with tempfile.TemporaryDirectory() as copies:
        for name in names:
            line = r"gym\.make\((?:env_name, render_mode|'FrozenLake-v1', desc).*\)"
            code, n_changed = re.subn(line, MAKE, (folder / name).read_text(encoding="utf-8"))
            assert n_changed == 1
            Path(copies, name).write_text(code, encoding="utf-8")
        os.chdir(copies)
        sys.path.insert(0, copies)
        variables = {"__name__": "__main__"}
        exec(compile(code, name, "exec"), variables)
        return variables


def check(name, actions, values=None):
    """The actions win as often as a best response, and the values are those of the solver."""
    policy = greedy(RULES, np.eye(RULES.n_actions)[np.asarray(actions, dtype=int)])
    assert abs(evaluation.win_probability(RULES, policy, "random") - BEST) < 1e-9, name
    if values is not None:
        print(name, "values differ by at most", np.abs(values[1:] - VALUES).max())
        assert np.abs(values[1:] - VALUES).max() < 1e-7, name


found = run(COURSE / "MDP", "frozenlake_value_iteration.py")
check("frozenlake_value_iteration.py", found["policy"], found["optimal_v"])
found = run(COURSE / "MDP", "frozenlake_policy_iteration.py")
actions = found["optimal_policy"]
check("frozenlake_policy_iteration.py", actions, found["compute_policy_v"](found["env"], actions))
found = run(BOOK / "chapter-3", "ValueIteration.py")  # gamma is 0.99
check("ValueIteration.py", [found["pi"](state) for state in range(RULES.n_positions)])
found = run(BOOK / "chapter-3", "PolicyEvaluation.py", "PolicyImprovement.py", "PolicyIteration.py")
check("PolicyIteration.py", [found["pi"](state) for state in range(RULES.n_positions)])
env = gym.make("nim_env:Nim-v0", heaps=(3, 3), observation="index")
for method in ("value_iteration", "policy_iteration"):
    values, _, policy, *_ = getattr(Planner(env.unwrapped.P), method)(gamma=1.0)
    check(f"bettermdptools {method}", [policy[state] for state in range(RULES.n_positions)], values)
