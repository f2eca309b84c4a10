import itertools
from pathlib import Path

import brute_force
import compare_opponents
import numpy as np

import agents
from nim_env import NimRules, evaluation
from nim_env.envs.gym_env import NimEnv

from common import percent

# The recorded table for 1,000 episodes and seed 0, in %: win probabilities against random, take-3 and expert play
# (the mean of moving first and second), expert mastery and champion mastery.
RECORDED = {
    "q-learning, random": ("99.4", "100.0", "0.0", "81.2", "no"),
    "q-learning, take-3": ("92.5", "100.0", "0.0", "43.8", "no"),
    "q-learning, expert": ("99.9", "100.0", "50.0", "100.0", "yes"),
    "q-learning, self-play": ("99.9", "100.0", "50.0", "100.0", "yes"),
    "minimax-q, self-play": ("99.9", "100.0", "50.0", "100.0", "yes"),
    "win-counting, random": ("76.5", "66.1", "0.3", "48.7", "no"),
    "win-counting, take-3": ("78.2", "89.8", "0.2", "46.5", "no"),
    "win-counting, expert": ("64.0", "55.3", "0.4", "47.3", "no"),
}
PLAYERS = {  # those that do not learn: the probability of each action, a count less 1, from (n,) objects
    "random": lambda heaps: dict.fromkeys(range(min(heaps[0], 3)), 1 / min(heaps[0], 3)),
    "take-3": lambda heaps: {min(heaps[0], 3) - 1: 1},
    "expert": lambda heaps: {heaps[0] % 4 - 1: 1} if heaps[0] % 4 else PLAYERS["random"](heaps),
}


def by_brute_force(player):
    rules = NimRules((21,), 3, misere=False)

    def wins(opponent, to_move):
        return round(brute_force.win_probability(rules, rules.heaps, (player, opponent), to_move), 12)

    expert = np.mean([player((n,)).get(n % 4 - 1, 0) for n in range(1, 22) if n % 4])
    columns = [percent((wins(other, 0) + wins(other, 1)) / 2) for other in PLAYERS.values()]
    return *columns, percent(expert), "yes" if wins(min, 0) == 1 else "no"


def test_the_recorded_table(capsys):
    compare_opponents.main(compare_opponents.Args(episodes=1_000))
    shown = capsys.readouterr().out
    assert "Nim 21, take 1 to 3, normal play\n" in shown
    rows = [line.split() for line in shown.splitlines()]
    for player, figures in (RECORDED | {name: by_brute_force(player) for name, player in PLAYERS.items()}).items():
        assert [*player.split(), *figures] in rows


def test_custom_players_take_part_on_another_game(monkeypatch):
    monkeypatch.setattr(
        compare_opponents, "OPPONENTS", {"q-learning": ("take-3", "self-play"), "minimax-q": ("self-play",)}
    )
    Path("mine.py").write_text("def last(observation, mask): return mask.nonzero()[0][-1]")
    rules = NimRules((2, 3), 2)
    env = NimEnv(rules.heaps, max_take=2, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 300, seed=0)
    agent.save("my.agent")
    args = compare_opponents.Args(
        heaps=rules.heaps,
        max_take=2,
        misere=True,
        episodes=300,
        seed=4,
        enter=("mine.py:last", "my.agent", "take-1"),
        folder=Path("elsewhere"),
    )
    curves, wins = compare_opponents.main(args)
    assert len(wins) == 3 + 3 + 3
    for first, second in itertools.product(("expert", "take-1", "random"), repeat=2):
        assert wins.loc[first, second] == evaluation.win_probability(rules, first, second, moves_first=True)
    assert wins.loc["my.agent", "random"] == evaluation.win_probability(rules, agent, "random", moves_first=True)
    assert set(curves.groupby(["learner", "trained against"])["episodes"].max()) == {300}
    assert curves["expert"].between(0, 1).all()
    assert str(rules) in Path("elsewhere/compare_opponents.svg").read_text()
    assert "my.agent" in Path("elsewhere/tournament.svg").read_text()
