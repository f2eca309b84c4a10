"""A correct Q-learner: its values are a dictionary, and it explores unless told not to."""

import random


class Nim:
    """Misère play: whoever takes the last object loses."""

    def __init__(self, piles=(2, 3, 4)):
        self.piles = list(piles)

    @staticmethod
    def available_actions(piles):
        return {(pile, count) for pile, size in enumerate(piles) for count in range(1, size + 1)}

    def take(self, pile, count):
        self.piles[pile] -= count


class NimAI:
    def __init__(self, alpha=0.5, epsilon=0.3):
        self.q = {}
        self.alpha = alpha
        self.epsilon = epsilon

    def value(self, state, action):
        return self.q.get((tuple(state), action), 0)

    def best_future(self, state):
        return max((self.value(state, action) for action in Nim.available_actions(state)), default=0)

    def learn(self, state, action, reward, next_state):
        old = self.value(state, action)
        self.q[state, action] = old + self.alpha * (reward + self.best_future(next_state) - old)

    def choose_action(self, state, epsilon=True):
        actions = sorted(Nim.available_actions(state))
        if epsilon and random.random() < self.epsilon:
            return random.choice(actions)
        return max(actions, key=lambda action: self.value(state, action))


def train(n, ai=None):
    """Plays n games against itself. A turn is learned from at the next turn of the same player."""
    ai = ai or NimAI()
    for _ in range(n):
        game = Nim()
        last_turns = {}
        player = 0
        while any(game.piles):
            state = tuple(game.piles)
            if player in last_turns:
                ai.learn(*last_turns[player], 0, state)
            action = ai.choose_action(state)
            last_turns[player] = state, action
            game.take(*action)
            player = 1 - player
        for turn, reward in ((last_turns.get(player), 1), (last_turns[1 - player], -1)):
            if turn:
                ai.learn(*turn, reward, tuple(game.piles))
    print(f"played {n} games")
    return ai
