"""The game in the terminal, against built-in policies and saved players."""

import re

import gymnasium as gym
import play

import agents


def test_a_win_a_loss_and_another_game(person, capsys):
    person("1", "1", "perhaps", "y", "2", "no")
    play.main(play.Args(opponent="take-1", heaps=(3,), max_take=2, misere=False, first="human"))
    shown = capsys.readouterr().out
    assert re.findall(r"(\S+) won, because (\S+) took", shown) == [("you", "you"), ("take-1", "take-1")]
    assert shown.count("Another game") == 3


def test_a_saved_agent_plays_its_best_moves(person, capsys):
    """From 2-3 in normal play, only taking 1 from heap B wins, and the other player can then only copy it."""
    game = {"heaps": (2, 3), "misere": False}
    env = gym.make("nim_env:Nim-v0", **game, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 2000, seed=0)
    agent.save("my.agent")
    person("A 1", "B 1", "no")
    play.main(play.Args(opponent="my.agent", first="opponent", **game))
    assert re.findall(r"^my.agent takes (.*)\.$", capsys.readouterr().out, re.MULTILINE) == [
        "1 block from heap B",
        "1 block from heap B",
        "1 block from heap A",
    ]
