"""ppo_jax.py learns a small board without a mistake, from undiscounted returns."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import jax
import numpy as np
import ppo_jax

from nim_env import theory
from nim_env.pgx import Nim


def test_it_learns_every_move_and_values_without_a_discount(monkeypatch):
    networks = []
    player_of = ppo_jax.player_of
    monkeypatch.setattr(
        ppo_jax, "player_of", lambda network, env: networks.append(network) or player_of(network, env)
    )
    args = ppo_jax.Args((1, 2, 3), total_timesteps=122_880)
    experts = ppo_jax.main(args)
    assert list(experts) == [2048 * number for number in range(10, 61, 10)]
    assert experts[20_480] < 1
    assert experts[122_880] == 1
    env = Nim((1, 2, 3), observation="one_hot")
    heaps = env.rules.all_positions()[1:]
    _, values = ppo_jax.predict(networks[-1], env.encoding(heaps), env.rules.action_mask(heaps) > 0)
    np.testing.assert_array_equal(values > 0, theory.is_winning(env.rules, heaps))
    assert abs(values[-1]) > 0.8  # of all objects; it is 0.65 with a discount of 0.9
    assert args.picture.read_bytes().startswith(b"<?xml")


def test_a_return_is_the_outcome_or_the_next_value_with_the_sign_of_the_player():
    """The first game ends with its second move, which loses; the second game is not over."""
    env = Nim((1, 2, 3), observation="one_hot")
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 2))
    network = ppo_jax.new_network(jax.random.split(jax.random.key(1)), env.observation_shape[0], env.num_actions)
    unused = dict.fromkeys(("observations", "masks", "actions", "log_probs", "values"))
    rollout = ppo_jax.Rollout(
        **unused,
        rewards=np.array([[0, 0], [-1, 0], [0, 0], [0, 0]], np.float32),
        terminated=np.array([[False, False], [True, False], [False, False], [False, False]]),
    )
    _, (first, second) = ppo_jax.predict(network, states.observation, states.legal_action_mask)
    expected = [[1, second], [-1, -second], [first, second], [-first, -second]]  # exact, so any discount shows
    np.testing.assert_array_equal(ppo_jax.compute_returns(network, rollout, states), expected)
    assert abs(second) > 0.01
