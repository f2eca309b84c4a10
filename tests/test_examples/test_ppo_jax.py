"""ppo_jax.py learns a small board without a mistake."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

import numpy as np
import ppo_jax

from nim_env import theory
from nim_env.pgx import Nim
from nim_env.policies import batched


def test_it_learns_every_move_and_values_without_a_discount(monkeypatch):
    networks = []

    def kept(function):
        networks.append(function.__kwdefaults__["network"])
        return batched(function)

    monkeypatch.setattr(ppo_jax, "batched", kept)
    args = ppo_jax.Args((1, 2, 3), iterations=60)
    experts = ppo_jax.main(args)
    assert list(experts) == [2048 * number for number in range(10, 61, 10)]
    assert experts[20_480] < 1
    assert experts[122_880] == 1
    env = Nim((1, 2, 3), observation="one_hot")
    heaps = env.rules.all_positions()[1:]
    hidden, output = networks[-1]
    values = np.tanh(np.maximum(env.encoding(heaps) @ hidden, 0) @ output)[:, 0]
    np.testing.assert_array_equal(values > 0, theory.is_winning(env.rules, heaps))
    assert abs(values[-1]) > 0.8  # of all objects; it is 0.65 with a discount of 0.9
    assert args.picture.read_bytes().startswith(b"<?xml")
