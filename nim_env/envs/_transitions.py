"""The transition probabilities ``env.unwrapped.P``, in the form of Gymnasium's FrozenLake."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from nim_env._internal import limits
from nim_env.policies import Policy, tabulate
from nim_env.rules import NimRules

Transitions: TypeAlias = dict[int, dict[int, list[tuple[float, int, float, bool]]]]
"""The type of ``P``: ``P[state][action]`` lists tuples ``(probability, next state, reward, terminated)``."""


def transitions(rules: NimRules, policy: Policy) -> Transitions:
    """Returns the table ``P`` for all positions of a game against this policy as the opponent.

    Raises ValueError if the number of positions times actions is above 100,000, or if the policy's answer in a
    position is not a distribution over legal actions.
    """
    limits.check_size(rules.n_pairs, limits.TRANSITION_PAIRS, "positions times actions of P", "use smaller heaps")
    replies = tabulate(rules, policy, np.float64).probabilities
    last = rules.terminal_reward  # the reward of the player who takes the last object

    def outcomes_of_reply(index: int) -> list[tuple[float, int, float, bool]]:
        """Returns what can follow when the opponent is to move in the position of this index.

        The result is a list of tuples ``(probability, next state, reward, terminated)``, one for each possible
        reply. Index 0 is the empty position. There the agent has taken the last object, and there is no reply.
        """
        if index == 0:
            return [(1.0, 0, last, True)]
        weights = replies[index] / replies[index].sum()
        states = [(float(weights[reply]), index - rules.offsets[reply]) for reply in weights.nonzero()[0]]
        return [(chance, state, 0.0 if state else -last, state == 0) for chance, state in states]

    outcomes = [outcomes_of_reply(index) for index in range(rules.n_positions)]
    return {
        state: {
            action: outcomes[state - offset][:] if legal else [(1.0, 0, -1.0 if state else 0.0, True)]
            for action, (offset, legal) in enumerate(zip(rules.offsets, mask, strict=True))
        }
        for state, mask in enumerate(rules.action_mask(rules.all_positions()).tolist())
    }
