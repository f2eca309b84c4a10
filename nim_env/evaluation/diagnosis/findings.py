"""What a diagnosis can find: the name and the meaning of each finding, and the sentences of all verdicts.

Other people's programs compare and store the names, so they do not change. Each bug of the list changes one part
of Bellman's equation. Its meaning is part of the verdict, so it is in ``LISTED_BUGS``.

The functions below the names write the verdicts, in the order in which a diagnosis can end. Each has a sentence or
two, takes the numbers and words that appear in them, and says what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from nim_env.rules import heap_name

BELLMAN = "Bellman's equation"
"""The values satisfy the equation of a correct learner."""

OTHER_SCALE = "rewards of a scale other than 1"
"""The values satisfy the equation of a correct learner whose rewards for a win and a loss are not 1 and -1."""

PERFECT_PLAY = "perfect play"
"""The player makes every move right. Its values, if it has any, have not all settled."""

TRAIN_LONGER = "train longer"
"""The player makes mistakes, but nothing shows a bug."""

UNTRAINED = "untrained"
"""All values are still the initial one."""

SORTED_ONLY = "sorted positions"
"""Only the positions with sorted heaps have values."""

OTHER_INITIAL = "another initial value"
"""The entries for illegal actions hold another value than the initial one that was passed."""

OTHER_DISCOUNT = "another discount"
"""The values satisfy Bellman's equation with another discount, which is in the ``discount`` of the diagnosis."""

NOT_FINITE = "values that are not finite"
"""The value of a legal action is infinite or undefined."""

FUTURE_AT_END = "future of a finished game"
"""The learner adds a large future to the last reward, although the game is over."""

OUT_OF_RANGE = "values out of range"
"""Some values are larger than every return."""

BOTH_SIGNS = "last moves of both signs"
"""Last moves, which all have the same reward, have values of both signs, or all values do although one of the
rewards is 0. The rewards are always from the same player's point of view."""

OTHER_REWARD = "last moves of another reward"
"""Last moves have a reward of 0, but their values have moved away from it."""

OLD_VALUE_IGNORED = "old value ignored"
"""The update never finds the old value, so each value is a fixed fraction of its last target."""

UNLISTED_BUG = "a bug in no list"
"""No correct learner can have the values, and they do not prove a bug of the list."""

NO_MASK = "no mask at prediction"
"""The player can play illegal actions."""

OPPONENTS_REWARD = "opponent's reward"
NO_MINUS_SIGN = "no minus sign"
NO_FUTURE = "no future"
MAXIMUM_FROM_0 = "maximum that starts from 0"
MAXIMUM_OVER_ILLEGAL = "maximum over illegal actions"
MINIMUM = "minimum instead of the maximum"
MEAN = "mean instead of the maximum"
LAST_MOVER_DROPPED = "last mover's reward dropped"
OTHER_PLAYER_DROPPED = "other player's reward dropped"

LISTED_BUGS = {
    OPPONENTS_REWARD: "the learner gets the opponent's reward, or follows the rules of the other variant",
    NO_MINUS_SIGN: "a minus sign is missing before the next value, or the bootstrap comes one ply too late",
    NO_FUTURE: "the next values are left out: the bootstrap is always 0",
    MAXIMUM_FROM_0: "the maximum starts from 0, or a stale mask lets it run over illegal actions",
    MAXIMUM_OVER_ILLEGAL: "the maximum runs over illegal actions",
    MINIMUM: "the minimum of the next values instead of the maximum, or a bootstrap one ply too late",
    MEAN: "the mean of the next values instead of the maximum",
    LAST_MOVER_DROPPED: "the reward of the player who takes the last object is dropped",
    OTHER_PLAYER_DROPPED: "the reward of the player who does not take the last object is dropped",
}
"""The bugs of the list in words, each with the other bugs that lead to the same values."""


def distinct_findings(findings: Sequence[str]) -> list[str]:
    """Returns the findings without those that another one already covers.

    If the values of illegal actions stay 0, a maximum over illegal actions is a maximum that starts from 0.
    """
    is_covered = MAXIMUM_FROM_0 in findings
    return [name for name in findings if not (is_covered and name == MAXIMUM_OVER_ILLEGAL)]


class Witness(NamedTuple):
    """The first value that its own next values do not explain.

    Attributes:
        heaps: The heap sizes of the position.
        move: The heap and the number of objects that are taken from it.
        value: The value of the move.
        target: What Bellman's equation makes of the player's next values.
    """

    heaps: tuple[int, ...]
    move: tuple[int, int]
    value: float
    target: float

    def __str__(self) -> str:
        place = pair_in_words(self.heaps, self.move)
        return f"{place} is worth {self.value:.2f}; the next values make it {self.target:.2f}"


