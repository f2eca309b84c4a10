"""One run of the scaling study, in a module of its own so that other processes can import it."""

from __future__ import annotations

import time

import gymnasium as gym

import agents
from nim_env import NimRules, evaluation

LEARNERS = {
    "Q-learning": lambda env, seed: agents.QLearningAgent(*spaces(env), learning_rate=0.5, epsilon=0.1, seed=seed),
    "minimax-Q": lambda env, seed: agents.MinimaxQAgent(*spaces(env), learning_rate=1.0, epsilon=0.1, seed=seed),
    "win counting": lambda env, seed: agents.WinCountAgent(*spaces(env), seed=seed),
}
LEARNT_BY_SELF_PLAY = ("Q-learning", "minimax-Q")  # win counting learns against random play


def spaces(env: gym.vector.VectorEnv) -> tuple[gym.Space, gym.Space]:
    return env.single_observation_space, env.single_action_space


def study(learner: str, rules: NimRules, moves: int, needed: float, num_envs: int, seed: int) -> dict[str, object]:
    """Trains one learner from random starts, and holds what it learnt against the truth.

    Args:
        learner: A name of ``LEARNERS``.
        rules: The game.
        moves: How many moves it learns from; the games that are on when they are reached are played to their end.
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
        opponent=None if learner in LEARNT_BY_SELF_PLAY else "random",
    )
    agent = LEARNERS[learner](env, seed)
    played, episodes, next_look, moves_needed = 0, 0, 4 * num_envs, None

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
    row = {
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
    mastery = f"expert mastery {100 * found.expert:.2f} %"
    print(f"{row['heaps']}, {learner}, seed {seed}: {mastery}, {row['seconds']:.1f} s", flush=True)
    return row
