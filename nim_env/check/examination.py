"""Examines one player: its metrics, what is wrong with it, and its picture."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nim_env import evaluation, policies
from nim_env.check import specification
from nim_env.check.foreign_code import running_code_of
from nim_env.check.options import Options
from nim_env.check.players import LoadedPlayer, load_player
from nim_env.check.report import Entry
from nim_env.evaluation.assessment import TrainingFacts, assess
from nim_env.evaluation.diagnosis import findings
from nim_env.policies import FunctionPolicy, Policy, PolicyAttributes, PolicyLike, SampledPolicy, TabularPolicy
from nim_env.rendering.svg import position_map
from nim_env.rules import NimRules, position_name

_EARLIER_FRACTION = 0.3  # the fraction of the games for a second, shorter training, whose table is compared
_N_ANSWERS_PER_POSITION = 30  # how often a function that draws its moves is queried
_ROUNDING = 1e-9  # the rounding error allowed in a sum of probabilities


def examine(name: str, options: Options) -> Entry:
    """Finds out how good a player is and what is wrong with it, and draws its picture if the options ask for one.

    Args:
        name: The player, as the command line names it.
        options: The options of the command line.

    Returns:
        The entry of the player.

    Raises:
        ValueError: If the player cannot be judged, for example if the board is too large or if its code fails.
        TypeError: If the player's file has a value of a wrong type.
        OSError: If a file cannot be read or written.
    """
    rules = options.rules
    by_chance = evaluation.mastery(rules, policies.tabulate(rules, "random")).expert  # raises if too large
    player = _load_seeded(name, options, options.episodes)
    faults = _faults(player, name, options)
    with running_code_of(name, "when it plays"):
        policy = probabilities_of(rules, player.policy)
    q_values = _values_everywhere(player, name)
    facts = TrainingFacts() if q_values is None else _facts_of_training(player, name, options)
    mastery, mistakes, diagnosis = assess(rules, policy, q_values, facts, is_mask_required=False)
    unanswered = _find_unanswered(player, policy)
    wrong_choices = _wrong_choices(player, policy, q_values, unanswered)
    summary = _summary(faults, wrong_choices, diagnosis)
    has_values = q_values is not None and findings.NOT_FINITE not in diagnosis.findings
    state_values = player.state_values if has_values else None
    report = evaluation.report(rules, policy, state_values, illegal_action="lose")
    if options.picture is not None:
        title = _title(name, summary, has_wrong_code=bool(faults or wrong_choices))
        options.picture.write_text(position_map(mastery, title), encoding="utf-8")
    return Entry(
        player=name,
        game=str(rules),
        metrics=report.to_dict(),
        share=1.0 if by_chance == 1 else (report.expert - by_chance) / (1 - by_chance),
        won_positions=mastery.won_positions,
        mistakes=len(mastery.mistake_indices),
        first_mistakes=mistakes,
        remarks=[*filter(None, [player.remark]), *_remarks(policy, unanswered)],
        result=summary.result,
        bugs_in=summary.bugs_in,
        findings=diagnosis.findings,
        verdict=summary.verdict,
    )


def _load_seeded(name: str, options: Options, episodes: int) -> LoadedPlayer:
    """Seeds the random generators of Python and NumPy, which the player's file can use, and loads the player."""
    random.seed(options.seed)
    np.random.seed(options.seed)  # noqa: NPY002
    return load_player(name, options.rules, episodes)


def _faults(player: LoadedPlayer, name: str, options: Options) -> list[specification.Fault]:
    """Tests the functions of a program that follows CS50's project Nim, and returns their faults.

    The list is empty for all other programs. It is also empty if the game or the initial value of the training
    differs from the course's: four heaps, no limit on a move, and an initial value of 0.
    """
    is_course = player.rules.n_heaps == 4 and player.rules.max_take is None and not options.initial
    if player.make_player is None or not is_course:
        return []
    with running_code_of(name, "when its functions are tested"):
        return specification.faults(player.make_player, options.seed)


def _values_everywhere(player: LoadedPlayer, name: str) -> NDArray[Any] | None:
    """Returns the values of a player in all positions as an array, or ``None`` if it has no values."""
    if player.values is None:
        return None
    with running_code_of(name, "when its values are queried"):
        return np.asarray(player.values(player.rules.all_positions()))


