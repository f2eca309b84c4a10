"""The diagnosis of a learner from its values: :func:`diagnose`, and the order of its steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nim_env.evaluation.diagnosis import evidence, findings, thresholds
from nim_env.evaluation.diagnosis.alternatives import diagnosis_under_other_assumptions
from nim_env.evaluation.diagnosis.equations import Assumptions
from nim_env.evaluation.diagnosis.findings import Diagnosis
from nim_env.evaluation.diagnosis.inputs import Floats, Inputs, checked_table, pairs_of
from nim_env.evaluation.diagnosis.learner import Learner
from nim_env.evaluation.diagnosis.symptoms import first_symptom
from nim_env.policies import PolicyLike
from nim_env.rules import NimRules, position_name


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
    """Finds out whether a player's values satisfy Bellman's equation, or the equation of a known bug.

    A bug is named only if no correct learner can have the values. For example, this diagnoses a table that was
    learned against random play with a discount of 0.9::

        diagnosis = evaluation.diagnose(rules, table, opponent="random", discount=0.9)
        print(diagnosis.verdict)

    Pass what you know about the training. The rest is inferred from the values if possible. If a verdict depends
    on something that the values do not show, it says which argument to pass.

    The values of a network are recognized by the entries for illegal actions, which are not all equal. They are
    judged without an initial value, since they can start anywhere. In a game of more than 50,000 positions, only
    the 50,000 with the fewest objects are judged.

    Args:
        rules: The game.
        q_values: The value of each action for the player to move, shape ``(n_positions, n_actions)``, with the row
            of a position at its index; or the value of each position for the player to move, shape
            ``(n_positions,)``. If there is an opponent, the player to move is the learner, in every position.
        opponent: The policy that the player learned against. ``None`` if it played both sides, in self-play.
        discount: The discount of the training, from 0 to 1. Some learners apply it once for each move, others once
            for each of their own turns. Pass the number that the training used.
        earlier: The values at an earlier time of the same training, in one of the two shapes. If the training has
            since changed one value of a position, but has left another value there unchanged and off its target,
            the unchanged value shows a bug.
        rewards: The rewards of a win and of a loss. ``None`` to infer them.
        initial: The value that every action had before the training. ``None`` to infer it.
        on_policy: True if the targets follow the learner's own moves, as in SARSA, expected SARSA and Monte Carlo.
            False for Q-learning. ``None`` to infer it.
        behavior_policy: The policy with which an on-policy learner made its moves in training. For a critic, this
            is its actor. If you pass it, you need not pass ``on_policy``. ``None`` if it is not known. The
            diagnosis of an on-policy learner then assumes ε-greedy play, with the ε that fits the values best.

    Returns:
        The diagnosis. Its ``findings`` are names from the table of findings in docs/api/nim_env.evaluation.md.

    Raises:
        ValueError: If ``q_values`` or ``earlier`` has another shape, if ``discount`` is not from 0 to 1, if
            ``rewards`` or ``initial`` is not finite, if a win is not worth more than a loss, if ``on_policy`` is
            not a bool or ``None``, or if it is False although there is a ``behavior_policy``.
    """
    _check_training(discount, rewards, initial)
    is_on_policy = _checked_on_policy(on_policy, behavior_policy)
    table_before = None if earlier is None else checked_table(rules, "earlier", earlier)
    table = checked_table(rules, "q_values", q_values)
    if not_finite := _not_finite(rules, table):
        return not_finite
    pairs = pairs_of(rules)
    inputs = Inputs(
        pairs,
        table[pairs.indices],
        discount,
        earlier=None if table_before is None else table_before[pairs.indices],
        opponent=None if opponent is None else pairs.probabilities(opponent),
        behavior=None if behavior_policy is None else pairs.probabilities(behavior_policy),
    )
    win, loss = (1.0, -1.0) if rewards is None else rewards
    first_value = inputs.initial if initial is None or not inputs.has_action_values else float(initial)
    assumptions = Assumptions(float(win), float(loss), first_value, bool(is_on_policy))
    if contradiction := _other_initial(inputs, assumptions) or _future_at_end(inputs, assumptions):
        return contradiction
    if rewards is None:
        size = _reward_size(inputs)
        assumptions = assumptions._replace(win=size, loss=-size)
    passed = {"rewards": rewards, "initial": initial, "on_policy": is_on_policy}
    return _decide(Learner(inputs, assumptions), {name for name, value in passed.items() if value is None})


def _decide(learner: Learner, not_passed: set[str]) -> Diagnosis:
    """Decides whether a learner is correct, has a bug, or must train longer.

    It runs the tests in a fixed order. The first one that finds something ends the diagnosis.

    Args:
        learner: The learner, with what the user passed, and with the first assumptions about everything else.
        not_passed: The arguments of :func:`diagnose` that the user did not pass. If the values do not fit, other
            assumptions about these are tried.

    Returns:
        The diagnosis.
    """
    if early := _untrained(learner) or _only_sorted(learner):
        return early
    suspected = first_symptom(learner)
    if suspected is None:
        if correct := _settled(learner) or _plays_perfectly(learner):
            return correct
    elif suspected.result == "undecided":
        return suspected
    return diagnosis_under_other_assumptions(learner, not_passed, suspected) or suspected or _train_longer(learner)


# What the values show before they are judged


def _not_finite(rules: NimRules, table: Floats) -> Diagnosis | None:
    """Returns the diagnosis that a value is infinite or undefined, or ``None`` if all values are finite.

    The values of illegal actions do not count. If several values are not finite, the verdict describes one in a
    position with the fewest objects.
    """
    heaps = rules.all_positions()
    is_wrong = ~np.isfinite(table)
    if table.ndim == 2:
        is_wrong &= rules.action_mask(heaps) > 0
    if not is_wrong.any():
        return None
    index, *action = min(np.argwhere(is_wrong).tolist(), key=lambda entry: heaps[entry[0]].sum())
    place = f"at {position_name(heaps[index])}"
    if action:
        place = f"{findings.move_in_words(heaps[index], rules.moves[action[0]])},"
    text = f"the value {place} is {table[(index, *action)]}, not a finite number"
    return findings.bug(text, findings.NOT_FINITE, place="in the values")


def _other_initial(inputs: Inputs, assumptions: Assumptions) -> Diagnosis | None:
    """Returns the diagnosis that the table shows another initial value than the assumed one, or ``None``.

    No update changes the entries for illegal actions, so they still hold the initial value. Entries of 0 show
    nothing, since a table can also hold a 0 because nothing was ever stored there.
    """
    found, assumed = inputs.initial, assumptions.initial
    if assumed is None or found is None or found in (0, assumed):
        return None
    text = f"the entries for illegal actions hold {found:g}, not the initial value {assumed:g}"
    return findings.undecided(text, findings.OTHER_INITIAL)


def _future_at_end(inputs: Inputs, assumptions: Assumptions) -> Diagnosis | None:
    """Returns the diagnosis that the learner adds a future return to the reward of a last move, or ``None``.

    A last move ends the game, so there is no future return. The diagnosis is made if all values of last moves are
    off their reward by the same large number. It is not made if the table has values of both signs: with this bug
    all values would have the sign of the large number, so the rewards must be large instead.
    """
    if assumptions.initial is None:
        return None
    last, values = inputs.last_moves, inputs.table[inputs.pairs.legal]
    typical = float(np.median(last))
    future = typical - assumptions.bellman(inputs.pairs.rules).last_mover
    agrees = (np.abs(last - typical) <= thresholds.SAME_REWARD * abs(future)).all()
    is_far_larger = abs(future) >= thresholds.FAR_LARGER * assumptions.reward_size
    has_both_signs = values.min() < 0 < values.max()
    if not (agrees and is_far_larger) or has_both_signs:
        return None
    return findings.bug(f"a finished game has a future of {future:.3g} instead of 0", findings.FUTURE_AT_END)


def _reward_size(inputs: Inputs) -> float:
    """Infers the size of the rewards, taken to be the same for a win and a loss, from the values of last moves.

    A last move ends the game, so its target is its reward, and its value is learned first. The result is 1 unless
    these values agree on another size. Values that still equal the initial value do not count.
    """
    last = np.abs(inputs.last_moves[inputs.last_moves != (inputs.initial or 0)])
    if len(last) < thresholds.MIN_COUNT:
        return 1.0
    size = float(np.median(last))
    agrees = (np.abs(last - size) <= thresholds.SAME_REWARD * size).all()
    # if other values are larger than those of last moves, the last moves are still on their way from 0
    largest = np.abs(Learner(inputs, Assumptions()).values).max()
    is_largest = largest <= thresholds.MAX_VALUE * size
    is_other = size > 1 + thresholds.NEAR or (0 < size < 1 - thresholds.NEAR and is_largest)
    return size if agrees and is_other else 1.0


# Tables in which no value was trained, or only some of them


def _untrained(learner: Learner) -> Diagnosis | None:
    """Returns the diagnosis that all values still equal the initial value, or ``None`` if one differs.

    The diagnosis also names the known bugs with which no update changes a value.
    """
    if learner.is_trained.any():
        return None
    stays = [bug for bug in learner.bugs if np.all(bug.target.mean == learner.scaled.initial)]
    text = "all values are still the initial one: nothing was learned"
    return findings.undecided(text, findings.UNTRAINED, otherwise=evidence.nearest_bug(learner, stays))


def _only_sorted(learner: Learner) -> Diagnosis | None:
    """Returns the diagnosis that only positions with sorted heaps, such as 1-1-3, have values, or ``None``.

    A program that sorts the heaps before each look-up never uses the rows of other positions.
    """
    is_trained = learner.pairs.sums(learner.is_trained) > 0
    steps = np.diff(learner.pairs.positions, axis=1)
    for is_unsorted in ((steps < 0).any(axis=1), (steps > 0).any(axis=1)):  # not ascending, not descending
        is_enough = min(is_unsorted.sum(), is_trained.sum()) >= thresholds.MIN_COUNT
        if is_enough and not is_trained[is_unsorted].any():
            text = "only positions with sorted heaps have values. Copy these values to the other positions"
            return findings.undecided(text, findings.SORTED_ONLY)
    return None


# Values without a symptom


def _settled(learner: Learner) -> Diagnosis | None:
    """Returns the diagnosis that the values satisfy Bellman's equation, or ``None`` if they do not.

    The verdict also says if the rewards have another size than 1. In self-play it says so if the values are right
    only against replies drawn at random, because the learner explored all the time.
    """
    if not evidence.satisfies_bellman(learner):
        return None
    size = learner.assumptions.reward_size
    text = f"{_settled_in_words(learner)} where {findings.BELLMAN} puts them"
    if size != 1:
        return findings.no_bug(f"{text}, for rewards of {size:.3g} instead of 1", findings.OTHER_SCALE)
    if learner.inputs.is_self_play and learner.exploration == 1:
        by_move, by_turn = (evidence.fraction_explained(learner, [target]) for target in learner.targets)
        if by_turn > by_move:
            text += ", for replies drawn at random: explore less"
    return findings.no_bug(text, findings.BELLMAN)


def _plays_perfectly(learner: Learner) -> Diagnosis | None:
    """Returns a diagnosis if every move is right, and ``None`` if a move is wrong.

    The diagnosis says that no bug was found. If the values make a bug likely although every move is right, it says
    that it is undecided whether there is a bug. In each position the player is assumed to make the move with the
    largest value and, if several moves have it, the one with the lowest number.
    """
    pairs = learner.pairs
    can_win = pairs.sums(pairs.wins)[pairs.position] > 0
    best = np.flatnonzero(learner.is_greedy)
    played = best[np.unique(pairs.position[best], return_index=True)[1]]
    if (can_win & ~pairs.wins)[played].any():
        return None
    text = f"every move is right; {_settled_in_words(learner)} so far"
    likely = evidence.likely_bug(learner)
    if likely is None:
        return findings.no_bug(text, findings.PERFECT_PLAY)
    return findings.undecided(text, findings.PERFECT_PLAY, otherwise=likely)


def _train_longer(learner: Learner) -> Diagnosis:
    """Returns the diagnosis that the learner should train longer, since many values are still off their targets.

    The verdict also says what the training seems to lack. Against an opponent, the learner may never have won, or
    never have lost. The values of last moves may still be off their reward, although they are learned first. If a
    bug is likely, the verdict names it as the other possible reason.
    """
    text = f"train longer: {_settled_in_words(learner)} so far"
    never = ""
    if not learner.inputs.is_self_play:
        never = "win" if learner.values.max() <= 0 else "loss" if learner.values.min() >= 0 else ""
    if never:
        text = f"no {never} was ever seen. Let both sides start, and {text}"
    if np.abs(learner.last_moves - learner.bellman.last_mover).min() > thresholds.NEAR:
        text += ". No last move has reached its reward yet, though these values are learned first"
    return findings.undecided(text, findings.TRAIN_LONGER, otherwise=evidence.likely_bug(learner))


def _settled_in_words(learner: Learner) -> str:
    """Says for a verdict which fraction of the trained values is near the targets of Bellman's equation."""
    share = evidence.fraction_explained(learner, learner.targets)
    return f"{share:.0%} of the trained values have settled"


# Checks of the arguments


def _check_training(discount: float, rewards: tuple[float, float] | None, initial: float | None) -> None:
    """Raises ValueError if the discount, the rewards or the initial value are impossible."""
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be between 0 and 1; got {discount!r}")
    if rewards is not None and not (np.isfinite(rewards).all() and rewards[0] > rewards[1]):
        raise ValueError(f"rewards must be two finite numbers, first the larger one for a win; got {rewards!r}")
    if initial is not None and not np.isfinite(initial):
        raise ValueError(f"initial must be a finite number; got {initial!r}")


def _checked_on_policy(on_policy: bool | None, behavior_policy: PolicyLike | None) -> bool | None:
    """Returns whether the learner is on-policy, or ``None`` if the user did not say.

    It is on-policy if its behavior policy was given.
    """
    if not (on_policy is None or isinstance(on_policy, bool | np.bool_)):
        raise ValueError(f"on_policy must be a bool or None; pass a policy as behavior_policy; got {on_policy!r}")
    if behavior_policy is None:
        return on_policy
    if on_policy is not None and not on_policy:
        raise ValueError("on_policy must be True or None if there is a behavior_policy; got False")
    return True
