"""The game in the terminal, with training and an animation."""

import re
from pathlib import Path

import numpy as np
import play
import pytest
from PIL import Image

from nim_env import NimRules, evaluation


def test_a_win_a_loss_and_another_game(person, capsys):
    person("1", "1", "perhaps", "y", "2", "no")
    play.main(play.Args(opponent="take-1", heaps=(3,), max_take=2, misere=False, first="human"))
    shown = capsys.readouterr().out
    assert re.findall(r"(\S+) won, because (\S+) took", shown) == [("you", "you"), ("take-1", "take-1")]
    assert shown.count("Another game") == 3


def test_a_saved_agent_plays_again(person, capsys, refused):
    game = {"heaps": (2, 3), "misere": False, "max_take": 2}
    person()
    trained = play.main(play.Args(episodes=2000, seed=0, save=Path("my.agent"), **game))
    assert evaluation.mastery(NimRules((2, 3), 2, misere=False), trained).expert == 1
    person()
    loaded = play.main(play.Args(opponent="my.agent", first="opponent", **game))
    np.testing.assert_array_equal(loaded.q_values((2, 3)), trained.q_values((2, 3)))
    assert re.search(r"^my.agent takes \d blocks? from heap [AB]\.", capsys.readouterr().out, re.MULTILINE)
    with refused("--save", "expert"):
        play.main(play.Args(opponent="expert", save=Path("my.agent")))


def test_an_animation_of_the_last_game(person):
    pytest.importorskip("pygame", reason='needs pip install -e ".[render]"')
    person("B58", "B1", "q")
    play.main(play.Args(opponent="expert", heaps=(3, 60), misere=False, first="human", picture=Path("game.gif")))
    with Image.open("game.gif") as film:
        assert film.n_frames == 5  # the start, and two moves of each player
        assert film.size == (600, 400)
