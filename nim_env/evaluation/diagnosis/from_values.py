"""The diagnosis of a player from its values: checks the arguments, and passes them on to the decision."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nim_env.evaluation.diagnosis import findings, verdicts
from nim_env.evaluation.diagnosis.case import case_of
from nim_env.evaluation.diagnosis.decision import decide
from nim_env.evaluation.diagnosis.first_reading import first_reading
from nim_env.evaluation.diagnosis.learner import Learner
from nim_env.evaluation.diagnosis.pairs import Floats, judged_pairs
from nim_env.evaluation.diagnosis.verdicts import Diagnosis
from nim_env.policies import PolicyLike
from nim_env.rules import NimRules, heap_name


def diagnose(
    rules: NimRules,
    q_values: ArrayLike,
    opponent: PolicyLike | None = None,
    *,
    discount: float = 1.0,
    earlier: ArrayLike | None = None,
    rewards: tuple[float, float] | None = None,
    initial: float | None = None,
    on_policy: bool | None = None,
    behavior_policy: PolicyLike | None = None,
) -> Diagnosis:
    """Finds out whether a player's values satisfy Bellman's equation, or what a known bug makes of it.

    A bug is named only if no correct learner can have the values. For example, this diagnoses a table that was
    learned against random play with a discount of 0.9::

        diagnosis = evaluation.diagnose(rules, table, opponent="random", discount=0.9)
        print(diagnosis.verdict)

    Anything that you do not pass about the training is inferred from the values if possible. If a verdict depends
    on something that they do not show, it says which argument decides.

    The values of a network can start anywhere, so no initial value helps to judge them. A network is recognized by
    its entries for illegal actions, which are not all equal. Games of more than 50,000 positions are judged by the
    positions with the fewest objects.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, with the row
            of a position at its index; or the value of each position for the player to move, shape
            ``(n_positions,)``. If there is an opponent, the learner is the player to move in every position.
        opponent: The policy that the player learned against. None for self-play, in which it played both sides.
        discount: The discount of the training, from 0 to 1. It applies to each move, or to each own turn if the
            learner only sees its own turns.
        earlier: The values of the same training at an earlier time, in one of the two shapes. A value shows
            a bug if it was off its target at both times and has not moved, although another value of its position
            has.
        rewards: The rewards of a win and of a loss. None to infer them.
        initial: The value of a pair of position and action that was never updated. None to infer it.
        on_policy: True if the targets follow the learner's own moves, as in SARSA, expected SARSA and Monte Carlo.
            False for Q-learning. None to infer it.
        behavior_policy: The policy with which an on-policy learner made its moves in training: for a critic, the
            actor to which its values belong. If you pass it, you need not pass ``on_policy``. None if it is not
            known; ε-greedy play is then fitted to the values of an on-policy learner.

    Returns:
        The diagnosis. Its ``findings`` are names from the table of findings in docs/api/nim_env.evaluation.md.

    Raises:
        ValueError: If ``q_values`` or ``earlier`` has another shape, if ``discount`` is not from 0 to 1, if
            ``rewards`` or ``initial`` is not finite, if a win is not worth more than a loss, if ``on_policy`` is
            not a bool or None, or if it is False although there is a ``behavior_policy``.
    """
    _check_training(discount, rewards, initial)
    is_on_policy = _checked_on_policy(on_policy, behavior_policy)
    values_before = None if earlier is None else _checked_values(rules, "earlier", earlier)
    values = _checked_values(rules, "q_values", q_values)
    if place := _first_undefined(rules, values):
        return verdicts.bug(f"{place} is not finite", findings.NOT_FINITE, place="in the values")
    pairs = judged_pairs(rules)
    learner = Learner(
        pairs,
        values[pairs.indices],
        discount,
        earlier=None if values_before is None else values_before[pairs.indices],
        opponent=None if opponent is None else pairs.probabilities(opponent),
        behavior=None if behavior_policy is None else pairs.probabilities(behavior_policy),
    )
    reading = first_reading(learner, rewards, initial, bool(is_on_policy))
    if isinstance(reading, Diagnosis):
        return reading
    told = {"rewards": rewards, "initial": initial, "on_policy": is_on_policy}
    return decide(case_of(learner, reading), {name for name, value in told.items() if value is None})


def _check_training(discount: float, rewards: tuple[float, float] | None, initial: float | None) -> None:
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be between 0 and 1; got {discount!r}")
    if rewards is not None and not (np.isfinite(rewards).all() and rewards[0] > rewards[1]):
        raise ValueError(f"rewards must be two finite numbers, first the larger one for a win; got {rewards!r}")
    if initial is not None and not np.isfinite(initial):
        raise ValueError(f"initial must be a finite number; got {initial!r}")


def _checked_on_policy(on_policy: bool | None, behavior_policy: PolicyLike | None) -> bool | None:
    """Whether the learner is on-policy, as it is if its behavior policy was given; None if this was not said."""
    if not (on_policy is None or isinstance(on_policy, bool | np.bool_)):
        raise ValueError(f"on_policy must be a bool or None; pass a policy as behavior_policy; got {on_policy!r}")
    if behavior_policy is None:
        return on_policy
    if on_policy is not None and not on_policy:
        raise ValueError("on_policy must be True or None if there is a behavior_policy; got False")
    return True


def _checked_values(rules: NimRules, name: str, given: ArrayLike) -> Floats:
    """A copy of values in one of the two shapes, with 0 for the empty position."""
    array = np.array(given, dtype=np.float64)
    shapes = (rules.n_positions, rules.n_actions), (rules.n_positions,)
    if array.shape not in shapes:
        raise ValueError(f"{name} must have the shape {shapes[0]} or {shapes[1]}; got {array.shape}")
    array[0] = 0
    return array


def _first_undefined(rules: NimRules, given: Floats) -> str:
    """The first value that is not finite, in words. Empty if all values of legal actions are finite."""
    heaps = rules.all_positions()
    is_wrong = ~np.isfinite(given)
    if given.ndim == 2:
        is_wrong &= rules.action_mask(heaps) > 0
    if not is_wrong.any():
        return ""
    row, *action = min(np.argwhere(is_wrong).tolist(), key=lambda entry: heaps[entry[0]].sum())
    place = f"the value at {'-'.join(map(str, heaps[row]))}"
    if action:
        heap, count = rules.moves[action[0]]
        place += f", take {count} from {heap_name(heap)},"
    return f"{place} is {given[(row, *action)]}"
