"""Expected SARSA on simple Nim: your own agent, trained against the expert, evaluated exactly, saved and loaded.

The section "A learner" of docs/agents/your_own_player.md is the same program with explanations. It needs the core
packages only. Other programs take its agent by name:

    python examples/sarsa.py
    python examples/compare_opponents.py --enter examples/sarsa.py:loaded

Source: van Seijen et al. (2009); Sutton and Barto (2018), equation 6.9.

Install: pip install -e .   (in the project folder)
"""

import gymnasium as gym
import numpy as np

import agents
import nim_env


class ExpectedSarsaAgent(agents.TabularAgent):
    """Expected SARSA, for environments that give action masks."""

    def __init__(
        self,
        *spaces,
        learning_rate=0.5,
        gamma=1.0,
        epsilon=0.1,
        seed=None,
    ):
        super().__init__(*spaces, seed=seed)
        self.learning_rate = learning_rate
        self.gamma = gamma
        self.epsilon = epsilon

    def act(self, observation, action_mask, explore=False):
        legal = np.flatnonzero(action_mask)
        if explore and self.generator.random() < self.epsilon:
            return int(self.generator.choice(legal))
        return int(legal[self.q_values(observation)[legal].argmax()])

    def update(
        self,
        observation,
        action,
        reward,
        next_observation,
        terminated,
        next_action_mask,
    ):
        target = reward
        if not terminated:
            # the mean value of the next action under the epsilon-greedy policy
            legal = np.flatnonzero(next_action_mask)
            q = self.q_values(next_observation)[legal]
            expected = (1 - self.epsilon) * q.max() + self.epsilon * q.mean()
            target += self.gamma * expected
        row = self.table.row(observation)
        td_error = target - self.table.values[row, action]
        self.table.values[row, action] += self.learning_rate * td_error


env = gym.make("SimpleNim-v0", opponent="expert")
agent = ExpectedSarsaAgent(env.observation_space, env.action_space, seed=0)
history = agents.train(agent, env, episodes=1_000, seed=0)
print(f"{(history.returns[-500:] > 0).mean():.1%} of the last 500 games won")

agent.save("expected_sarsa.agent")
loaded = agents.load("expected_sarsa.agent")
rules = env.unwrapped.rules
mastery = nim_env.evaluation.mastery(rules, loaded)
wins = nim_env.evaluation.win_probability(rules, loaded, "random")
print(f"expert mastery {mastery.expert}, champion {mastery.champion}")
print(f"{wins:.2%} of the games against random play won")
