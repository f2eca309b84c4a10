"""The report on one player: its figures, what is wrong with it, and the picture."""

from __future__ import annotations

import argparse
import random
import threading
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nim_env import evaluation, policies
from nim_env.check import players, specification
from nim_env.policies import FunctionPolicy, NimPolicy, Policy, PolicyLike, SampledPolicy, TabularPolicy
from nim_env.rendering.map import position_map
from nim_env.rules import NimRules

_EARLIER = 0.3  # of the training games, for a second table


def examine(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """All that is said of a player; a ValueError, TypeError or OSError where it cannot be judged."""
    rules = rules_of(args)
    chance = evaluation.mastery(rules, policies.tabulate(rules, "random")).expert  # refuses a board too large
    player = _load(name, rules, args.seed, args.episodes)
    faults = []
    is_course = rules.n_heaps == 4 and rules.max_take is None and not args.initial
    if player.make and is_course:
        with players.foreign_code(name, "when its functions are tested"):
            faults = specification.faults(player.make, args.seed)
    with players.foreign_code(name, "when it plays"):
        policy = probabilities_of(rules, player.policy)
    q_values = _table(player, name)
    diagnosis = _diagnosis(player, policy, q_values, name, args)
    choice = _choice(player, policy, q_values)
    remarks = [*filter(None, [player.remark]), *_remarks(player, policy)]
    mastery = evaluation.mastery(rules, policy, illegal_action="lose")
    if "train longer" in diagnosis.findings and not len(mastery.mistake_indices):
        said = "No bug found. Every move is right, although not all values have settled."
        diagnosis = evaluation.Diagnosis("no bug found", said, ("perfect play",))
    bugs = [f"Bug in {function}: {sentence}." for function, sentence in faults]
    bugs += [f"Bug in the choice: {sentence}" for sentence in choice]
    if bugs and diagnosis.result == "bug":
        bugs.append(diagnosis.verdict)
    result = "bug" if bugs else diagnosis.result
    names = [*dict.fromkeys(fault.function for fault in faults)]
    if choice and "choose_action" not in names:
        names.append("choice")
    if not bugs or diagnosis.result == "bug":
        names += evaluation.answers(diagnosis.findings)
    verdict = " ".join(bugs) or diagnosis.verdict
    is_finite = q_values is not None and diagnosis.findings != ("values that are not finite",)
    values = player.state_values if is_finite else None
    report = evaluation.report(rules, policy, values, illegal_action="lose")
    if args.picture is not None:
        title = f"{Path(name).name}: {result}{f' in {names[0]}' if faults or choice else ''}"
        args.picture.write_text(position_map(mastery, title), encoding="utf-8")
    return {
        "player": name,
        "error": None,
        "game": str(rules),
        **report.to_dict(),
        "share": 1.0 if chance == 1 else (report.expert - chance) / (1 - chance),
        "won_positions": mastery.won_positions,
        "mistakes": len(mastery.mistake_indices),
        "first_mistakes": evaluation.mistake_sentences(rules, policy, illegal_action="lose"),
        "remarks": remarks,
        "result": result,
        "bugs_in": names if result == "bug" else [],
        "findings": diagnosis.findings,
        "verdict": verdict,
    }


def _diagnosis(
    player: players.LoadedPlayer, policy: TabularPolicy, q_values: Any, name: str, args: argparse.Namespace
) -> evaluation.Diagnosis:
    """What its values say, or its moves if it has none."""
    if q_values is None:
        return evaluation.diagnose_moves(player.rules, policy)
    opponent = args.opponent and players.load_player(args.opponent, player.rules).policy
    earlier = None
    if player.is_trained:
        earlier = _table(_load(name, player.rules, args.seed, round(_EARLIER * args.episodes)), name)
    follows_course = hasattr(player.make and player.make(), "best_future_reward")
    on_policy = args.on_policy or player.on_policy or (False if follows_course else None)
    discount = next(number for number in (args.discount, player.discount, 1.0) if number is not None)
    initial = player.initial if args.initial is None else args.initial
    rewards = args.rewards and tuple(args.rewards)
    return evaluation.diagnose(player.rules, q_values, opponent, discount, earlier, rewards, initial, on_policy)


def _table(player: players.LoadedPlayer, name: str) -> NDArray[Any] | None:
    """The values of a player in all positions."""
    if player.values is None:
        return None
    with players.foreign_code(name, "when its values are asked"):
        return np.asarray(player.values(player.rules.all_positions()))


def rules_of(args: argparse.Namespace) -> NimRules:
    """The game that the options describe."""
    return NimRules(chain(*args.heaps), args.max_take, misere=not args.normal)


def _load(name: str, rules: NimRules, seed: int, episodes: int) -> players.LoadedPlayer:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  the file may draw from it
    return players.load_player(name, rules, episodes)


def probabilities_of(rules: NimRules, policy: PolicyLike) -> TabularPolicy:
    """The probabilities of a player in all positions; of a function that draws its moves, its frequencies."""
    asked = _Asked(policy) if isinstance(policy, FunctionPolicy) else policy
    return policies.tabulate(rules, asked, np.float64, illegal_action="lose")


class _Asked(NimPolicy):
    """A function as a policy: where two answers to any position differ, all positions are asked 30 times.

    To ask only the positions whose first two answers differ would miss rare moves, always in the player's favor.
    """

    is_measurement = True

    def __init__(self, policy: FunctionPolicy) -> None:
        self.policy = policy

    def action_probabilities(self, observation: Any, action_mask: Any) -> Any:
        first, second = (self._answers(self.policy, observation, action_mask) for _ in range(2))
        if (first == second).all():
            return first
        return self._answers(SampledPolicy(self.policy, 30), observation, action_mask)

    def _answers(self, policy: Policy, *positions: Any) -> Any:
        rows = ([array[i : i + 1] for array in positions] for i in _progress(len(positions[0])))
        return np.concatenate([policy.action_probabilities(*row) for row in rows])


def _progress(n: int) -> Iterable[int]:
    try:
        from tqdm import tqdm
    except ImportError:
        return range(n)
    tqdm.set_lock(threading.RLock())  # its own one would outlive a process that is killed
    return tqdm(range(n), "positions", leave=False, disable=None, delay=1)


def _choice(player: players.LoadedPlayer, policy: TabularPolicy, q_values: Any) -> list[str]:
    """What is wrong with the choice of a function: no legal move, or not the one of its best value."""
    if not isinstance(player.policy, FunctionPolicy) or np.ndim(q_values) != 2:
        return []
    rules = player.rules
    heaps = rules.all_positions()[1:]
    plays = policy.probabilities[1:]
    values = np.where(rules.action_mask(heaps), q_values[1:], -np.inf)
    said = []
    is_unanswered = plays.sum(axis=1) < 1 - 1e-9
    if is_unanswered.any():
        sentence = _without_move(player, heaps[is_unanswered])
        said.append(sentence + _starts_from_0(values[is_unanswered]))
    is_worse = ((plays > 0) & (values < values.max(axis=1, keepdims=True))).any(axis=1)
    if n := is_worse.sum():
        first = "-".join(map(str, min(heaps[is_worse].tolist(), key=sum)))
        sentence = f"in {_counted(n)} it does not play its best value, the first {first}."
        said.append(sentence + _starts_from_0(values[is_worse]))
    return said


def _starts_from_0(values: NDArray[Any]) -> str:
    """What the values of the positions with a wrong choice say of it."""
    said = " All its values there are 0 or below: the maximum of its choice starts from 0."
    return said if (values <= 0).all() else ""


def _without_move(player: players.LoadedPlayer, heaps: NDArray[Any]) -> str:
    first = min(heaps.tolist(), key=sum)
    answer = player.answer_at(first)
    answers = f", where it answers {answer}" if answer else ""
    return f"it gives no legal move in {_counted(len(heaps))}, the first {'-'.join(map(str, first))}{answers}."


def _counted(n: int) -> str:
    return "1 position" if n == 1 else f"{n} positions"


def _remarks(player: players.LoadedPlayer, policy: TabularPolicy) -> list[str]:
    """Sentences on positions without a legal move, and on draws."""
    heaps = player.rules.all_positions()[1:]
    plays = policy.probabilities[1:]
    remarks = []
    is_unanswered = plays.sum(axis=1) < 1 - 1e-9
    if is_unanswered.any():
        sentence = _without_move(player, heaps[is_unanswered])
        remarks.append(f"{sentence[0].upper()}{sentence[1:]}")
    if n := (plays % 1 > 0).any(axis=1).sum():
        remarks.append(f"It draws its move in {_counted(n)}. The figures of a function that draws are estimates.")
    return remarks
