"""Examines one player: measures how well it plays, looks for bugs in it, and draws its picture."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
from nim_env.policies import FunctionPolicy, PolicyLike, SampledPolicy, TabularPolicy
from nim_env.rendering.svg import position_map
from nim_env.rules import NimRules, position_name

_EARLIER_FRACTION = 0.3  # a second, shorter training has this fraction of the games
_N_ANSWERS_PER_POSITION = 30  # how often a function that draws its moves is queried
_ROUNDING = 1e-9  # the rounding error allowed in a sum of probabilities


def examine(name: str, options: Options) -> Entry:
    """Loads a player, measures how well it plays, and looks for bugs in its functions, moves and values.

    With the option ``--picture``, it also draws the player's map of positions.

    Args:
        name: The player's name on the command line, such as ``nim.py`` or ``nim.py:player``.
        options: The options of the command line.

    Returns:
        The entry of the player in the report.

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
    unanswered = _unanswered(player, policy)
    wrong_choices = _wrong_choices(player, policy, q_values, unanswered)
    result, bugs_in, verdict = _summary(faults, wrong_choices, diagnosis)
    has_values = q_values is not None and findings.NOT_FINITE not in diagnosis.findings
    state_values = player.state_values if has_values else None
    report = evaluation.report(rules, policy, state_values, illegal_action="lose")
    if options.picture is not None:
        place = f" in {bugs_in[0]}" if faults or wrong_choices else ""
        title = f"{Path(name).name}: {result}{place}"
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
        result=result,
        bugs_in=bugs_in,
        findings=diagnosis.findings,
        verdict=verdict,
    )


def _load_seeded(name: str, options: Options, episodes: int) -> LoadedPlayer:
    """Seeds the random generators of Python and NumPy, which the player's file can use, and loads the player.

    If the file has a function ``train`` instead of a player, it is called with ``episodes``, the number of games.
    """
    random.seed(options.seed)
    np.random.seed(options.seed)  # noqa: NPY002
    return load_player(name, options.rules, episodes)


def _faults(player: LoadedPlayer, name: str, options: Options) -> list[specification.Fault]:
    """Tests the functions of a program that was written for CS50's project Nim, and returns their faults.

    The tests are made for the course's own game: four heaps, no limit on the objects of a move, and values that
    start at 0. Returns an empty list without testing anything if the options say something else, or if the player
    is not such a program.
    """
    is_course = player.rules.n_heaps == 4 and player.rules.max_take is None and not options.initial
    if player.make_player is None or not is_course:
        return []
    with running_code_of(name, "when its functions are tested"):
        return specification.faults(player.make_player, options.seed)


def _values_everywhere(player: LoadedPlayer, name: str) -> NDArray[Any] | None:
    """Returns the values of a player in all positions, or ``None`` if it has no values.

    The shape is ``(n_positions, n_actions)`` for Q-values, and ``(n_positions,)`` for values of positions.
    """
    if player.values is None:
        return None
    with running_code_of(name, "when its values are queried"):
        return np.asarray(player.values(player.rules.all_positions()))


def _facts_of_training(player: LoadedPlayer, name: str, options: Options) -> TrainingFacts:
    """Collects what the options and the player's file say about its training, for the diagnosis of its values.

    If the player was trained by the function ``train`` of its file, ``train`` is called once more, with fewer
    games. The diagnosis compares the values after this shorter training with the final ones, and so finds out
    whether they were still changing.
    """
    earlier = None
    if player.is_trained:
        episodes = round(_EARLIER_FRACTION * options.episodes)
        earlier = _values_everywhere(_load_seeded(name, options, episodes), name)
    discount = player.discount if options.discount is None else options.discount
    follows_course = player.make_player is not None and hasattr(player.make_player(), "best_future_reward")
    return TrainingFacts(
        opponent=load_player(options.opponent, player.rules).policy if options.opponent else None,
        discount=1.0 if discount is None else discount,
        earlier=earlier,
        rewards=(options.rewards[0], options.rewards[1]) if options.rewards else None,
        initial=player.initial if options.initial is None else options.initial,
        on_policy=options.on_policy or (False if follows_course else None),
        behavior_policy=player.behavior_policy,
    )


