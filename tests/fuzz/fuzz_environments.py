"""Random calls to every environment, right and wrong ones, compared with an independent model of Nim.

    python tests/fuzz/fuzz_environments.py --calls 1000000

A violation ends the run with the seed of the game, which --seed repeats. Where OpenSpiel is installed, its Nim is
a second model.
"""

import argparse
import copy
import itertools
import pickle
import time

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode
from nim_model import Model

from nim_env import aec_env
from nim_env.envs.gym_env import NimEnv
from nim_env.envs.vector_env import NimVectorEnv

try:
    import pyspiel
except ImportError:
    pyspiel = None


def random_rules(generator):
    heaps = generator.integers(0, 6, size=generator.integers(1, 5))
    heaps[generator.integers(len(heaps))] += 1  # not all empty
    max_take = None if generator.random() < 0.5 else int(generator.integers(1, 5))
    return {"heaps": tuple(heaps.tolist()), "max_take": max_take, "misere": bool(generator.random() < 0.5)}


def random_position(heaps, generator):
    while not (position := generator.integers(np.array(heaps) + 1)).any():
        pass
    return tuple(position.tolist())


def raises(error, call, *args):
    try:
        call(*args)
    except error:
        return
    raise AssertionError(f"{call.__qualname__}{args} must raise {error}")


def copied(env, generator):
    """The environment, or a copy of it, which must continue in the same way."""
    chance = generator.random()
    if chance < 0.01:
        return copy.deepcopy(env)
    return pickle.loads(pickle.dumps(env)) if chance < 0.02 else env


def mask_of(model, moves):
    return [int(model.is_legal(move)) for move in moves]


class Recorder:
    """An opponent that plays at random and keeps its moves."""

    def __init__(self, seed):
        self.generator, self.actions = np.random.default_rng(seed), []

    def __call__(self, _, action_mask):
        self.actions.append(int(self.generator.choice(np.flatnonzero(action_mask))))
        return self.actions[-1]


def fuzz_aec(seed):
    """One PettingZoo environment for some games; returns the number of calls."""
    generator = np.random.default_rng(seed)
    rules = random_rules(generator)
    env = aec_env.env(**rules)
    raises(ResetNeeded, env.step, 0)
    calls = 1
    for _ in range(generator.integers(1, 6)):
        start = random_position(rules["heaps"], generator) if generator.random() < 0.5 else rules["heaps"]
        env.reset(seed=int(generator.integers(100)), options={"heaps": start})
        model = Model(start, rules["max_take"], rules["misere"])
        moves = model.moves(rules["heaps"])
        calls += 1
        while True:
            env = copied(env, generator)
            mover = f"player_{model.to_play}"
            observation, _, terminated, truncated, _ = env.last()
            assert not truncated
            assert terminated == (model.winner is not None)
            assert observation["observation"].tolist() == model.heaps
            calls += 1
            if terminated:
                break
            assert env.agent_selection == mover
            assert observation["action_mask"].tolist() == mask_of(model, moves)
            assert not env.observe(f"player_{1 - model.to_play}")["action_mask"].any()
            if generator.random() < 0.02:
                raises(InvalidAction, env.step, len(moves) + int(generator.integers(3)))
            any_action = generator.random() < 0.05
            legal = np.flatnonzero(mask_of(model, moves))
            action = int(generator.integers(len(moves))) if any_action else int(generator.choice(legal))
            is_legal = model.is_legal(moves[action])
            model.play(moves[action])
            env.step(action)
            calls += 2
            if model.winner is None:
                assert not any(env.rewards.values())
            else:
                loser = f"player_{1 - model.winner}"
                assert env.rewards[loser] == -1
                assert env.rewards[f"player_{model.winner}"] == (1 if is_legal else 0)
                assert all(env.terminations.values())
    return calls


def fuzz_gym(seed):
    """One Gymnasium environment, in self-play or against a recorded opponent."""
    generator = np.random.default_rng(seed)
    rules = random_rules(generator)
    opponent = None if generator.random() < 0.3 else Recorder(seed)
    env = NimEnv(**rules, opponent=opponent, first_player=None if opponent is None else "agent")
    raises(ResetNeeded, env.step, 0)
    calls = 1
    for _ in range(generator.integers(1, 6)):
        start = random_position(rules["heaps"], generator) if generator.random() < 0.5 else rules["heaps"]
        observation, info = env.reset(seed=int(generator.integers(100)), options={"heaps": start})
        model = Model(start, rules["max_take"], rules["misere"])
        moves = model.moves(rules["heaps"])
        calls += 1
        while model.winner is None:
            assert observation.tolist() == model.heaps
            assert info["action_mask"].tolist() == env.action_masks().tolist() == mask_of(model, moves)
            if opponent is None:
                assert info["to_play"] == model.to_play
            if generator.random() < 0.02:
                raises(InvalidAction, env.step, len(moves))
                raises((InvalidAction, TypeError), env.step, 1.5)
            any_action = generator.random() < 0.05
            legal = np.flatnonzero(mask_of(model, moves))
            action = int(generator.integers(len(moves))) if any_action else int(generator.choice(legal))
            mover, is_legal = model.to_play, model.is_legal(moves[action])
            model.play(moves[action])
            if opponent is not None:
                opponent.actions.clear()
            observation, reward, terminated, truncated, info = env.step(action)
            calls += 1
            if opponent is not None and model.winner is None:
                model.play(moves[opponent.actions[0]])
            assert info["illegal_action"] == (not is_legal)
            assert not truncated
            assert terminated == (model.winner is not None)
            assert reward == (0 if model.winner is None else 1 if model.winner == mover else -1)
        assert observation.tolist() == model.heaps
        assert info["action_mask"].all()
        raises(ResetNeeded, env.step, 0)
    return calls


