"""The documentation's code for other libraries is run as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason='needs pip install -e ".[dev]"')
pytest.importorskip("sb3_contrib", reason='needs pip install -e ".[dev]"')
pytest.importorskip("torchrl", reason='needs pip install -e ".[dev]"')
pytest.importorskip("pgx", reason='needs pip install -e ".[dev]"')

import jax
import torch
from configurations import check_frequencies

from nim_env import NimRules, evaluation
from nim_env.pgx import Nim
from nim_env.policies import MixturePolicy

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "deep_rl.md"


@pytest.fixture
def run_block(monkeypatch, tmp_path):
    """Provides a function that runs the code under a heading of the page and returns its variables.

    The function can replace numbers in the code.
    """

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
    """The training is a fifth as long as on the page."""
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


def test_self_play_in_jax(run_block):
    """All moves are legal, and a game ends when a player takes the last object, which loses in misère play."""
    variables = run_block("pgx and JAX")
    one_hot, actions = (np.asarray(variables[name]) for name in ("observations", "actions"))
    assert actions.shape == (128, 1024)
    rules = NimRules((1, 3, 5))
    one_hot_heaps = np.split(one_hot, np.cumsum(rules.shape)[:-1], axis=-1)
    heaps = np.stack([one_hot_heap.argmax(axis=-1) for one_hot_heap in one_hot_heaps], axis=-1)
    is_over = ~rules.apply(heaps, actions).any(axis=-1)  # refuses illegal actions
    np.testing.assert_array_equal(variables["ended"], is_over)
    np.testing.assert_array_equal(variables["rewards"], np.where(is_over, -1, 0))


GAMES = 4096


def test_an_opponent_in_jax(run_block):
    """Random play wins as often as the exact value says, within 5 standard errors."""
    make = run_block("An opponent in JAX")["NimAgainst"]
    rules = NimRules((1, 3, 5))
    opponent = MixturePolicy(rules, ["take-3", "expert"])
    game = make(Nim(rules.heaps), opponent)
    keys = jax.random.split(jax.random.key(0), GAMES)
    _, states = jax.jit(jax.vmap(game.reset))(keys)
    step = jax.jit(jax.vmap(game.step))
    generator = np.random.default_rng(0)
    rewards, is_over = np.zeros(GAMES), np.zeros(GAMES, bool)
    while not is_over.all():
        assert not (states.terminated | states.current_player).any()  # the next game begins where one has ended
        actions = (generator.random((GAMES, rules.n_actions)) * states.legal_action_mask).argmax(axis=1)
        keys = jax.vmap(jax.random.fold_in, (0, None))(keys, 1)
        _, states, reward, done, _ = step(keys, states, actions)
        rewards[~is_over] = reward[~is_over]
        is_over |= np.asarray(done)
    expected = evaluation.win_probability(rules, "random", opponent)
    assert (rewards == 1).mean() == pytest.approx(expected, abs=5 * (expected * (1 - expected) / GAMES) ** 0.5)

    random_start = make(Nim(rules.heaps, random_start=True), opponent)  # without an opening move, as in Nim-v0
    _, states = jax.jit(jax.vmap(random_start.reset))(keys)
    assert not states.current_player.any()
    check_frequencies(np.asarray(states.heaps), {tuple(heaps): 1 for heaps in rules.all_positions()[1:].tolist()})
