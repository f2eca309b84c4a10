"""What is assumed about a learner whose values are judged."""

from __future__ import annotations

from typing import NamedTuple

from nim_env.evaluation.diagnosis.equations import Equation
from nim_env.rules import NimRules


class Assumptions(NamedTuple):
    """What is assumed about a learner. If the user does not state something, the diagnosis infers it.

    Attributes:
        win: The reward of a win.
        loss: The reward of a loss.
        initial: The value of a pair of position and action that was never updated. ``None`` if the values started
            anywhere, as in a network.
        on_policy: Whether the targets follow the learner's own moves; False for Q-learning.
    """

    win: float = 1.0
    loss: float = -1.0
    initial: float | None = 0.0
    on_policy: bool = False

    @property
    def initial_or_0(self) -> float:
        """The initial value, or 0 if it is not known."""
        return self.initial or 0.0

    @property
    def unit(self) -> float:
        """The larger of the two absolute rewards. The diagnosis measures values in this unit."""
        return max(abs(self.win), abs(self.loss))

    def in_units(self) -> Assumptions:
        """Returns the assumptions with all numbers divided by :attr:`unit`, so no return is larger than 1."""
        initial = None if self.initial is None else self.initial / self.unit
        return self._replace(win=self.win / self.unit, loss=self.loss / self.unit, initial=initial)

    def bellman(self, rules: NimRules) -> Equation:
        """Returns Bellman's equation for this learner."""
        last_mover, other_player = (self.loss, self.win) if rules.misere else (self.win, self.loss)
        return Equation(last_mover, other_player, "own policy" if self.on_policy else "maximum")
