from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import policy_map
import pytest

from nim_env import NimRules, evaluation, solver, theory


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def not_saved(monkeypatch):
    """Skips the drawing of the figure, which takes most of the time."""
    monkeypatch.setattr(policy_map, "save_figure", lambda *_: None)


def labels(axes):
    """What is written in each cell, by position."""
    return {(int(y), int(x)): text.get_text() for text in axes.texts for x, y in [text.get_position()]}


def test_the_figure_shows_the_player_and_the_exact_solution():
    rules = NimRules((3, 4), 2, misere=False)
    args = policy_map.Args(heaps=(3, 4), max_take=2, episodes=40, gamma=0.9, n_evals=3)
    results = policy_map.main(args)
    agent, mistakes = results["player"], results["mastery"].mistakes
    assert len(mistakes)
    assert results["exploitability"] == evaluation.exploitability(rules, agent)
    own, exact, wins, training = results["figure"].axes[:4]
    values, exact_values, probabilities = (
        axes.collections[0].get_array().reshape(rules.shape) for axes in (own, exact, wins)
    )
    solution = solver.solve(rules, 0.9)
    for heaps in rules.all_positions()[1:]:
        where, mask = tuple(heaps), rules.action_mask(heaps)
        assert values[where] == pytest.approx(agent.q_values(heaps)[mask != 0].max())
        assert exact_values[where] == pytest.approx(solution.values(heaps))
        expected = evaluation.win_probability(rules, agent, "random", moves_first=True, heaps=heaps)
        assert probabilities[where] == pytest.approx(expected)
        arrows = {f"{'↓←'[heap]}{count}": action for action, (heap, count) in enumerate(rules.moves)}
        assert arrows[labels(own)[where]] == agent.act(heaps, mask)
        winning = [arrows[arrow] for arrow in labels(exact).get(where, "").split()]
        assert winning == np.flatnonzero(theory.winning_action_mask(rules, heaps)).tolist()
    framed = {(int(frame.get_y()), int(frame.get_x())) for frame in own.patches}
    assert framed == set(map(tuple, mistakes.tolist()))
    assert own.get_ylim() == (0, 4)  # upwards
    mastery, exploitability = (line.get_ydata() for line in training.lines)
    assert mastery[-1] == results["mastery"].expert
    assert exploitability[-1] == results["exploitability"]
    assert Path("results/policy_map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("not_saved")
def test_the_recorded_result(capsys):
    results = policy_map.main(policy_map.Args(n_evals=2))
    assert results["mastery"].expert == pytest.approx(84 / 90)
    assert not results["mastery"].champion
    assert "93.3 % of 90" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "minimax-q", "misere": True, "max_take": 3, "heaps": (4, 6), "eval_opponent": "expert"},
        {"learner": "win-counting"},
        {"opponent": "take-1"},
    ],
)
@pytest.mark.usefixtures("not_saved")
def test_other_agents_and_opponents(options):
    results = policy_map.main(policy_map.Args(**{"heaps": (3, 3), "episodes": 300, "n_evals": 4, **options}))
    curve = results["learning_curve"]
    assert curve.index[-1] == 300
    assert curve["expert mastery"].iloc[-1] == results["mastery"].expert > curve["expert mastery"].iloc[0]


@pytest.mark.parametrize(("player", "heaps"), [("expert", (3, 20)), ("mine.py:first", (3, 3))])
@pytest.mark.usefixtures("not_saved")
def test_a_player_that_is_not_trained(player, heaps, capsys):
    Path("mine.py").write_text("def first(observation, mask): return mask.argmax()")
    results = policy_map.main(policy_map.Args(heaps=heaps, player=player))
    assert results["learning_curve"] is None
    assert results["mastery"].champion == (player == "expert") == (results["exploitability"] == 0)
    own, exact = results["figure"].axes[:2]
    if player == "expert":
        shown = [axes.collections[0].get_array() for axes in (own, exact)]
        np.testing.assert_array_equal(*shown)
        assert not own.patches
        assert not own.texts  # moves cannot be read on a heap of 20
    assert f"champion mastery: {'yes' if player == 'expert' else 'no'}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"heaps": (0, 0)}, ["0"]),
        ({"opponent": "nobody"}, ["opponent", "nobody"]),
        ({"eval_opponent": "nobody"}, ["nobody"]),
        ({"player": "nobody"}, ["nobody"]),
        ({"player": "broken.agent"}, ["broken.agent"]),
        ({"learner": "win-counting", "opponent": "self-play"}, ["win-counting", "self-play"]),
        ({"learner": "minimax-q", "opponent": "random"}, ["minimax-q", "random"]),
        ({"episodes": 0}, ["--episodes", "0"]),
        ({"n_evals": 0}, ["--n-evals", "0"]),
        ({"epsilon": -1.0}, ["epsilon", "-1"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"picture": Path("p.txt")}, ["--picture", "p.txt"]),
    ],
)
def test_wrong_values(wrong, words, refused):
    Path("broken.agent").write_text("nonsense")
    with refused(*words):
        policy_map.main(policy_map.Args(**wrong))
