"""The verdicts: the sentences of all diagnoses, in the order in which a diagnosis can end.

Each function returns the diagnosis for one finding, with a verdict of a sentence or two. Its arguments are the
numbers and words that appear in the verdict, and ``names`` are the findings of the diagnosis. The functions whose
names start with ``if_`` are the exception: they return sentences for an undecided verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from nim_env.evaluation.diagnosis import findings
from nim_env.evaluation.diagnosis.findings import Diagnosis, Witness

# The three results


def no_bug(text: str, *names: str) -> Diagnosis:
    """Says that there is no bug. ``text`` is the reason, a sentence without a full stop."""
    return Diagnosis("no bug found", f"No bug found. {text[0].upper()}{text[1:]}.", names)


def bug(text: str, *names: str, place: str = "", witness: Witness | None = None) -> Diagnosis:
    """Says that there is a bug. ``text`` describes it, and ``place`` says where it is ("in the update")."""
    title = f"Bug {place}" if place else "Bug"
    example = f" Look at its update: {witness}." if witness else ""
    return Diagnosis("bug", f"{title}: {text}.{example}", names, witness)


def undecided(
    text: str, *names: str, discount: float | None = None, otherwise: Diagnosis | None = None
) -> Diagnosis:
    """Says that nothing is decided. ``text`` says what the user can pass to decide it, without a full stop.

    The verdict of the diagnosis ``otherwise``, if there is one, is added after the word "Otherwise".
    """
    if otherwise is not None:
        second = otherwise.verdict[0].lower() + otherwise.verdict[1:].removesuffix(".")
        text = f"{text}. Otherwise: {second}"
        names += otherwise.findings
    return Diagnosis("undecided", f"Undecided: {text}.", names, discount=discount)


def _bugs_in_words(names: Sequence[str]) -> str:
    """Describes known bugs that the values cannot tell apart."""
    return "; or ".join(findings.KNOWN_BUGS[name] for name in findings.distinct_findings(names))


# What was given


def not_finite(value: str) -> Diagnosis:
    """Says that a value is infinite or undefined. ``value`` describes it in words."""
    return bug(f"{value}, not a finite number", findings.NOT_FINITE, place="in the values")


def other_initial(in_table: float, given: float) -> Diagnosis:
    """Says that the entries for illegal actions contradict the initial value that was passed."""
    text = f"the entries for illegal actions hold {in_table:g}, not the initial value {given:g}"
    return undecided(text, findings.OTHER_INITIAL)


def future_at_end(future: float) -> Diagnosis:
    """Says that the learner adds a future return to the last reward."""
    return bug(f"a finished game has a future of {future:.3g} instead of 0", findings.FUTURE_AT_END)


# Tables in which no value was trained, or only some of them


def untrained(otherwise: Diagnosis | None) -> Diagnosis:
    """Says that nothing was learned. ``otherwise`` is a bug that may keep all values where they start."""
    text = "all values are still the initial one: nothing was learned"
    return undecided(text, findings.UNTRAINED, otherwise=otherwise)


def sorted_only() -> Diagnosis:
    """Says that only positions with sorted heaps have values."""
    text = "only positions with sorted heaps have values. Copy these values to the other positions"
    return undecided(text, findings.SORTED_ONLY)


# Symptoms of bugs


def out_of_range(largest: float, largest_last: float, unit: float) -> Diagnosis:
    """Says that values are larger than ``unit``, the largest return.

    ``largest`` is the largest absolute value, and ``largest_last`` the largest one of a last move.
    """
    text = (
        f"values reach {largest:.3g} and last moves {largest_last:.3g}, but no return exceeds {unit:g}. "
        "The target continues after the last move (no done flag), or the update adds the target instead of its "
        "difference from the old value"
    )
    return bug(text, findings.OUT_OF_RANGE, place="in the update")


def mixed_signs(which: Literal["values", "last moves"]) -> Diagnosis:
    """Says that values, or the values of last moves, have both signs, although one sign is impossible."""
    have = "have both signs" if which == "values" else "have values of both signs"
    text = f"{which} {have}: the rewards are always from the same player's point of view"
    return bug(text, findings.MIXED_SIGNS)


def other_reward(furthest: float) -> Diagnosis:
    """Says that the values of last moves have moved away from their reward, which is 0, as far as ``furthest``."""
    return bug(f"last moves reach {furthest:.3g}, but their reward is 0", findings.OTHER_REWARD)


def wrong_sign(is_opponents_reward: bool) -> Diagnosis:
    """Says that the values of all last moves have moved away from their reward, perhaps toward the opponent's."""
    text = "last moves have the wrong sign"
    if is_opponents_reward:
        return bug(f"{findings.KNOWN_BUGS[findings.OPPONENTS_REWARD]}: {text}", findings.OPPONENTS_REWARD)
    return bug(text, findings.UNKNOWN_BUG, place="in the update")


def old_value_ignored(share: float) -> Diagnosis:
    """Says that each value is the same fraction of its last target."""
    text = f"the old value is never found: each value is {share:.2g} of its last target"
    return bug(text, findings.OLD_VALUE_IGNORED, place="in the update")


def other_discount(discount: float, step: str, given: float) -> Diagnosis:
    """Says that the values satisfy Bellman's equation with ``discount``, not with the ``given`` discount.

    ``step`` says to what the discount applies: "move" or "own turn".
    """
    text = (
        f"{findings.BELLMAN} holds with a discount of {discount:.2f} per {step}, not {given:g}. "
        "If this is your discount, pass it; if not, the update uses another one"
    )
    return undecided(text, findings.OTHER_DISCOUNT, discount=discount)


