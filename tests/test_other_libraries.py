"""The documentation's code for other libraries is run as it stands there."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason='needs pip install -e ".[dev]"')
pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[dev]"')
pytest.importorskip("torchrl", reason='needs pip install -e ".[dev]"')
pytest.importorskip("pgx", reason='needs pip install -e ".[dev]"')

import jax
import jax.numpy as jnp
import torch
from configurations import check_frequencies

from nim_env import evaluation
from nim_env.pgx import Nim
from nim_env.policies import tabulate

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "deep_rl.md"


@pytest.fixture
def run_block(monkeypatch, tmp_path):
    """Runs the code under a heading, with other numbers where given; returns its variables."""

    def run_block(heading, **numbers):
        text = PAGE.read_text(encoding="utf-8")
        section = re.search(rf"^##+ {heading}\n(.*?)(?=^##+ |\Z)", text, re.DOTALL | re.MULTILINE)
        code = re.search(r"```python\n(.*?)```", section[1], re.DOTALL)[1]
        for name, number in numbers.items():
            code, n_changed = re.subn(rf"\b{name}=[\d_]+", f"{name}={number}", code)
            assert n_changed == 1
        variables = {"__name__": "__main__"}
        exec(compile(code, heading, "exec"), variables)
        return variables

    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield run_block
    torch.set_num_threads(threads)


def test_maskable_ppo_learns(run_block):
    """A fifth of the training of the page."""
    variables = run_block("MaskablePPO of sb3-contrib", total_timesteps=10_000)
    first, *_, last = variables["callback"].evaluations
    assert last["expert"] > first["expert"] + 0.1
    assert last["mean_exploitability"] < first["mean_exploitability"]


def test_pytorch(run_block):
    variables = run_block("PyTorch")
    assert not variables["infos"]["illegal_action"].any()
    probabilities, illegal = variables["policy"].probs, variables["illegal"]
    assert illegal.any()
    assert probabilities[illegal].max() == 0


def test_torchrl(run_block):
    variables = run_block("TorchRL")
    rollout = variables["rollout"]
    assert rollout["action_mask"].gather(-1, rollout["action"][:, None]).all()
    assert rollout["next", "done"].sum() > 5
    assert variables["envs"].reset()["action_mask"].shape == (4, 16)


GAMES = 4096
PLAYERS = ("random", "take-1", "take-3", "expert")


def test_an_opponent_in_jax(run_block):
    """Each player against each: how often it wins 4,096 games is within 5 standard errors of the exact value."""
    make = run_block("pgx and JAX")["NimAgainst"]
    env = Nim((1, 3, 5))
    rules = env.rules

    @jax.jit
    def first_rewards(opponent, learner, key):
        game = make(env, "random")
        game.logits = opponent
        reset_keys, step_keys = jax.random.split(key, (2, GAMES))
        _, states = jax.vmap(game.reset)(reset_keys)

        def turn(carry, turn):
            states, rewards, is_over = carry
            keys = jax.vmap(jax.random.fold_in, (0, None))(step_keys, turn)
            actions = jax.vmap(jax.random.categorical)(keys, learner[states.heaps @ game.strides])
            _, states, reward, done, _ = jax.vmap(game.step)(keys, states, actions)
            return (states, jnp.where(is_over, rewards, reward), is_over | done), states

        carry = states, jnp.zeros(GAMES), jnp.zeros(GAMES, bool)
        (_, rewards, is_over), seen = jax.lax.scan(turn, carry, jnp.arange(9))
        return rewards, is_over, seen

    tables = {name: jnp.log(tabulate(rules, name).probabilities) for name in PLAYERS}
    for number, (learner, opponent) in enumerate(product(PLAYERS, PLAYERS)):
        rewards, is_over, seen = first_rewards(tables[opponent], tables[learner], jax.random.key(number))
        assert is_over.all()
        assert not (seen.terminated | seen.current_player).any()  # the next game has begun, the learner is to move
        expected = evaluation.win_probability(rules, learner, opponent)
        error = 5 * (expected * (1 - expected) / GAMES) ** 0.5
        assert (np.asarray(rewards) == 1).mean() == pytest.approx(expected, abs=error + 1e-9)

    random_start = make(Nim((1, 3, 5), random_start=True), "expert")  # without an opening move, as in Nim-v0
    _, states = jax.jit(jax.vmap(random_start.reset))(jax.random.split(jax.random.key(0), GAMES))
    assert not states.current_player.any()
    check_frequencies(np.asarray(states.heaps), {tuple(heaps): 1 for heaps in rules.all_positions()[1:].tolist()})
