"""alphazero.py: the networks, self-play, and what it reports is what its parameters play."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

from dataclasses import replace

import alphazero
import jax
import numpy as np
import pandas as pd
from alphazero import NETWORKS, Args, main, play, predict, train

from nim_env import NimRules, evaluation
from nim_env.policies import batched

RULES = NimRules((1, 2, 3))
ARGS = Args(RULES.heaps, total_timesteps=8192, num_simulations=8, n_seeds=2)


def layers(parameters, inputs):
    *hidden, (weights, biases) = parameters
    for hidden_weights, hidden_biases in hidden:
        inputs = np.tanh(inputs @ hidden_weights + hidden_biases)
    return inputs @ weights + biases


def digit_network(parameters, rules, heaps):
    """Logits of the legal moves and the value of one position, digit by digit."""
    features = []
    for place in range(1 + max(rules.heaps).bit_length()):
        state = parameters["initial_state"][0]
        for size in heaps:
            state = np.tanh(layers([parameters["transitions"][size >> place & 1]], state))
        features.append(np.tanh(layers(parameters["digit_layers"], np.array([*state, place == 0]))))
    value = np.tanh(layers(parameters["value_layers"], np.max(features, axis=0)))[0]
    logits = []
    for heap, count in rules.legal_moves(heaps):
        before, after = heaps[heap], heaps[heap] - count
        moved = [[*row, before >> place & 1, after >> place & 1] for place, row in enumerate(features)]
        logits.append(layers(parameters["score_layers"], layers(parameters["move_layers"], moved).max(axis=0))[0])
    return logits, value


def test_the_digit_network_reads_each_digit_of_a_position():
    rules = NimRules((2, 5, 3))
    parameters = NETWORKS["digit"][0](jax.random.key(0), rules)
    heaps = rules.all_positions()[1:]
    logits, values = predict(replace(ARGS, network="digit"), rules, parameters, heaps)
    parameters = jax.tree.map(np.array, parameters)
    for position, row, value in zip(heaps.tolist(), np.array(logits), values, strict=True):
        expected_logits, expected_value = digit_network(parameters, rules, position)
        is_legal = rules.action_mask(position) > 0
        np.testing.assert_allclose(row[is_legal], expected_logits, atol=1e-4)
        assert (row[~is_legal] < -1e30).all()
        assert value == pytest.approx(expected_value, abs=1e-4)


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
    ends = table.groupby("seed").last()
    n_right = ((ends["policy"] == 1) & (ends["value"] == 1)).sum()
    assert f"at the end: {n_right} of {len(ends)} runs" in (ARGS.folder / "alphazero.svg").read_text()

    # moves are legal, and outcomes alternate up to the last move of a game
    env = arguments[1]
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), ARGS.num_envs))
    _, (heaps, policies, outcomes, is_known), _ = play(ARGS, env, parameters, states, jax.random.key(1))
    assert (policies[RULES.action_mask(heaps) == 0] < 1e-6).all()
    shape = ARGS.n_steps, ARGS.num_envs
    heaps, outcomes, is_known = (array.reshape(*shape, *array.shape[1:]) for array in (heaps, outcomes, is_known))
    taken = heaps[:-1] - heaps[1:]
    goes_on = ((taken > 0).sum(axis=2) == 1) & ((taken == 0).sum(axis=2) == 2) & (outcomes[:-1] == -outcomes[1:])
    ends = ((heaps[:-1] > 0).sum(axis=2) == 1) & (outcomes[:-1] == RULES.terminal_reward)
    assert (goes_on | ends)[is_known[:-1]].all()
    assert is_known.mean() > 0.7