@dataclass(frozen=True)
class Diagnosis:
    """What the values or the moves of a player show about its training.

    Attributes:
        result: ``"no bug found"``, ``"bug"`` or ``"undecided"``.
        verdict: The result and what to do next, in a few sentences.
        findings: The names of what was found. There are several if values cannot tell them apart.
        witness: The first value that its own next values do not explain. ``None`` if there is none, and
            in a diagnosis of moves.
        discount: The discount that the values do satisfy, if it differs from the one that was passed. The verdict
            says whether it applies per move or per own turn. ``None`` in all other diagnoses.
    """

    result: Literal["no bug found", "bug", "undecided"]
    verdict: str
    findings: tuple[str, ...]
    witness: Witness | None = None
    discount: float | None = None


def no_bug(text: str, *names: str) -> Diagnosis:
    """Returns the diagnosis that there is no bug; ``text`` says how this shows, without a full stop."""
    return Diagnosis("no bug found", f"No bug found. {text[0].upper()}{text[1:]}.", names)


def bug(text: str, *names: str, place: str = "", witness: Witness | None = None) -> Diagnosis:
    """Returns the diagnosis of a bug; ``text`` describes it, and ``place`` says where it is ("in the update")."""
    title = f"Bug {place}" if place else "Bug"
    example = f" Look at its update: {witness}." if witness else ""
    return Diagnosis("bug", f"{title}: {text}.{example}", names, witness)


def undecided(
    text: str, *names: str, discount: float | None = None, otherwise: Diagnosis | None = None
) -> Diagnosis:
    """Returns an undecided diagnosis. ``text`` says what the user can pass to decide, without a full stop.

    If there is a diagnosis ``otherwise``, the text is the premise under which the learner is correct.
    """
    if otherwise is not None:
        second = otherwise.verdict[0].lower() + otherwise.verdict[1:].removesuffix(".")
        text = f"{text}. Otherwise: {second}"
        names += otherwise.findings
    return Diagnosis("undecided", f"Undecided: {text}.", names, discount=discount)


def position_in_words(heaps: Iterable[int]) -> str:
    """Describes a position."""
    return f"at {'-'.join(map(str, heaps))}"


def pair_in_words(heaps: Iterable[int], move: tuple[int, int]) -> str:
    """Describes a move in a position."""
    heap, count = move
    return f"{position_in_words(heaps)}, take {count} from {heap_name(heap)}"


def bugs_in_words(names: Sequence[str]) -> str:
    """Describes bugs of the list that values cannot tell apart."""
    return "; or ".join(LISTED_BUGS[name] for name in distinct_findings(names))


# The sentences about what was given


def not_finite(value: str) -> Diagnosis:
    """A value is infinite or undefined; ``value`` names it and says what it is."""
    return bug(f"{value}, not a finite number", NOT_FINITE, place="in the values")


def other_initial(in_table: float, given: float) -> Diagnosis:
    """The entries for illegal actions contradict the initial value that was passed."""
    text = f"the entries for illegal actions hold {in_table:g}, not the initial value {given:g}"
    return undecided(text, OTHER_INITIAL)


def future_at_end(future: float) -> Diagnosis:
    """A future is added to the last reward."""
    return bug(f"a finished game has a future of {future:.3g} instead of 0", FUTURE_AT_END)


# The sentences about values that were not trained, and about some of them


def untrained(otherwise: Diagnosis | None) -> Diagnosis:
    """Nothing was learned, or ``otherwise`` a bug keeps all values where they start."""
    text = "all values are still the initial one: nothing was learned"
    return undecided(text, UNTRAINED, otherwise=otherwise)


def sorted_only() -> Diagnosis:
    """Returns the diagnosis of values that exist only for positions with sorted heaps."""
    text = "only positions with sorted heaps have values. Copy these values to the other positions"
    return undecided(text, SORTED_ONLY)


# The sentences about symptoms of bugs


def out_of_range(largest: float, largest_last: float, unit: float) -> Diagnosis:
    """Values are larger than ``unit``, the largest return."""
    text = (
        f"values reach {largest:.3g} and last moves {largest_last:.3g}, but no return exceeds {unit:g}. "
        "The target continues after the last move (no done flag), or the update adds the target instead of its "
        "difference from the old value"
    )
    return bug(text, OUT_OF_RANGE, place="in the update")


def both_signs(which: Literal["values", "last moves"]) -> Diagnosis:
    """All values, or the values of last moves, have both signs, although one sign is impossible."""
    have = "have both signs" if which == "values" else "have values of both signs"
    return bug(f"{which} {have}: the rewards are always from the same player's point of view", BOTH_SIGNS)


def other_reward(furthest: float) -> Diagnosis:
    """Last moves have moved away from their reward, which is 0."""
    return bug(f"last moves reach {furthest:.3g}, but their reward is 0", OTHER_REWARD)


def wrong_sign(is_opponents_reward: bool) -> Diagnosis:
    """All last moves have moved away from their reward, which the opponent's reward may explain."""
    text = "last moves have the wrong sign"
    if is_opponents_reward:
        return bug(f"{LISTED_BUGS[OPPONENTS_REWARD]}: {text}", OPPONENTS_REWARD)
    return bug(text, UNLISTED_BUG, place="in the update")


