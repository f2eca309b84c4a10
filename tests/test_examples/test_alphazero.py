"""alphazero.py: the networks, self-play, and what it reports is what its parameters play."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import alphazero
import jax
import numpy as np
import pandas as pd
from alphazero import NETWORKS, Args, main, play, train

from nim_env import NimRules, evaluation
from nim_env.policies import batched

RULES = NimRules((1, 2, 3))
ARGS = Args(RULES.heaps, network="digit", total_timesteps=4096, eval_interval=4096, num_simulations=8, n_seeds=2)


def layers(parameters, inputs):
    for weights, biases in parameters[:-1]:
        inputs = np.tanh(inputs @ weights + biases)
    weights, biases = parameters[-1]
    return inputs @ weights + biases


def digit_features(parameters, bits, is_lowest):
    state = parameters["initial_state"][0]
    for bit in bits:
        state = layers([parameters["transitions"][bit], (np.eye(len(state)), 0)], state)
    return np.tanh(layers(parameters["digit_layers"], [*state, is_lowest]))


def digit_network(parameters, rules, heaps):
    """Logits of the legal moves and the value of one position, digit by digit."""
    n_digits = 1 + max(rules.heaps).bit_length()
    digits = [[size >> place & 1 for size in heaps] for place in range(n_digits)]
    features = [digit_features(parameters, bits, place == 0) for place, bits in enumerate(digits)]
    value = np.tanh(layers(parameters["value_layers"], np.max(features, axis=0)))[0]
    logits = []
    for heap, count in rules.legal_moves(heaps):
        changes = [(heaps[heap] >> place & 1, heaps[heap] - count >> place & 1) for place in range(n_digits)]
        inputs = [[*of_digit, *change] for of_digit, change in zip(features, changes, strict=True)]
        largest = layers(parameters["move_layers"], np.array(inputs)).max(axis=0)
        logits.append(layers(parameters["score_layers"], largest)[0])
    return logits, value


def test_the_digit_network_reads_each_digit_of_a_position():
    rules = NimRules((2, 5, 3))
    parameters = NETWORKS["digit"][0](jax.random.key(0), rules)
    heaps = rules.all_positions()[1:]
    logits, values = (np.array(part) for part in NETWORKS["digit"][1](parameters, rules, heaps))
    masks = rules.action_mask(heaps) > 0
    parameters = jax.tree.map(np.array, parameters)
    for position, mask, row, value in zip(heaps.tolist(), masks, logits, values, strict=True):
        expected_logits, expected_value = digit_network(parameters, rules, position)
        np.testing.assert_allclose(row[mask], expected_logits, atol=1e-4)
        assert value == pytest.approx(expected_value, abs=1e-4)


def test_the_mlp_gives_each_position_its_own_logits_and_value():
    parameters = NETWORKS["mlp"][0](jax.random.key(0), RULES)
    heaps = RULES.all_positions()
    logits, values = NETWORKS["mlp"][1](parameters, RULES, heaps)
    assert logits.shape == (RULES.n_positions, RULES.n_actions)
    assert len(np.unique(np.column_stack([logits, values]).round(5), axis=0)) == RULES.n_positions
    assert abs(values).max() < 1


def test_self_play_learns_and_is_evaluated_exactly(monkeypatch):
    played, trained = [], []

    def recording(function, calls):
        def recorded(*arguments):
            calls.append((arguments, function(*arguments)))
            return calls[-1][1]

        return recorded

    monkeypatch.setattr(alphazero, "play", recording(play, played))
    monkeypatch.setattr(alphazero, "train", recording(train, trained))
    table = main(ARGS)

    # moves are legal, and outcomes alternate up to the last move of a game
    _, (heaps, policies, outcomes, is_known), _ = played[0][1]
    assert (policies[RULES.action_mask(heaps) == 0] < 1e-6).all()
    shape = ARGS.n_steps, ARGS.num_envs
    heaps, outcomes, is_known = (array.reshape(*shape, *array.shape[1:]) for array in (heaps, outcomes, is_known))
    taken = heaps[:-1] - heaps[1:]
    goes_on = ((taken > 0).sum(axis=2) == 1) & ((taken == 0).sum(axis=2) == 2) & (outcomes[:-1] == -outcomes[1:])
    ends = ((heaps[:-1] > 0).sum(axis=2) == 1) & (outcomes[:-1] == RULES.terminal_reward)
    assert (goes_on | ends)[is_known[:-1]].all()
    assert is_known.mean() > 0.7

    # the figures are those of the parameters
    (arguments, (rows, parameters)), _ = trained
    first, *_, last = rows.to_dict("records")

    def policy(heaps, masks):
        return np.where(masks, NETWORKS["digit"][1](parameters, RULES, heaps)[0], -np.inf).argmax(axis=1)

    def look_ahead(heaps, mask):
        actions = np.flatnonzero(mask)
        after = RULES.apply(heaps, actions)
        values = NETWORKS["digit"][1](parameters, RULES, after)[1]
        return actions[np.where(after.any(axis=1), values, -RULES.terminal_reward).argmin()]

    assert last["policy"] == evaluation.mastery(RULES, batched(policy)).expert
    assert last["value"] == evaluation.mastery(RULES, look_ahead).expert
    assert first["policy"] < 0.7
    assert last["policy"] > 0.85
    assert last["value"] > 0.85
    assert 1 < last["timesteps"] / last["games"] < 6  # a game takes one to six moves

    assert train(*arguments)[0].equals(rows)
    assert table[table["seed"] == 0].equals(rows)
    assert table.groupby("seed").last()["games"].nunique() == 2
    pd.testing.assert_frame_equal(pd.read_csv(ARGS.folder / "alphazero.csv"), table.round(4))
    assert (ARGS.folder / "alphazero.svg").read_bytes().startswith(b"<?xml")
