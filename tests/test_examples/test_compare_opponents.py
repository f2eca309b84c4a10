import itertools
from pathlib import Path

from common import percent

import compare_opponents
import matplotlib.pyplot as plt
import numpy as np
import pytest

import agents
from nim_env import NimRules, evaluation, theory


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# The recorded table for 1,000 episodes and seed 0, in %: win probabilities against random, take-3 and expert play
# (moving first/moving second), and expert mastery.
RECORDED = {
    "q-learning, random": ("99.0/99.7", "100.0/100.0", "0.0/0.0", "81.2"),
    "q-learning, take-3": ("92.6/92.4", "100.0/100.0", "0.0/0.0", "43.8"),
    "q-learning, expert": ("100.0/99.9", "100.0/100.0", "100.0/0.0", "100.0"),
    "q-learning, self-play": ("100.0/99.9", "100.0/100.0", "100.0/0.0", "100.0"),
    "minimax-q, self-play": ("100.0/99.9", "100.0/100.0", "100.0/0.0", "100.0"),
    "win-counting, random": ("76.5/76.4", "64.5/67.8", "0.7/0.0", "48.7"),
    "win-counting, take-3": ("78.2/78.2", "89.8/89.8", "0.4/0.0", "46.5"),
    "win-counting, expert": ("64.1/64.0", "56.9/53.7", "0.7/0.0", "47.3"),
    "random": ("50.0/50.0", "39.1/36.4", "0.3/0.0", "38.5"),
    "take-3": ("63.6/60.9", "100.0/0.0", "0.0/0.0", "43.8"),
    "expert": ("100.0/99.7", "100.0/100.0", "100.0/0.0", "100.0"),
}


def test_the_recorded_table(capsys):
    results = compare_opponents.main(compare_opponents.Args(episodes=1_000, n_evals=2))
    wins, reports = results["wins"], results["reports"]
    assert set(wins.index) == set(wins.columns) == set(RECORDED)
    for player, (*against, expert) in RECORDED.items():
        for baseline, orders in zip(("random", "take-3", "expert"), against, strict=True):
            assert f"{percent(wins.loc[player, baseline])}/{percent(1 - wins.loc[baseline, player])}" == orders
        assert percent(reports.loc[player, "expert"]) == expert
        assert reports.loc[player, "champion"] == (expert == "100.0")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    for player, figures in RECORDED.items():
        learner, _, opponent = player.partition(", ")
        star = "*" if figures[-1] == "100.0" else ""
        assert [learner, opponent or "–", *figures[:-1], figures[-1] + star] in rows
    assert ["minimax-q", "random", *"––––"] in rows
    assert ["win-counting", "self-play", *"––––"] in rows


def test_players_of_ones_own_take_part_on_another_game():
    Path("mine.py").write_text("def last(observation, mask): return mask.nonzero()[0][-1]")
    rules = NimRules((2, 3), 2)
    args = compare_opponents.Args(
        heaps=rules.heaps,
        max_take=2,
        misere=True,
        episodes=300,
        n_evals=5,
        seed=4,
        enter=("mine.py:last", "my.agent", "take-1"),
        folder=Path("elsewhere"),
    )
    agent, env = compare_opponents.make(args, "q-learning", "self-play")
    agents.train(agent, env, 300, seed=0)
    agent.save("my.agent")
    results = compare_opponents.main(args)
    wins, curves = results["wins"], results["learning_curves"]
    assert len(wins) == 8 + 3 + 3
    for first, second in itertools.product(("expert", "take-1", "random"), repeat=2):
        assert wins.loc[first, second] == evaluation.win_probability(rules, first, second, moves_first=True)
    assert wins.loc["my.agent", "random"] == evaluation.win_probability(rules, agent, "random", moves_first=True)
    assert results["reports"].loc["my.agent", "expert"] == evaluation.mastery(rules, agent).expert
    last = curves.groupby(["learner", "opponent"]).last()
    assert (last.episodes == 300).all()
    for learner, opponent in last.index:
        assert last.expert[learner, opponent] == results["reports"].loc[f"{learner}, {opponent}", "expert"]
    for name in ("compare_opponents", "tournament", "mistakes"):
        assert Path(f"elsewhere/{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_heat_map_ranks_by_the_mean_over_both_orders():
    rules = NimRules((21,), 3, misere=False)
    wins = compare_opponents.play_tournament(rules, {name: name for name in ("take-3", "expert", "random")})
    axes = compare_opponents.plot_tournament(compare_opponents.Args(), rules, wins).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["expert", "take-3", "random"]
    shown = [text.get_text() for text in axes.texts]  # row by row
    assert shown == ["100", "100", "100", "0", "100", "64", "1", "39", "50"]
    means = [label.get_text().split() for label in axes.get_yticklabels()]
    expert = (1 + 1 + 1 - wins.loc["random", "expert"] + 1 - wins.loc["take-3", "expert"]) / 4
    assert means[0] == ["expert", f"[{percent(expert)}]"]


@pytest.mark.parametrize("heaps", [(7,), (3, 4)])
def test_the_map_of_mistakes(heaps):
    rules = NimRules(heaps, 3, misere=False)
    figure = compare_opponents.plot_mistakes(rules, {name: name for name in ("expert", "take-1")})
    images = [image.get_array() for axes in figure.axes for image in axes.get_images()]
    expert, player = images[0] if rules.n_heaps == 1 else images
    for position in rules.all_positions():
        index = tuple(position)
        winning = theory.winning_action_mask(rules, position)
        assert expert[index] is np.ma.masked if not winning.any() else expert[index] == 1
        if winning.any():
            take_1 = [count == 1 for _, count in rules.moves] * rules.action_mask(position)
            assert player[index] == pytest.approx((take_1 * winning).sum() / take_1.sum())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"heaps": (-3,)}, ["heaps", "-3"]),
        ({"heaps": (0, 0)}, ["0"]),
        ({"heaps": (1,)}, ["opening"]),
        ({"heaps": (99,) * 9}, ["positions"]),
        ({"max_take": 0}, ["max_take", "0"]),
        ({"learning_rate": 2.0}, ["learning_rate", "2"]),
        ({"seed": -1}, ["seed", "-1"]),
        ({"enter": ("grandmaster",)}, ["grandmaster"]),
        ({"enter": ("nowhere.py:f",)}, ["nowhere.py"]),
        ({"enter": ("broken.agent",)}, ["broken.agent"]),
        ({"enter": ("bad.py:bad",)}, ["bad", "illegal"]),
        ({"folder": Path("broken.agent")}, ["--folder", "broken.agent"]),
    ],
)
def test_wrong_values(wrong, words, refused):
    Path("broken.agent").write_text("nonsense")
    Path("bad.py").write_text("def bad(observation, mask): return mask.argmin()")
    with refused(*words):
        compare_opponents.main(compare_opponents.Args(**wrong))
