"""System 2: every line of its specification, and the program that is written out."""

import re
import sys
from pathlib import Path

import gymnasium as gym
import nim_ai
import numpy as np
import pytest

from nim_env import NimRules, evaluation

RULES = NimRules()
N_TABLES = 200


def random_case(generator):
    """A table of some pairs, a position, its legal actions as a set of pairs, and its action mask."""
    table = {}
    for _ in range(generator.integers(60)):
        position = tuple(generator.integers((2, 3, 3, 3)).tolist())  # few, so that positions occur often
        table[position, int(generator.integers(RULES.n_actions))] = float(generator.normal())
    position = tuple(generator.integers((2, 3, 3, 3)).tolist())
    legal = [action for action, (heap, count) in enumerate(RULES.moves) if count <= position[heap]]
    mask = np.isin(np.arange(RULES.n_actions), legal).astype(np.int8)
    return table, position, legal, mask


@pytest.fixture
def cases():
    generator = np.random.default_rng(0)
    return [random_case(generator) for _ in range(N_TABLES)]


def test_the_available_actions():
    """The specification's own example."""
    env = gym.make("Nim-v0", opponent=None, heaps=(2, 3, 5, 7))
    _, info = env.reset(options={"heaps": [2, 1, 0, 0]})
    moves = env.unwrapped.rules.moves
    assert {moves[action] for action in np.flatnonzero(info["action_mask"])} == {(0, 1), (0, 2), (1, 1)}


def test_the_value_of_a_pair(cases):
    for table, position, _, _ in cases:
        for action in range(RULES.n_actions):
            seen = (position, action) in table
            assert nim_ai.value(table, position, action) == (table[position, action] if seen else 0)


def test_the_update_of_a_value(cases):
    generator = np.random.default_rng(1)
    for table, position, _, _ in cases:
        action = int(generator.integers(RULES.n_actions))
        reward, future = generator.normal(size=2)
        before = dict(table)
        old = before.get((position, action), 0)
        nim_ai.learn(table, position, action, reward, future)
        assert table.pop((position, action)) == pytest.approx(old + 0.5 * ((reward + future) - old), abs=1e-12)
        before.pop((position, action), None)
        assert table == before  # every other value stays


def test_the_best_future_value(cases):
    is_over = set()
    for table, position, legal, mask in cases:
        seen = [table[position, action] for action in legal if (position, action) in table]
        unseen = [0] * (len(legal) - len(seen))
        expected = max(seen + unseen) if legal else 0
        assert nim_ai.best_next_value(table, position, mask) == expected
        is_over.add(not legal)
    assert is_over == {True, False}
    # all seen and negative; one of them unseen; an illegal one is larger
    table = {((0, 2, 0, 0), 1): -0.5, ((0, 2, 0, 0), 2): -0.25, ((0, 2, 0, 0), 3): 1.0}
    mask = RULES.action_mask((0, 2, 0, 0))
    assert nim_ai.best_next_value(table, (0, 2, 0, 0), mask) == -0.25
    del table[(0, 2, 0, 0), 1]
    assert nim_ai.best_next_value(table, (0, 2, 0, 0), mask) == 0


def test_the_choice_without_exploration(cases):
    for table, position, legal, mask in cases:
        if legal:
            action = nim_ai.choose(table, position, mask, np.random.default_rng())
            assert action in legal
            assert table.get((position, action), 0) == max(table.get((position, other), 0) for other in legal)


def test_the_choice_with_exploration():
    """Of 16 actions the best has the probability 1 - 0.3 + 0.3 / 16, the others have 0.3 / 16 each."""
    n = 20_000
    table = {((1, 3, 5, 7), 6): 1.0}
    generator = np.random.default_rng(0)
    chosen = [nim_ai.choose(table, (1, 3, 5, 7), np.ones(16), generator, 0.3) for _ in range(n)]
    probabilities = np.full(16, 0.3 / 16)
    probabilities[6] += 0.7
    deviation = np.sqrt(n * probabilities * (1 - probabilities))
    assert (np.abs(np.bincount(chosen, minlength=16) - n * probabilities) < 4 * deviation).all()
    mask = RULES.action_mask((0, 2, 0, 1))
    always = [nim_ai.choose(table, (0, 2, 0, 1), mask, generator, 1.0) for _ in range(100)]
    assert {RULES.moves[action] for action in always} == {(1, 1), (1, 2), (3, 1)}


def test_who_is_updated_with_what(monkeypatch):
    """A player's pair learns at that player's next turn; the loser's last pair learns -1 and the winner's +1."""
    learned = []
    monkeypatch.setattr(nim_ai, "learn", lambda _, *update: learned.append(update))
    monkeypatch.setattr(nim_ai, "best_next_value", lambda _, position, mask: (position, mask.tolist()))
    nim_ai.train(1, np.random.default_rng(3))
    heaps, plies = (1, 3, 5, 7), []
    for position, action, *_ in sorted(learned, key=lambda update: -sum(update[0])):  # in the order of the game
        assert position == heaps
        plies.append((position, action))
        heaps = tuple(RULES.apply(heaps, action).tolist())
    assert heaps == (0, 0, 0, 0)
    assert learned == [
        *(
            (*ply, 0.0, (later, RULES.action_mask(later).tolist()))
            for ply, (later, _) in zip(plies[:-2], plies[2:], strict=True)
        ),
        (*plies[-1], -1.0, 0.0),
        (*plies[-2], 1.0, 0.0),
    ]


def test_the_program_learns_and_plays(person, capsys, monkeypatch):
    monkeypatch.setattr(nim_ai, "EPSILON", 0.2)
    person()
    with pytest.raises(nim_ai.Leave):
        nim_ai.main(games=2000)
    shown = capsys.readouterr().out
    percent = float(re.search(r"([\d.]+)% of the 335 winning positions", shown)[1])
    assert percent > 80  # untrained it is 14 %
    assert "Pile 3: 7" in shown


def test_10_000_games_are_hard_to_beat():
    table = nim_ai.train(nim_ai.GAMES, np.random.default_rng(nim_ai.SEED))

    def play(observation, action_mask):
        return nim_ai.choose(table, tuple(observation.tolist()), action_mask, np.random.default_rng(0))

    assert nim_ai.GAMES == 10_000
    assert evaluation.mastery(RULES, play).expert >= 0.98


def test_the_program_needs_the_core_only():
    text = Path(nim_ai.__file__).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    imported = set(re.findall(r"^(?:import|from) (\w+)", text, re.M))
    assert imported - set(sys.stdlib_module_names) <= {
        "gymnasium",
        "numpy",
        "pettingzoo",
        "nim_env",
        "terminal_game",
    }