def old_value_ignored(share: float) -> Diagnosis:
    """Each value is the same fraction of its last target."""
    text = f"the old value is never found: each value is {share:.2g} of its last target"
    return bug(text, OLD_VALUE_IGNORED, place="in the update")


def other_discount(discount: float, step: str, given: float) -> Diagnosis:
    """Bellman's equation holds with a discount other than the given one, per ``step``."""
    text = (
        f"{BELLMAN} holds with a discount of {discount:.2f} per {step}, not {given:g}. "
        "If this is your discount, pass it; if not, the update uses another one"
    )
    return undecided(text, OTHER_DISCOUNT, discount=discount)


def listed_bugs(names: Sequence[str], witness: Witness | None = None) -> Diagnosis:
    """The values show a bug of the list. There are several names if values cannot tell the bugs apart."""
    return bug(bugs_in_words(names), *names, witness=witness)


def unlisted_bug(nearest: Sequence[str], witness: Witness | None) -> Diagnosis:
    """No correct learner can have the values, and the nearest known bugs are not proven."""
    text = "more training will not fix these values"
    if nearest:
        text += f". The nearest known bug: {bugs_in_words(nearest)}"
    return bug(text, UNLISTED_BUG, *nearest, place="in the update", witness=witness)


# The sentences about values without a symptom. The share is the fraction of the trained values that have settled.


def settled(share: float, unit: float, explores_always: bool) -> Diagnosis:
    """Most values satisfy Bellman's equation, for rewards of this size, and perhaps with random replies only."""
    text = f"{_settled_values(share)} where {BELLMAN} puts them"
    if unit != 1:
        return no_bug(f"{text}, for rewards of {unit:.3g} instead of 1", OTHER_SCALE)
    if explores_always:
        text += ", for replies drawn at random: explore less"
    return no_bug(text, BELLMAN)


def perfect_play(share: float, otherwise: Diagnosis | None) -> Diagnosis:
    """Every move is right, but not all values have settled, perhaps because of the bug ``otherwise``."""
    text = f"every move is right; {_settled_values(share)} so far"
    return undecided(text, PERFECT_PLAY, otherwise=otherwise) if otherwise else no_bug(text, PERFECT_PLAY)


def train_longer(share: float, never: str, is_end_learned: bool, otherwise: Diagnosis | None) -> Diagnosis:
    """Nothing is decided yet; ``never`` is the result that was never seen, a win or a loss, or empty."""
    text = f"train longer: {_settled_values(share)} so far"
    if never:
        text = f"no {never} was ever seen. Let both sides start, and {text}"
    if not is_end_learned:
        text += ". No last move has reached its reward yet, though these values are learned first"
    return undecided(text, TRAIN_LONGER, otherwise=otherwise)


def _settled_values(share: float) -> str:
    return f"{share:.0%} of the trained values have settled"


# The premises under which a correct learner can have the values, each with the argument that decides


def if_rewards_are_larger(size: float, unit: float) -> str:
    """The premise for values of this size, larger than the rewards of size ``unit``."""
    values = f"values reach {size:.3g}, more than a return of {unit:g}"
    return f"{values}. If the rewards are larger, pass them (rewards, --rewards)"


def if_one_reward_is_0(win: float, loss: float) -> str:
    """The premise for rewards of which one is 0."""
    never = "loss" if loss == 0 else "win"
    rewards = f"no {never} was ever seen. If the rewards are {win:g} and {loss:g}, pass them (rewards, --rewards)"
    return f"{rewards}; if one side always starts, let both start"


def if_values_start_at(initial: float) -> str:
    """The premise for another initial value."""
    return f"values may start at {initial:g}. If they do, pass this value (initial, --initial)"


def if_on_policy() -> str:
    """The premise for targets that follow the learner's own moves."""
    return "the learner may be on-policy, like SARSA or Monte Carlo. If it is, say so (on_policy, --on-policy)"


# The sentences about the moves of a player without values


def no_mask(n_positions: int) -> Diagnosis:
    """The player can play illegal actions in this number of positions."""
    text = (
        f"it can play illegal actions in {n_positions:,} positions. Pass the action mask when a model predicts, "
        "and return a legal move in each position from a function"
    )
    return bug(text, NO_MASK, place="in the choice")


def no_mistake() -> Diagnosis:
    """The player makes every move right."""
    return no_bug("every move is right", PERFECT_PLAY)


def other_variant() -> Diagnosis:
    """The player plays the other variant, misère or normal."""
    text = "it plays the other variant. Look at the sign of the reward and at the rules"
    return bug(text, OPPONENTS_REWARD)


def worst_moves() -> Diagnosis:
    """The player plays losing moves where it can win."""
    return bug("it plays the worst move instead of the best", MINIMUM, place="in the choice")


def mistakes_without_pattern() -> Diagnosis:
    """The player makes mistakes that show no known bug."""
    text = (
        "the mistakes do not have the pattern of a known bug. Train a learner longer, or let a search look deeper"
    )
    return undecided(text, TRAIN_LONGER)