def _facts_of_training(player: LoadedPlayer, name: str, options: Options) -> TrainingFacts:
    """Returns what the options and the player's file say about its training.

    If the file trained it, it is trained again for fewer games, to get earlier values.
    """
    earlier = None
    if player.is_trained:
        episodes = round(_EARLIER_FRACTION * options.episodes)
        earlier = _values_everywhere(_load_seeded(name, options, episodes), name)
    follows_course = player.make_player is not None and hasattr(player.make_player(), "best_future_reward")
    return TrainingFacts(
        opponent=load_player(options.opponent, player.rules).policy if options.opponent else None,
        discount=next(number for number in (options.discount, player.discount, 1.0) if number is not None),
        earlier=earlier,
        rewards=(options.rewards[0], options.rewards[1]) if options.rewards else None,
        initial=player.initial if options.initial is None else options.initial,
        on_policy=options.on_policy or (False if follows_course else None),
        behavior_policy=player.behavior_policy,
    )


class _Summary(NamedTuple):
    """The conclusion of an examination. :class:`nim_env.check.report.Entry` describes the attributes."""

    result: str
    bugs_in: list[str]
    verdict: str


def _summary(
    faults: list[specification.Fault], wrong_choices: list[str], diagnosis: evaluation.Diagnosis
) -> _Summary:
    """Sums up the bugs in the player's functions, in its choice of moves and in its values.

    If there are none, the summary has the result and the verdict of the diagnosis.
    """
    sentences = [f"Bug in {function}: {sentence}." for function, sentence in faults]
    sentences += [f"Bug in the choice: {sentence}" for sentence in wrong_choices]
    bugs_in = [*dict.fromkeys(fault.function for fault in faults)]
    if wrong_choices and "choose_action" not in bugs_in:
        bugs_in.append("choice")
    if diagnosis.result == "bug":
        sentences.append(diagnosis.verdict)
        bugs_in += evaluation.distinct_findings(diagnosis.findings)
    if not sentences:
        return _Summary(diagnosis.result, [], diagnosis.verdict)
    return _Summary("bug", bugs_in, " ".join(sentences))


def _title(name: str, summary: _Summary, *, has_wrong_code: bool) -> str:
    """Returns the title of the picture: the file and the result, such as "nim.py: bug".

    With ``has_wrong_code`` it also names the first wrong function, or "choice" if only the chosen moves are wrong.
    """
    place = f" in {summary.bugs_in[0]}" if has_wrong_code else ""
    return f"{Path(name).name}: {summary.result}{place}"


def probabilities_of(rules: NimRules, policy: PolicyLike) -> TabularPolicy:
    """Tabulates the probabilities of a player in all positions.

    Args:
        rules: The game.
        policy: The player. If it is a function that draws its moves, the probability of each answer is estimated
            by how often the function gives it.

    Returns:
        The probabilities of legal actions. If they sum to less than 1, the rest is the probability of an illegal
        answer.
    """
    measured = _MeasuredFunction(rules, policy) if isinstance(policy, FunctionPolicy) else policy
    return policies.tabulate(rules, measured, np.float64, illegal_action="lose")


class _MeasuredFunction(PolicyAttributes):
    """A policy that calls a player's function and measures how often it gives each answer.

    The function is queried twice on every position. If the two answers differ anywhere, it is queried 30 times on
    every position. Querying only the positions with different answers would favor the player, since it would miss
    rare mistakes in the others.
    """

    is_measurement = True

    def __init__(self, rules: NimRules, policy: FunctionPolicy) -> None:
        self.rules = rules
        self.policy = policy

    def action_probabilities(self, observation: Any, action_mask: Any) -> Any:
        first, second = (self._answers(self.policy, observation, action_mask) for _ in range(2))
        if (first == second).all():
            return first
        measured = SampledPolicy(self.rules, self.policy, _N_ANSWERS_PER_POSITION)
        return self._answers(measured, observation, action_mask)

    def _answers(self, policy: Policy, *positions: Any) -> Any:
        rows = ([array[i : i + 1] for array in positions] for i in _progress(len(positions[0])))
        return np.concatenate([policy.action_probabilities(*row) for row in rows])


