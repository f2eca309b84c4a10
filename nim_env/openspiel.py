"""Nim in OpenSpiel: its game, our players as its policies, and its policies and bots as our players.

It needs OpenSpiel (``pip install "nim-env[openspiel]"``), so ``import nim_env`` does not import it.
"""

from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled

from nim_env.policies import FunctionPolicy, Policy, PolicyLike, TabularPolicy, checked_player
from nim_env.rules import NimRules

try:
    import pyspiel
    from open_spiel.python import policy
except ImportError as error:
    raise DependencyNotInstalled('OpenSpiel is missing; run pip install "nim-env[openspiel]"') from error


def load_game(rules: NimRules) -> Any:
    """OpenSpiel's game of the rules, a ``pyspiel.Game``. It has no ``max_take``: a ValueError."""
    if rules.max_take is not None:
        raise ValueError(f"OpenSpiel's Nim has no max_take; got {rules}")
    return pyspiel.load_game("nim", {"pile_sizes": ";".join(map(str, rules.heaps)), "is_misere": rules.misere})


class OpenSpielPolicy(policy.Policy):  # type: ignore[misc]  # OpenSpiel has no types
    """A player of :mod:`nim_env.policies` as an OpenSpiel policy for both sides."""

    def __init__(self, rules: NimRules, player: PolicyLike) -> None:
        super().__init__(load_game(rules), [0, 1])
        self._rules = rules
        self._player = checked_player(player, rules)

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:  # noqa: ARG002
        """The probability of each legal action, by its number there: ``(count - 1) * n_heaps + heap``."""
        heaps = np.array(str(state).split()[1:], dtype=np.int64)  # of "(0): 1 3 5 7"
        found = self._player.query(heaps, self._rules.action_mask(heaps), twice=True).probabilities
        moves = {number: divmod(number, len(heaps)) for number in state.legal_actions()}
        return {number: found[self._rules.action(heap, rest + 1)] for number, (rest, heap) in moves.items()}


def from_openspiel(rules: NimRules, player: Any) -> Policy:
    """A policy of OpenSpiel, which is tabulated, or a bot as a player of :mod:`nim_env.policies`.

    It must play both sides and not depend on the history. Exact figures of random bots need ``SampledPolicy``.
    """
    actions = ((rules.move_counts - 1) * rules.n_heaps + rules.move_heaps).tolist()

    def state_of(heaps: Any) -> Any:
        state = load_game(rules).new_initial_state()
        for heap in np.flatnonzero(rules.heaps - heaps).tolist():
            state.apply_action((rules.heaps[heap] - int(heaps[heap]) - 1) * rules.n_heaps + heap)
        return state

    if isinstance(player, pyspiel.Bot):
        return FunctionPolicy(lambda heaps, _: actions.index(player.step(state_of(heaps))))
    found = [{}, *(player.action_probabilities(state_of(heaps)) for heaps in rules.all_positions()[1:])]
    return TabularPolicy(rules, np.array([[row.get(action, 0.0) for action in actions] for row in found]))