def known_bugs(names: Sequence[str], witness: Witness | None = None) -> Diagnosis:
    """Says that the values show a known bug. There are several names if values cannot tell the bugs apart."""
    return bug(_bugs_in_words(names), *names, witness=witness)


def unknown_bug(nearest: Sequence[str], witness: Witness | None) -> Diagnosis:
    """Says that no correct learner can have the values, although no known bug is proven.

    ``nearest`` are the names of the known bugs that fit best. There can be none.
    """
    text = "more training will not fix these values"
    if nearest:
        text += f". The nearest known bug: {_bugs_in_words(nearest)}"
    return bug(text, findings.UNKNOWN_BUG, *nearest, place="in the update", witness=witness)


# Values without a symptom. The share is the fraction of the trained values that have settled.


def settled(share: float, unit: float, explores_always: bool) -> Diagnosis:
    """Says that most trained values satisfy Bellman's equation, for rewards of size ``unit``.

    ``share`` is the fraction of the trained values that do.

    If the learner always explores, the verdict adds that this holds only for replies that are drawn at random.
    """
    text = f"{_settled_values(share)} where {findings.BELLMAN} puts them"
    if unit != 1:
        return no_bug(f"{text}, for rewards of {unit:.3g} instead of 1", findings.OTHER_SCALE)
    if explores_always:
        text += ", for replies drawn at random: explore less"
    return no_bug(text, findings.BELLMAN)


def perfect_play(share: float, otherwise: Diagnosis | None) -> Diagnosis:
    """Says that every move is right, but only a ``share`` of the values has settled.

    ``otherwise`` is the diagnosis of a likely bug, if there is one. The verdict is then undecided and names it.
    """
    text = f"every move is right; {_settled_values(share)} so far"
    if otherwise is None:
        return no_bug(text, findings.PERFECT_PLAY)
    return undecided(text, findings.PERFECT_PLAY, otherwise=otherwise)


def train_longer(share: float, never: str, is_end_learned: bool, otherwise: Diagnosis | None) -> Diagnosis:
    """Says that nothing is decided yet, and that the learner should train longer.

    ``share`` is the fraction of the values that have settled, and ``otherwise`` the diagnosis of a likely bug.
    ``never`` is the result that the learner has never seen, "win" or "loss". It is empty if both were seen.
    ``is_end_learned`` says whether the value of any last move has reached its reward.
    """
    text = f"train longer: {_settled_values(share)} so far"
    if never:
        text = f"no {never} was ever seen. Let both sides start, and {text}"
    if not is_end_learned:
        text += ". No last move has reached its reward yet, though these values are learned first"
    return undecided(text, findings.TRAIN_LONGER, otherwise=otherwise)


def perfect_moves() -> Diagnosis:
    """Says that every move is right, although not all values have settled."""
    return no_bug("every move is right, although not all values have settled", findings.PERFECT_PLAY)


def _settled_values(share: float) -> str:
    """Returns the part of a sentence that says which fraction of the trained values has settled."""
    return f"{share:.0%} of the trained values have settled"


# The assumptions under which a correct learner can have the values, each with the argument to pass if it is true


def if_rewards_are_larger(size: float, unit: float) -> str:
    """Returns sentences that ask the user to pass the rewards if they are larger than ``unit``.

    The reason that they give is that values reach ``size``.
    """
    values = f"values reach {size:.3g}, more than a return of {unit:g}"
    return f"{values}. If the rewards are larger, pass them (rewards, --rewards)"


def if_one_reward_is_0(win: float, loss: float) -> str:
    """Returns sentences that ask the user to pass the rewards if one of them is 0."""
    never = "loss" if loss == 0 else "win"
    rewards = f"no {never} was ever seen. If the rewards are {win:g} and {loss:g}, pass them (rewards, --rewards)"
    return f"{rewards}; if one side always starts, let both start"


def if_values_start_at(initial: float) -> str:
    """Returns sentences that ask the user to pass the initial value if it is ``initial``."""
    return f"values may start at {initial:g}. If they do, pass this value (initial, --initial)"


def if_on_policy() -> str:
    """Returns sentences that ask the user to say so if the learner is on-policy."""
    return "the learner may be on-policy, like SARSA or Monte Carlo. If it is, say so (on_policy, --on-policy)"


# The moves of a player without values


def no_mask(n_positions: int) -> Diagnosis:
    """Says that the player can play illegal actions in this number of positions."""
    text = (
        f"it can play illegal actions in {n_positions:,} positions. Pass the action mask when a model predicts, "
        "and return a legal move in each position from a function"
    )
    return bug(text, findings.NO_MASK, place="in the choice")


def no_mistake() -> Diagnosis:
    """Says that the player makes every move right."""
    return no_bug("every move is right", findings.PERFECT_PLAY)


def other_variant() -> Diagnosis:
    """Says that the player plays the other variant, misère or normal."""
    text = "it plays the other variant. Look at the sign of the reward and at the rules"
    return bug(text, findings.OPPONENTS_REWARD)


def worst_moves() -> Diagnosis:
    """Says that the player plays losing moves when it can win."""
    return bug("it plays the worst move instead of the best", findings.MINIMUM, place="in the choice")


def mistakes_without_pattern() -> Diagnosis:
    """Says that the player makes mistakes that show no known bug."""
    text = (
        "the mistakes do not have the pattern of a known bug. Train a learner longer, or let a search look deeper"
    )
    return undecided(text, findings.TRAIN_LONGER)
