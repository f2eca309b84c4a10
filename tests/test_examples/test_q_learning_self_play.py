"""Systems 1 and 2: Q-learning by self-play on 1-3-5-7. tests/test_agents holds the result after 10,000 games."""

import re
from pathlib import Path

import q_learning_self_play as script

from nim_env import NimRules, evaluation

from common import percent


def test_training_and_evaluation(person, capsys):
    person()
    args = script.Args(episodes=2000, first="opponent", seed=0, picture=Path("new/figure.svg"))
    agent, curve = script.main(args)
    shown = capsys.readouterr().out
    assert "Playing training game 10\n...\nPlaying training game 1991\n" in shown
    assert "Playing training game 2000\nDone training\n" in shown
    mastery = evaluation.mastery(NimRules(), agent)
    assert curve["episodes"].iloc[[0, -1]].tolist() == [1, 2000]
    assert curve["expert"].iloc[0] < 1 / 4  # untrained, it is easily beaten
    assert curve["expert"].iloc[-1] == mastery.expert > 0.9
    assert f"{335 - len(mastery.mistakes)} of 335 winning positions" in shown
    assert re.search(r"^AI takes \d from [A-D]\.", shown, re.MULTILINE)
    assert shown.rstrip().endswith("Goodbye.")
    assert (
        f"plays {percent(mastery.expert)} % of the winning positions right" in Path("new/figure.svg").read_text()
    )


def test_the_untrained_agent_is_beaten(person, capsys):
    """It takes 1 block from the first heap that is left, as all its values are 0."""
    person("B 2", "D 7", "C 3")
    agent, _ = script.main(script.Args(episodes=0, first="opponent"))
    # 1-3-5-7, AI 0-3-5-7, 0-1-5-7, AI 0-0-5-7, 0-0-5-0, AI 0-0-4-0, 0-0-1-0, AI takes the last
    assert capsys.readouterr().out.endswith("You won: AI took the last block.\n")
    assert not agent.q_values(NimRules().all_positions()).any()


def test_the_seed_decides_the_table_and_who_moves_first(person, capsys):
    tables, turns = [], []
    for seed in (0, 0, 1, 2, 3):
        person()
        agent, _ = script.main(script.Args(episodes=50, seed=seed))
        tables.append(agent.q_values(NimRules().all_positions()).tolist())
        turns.append(re.search(r"Choose|AI takes", capsys.readouterr().out)[0])
    assert tables[0] == tables[1] != tables[2]
    assert turns[0] == turns[1]
    assert set(turns) == {"Choose", "AI takes"}