def _summary(
    faults: list[specification.Fault], wrong_choices: list[str], diagnosis: evaluation.Diagnosis
) -> tuple[str, list[str], str]:
    """Sums up what is wrong with a player, from its functions, from its choices of moves and from its values.

    Args:
        faults: The faults of the player's functions.
        wrong_choices: Sentences about positions in which the player does not choose a move with the best value.
        diagnosis: The diagnosis of the player's values, or of its moves if it has no values.

    Returns:
        The result ("bug", "no bug found" or "undecided"), the places of the bugs, such as ``["choose_action"]``,
        and the verdict in words. If no argument shows a bug, the diagnosis gives the result and the verdict.
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
        return diagnosis.result, [], diagnosis.verdict
    return "bug", bugs_in, " ".join(sentences)


def probabilities_of(rules: NimRules, policy: PolicyLike) -> TabularPolicy:
    """Tabulates the probabilities of a player's moves in all positions.

    Args:
        rules: The game.
        policy: The player. If it is a function that draws its moves, the probability of each answer is estimated
            by how often the function gives it.

    Returns:
        The probabilities of legal actions. If they sum to less than 1 in a position, the rest is the probability
        of an illegal answer.
    """
    if isinstance(policy, FunctionPolicy):
        policy = _measured(rules, policy)
    return policies.tabulate(rules, policy, np.float64, illegal_action="lose")


def _measured(rules: NimRules, policy: FunctionPolicy) -> TabularPolicy:
    """Measures in all positions how often a player's function gives each answer.

    The function is queried twice in every position, which shows whether its answers are random. If the two answers
    agree in every position, they are not, and each answer has the probability 1. Otherwise the function is queried
    30 times in every position. This includes positions in which the first two answers agree, because a rare
    mistake there would otherwise be missed.
    """
    positions = rules.all_positions()[1:]
    masks = rules.action_mask(positions)
    probabilities, again = (policy.action_probabilities(positions, masks) for _ in range(2))
    if (probabilities != again).any():
        sampled = SampledPolicy(rules, policy, _N_ANSWERS_PER_POSITION)
        rows = [sampled.action_probabilities(*position) for position in zip(positions, masks, strict=True)]
        probabilities = np.array(rows)
    return TabularPolicy(rules, np.insert(probabilities, 0, 0.0, axis=0))  # no answer when the game is over


def _can_fail(policy: TabularPolicy) -> NDArray[np.bool_]:
    """Returns whether a player can fail to give a legal move, for each position except the empty one.

    The shape is ``(n_positions - 1,)``.
    """
    return policy.probabilities[1:].sum(axis=1) < 1 - _ROUNDING


def _unanswered(player: LoadedPlayer, policy: TabularPolicy) -> str:
    """Returns a sentence that says in how many positions a player can fail to give a legal move.

    The sentence also names the smallest of these positions. If there are none, the string is empty.
    """
    can_fail = _can_fail(policy)
    if not can_fail.any():
        return ""
    heaps = _smallest_position(player.rules, can_fail)
    answer = player.illegal_answer_at(heaps)
    answers = f", where it answers {answer}" if answer else ""
    return f"it gives no legal move in {_count_in_words(can_fail)}, the first {position_name(heaps)}{answers}."


def _wrong_choices(
    player: LoadedPlayer, policy: TabularPolicy, q_values: NDArray[Any] | None, unanswered: str
) -> list[str]:
    """Compares a player's moves with its Q-values, and returns sentences about moves that are not the best.

    There are up to two sentences. One says in how many positions the player can play a move that has a lower
    Q-value than another legal move. The other says in how many it can fail to give a legal move. It begins with
    ``unanswered``, which :func:`_unanswered` has returned.

    The list is empty if there are no such positions, if the player is not a function, or if it has no Q-values.
    """
    if not isinstance(player.policy, FunctionPolicy) or q_values is None or q_values.ndim != 2:
        return []
    plays = policy.probabilities[1:]
    legal = player.rules.action_mask(player.rules.all_positions()[1:])
    values = np.where(legal, q_values[1:], -np.inf)
    is_worse = ((plays > 0) & (values < values.max(axis=1, keepdims=True))).any(axis=1)
    sentences = []
    if unanswered:
        sentences.append(unanswered + _starts_from_0(values[_can_fail(policy)]))
    if is_worse.any():
        first = position_name(_smallest_position(player.rules, is_worse))
        sentence = f"in {_count_in_words(is_worse)} it does not play its best value, the first {first}."
        sentences.append(sentence + _starts_from_0(values[is_worse]))
    return sentences


def _starts_from_0(values: NDArray[Any]) -> str:
    """Explains a player's wrong choices by a common bug, if the Q-values allow this explanation.

    The bug is a search for the largest value that starts with ``best = 0`` instead of minus infinity. It matters
    only in positions in which all values are 0 or below, because then no value is larger than ``best``.

    ``values`` are the Q-values in the positions with a wrong choice, of shape ``(n, n_actions)``. Returns a
    sentence about the bug, or an empty string if one of the values is above 0.
    """
    sentence = " All its values there are 0 or below: the maximum of its choice starts from 0."
    return sentence if (values <= 0).all() else ""


def _smallest_position(rules: NimRules, is_position: NDArray[np.bool_]) -> list[int]:
    """Returns the heap sizes of the position with the fewest objects, among those that ``is_position`` marks.

    ``is_position`` has a boolean for each position except the empty one, shape ``(n_positions - 1,)``.
    """
    return min(rules.all_positions()[1:][is_position].tolist(), key=sum)


def _count_in_words(is_position: NDArray[np.bool_]) -> str:
    """Returns how many entries of ``is_position`` are True, in words such as "3 positions"."""
    n = int(is_position.sum())
    return "1 position" if n == 1 else f"{n} positions"


def _remarks(policy: TabularPolicy, unanswered: str) -> Iterator[str]:
    """Yields up to two sentences about a player's moves for the report.

    The first is ``unanswered``, which says in how many positions the player can fail to give a legal move. It is
    left out if it is empty. The second says in how many positions the player draws its move at random. It is left
    out if there are no such positions.
    """
    if unanswered:
        yield f"{unanswered[0].upper()}{unanswered[1:]}"
    is_drawn = np.any(policy.probabilities[1:] % 1 > 0, axis=1)
    if is_drawn.any():
        number = _count_in_words(is_drawn)
        yield f"It draws its move in {number}. The metrics of a function that draws are estimates."