def _progress(n: int) -> Iterable[int]:
    """Returns ``range(n)``, with a progress bar if tqdm is installed and the loop takes longer than a second."""
    try:
        from tqdm import tqdm
    except ImportError:
        return range(n)
    tqdm.set_lock(threading.RLock())  # the lock that tqdm makes itself would outlive a process that is killed
    return tqdm(range(n), "positions", leave=False, disable=None, delay=1)


class _Unanswered(NamedTuple):
    """The positions in which a player can fail to give a legal move.

    Attributes:
        is_unanswered: Whether the player can fail in each position except the empty one, bool of shape
            ``(n_positions - 1,)``.
        sentence: A sentence with the number of these positions and the smallest of them. Empty if there are none.
    """

    is_unanswered: NDArray[np.bool_]
    sentence: str


def _find_unanswered(player: LoadedPlayer, policy: TabularPolicy) -> _Unanswered:
    """Finds the positions in which a player can fail to give a legal move."""
    is_unanswered = policy.probabilities[1:].sum(axis=1) < 1 - _ROUNDING
    if not is_unanswered.any():
        return _Unanswered(is_unanswered, "")
    heaps = _smallest_position(player.rules, is_unanswered)
    answer = player.illegal_answer_at(heaps)
    answers = f", where it answers {answer}" if answer else ""
    sentence = (
        f"it gives no legal move in {_count_in_words(is_unanswered)}, the first {position_name(heaps)}{answers}."
    )
    return _Unanswered(is_unanswered, sentence)


def _wrong_choices(
    player: LoadedPlayer, policy: TabularPolicy, q_values: NDArray[Any] | None, unanswered: _Unanswered
) -> list[str]:
    """Returns sentences about positions in which the player's function does not play a move with the best Q-value.

    One sentence is about positions in which it gives no legal move, another about those in which it can play a
    move with a lower value. The list is empty if the player is not a function, or if it has no Q-values.
    """
    if not isinstance(player.policy, FunctionPolicy) or q_values is None or q_values.ndim != 2:
        return []
    plays = policy.probabilities[1:]
    legal = player.rules.action_mask(player.rules.all_positions()[1:])
    values = np.where(legal, q_values[1:], -np.inf)
    is_worse = ((plays > 0) & (values < values.max(axis=1, keepdims=True))).any(axis=1)
    sentences = []
    if unanswered.is_unanswered.any():
        sentences.append(unanswered.sentence + _starts_from_0(values[unanswered.is_unanswered]))
    if is_worse.any():
        first = position_name(_smallest_position(player.rules, is_worse))
        sentence = f"in {_count_in_words(is_worse)} it does not play its best value, the first {first}."
        sentences.append(sentence + _starts_from_0(values[is_worse]))
    return sentences


def _starts_from_0(values: NDArray[Any]) -> str:
    """Returns a sentence that blames a maximum that starts from 0, or nothing if the values rule this out.

    ``values`` are the Q-values in the positions with a wrong choice. Such a maximum overlooks only values of 0 or
    below.
    """
    sentence = " All its values there are 0 or below: the maximum of its choice starts from 0."
    return sentence if (values <= 0).all() else ""


def _smallest_position(rules: NimRules, is_position: NDArray[np.bool_]) -> list[int]:
    """Returns the heap sizes of the position with the fewest objects, of those marked in ``is_position``."""
    return min(rules.all_positions()[1:][is_position].tolist(), key=sum)


def _count_in_words(is_position: NDArray[np.bool_]) -> str:
    """Returns how many positions ``is_position`` marks, such as "3 positions"."""
    n = int(is_position.sum())
    return "1 position" if n == 1 else f"{n} positions"


def _remarks(policy: TabularPolicy, unanswered: _Unanswered) -> Iterable[str]:
    """Yields a sentence about positions in which the player gives no legal move, and one about drawn moves."""
    sentence = unanswered.sentence
    if sentence:
        yield f"{sentence[0].upper()}{sentence[1:]}"
    is_drawn = np.any(policy.probabilities[1:] % 1 > 0, axis=1)
    if is_drawn.any():
        number = _count_in_words(is_drawn)
        yield f"It draws its move in {number}. The metrics of a function that draws are estimates."
