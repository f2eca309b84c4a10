"""ppo_jax.py learns a small board without a mistake."""

import pytest

pytest.importorskip("pgx", reason='needs pip install -e ".[jax]"')

from ppo_jax import Args, main


def test_it_learns_to_play_every_position_right():
    args = Args((1, 2, 3), iterations=60)
    experts = main(args)
    assert list(experts) == [2048 * number for number in range(10, 61, 10)]
    assert experts[20_480] < 1
    assert experts[122_880] == 1
    assert args.picture.read_bytes().startswith(b"<?xml")
