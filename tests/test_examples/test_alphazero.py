"""alphazero.py: the networks, self-play, and what it reports is what its parameters play."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax,sb3]"')
pytest.importorskip("torch", reason='needs pip install -e ".[jax,sb3]"')

from dataclasses import replace

import alphazero
import jax
import numpy as np
import pandas as pd
import torch
from alphazero import NETWORKS, Args, main, play, predict, train

from nim_env import NimRules, evaluation
from nim_env.policies import batched

from learn_the_rule.network import PolicyValueNetwork

RULES = NimRules((1, 2, 3))
ARGS = Args(RULES.heaps, total_timesteps=8192, num_simulations=8, n_seeds=2)


def test_the_digit_network_is_that_of_the_study():
    """With the same weights it has the values, and the scores of legal moves, that it has in PyTorch."""
    rules = NimRules((2, 5, 3))
    parameters = NETWORKS["digit"][0](jax.random.key(0), rules)
    heaps = rules.all_positions()[1:]
    logits, values = predict(replace(ARGS, network="digit"), rules, parameters, heaps)

    weights = {"initial_state": parameters.pop("initial_state")[0]}
    for name, layers in parameters.items():
        for number, (weight, bias) in enumerate(layers):
            place = number if name == "transitions" else 2 * number  # a tanh lies between two layers
            weights |= {f"{name}.{place}.weight": weight.T, f"{name}.{place}.bias": bias}
    network = PolicyValueNetwork(32, hidden_size=16, n_features=32).eval()
    network.load_state_dict({name: torch.tensor(np.array(weight)) for name, weight in weights.items()})
    with torch.no_grad():
        scores = network.scores(rules, torch.from_numpy(heaps))
        np.testing.assert_allclose(values, network(torch.from_numpy(heaps)), atol=1e-4)
    is_legal = rules.action_mask(heaps) > 0
    np.testing.assert_allclose(logits[is_legal], scores[is_legal], atol=1e-4)
    assert (logits[~is_legal] < -1e30).all()


def test_self_play_learns_and_is_evaluated_exactly(monkeypatch):
    runs = []

    def recorded(*arguments):
        runs.append((arguments, train(*arguments)))
        return runs[-1][1]

    monkeypatch.setattr(alphazero, "train", recorded)
    table = main(ARGS)
    (arguments, (rows, parameters)), _ = runs
    first, *_, last = rows.to_dict("records")

    def policy(heaps, _):
        return np.array(predict(ARGS, RULES, parameters, heaps)[0]).argmax(axis=1)

    def look_ahead(heaps, mask):
        actions = np.flatnonzero(mask)
        after = RULES.apply(heaps, actions)
        values = predict(ARGS, RULES, parameters, np.resize(after, (6, 3)))[1][: len(actions)]
        return actions[np.where(after.any(axis=1), values, -RULES.terminal_reward).argmin()]

    assert last["policy"] == evaluation.mastery(RULES, batched(policy)).expert
    assert last["value"] == evaluation.mastery(RULES, look_ahead).expert
    assert first["policy"] < 0.7
    assert min(last["policy"], last["value"]) > 0.85
    assert 1 < last["timesteps"] / last["games"] < 6  # a game takes one to six moves

    assert train(*arguments)[0].equals(rows)
    assert table[table["seed"] == 0].equals(rows)
    assert table.groupby("seed").last()["games"].nunique() == 2
    pd.testing.assert_frame_equal(pd.read_csv(ARGS.folder / "alphazero.csv"), table)

    # moves are legal, and outcomes alternate up to the last move of a game
    env = arguments[1]
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), alphazero.NUM_ENVS))
    _, (heaps, policies, outcomes, is_known), _ = play(ARGS, env, parameters, states, jax.random.key(1))
    assert (policies[RULES.action_mask(heaps) == 0] < 1e-6).all()
    shape = alphazero.N_STEPS, alphazero.NUM_ENVS
    heaps, outcomes, is_known = (array.reshape(*shape, *array.shape[1:]) for array in (heaps, outcomes, is_known))
    taken = heaps[:-1] - heaps[1:]
    goes_on = ((taken > 0).sum(axis=2) == 1) & ((taken == 0).sum(axis=2) == 2) & (outcomes[:-1] == -outcomes[1:])
    ends = ((heaps[:-1] > 0).sum(axis=2) == 1) & (outcomes[:-1] == RULES.terminal_reward)
    assert (goes_on | ends)[is_known[:-1]].all()
    assert is_known.mean() > 0.7