def fuzz_vector(seed):
    """One vector environment in a random autoreset mode."""
    generator = np.random.default_rng(seed)
    rules = random_rules(generator)
    n, mode = int(generator.integers(1, 6)), list(AutoresetMode)[generator.integers(3)]
    env = NimVectorEnv(n, **rules, opponent=None, autoreset_mode=mode, random_start=True)
    observations, infos = env.reset(seed=int(generator.integers(100)))
    models = [Model(tuple(row), rules["max_take"], rules["misere"]) for row in observations.tolist()]
    moves = models[0].moves(rules["heaps"])
    over = np.zeros(n, dtype=bool)
    n_steps = int(generator.integers(1, 40))
    for _ in range(n_steps):
        env = copied(env, generator)
        for i, model in enumerate(models):
            assert observations[i].tolist() == model.heaps
            expected = mask_of(model, moves) if model.winner is None else [1] * len(moves)
            assert infos["action_mask"][i].tolist() == expected
        if mode is AutoresetMode.DISABLED and over.any():
            raises(ResetNeeded, env.step, np.zeros(n, dtype=int))
            observations, infos = env.reset(options={"reset_mask": over})
            for i in np.flatnonzero(over):
                models[i] = Model(tuple(observations[i].tolist()), rules["max_take"], rules["misere"])
            over[:] = False
            continue
        if not over.all() and generator.random() < 0.02:  # actions of finished games are ignored
            raises(InvalidAction, env.step, np.full(n, len(moves)))
        actions, was_over = np.zeros(n, dtype=int), over.copy()
        expected_rewards = np.zeros(n)
        for i, model in enumerate(models):
            if was_over[i]:
                continue
            actions[i] = generator.choice(np.flatnonzero(mask_of(model, moves)))
            if generator.random() < 0.05:
                actions[i] = generator.integers(len(moves))
            mover = model.to_play
            model.play(moves[actions[i]])
            over[i] = model.winner is not None
            expected_rewards[i] = 0 if model.winner is None else 1 if model.winner == mover else -1
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert rewards.tolist() == expected_rewards.tolist()
        assert not truncated.any()
        assert terminated.tolist() == (over & ~was_over).tolist()
        starts_anew = over if mode is AutoresetMode.SAME_STEP else was_over
        for i in np.flatnonzero(starts_anew):
            if mode is AutoresetMode.SAME_STEP:
                assert infos["final_obs"][i].tolist() == models[i].heaps
            models[i] = Model(tuple(observations[i].tolist()), rules["max_take"], rules["misere"])
            assert any(models[i].heaps)
        over[starts_anew] = False
    return n * n_steps


def fuzz_openspiel(seed):
    """A PettingZoo environment compared with OpenSpiel's Nim, which has no limit of takes and no empty heaps."""
    generator = np.random.default_rng(seed)
    heaps, misere = (
        generator.integers(1, 7, size=generator.integers(1, 5)).tolist(),
        bool(generator.random() < 0.5),
    )
    game = pyspiel.load_game("nim", {"pile_sizes": ";".join(map(str, heaps)), "is_misere": misere})
    state, env = game.new_initial_state(), aec_env.env(heaps=heaps, misere=misere)
    env.reset(seed=0)
    moves = env.unwrapped.rules.moves
    for player in env.agent_iter():
        observation, _, terminated, *_ = env.last()
        assert terminated == state.is_terminal()
        if terminated:
            break
        assert player == f"player_{state.current_player()}"
        action = state.legal_actions()[generator.integers(len(state.legal_actions()))]
        legal = {divmod(action, len(heaps)) for action in state.legal_actions()}  # (count - 1, heap)
        here = env.unwrapped.rules.legal_moves(observation["observation"])
        assert {(count - 1, heap) for heap, count in here} == legal
        state.apply_action(action)
        env.step(moves.index((action % len(heaps), action // len(heaps) + 1)))
    assert [env.rewards[player] for player in env.possible_agents] == state.returns()
    return len(state.history())


FUZZERS = [fuzz_aec, fuzz_gym, fuzz_vector, *([fuzz_openspiel] if pyspiel else [])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, help="repeats one seed")
    args = parser.parse_args()
    gymnasium.logger.min_level = gymnasium.logger.ERROR
    start, calls = time.perf_counter(), 0
    for seed in itertools.count() if args.seed is None else [args.seed]:
        for fuzz in FUZZERS:
            try:
                calls += fuzz(seed)
            except BaseException as error:
                error.add_note(f"{fuzz.__name__}, --seed {seed}") if hasattr(error, "add_note") else print(seed)
                raise
        if calls >= args.calls:
            break
    names = ", ".join(fuzz.__name__ for fuzz in FUZZERS)
    print(f"{names}: {calls:,} calls without a violation, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
