"""Nim in OpenSpiel: its game, our players as its policies, and its policies and bots as our players.

It needs OpenSpiel (``pip install "nim-env[openspiel]"``), so ``import nim_env`` does not import it.
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

    A policy is queried at three random histories of each position, one of a single side at those where its side is
    to move; where no history is one, its table is uniform. A bot is queried at a random history each time, and
    exact figures of bots that draw need ``SampledPolicy``.

    A policy whose answers depend on the history, as those of CFR do, is no player of positions: a ValueError. In
    OpenSpiel ``exploitability.nash_conv(load_game(rules), policy)`` is exact for it, and :class:`OpenSpielPolicy`
    takes our players there.
    """
    game = load_game(rules)
    actions = ((rules.move_counts - 1) * rules.n_heaps + rules.move_heaps).tolist()
    generator = Random(0)

    def random_history(heaps: NDArray[np.int64], sides: Sequence[int] = (0, 1)) -> Any:
        state = game.new_initial_state()
        taken = (rules.heaps - heaps).tolist()
        while any(taken):
            heap = generator.choice([heap for heap, count in enumerate(taken) if count])
            count = generator.randint(1, taken[heap])
            state.apply_action((count - 1) * rules.n_heaps + heap)
            taken[heap] -= count
        return state if state.current_player() in sides else random_history(heaps, sides)

    if isinstance(player, pyspiel.Bot):
        return FunctionPolicy(lambda heaps, _: actions.index(player.step(random_history(heaps))))
    sides = _sides_of(player, game)
    positions = rules.all_positions()
    masks = rules.action_mask(positions)
    table = masks / masks.sum(axis=1, keepdims=True).clip(1)
    for heaps, row in zip(positions[1:], table[1:], strict=True):
        taken = rules.heaps - heaps
        if taken.max() > 1 or taken.sum() % 2 in sides:  # else each move took one object, and the other side moves
            found = [player.action_probabilities(random_history(heaps, sides)) for _ in range(3)]
            answers = [[answer.get(action, 0.0) for action in actions] for answer in found]
            if np.ptp(answers, axis=0).max() > 1e-5:
                raise ValueError(
                    f"{player!r} answers by the history at {heaps.tolist()}, so it is no player of positions; "
                    "exploitability.nash_conv(load_game(rules), policy) of OpenSpiel is exact for it, and "
                    "OpenSpielPolicy(rules, player) takes players there"
                )
            row[:] = answers[0]
    return TabularPolicy(rules, table)


def _sides_of(player: Any, game: Any) -> Sequence[int]:
    """The ``player_ids`` of a policy; best responses have none, and answer where their side is to move."""
    if hasattr(player, "player_ids"):
        return player.player_ids
    start = game.new_initial_state()
    sides = []
    for state in (start, *(start.child(action) for action in start.legal_actions())):
        with suppress(KeyError):
            if not state.is_terminal() and player.action_probabilities(state):
                sides.append(state.current_player())
    return sides or [0, 1]
