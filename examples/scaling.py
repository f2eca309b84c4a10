"""One run of the scaling study, in a module that other processes can import."""

from __future__ import annotations

import sys
import time

import gymnasium as gym
from joblib.memory import MemorizedFunc
from learners import LEARNERS, percent

import agents
from nim_env import NimRules, evaluation

HYPERPARAMETERS = {
    "q-learning": {"learning_rate": 0.5, "epsilon": 0.1},
    "minimax-q": {"learning_rate": 1.0, "epsilon": 0.1},
    "win-counting": {"cutoff": 1000},
}


def study(
    learner: str,
    hyperparameters: dict[str, float],
    rules: NimRules,
    moves: int,
    needed: float,
    num_envs: int,
    seed: int,
) -> dict[str, object]:
    """Trains one learner from random starts, and holds what it learnt against the truth.

    Args:
        learner: A name of ``LEARNERS``; it learns by self-play where it can, else against random play.
        hyperparameters: Its further arguments.
        rules: The game.
        moves: How many moves it learns from; the games that are on when they are reached are not counted.
        needed: The expert mastery whose moves are counted, looked for whenever the moves have grown by a half.
        num_envs: How many games are played at once.
        seed: Decides every draw.

    Returns:
        A row of the study's table.
    """
    begun = time.perf_counter()
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=num_envs,
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        random_start=True,
        opponent=None if LEARNERS[learner].supports_self_play else "random",
    )
    agent = LEARNERS[learner](env.single_observation_space, env.single_action_space, seed=seed, **hyperparameters)
    played, episodes, next_look, moves_needed = 0, 0, num_envs, None

    def look(agent: agents.Agent, history: agents.History) -> bool:
        nonlocal played, episodes, next_look, moves_needed
        played += int(history.lengths[episodes:].sum())
        episodes = len(history.lengths)
        if moves_needed is None and played >= next_look:
            next_look = 3 * played // 2
            if evaluation.mastery(rules, agent).expert >= needed:
                moves_needed = played
        return played < moves

    agents.train(agent, env, moves, seed=seed, callback=look)
    found = evaluation.mastery(rules, agent)
    if moves_needed is None and found.expert >= needed:
        moves_needed = played
    return {
        "learner": learner,
        "heaps": "-".join(map(str, rules.heaps)),
        "n_heaps": rules.n_heaps,
        "positions": rules.n_positions,
        "seed": seed,
        "moves": played,
        "expert": found.expert,
        "champion": found.champion,
        "exploitability": evaluation.exploitability(rules, agent),
        "moves_needed": moves_needed,
        "seconds": time.perf_counter() - begun,
    }


def finished(kept: MemorizedFunc, *run: object) -> dict[str, object]:
    """The row of a run, from what is kept where it is there; a new one is kept, and then told of."""
    is_new = not kept.check_call_in_cache(*run)
    row = kept(*run)
    if is_new:
        name = f"{row['heaps']}, {row['learner']}, seed {row['seed']}"
        line = f"{name}: expert mastery {percent(row['expert'], 2)} %, {row['seconds']:.1f} s\n"
        sys.stdout.write(line)  # in one piece, since others write too
        sys.stdout.flush()
    return row
