"""Nim in OpenSpiel: its game, and conversions between the players of this package and those of OpenSpiel.

This module needs OpenSpiel (``pip install "nim-env[openspiel]"``), so ``import nim_env`` does not import it.
"""

from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from nim_env.policies import FunctionPolicy, Policy, PolicyLike, TabularPolicy, checked_player
from nim_env.rules import NimRules

try:
    import pyspiel
    from open_spiel.python import policy
except ImportError as error:
    raise DependencyNotInstalled(
        'nim_env.openspiel needs OpenSpiel; run pip install "nim-env[openspiel]"'
    ) from error

_N_HISTORIES = 3  # a policy is queried at this many histories of each position
_TOLERANCE = 1e-5  # for differences between a policy's answers at these histories


def load_game(rules: NimRules) -> Any:
    """Returns the game in OpenSpiel, a ``pyspiel.Game``.

    Raises ValueError if the rules have a ``max_take``, which OpenSpiel's Nim does not support.
    """
    if rules.max_take is not None:
        raise ValueError(f"rules must have no max_take, which OpenSpiel's Nim does not support; got {rules}")
    return pyspiel.load_game("nim", {"pile_sizes": ";".join(map(str, rules.heaps)), "is_misere": rules.misere})


def _openspiel_actions(rules: NimRules) -> list[int]:
    """Returns OpenSpiel's number of each action, in the order of ``rules.moves``."""
    return ((rules.move_counts - 1) * rules.n_heaps + rules.move_heaps).tolist()


class OpenSpielPolicy(policy.Policy):  # type: ignore[misc]  # OpenSpiel has no types
    """Wraps a player of :mod:`nim_env.policies` as an OpenSpiel policy, which can play either side.

    Args:
        rules: The game, without ``max_take``.
        player: Any player that :mod:`nim_env.evaluation` takes.
    """

    def __init__(self, rules: NimRules, player: PolicyLike) -> None:
        super().__init__(load_game(rules), [0, 1])
        self._rules = rules
        self._player = checked_player(player, rules)
        self._actions = {number: action for action, number in enumerate(_openspiel_actions(rules))}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:  # noqa: ARG002
        """Returns a dictionary with the probability of each legal action.

        The keys are OpenSpiel's numbers of the actions, ``(count - 1) * n_heaps + heap``.
        """
        heaps = np.array(str(state).split()[1:], dtype=np.int64)  # the state is written "(0): 1 3 5 7"
        found = self._player.query(heaps, self._rules.action_mask(heaps), require_same_answer=True).probabilities
        return {number: found[self._actions[number]] for number in state.legal_actions()}


def from_openspiel(rules: NimRules, player: Any) -> Policy:
    """Returns an OpenSpiel policy or bot as a player of :mod:`nim_env.policies`.

    OpenSpiel's players choose by the history of a game, that is, by all of its moves. Our players choose by the
    position alone. So this function queries the player at random histories that lead to a position:

    - A policy is queried at three histories of each position, and its answers become a table. A policy for one
      side is queried only at histories after which its side is to move. A position without such a history gets
      uniform probabilities.
    - A bot is queried at a new random history each time. For exact metrics of a bot that draws its moves, wrap it
      in ``SampledPolicy``.

    A policy whose answers differ between histories of the same position, such as a policy of CFR, cannot be a
    player here. Evaluate it in OpenSpiel: ``exploitability.nash_conv(load_game(rules), policy)`` measures
    how far it is from an equilibrium, and :class:`OpenSpielPolicy` turns our players into opponents for it.

    Args:
        rules: The game that the player plays, without ``max_take``.
        player: A policy of OpenSpiel (Python or C++) or a ``pyspiel.Bot``.

    Returns:
        The player.

    Raises:
        ValueError: If a policy's answers depend on the history.
    """
    histories = _RandomHistories(rules)
    numbers = _openspiel_actions(rules)
    if isinstance(player, pyspiel.Bot):
        return FunctionPolicy(lambda heaps, _: numbers.index(player.step(histories.to(heaps))))
    sides = _sides_of(player, histories.game)
    positions = rules.all_positions()
    masks = rules.action_mask(positions)
    table = masks / masks.sum(axis=1, keepdims=True).clip(1)
    for heaps, row in zip(positions[1:], table[1:], strict=True):
        taken = rules.heaps - heaps
        if taken.max() > 1 or taken.sum() % 2 in sides:  # otherwise no history ends with this side to move
            found = [player.action_probabilities(histories.to(heaps, sides)) for _ in range(_N_HISTORIES)]
            answers = [[probabilities.get(number, 0.0) for number in numbers] for probabilities in found]
            if np.ptp(answers, axis=0).max() > _TOLERANCE:
                raise ValueError(
                    f"player must choose by the position alone, but the answers of {player!r} at heaps "
                    f"{heaps.tolist()} depend on the history of the game; evaluate it in OpenSpiel, by "
                    "exploitability.nash_conv(load_game(rules), policy)"
                )
            row[:] = answers[0]
    return TabularPolicy(rules, table)


class _RandomHistories:
    """Plays random moves in OpenSpiel, from the start of a game to a given position.

    The moves are the same in every run of the program.
    """

    def __init__(self, rules: NimRules) -> None:
        self.rules = rules
        self.game = load_game(rules)
        self.generator = Random(0)

    def to(self, heaps: NDArray[np.int64], sides: Sequence[int] = (0, 1)) -> Any:
        """Returns an OpenSpiel state with these heaps after random moves, in which one of ``sides`` is to move."""
        while True:
            state = self.game.new_initial_state()
            taken = (self.rules.heaps - heaps).tolist()
            while any(taken):
                heap = self.generator.choice([heap for heap, count in enumerate(taken) if count])
                count = self.generator.randint(1, taken[heap])
                state.apply_action((count - 1) * self.rules.n_heaps + heap)
                taken[heap] -= count
            if state.current_player() in sides:
                return state


def _sides_of(player: Any, game: Any) -> Sequence[int]:
    """Returns the sides that an OpenSpiel policy plays: 0, 1 or both.

    Most policies list them in the attribute ``player_ids``. OpenSpiel's best responses do not, but they answer
    only if their side is to move. So they are queried at the start and after each possible first move.
    """
    if hasattr(player, "player_ids"):
        return player.player_ids
    start = game.new_initial_state()
    sides = []
    for state in (start, *(start.child(action) for action in start.legal_actions())):
        with suppress(KeyError):
            if not state.is_terminal() and player.action_probabilities(state):
                sides.append(state.current_player())
    return sides or [0, 1]
