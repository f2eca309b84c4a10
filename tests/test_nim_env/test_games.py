"""Whole games in the environments with one game, illegal actions included, compared with the rules in Python."""

import numpy as np
import pytest
from brute_force import moves
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from hypothesis import given
from strategies import rules as any_rules
from strategies import seeds

from nim_env import NimEnv, aec_env


class Game:
    """Nim in plain Python. Player 0 moves first. ``draw`` draws a legal action, or any action in 5 % of calls."""

    def __init__(self, rules, seed):
        self.rules, self.generator = rules, np.random.default_rng(seed)
        self.actions = [move for move, _ in moves(rules.heaps, rules.max_take)]
        self.arguments = {"heaps": rules.heaps, "max_take": rules.max_take, "misere": rules.misere}
        self.start()

    def start(self):
        positions = self.rules.all_positions()[1:].tolist()
        self.heaps = tuple(positions[self.generator.integers(len(positions))])
        self.options = {"heaps": np.array(self.heaps, np.uint8)}
        self.player, self.winner = 0, None

    @property
    def mask(self):
        legal = dict(moves(self.heaps, self.rules.max_take))
        return [int(move in legal) for move in self.actions]

    def draw(self):
        if self.generator.random() < 0.05:
            return int(self.generator.integers(len(self.actions)))
        return int(self.generator.choice(np.flatnonzero(self.mask)))

    def play(self, action):
        """Plays an action, and returns whether it is legal."""
        legal = dict(moves(self.heaps, self.rules.max_take))
        move = self.actions[action]
        self.player = 1 - self.player
        if move not in legal:
            self.winner = self.player
            return False
        self.heaps = legal[move]
        if not any(self.heaps):  # the last object loses in misère play
            self.winner = self.player if self.rules.misere else 1 - self.player
        return True


@given(any_rules, seeds)
def test_pettingzoo(rules, seed):
    game = Game(rules, seed)
    # random_start has no effect, since each game starts from a given position
    env = aec_env.env(**game.arguments, random_start=True, render_mode="ansi")
    assert env.observation_space("player_0")["observation"] == MultiDiscrete(np.add(rules.heaps, 1))
    assert env.observation_space("player_0")["action_mask"] == Box(0, 1, (len(game.actions),), np.int8)
    assert env.action_space("player_1") == Discrete(len(game.actions))
    for _ in range(2):
        env.reset(seed=seed, options=game.options)
        is_legal = True
        while game.winner is None:
            observation, *rest = env.last()
            assert env.state() in env.state_space
            assert env.agent_selection == f"player_{game.player}"
            assert rest == [0, False, False, {"illegal_action": False}]
            assert observation["observation"].tolist() == list(game.heaps)
            assert observation["action_mask"].tolist() == game.mask
            assert not env.observe(f"player_{1 - game.player}")["action_mask"].any()
            action = game.draw()
            is_legal = game.play(action)
            env.step(action)
        rewards = [-1, -1]
        rewards[game.winner] = int(is_legal)  # in PettingZoo, an opponent's illegal action earns no reward
        assert [env.rewards[player] for player in env.possible_agents] == rewards
        reason = "" if is_legal else f": Player {2 - game.winner}'s move was illegal"
        assert env.render().splitlines()[-1] == f"Player {game.winner + 1} won{reason}"
        assert env.state().tolist() == [*game.heaps, game.player]
        for player in (game.player, 1 - game.player):
            assert env.agent_selection == f"player_{player}"
            observation, *rest = env.last()
            assert observation["observation"].tolist() == list(game.heaps)
            assert not observation["action_mask"].any()
            assert rest == [
                rewards[player],
                True,
                False,
                {"illegal_action": player != game.winner and not is_legal},
            ]
            env.step(None)
        assert env.agents == []
        game.start()


@pytest.mark.parametrize("is_self_play", [True, False])
@given(rules=any_rules, seed=seeds)
def test_gymnasium(rules, seed, is_self_play):
    game, replies = Game(rules, seed), []

    def opponent(observation, action_mask):
        assert observation.tolist() == list(game.heaps)
        assert action_mask.tolist() == game.mask
        replies.append(int(game.generator.choice(np.flatnonzero(action_mask))))
        game.play(replies[-1])
        return replies[-1]

    # the learner moves first from a given position
    env = NimEnv(**game.arguments, opponent=None if is_self_play else opponent, random_start=True)
    assert env.observation_space == MultiDiscrete(np.add(rules.heaps, 1))
    assert env.action_space == Discrete(len(game.actions))
    for _ in range(2):
        observation, info = env.reset(seed=seed, options=game.options)
        while game.winner is None:
            assert observation.tolist() == list(game.heaps)
            assert info["action_mask"].tolist() == env.action_masks().tolist() == game.mask
            assert info.get("to_play") == (game.player if is_self_play else None)
            player, action = game.player, game.draw()
            is_legal = game.play(action)
            observation, reward, terminated, truncated, info = env.step(action)
            assert reward == (0 if game.winner is None else 1 if game.winner == player else -1)
            assert (terminated, truncated) == (game.winner is not None, False)
            assert info["illegal_action"] == (not is_legal)
        assert observation.tolist() == list(game.heaps)
        assert info["action_mask"].all()
        assert list(game.options) == ["heaps"]
        with pytest.raises(ResetNeeded):
            env.step(0)
        game.start()
