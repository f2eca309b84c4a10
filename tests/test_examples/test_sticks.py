"""System 3: Q-learning on one heap of sticks."""

import re
from pathlib import Path

import numpy as np
import pytest
import sticks
from recorded import replay, session

from nim_env import NimRules, theory

RULES = NimRules((10,), 3)


@pytest.mark.parametrize("seed", range(6))
def test_every_game_from_300_to_2000_is_won(seed):
    """The published result."""
    _, won = sticks.main(sticks.Args(seed=seed))
    assert len(won) == 2000
    assert not all(won[:300])
    assert all(won[300:])


def test_the_table_and_the_seed(capsys, tmp_path):
    args = sticks.Args(episodes=300)
    agent, won = sticks.main(args)
    table = sticks.q_table(agent, RULES)
    assert table.index.tolist() == list(range(10, 0, -1))
    np.testing.assert_array_equal(
        table.isna().to_numpy(), [[take > left for take in (1, 2, 3)] for left in table.index]
    )
    for left in (2, 3, 4):  # a positive value is of a move that wins
        assert (table.loc[left] > 0).tolist() == theory.winning_action_mask(RULES, [left]).astype(bool).tolist()
    shown = capsys.readouterr().out
    assert re.search(r"^1 +-1\.00 +- +-$", shown, re.MULTILINE)
    assert f"AI won {sum(won)} of 300 games." in shown
    assert "Q-learning against random" in (tmp_path / "results" / "sticks.svg").read_text()
    sticks.main(args)
    assert capsys.readouterr().out == shown


def test_games_are_printed_move_by_move(capsys):
    _, won = sticks.main(sticks.Args(episodes=3, sticks=7, verbose=True))
    games = capsys.readouterr().out.split("New game: 7 sticks.")[1:]
    assert len(games) == 3
    for game, is_won in zip(games, won, strict=True):
        moves = re.findall(r"(AI|Opponent) takes (\d)", game)
        assert sum(int(count) for _, count in moves) == 7
        assert is_won == (moves[-1][0] == "Opponent")  # the player who takes the last stick loses
        assert ("AI wins." if is_won else "AI loses.") in game


def test_games_against_a_human_teach(person, capsys):
    # A game is won against the AI's 1, 1, 1; 9 and x are refused.
    person("9", "x", "1", "2", "3", "1", "-1")
    agent, won = sticks.main(sticks.Args(opponent="human", picture=Path("games.png")))
    shown = capsys.readouterr().out
    assert won == [False]
    assert shown.count("New game: 10 sticks.\nAI takes 1.\n9 sticks are left. Your turn.") == 2
    assert shown.count("not a whole number from 1 to 3") == 2
    assert agent.q_values([1])[0] == -1
    assert "AI won 0 of 1 games." in shown
    assert Path("games.png").read_bytes().startswith(b"\x89PNG")


def test_the_session_on_the_page(person, capsys, monkeypatch):
    options, lines, screen = session("sticks.py", r"How many sticks, 1 to \d\? ")
    assert options[-2:] == ["--then", "human"]
    replay(sticks, options, lines, person, monkeypatch)
    assert capsys.readouterr().out == screen


def test_the_same_learner_goes_on_against_a_second_opponent():
    _, alone = sticks.main(sticks.Args(episodes=300))
    _, won = sticks.main(sticks.Args(episodes=300, then="expert"))
    assert won[:300] == alone
    assert len(won) == 600
    assert all(won[300:])  # 10 sticks are won by the player who moves first


def test_the_options_of_the_learner():
    discounted, _ = sticks.main(sticks.Args(gamma=0.5))
    assert discounted.q_values([2]).max() == 1  # the game ends after this move
    assert discounted.q_values([6]).max() == 0.5  # and from 6 a turn later
    slow, _ = sticks.main(sticks.Args(episodes=1, sticks=2, learning_rate=0.25))
    assert slow.q_values([2])[0] == 0.25  # takes 1, and the opponent must take the last stick


def test_the_graph_rolls_over_its_window():
    (line,) = sticks.plot([True, False, False, True, True, True], sticks.Args(window=3)).axes[0].lines
    np.testing.assert_allclose(line.get_xydata().T, [[1, 2, 3, 4, 5, 6], [1, 1 / 2, 1 / 3, 1 / 3, 2 / 3, 1]])


def test_wrong_options_are_refused_before_the_games(refused, capsys):
    with refused("window", "0"):
        sticks.main(sticks.Args(verbose=True, window=0))
    assert not capsys.readouterr().out
