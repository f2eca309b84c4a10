"""Systems 1 and 2: Q-learning by self-play on 1-3-5-7. tests/test_agents holds the result after 10,000 games."""

import re
from pathlib import Path

import pytest
import q_learning_self_play as script
from recorded import replay, session

from nim_env import NimRules, evaluation


def progress(shown):
    """The numbers of the games whose training is shown, "..." for those that are not, and the end."""
    lines = re.findall(r"^(?:Training game (\d+)|(\.\.\.)|Training is (done))", shown, re.M)
    return [int(number) if number else dots or end for number, dots, end in lines]


@pytest.mark.parametrize("n", [0, 1, 20, 49, 50, 51])
def test_the_progress_of_training(n, person, capsys):
    person()
    script.main(script.Args(episodes=n, seed=0))
    numbers = range(1, n + 1) if n <= 50 else [*range(1, 11), "...", *range(n - 9, n + 1)]
    assert progress(capsys.readouterr().out) == [*numbers, "done"]


def test_training_and_evaluation(person, capsys):
    person()
    args = script.Args(episodes=2000, first="opponent", seed=0, picture=Path("new/figure.svg"))
    agent, curve = script.main(args)
    shown = capsys.readouterr().out
    assert progress(shown) == [*range(1, 11), "...", *range(1991, 2001), "done"]
    mastery = evaluation.mastery(NimRules(), agent)
    assert curve["episodes"].iloc[[0, -1]].tolist() == [1, 2000]
    assert curve["expert"].iloc[0] < 1 / 4  # untrained, it is easily beaten
    assert curve["expert"].iloc[-1] == mastery.expert > 0.9
    assert f"{335 - len(mastery.mistakes)} of 335 winning positions" in shown
    assert re.search(r"^AI takes \d blocks? from pile [0-3]\.", shown, re.MULTILINE)
    assert shown.rstrip().endswith("Goodbye.")
    assert "winning positions played right" in Path("new/figure.svg").read_text()


def test_the_untrained_agent_is_beaten(person, capsys):
    """It takes 1 block from the first heap that is left, as all its values are 0."""
    person("1 2", "D 7", "2 3")
    agent, _ = script.main(script.Args(episodes=0, first="opponent"))
    # 1-3-5-7, AI 0-3-5-7, 0-1-5-7, AI 0-0-5-7, 0-0-5-0, AI 0-0-4-0, 0-0-1-0, AI takes the last
    assert capsys.readouterr().out.endswith("Game over: you won, because AI took the last block.\n")
    assert not agent.q_values(NimRules().all_positions()).any()


def test_the_seed_decides_the_table_and_who_moves_first(person, capsys):
    tables, turns = [], []
    for seed in (0, 0, 1, 2, 3):
        person()
        agent, _ = script.main(script.Args(episodes=50, seed=seed))
        tables.append(agent.q_values(NimRules().all_positions()).tolist())
        turns.append(re.search(r"Your turn|AI's turn", capsys.readouterr().out)[0])
    assert tables[0] == tables[1] != tables[2]
    assert turns[0] == turns[1]
    assert set(turns) == {"Your turn", "AI's turn"}


def test_learning_rate_and_exploration_are_options(person, refused):
    person()
    agent, _ = script.main(script.Args(episodes=200, learning_rate=0.25, epsilon=0.0, first="human", seed=0))
    assert (agent.learning_rate, agent.epsilon, agent.gamma) == (0.25, 0.0, 1.0)
    values = agent.q_values(NimRules().all_positions())
    for option, other in [("learning_rate", {"epsilon": 0.0}), ("epsilon", {"learning_rate": 0.25})]:
        person()
        another, _ = script.main(script.Args(episodes=200, first="human", seed=0, **other))
        assert (another.q_values(NimRules().all_positions()) != values).any()  # the option matters
        with refused(option, "1.5"):
            script.main(script.Args(episodes=1, **{option: 1.5}))


@pytest.mark.parametrize(("human_player", "turn"), [(0, "Your turn"), (1, "AI's turn")])
def test_the_human_can_choose_who_moves_first(human_player, turn, person, capsys):
    person()
    script.play("take-2", human_player, seed=0)
    assert re.search(r"^.*turn$", capsys.readouterr().out, re.M)[0] == turn


def test_the_session_on_the_page(person, capsys, monkeypatch):
    options, lines, screen = session("q_learning_self_play.py", "Your move, .*?: ")
    replay(script, options, lines, person, monkeypatch)
    assert capsys.readouterr().out.endswith(screen)
    assert screen.startswith("Training is done")
