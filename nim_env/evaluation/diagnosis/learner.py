"""A learner under some assumptions: its values, the moves of both players, and the targets of its values.

An update moves a value toward a target. This follows from an equation: Bellman's, or that of a known bug. All
values, rewards and targets are divided by the larger reward, so no return is larger than 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from nim_env.evaluation.diagnosis.equations import Assumptions, Bootstrap, Equation, buggy_equations
from nim_env.evaluation.diagnosis.inputs import Bools, Floats, Inputs, Pairs
from nim_env.evaluation.diagnosis.thresholds import EXPLORATIONS


class Target(NamedTuple):
    """The targets of all action values according to one equation: four arrays of shape ``(n_pairs,)``.

    The pairs are those of a position and a legal action. Updates move a value toward random samples.

    Attributes:
        mean: The mean of the samples, to which the value converges.
        deviation: The standard deviation of the samples. It is 0 if all samples are equal.
        low: The smallest value that a learner with this equation can have during its training.
        high: The largest value that a learner with this equation can have during its training.
    """

    mean: Floats
    deviation: Floats
    low: Floats
    high: Floats


class Bug(NamedTuple):
    """A known bug, with one target of a learner that has it.

    Attributes:
        name: The name of the bug, one of ``findings.KNOWN_BUGS``.
        equation: The equation that a learner with this bug satisfies.
        target: The target that this equation gives to each value.
    """

    name: str
    equation: Equation
    target: Target


@dataclass(frozen=True, eq=False)
class Learner:
    """A learner: what the user passed about it, what is assumed, and all that follows from these.

    Its values and targets are divided by the larger reward. Arrays of shape ``(n_pairs,)`` have an entry for each
    pair of a position and an action that is legal there.

    Attributes:
        inputs: What the user passed: the values and facts about the training.
        assumptions: What is assumed about the training, such as the rewards. Its numbers are not divided.
    """

    inputs: Inputs
    assumptions: Assumptions

    @property
    def pairs(self) -> Pairs:
        """The pairs of a position and a legal action."""
        return self.inputs.pairs

    @cached_property
    def scaled(self) -> Assumptions:
        """The assumptions, with the rewards and the initial value divided by the larger reward."""
        win, loss, initial, _ = self.assumptions
        size = self.assumptions.reward_size
        scaled_initial = None if initial is None else initial / size
        return self.assumptions._replace(win=win / size, loss=loss / size, initial=scaled_initial)

    @property
    def is_initial_known(self) -> bool:
        """Whether all values are known to have started at the same number. False for a network."""
        return self.scaled.initial is not None

    @property
    def initial(self) -> float:
        """The initial value of all actions, divided by the larger reward. It is 0 if it is not known."""
        return self.scaled.initial or 0.0

    # The values, and which of them have been updated

    @cached_property
    def _table(self) -> Floats:
        """The values of all actions, including illegal ones, float64 of shape ``(n_positions, n_actions)``.

        A table that was made from a dictionary has a 0 for each missing entry. Such zeros are replaced by the
        initial value. If the user passed values of positions, the values of actions are computed from them.
        """
        pairs, inputs, assumptions = self.pairs, self.inputs, self.assumptions
        if inputs.has_action_values:
            # if a reward is 0, the learner can have learned a 0
            has_missing = 0.0 in inputs.possible_initials and 0 not in (assumptions.win, assumptions.loss)
            is_missing = pairs.legal & (inputs.table == 0) & has_missing
            return np.where(is_missing, assumptions.initial or 0.0, inputs.table) / assumptions.reward_size
        bellman = assumptions.bellman(pairs.rules)
        future = inputs.discount * inputs.table
        if inputs.opponent is None:
            values = -future  # since the other player is to move in the next position
        else:
            of_replies = inputs.opponent * pairs.after(bellman.other_player, future)
            values = pairs.to_table(of_replies, 0.0).sum(axis=1)
        of_actions = pairs.after(bellman.last_mover, values)
        return pairs.to_table(of_actions, assumptions.loss) / assumptions.reward_size

    @cached_property
    def values(self) -> Floats:
        """The value of each pair of a position and a legal action, float64 of shape ``(n_pairs,)``."""
        return self._table[self.pairs.legal]

    @cached_property
    def _maxima(self) -> Floats:
        """The largest value of a legal action in each position, float64 of shape ``(n_positions,)``."""
        return self.pairs.maxima(self.values)

    @cached_property
    def last_moves(self) -> Floats:
        """The values of the actions that take the last object, a one-dimensional float64 array."""
        return self.values[self.pairs.is_last]

    @cached_property
    def is_greedy(self) -> Bools:
        """Whether each pair's action has the largest value in its position, bool of shape ``(n_pairs,)``."""
        return self.values == self._maxima[self.pairs.position]

    @cached_property
    def is_trained(self) -> Bools:
        """Whether each value differs from the initial value, bool of shape ``(n_pairs,)``.

        All entries are True if the initial value is not known, as for a network.
        """
        return self.values != self.scaled.initial

    @cached_property
    def must_be_trained(self) -> Bools:
        """Whether each value is taken to have been updated, bool of shape ``(n_pairs,)``.

        A value that differs from the initial value has been updated. A value that equals it may have been updated
        too. This is assumed if another value of its position, and every value of the next position, differs from
        the initial value. The learner has then been in both positions, so it has probably made this move.
        """
        is_complete = self._n_trained == self.pairs.n_legal
        # after a last move: no such value differs, so the reward of last moves may be the initial value
        is_complete[0] = not self.is_trained[self.pairs.is_last].any()
        return self.is_trained | (is_complete[self.pairs.next_position] & self._is_visited)

    @cached_property
    def may_be_trained(self) -> Bools:
        """Whether each value can have been updated, bool of shape ``(n_pairs,)``.

        A value has been updated if it differs from the initial value. If the initial value equals a reward, an
        update toward this reward changes nothing. In this case all values of a position may have been updated if
        one of them has.
        """
        is_reward = self.scaled.initial in (self.scaled.win, self.scaled.loss)
        return self.is_trained | (self._is_visited & is_reward)

    @cached_property
    def _n_trained(self) -> Floats:
        """The number of values in each position that differ from the initial value, shape ``(n_positions,)``."""
        return self.pairs.sums(self.is_trained)

    @property
    def _is_visited(self) -> Bools:
        """Whether each pair's position has a value that differs from the initial value, shape ``(n_pairs,)``."""
        return (self._n_trained > 0)[self.pairs.position]

    # The moves of both players

    @cached_property
    def exploration(self) -> float:
        """The probability ε of a random move if the learner plays ε-greedily, inferred from its values.

        It is the ε, out of a list, with which the values are closest to their targets. It is 0 if the user passed
        the learner's policy, since it is not needed then.
        """
        return 0.0 if self.inputs.behavior is not None else min(EXPLORATIONS, key=self._misfit)

    @cached_property
    def own_moves(self) -> Floats:
        """The probability with which the learner plays each pair's action, float64 of shape ``(n_pairs,)``."""
        behavior = self.inputs.behavior
        return self._epsilon_greedy(self.exploration) if behavior is None else behavior

    def _epsilon_greedy(self, epsilon: float) -> Floats:
        """Returns the probability of each pair's action in ε-greedy play, shape ``(n_pairs,)``."""
        n_best = self.pairs.sums(self.is_greedy).clip(1)[self.pairs.position]
        return (1 - epsilon) * self.is_greedy / n_best + epsilon / self.pairs.n_legal[self.pairs.position]

    def _misfit(self, epsilon: float) -> float:
        """Returns how far the values lie from their targets in total, if the learner plays ε-greedily.

        In self-play the targets depend on ε, since the other player's replies are ε-greedy too. On-policy targets
        also depend on it through the learner's next move. The targets are computed from one turn of the learner to
        its next. Values that still equal the initial value are left out.
        """
        own_moves = self._epsilon_greedy(epsilon)
        replies = own_moves if self.inputs.opponent is None else self.inputs.opponent
        of_positions = self._means(own_moves) if self.assumptions.on_policy else self._maxima
        samples = self.pairs.after(self.bellman.other_player, self.inputs.discount * of_positions)
        targets = self.pairs.after(self.bellman.last_mover, self.pairs.sums(replies * samples))
        return float(np.abs(self.values - targets)[self.is_trained].sum())

    def _means(self, policy: Floats) -> Floats:
        """Returns the mean value of each position under a policy, float64 of shape ``(n_positions,)``.

        ``policy`` has the probability of each pair's action, shape ``(n_pairs,)``. If the probabilities in a
        position add up to less than 1, the rest is the probability of an illegal action, which counts as a loss.
        """
        means = self.pairs.sums(policy * self.values) + (1 - self.pairs.sums(policy)) * self.scaled.loss
        means[0] = 0
        return means

    # The targets of the equations

    @cached_property
    def bellman(self) -> Equation:
        """Bellman's equation for this learner."""
        return self.scaled.bellman(self.pairs.rules)

    @cached_property
    def targets(self) -> list[Target]:
        """The targets of a correct learner, from Bellman's equation. In self-play there are two for each value."""
        return self.targets_of(self.bellman)

    @cached_property
    def bugs(self) -> list[Bug]:
        """The known bugs. A bug with several targets is listed several times, once for each of them.

        A bug that changes nothing for this learner is left out, such as a dropped reward if the reward is 0.
        """
        equations = buggy_equations(self.bellman, self.initial)
        return [
            Bug(name, equation, target)
            for equation, name in equations.items()
            if equation != self.bellman
            for target in self.targets_of(equation)
        ]

    def targets_of(self, equation: Equation) -> list[Target]:
        """Returns the targets that an equation gives to the values. In self-play there are two for each value.

        Against an opponent, the learner bootstraps from its own values at its next turn. In self-play it can do
        this too, or it can bootstrap from the other player's values after its move, as in minimax-Q. The table
        does not show which, so the list then has both targets, the one of minimax-Q first.
        """
        by_turn = self._by_turn(equation)
        return [self._by_move(equation), by_turn] if self.inputs.is_self_play else [by_turn]

    def _by_move(self, equation: Equation) -> Target:
        """Returns the target of a learner that bootstraps from the other player's values, as in minimax-Q.

        In every game the returns of the two players add up to the reward of a win plus the reward of a loss. So a
        player's future return is this sum minus the other player's future return.
        """
        sum_of_returns = abs(equation.sign) * (self.scaled.win + self.scaled.loss)

        def future(bootstrap: Any) -> Any:
            return self.inputs.discount * (sum_of_returns - equation.sign * bootstrap)

        samples = self.pairs.after(equation.last_mover, future(self._bootstraps[equation.bootstrap]))
        target = Target(samples, np.zeros(len(samples)), samples, samples)
        return self._with_range_of_training(target, equation, future(self._first_bootstrap(equation.bootstrap)))

    def _by_turn(self, equation: Equation) -> Target:
        """Returns the target of a learner that bootstraps from its own values after a reply, as in Q-learning."""
        pairs = self.pairs
        replies = self.own_moves if self.inputs.opponent is None else self.inputs.opponent
        factor = self.inputs.discount * equation.sign
        samples = pairs.after(equation.other_player, factor * self._bootstraps[equation.bootstrap])
        mean = pairs.sums(replies * samples)
        deviation = np.sqrt((pairs.sums(replies * samples**2) - mean**2).clip(0))
        low, high = self._range_over_replies(replies, samples)
        mean, low, high = (pairs.after(equation.last_mover, of_positions) for of_positions in (mean, low, high))
        target = Target(mean, pairs.after(0.0, deviation), low, high)
        return self._with_range_of_training(target, equation, factor * self._first_bootstrap(equation.bootstrap))

    def _range_over_replies(self, replies: Floats, samples: Floats) -> tuple[Floats, Floats]:
        """Finds the smallest and the largest sample that a learner can get from the possible replies.

        In self-play every reply is possible, since the learner can have played it at some time. The initial value
        counts as a sample too.

        Args:
            replies: The probability of each reply, shape ``(n_pairs,)``. Those of 0 count in self-play only.
            samples: The sample toward which the learner's value moves after each reply, shape ``(n_pairs,)``.

        Returns:
            The smallest and the largest sample by position before the reply, both float64 of shape
            ``(n_positions,)``.
        """
        low, high = np.full((2, len(self.pairs.indices)), self.initial)
        is_possible = (replies > 0) | self.inputs.is_self_play
        np.minimum.at(low, self.pairs.position[is_possible], samples[is_possible])
        np.maximum.at(high, self.pairs.position[is_possible], samples[is_possible])
        return low, high

    @cached_property
    def _bootstraps(self) -> dict[Bootstrap, Floats]:
        """The number to which each kind of bootstrap reduces the values in a position, such as their maximum.

        There is an array for each kind, float64 of shape ``(n_positions,)``, with a 0 for the empty position.
        """
        bootstraps: dict[Bootstrap, Floats] = {
            "maximum": self._maxima,
            "maximum from 0": self._maxima.clip(0),
            "maximum over all": np.append(0, np.fmax.reduce(self._table[1:], axis=1)),
            "minimum": -self.pairs.maxima(-self.values),
            "mean": self.pairs.sums(self.values) / self.pairs.n_legal,
        }
        if self.assumptions.on_policy:
            bootstraps["own policy"] = self._means(self.own_moves)
        return bootstraps

    def _first_bootstrap(self, bootstrap: Bootstrap) -> float:
        """Returns the number that a bootstrap gives for a position in which no value has been updated."""
        return max(self.initial, 0.0) if bootstrap == "maximum from 0" else self.initial

    def _with_range_of_training(self, target: Target, equation: Equation, first_target: float) -> Target:
        """Widens the range of a target to all values that a learner can have during its training.

        Every value starts at the initial value. So at first, all moves that do not end the game have the same
        target, which is computed from initial values only. There are two cases:

        - If the first target equals the initial value, or if the equation has no future, the range is only widened
          to include the initial value.
        - Otherwise a value can move away from its later target before it moves there, so the range is widened to
          include all returns. The same is done for an on-policy learner, and if the initial value is not known.

        A last move has only one target, its reward. So the first case holds for it whenever the initial value is
        known. docs/how_the_diagnosis_works.md gives the reasons.

        Args:
            target: The target, with a range that covers the samples only.
            equation: The equation of the target.
            first_target: The first target of a move that does not end the game.

        Returns:
            The same target with the wider range.
        """
        scaled, initial, sign = self.scaled, self.initial, equation.sign
        returns = [0.0, scaled.win, scaled.loss, sign * scaled.win, sign * scaled.loss]
        is_known = self.is_initial_known
        goes_straight = is_known and not self.assumptions.on_policy and (first_target == initial or sign == 0)
        of_last_moves = [initial] if is_known else returns
        of_others = [initial] if goes_straight else [initial, first_target, *returns]
        least, most = (np.where(self.pairs.is_last, end(of_last_moves), end(of_others)) for end in (min, max))
        return target._replace(low=np.minimum(target.low, least), high=np.maximum(target.high, most))
