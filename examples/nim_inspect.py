r"""Evaluates language models on Nim with Inspect: a task, and a script that prints the exact metrics of its logs.

In each sample of the task, the model chooses a move in one position. The options -T heaps, max_take and misere set
the game, and -T style the prompts. With -T number=200, the samples are 200 winning positions drawn with -T seed.

    pip install -e . inspect-ai openai
    export LOCAL_API_KEY=none LOCAL_BASE_URL=http://localhost:8000/v1
    inspect eval examples/nim_inspect.py --model openai-api/local/NAME -T heaps=1-3-5 -T style=rules --epochs 10
    python examples/nim_inspect.py logs/*.eval

The last command prints a column for each log, with 95 % intervals and the difference from the first log. This
shows, for example, whether a model plays worse if the prompt does not name the game.
"""

import re
import sys
from math import nan, sqrt
from statistics import NormalDist
from typing import NamedTuple

import click
import numpy as np
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState

from nim_env import NimRules, evaluation, text

UNFINISHED = {"max_tokens": "cut", "model_length": "cut", "content_filter": "refused"}  # verdicts by stop reason
FAULTS = ("no_move", "cut", "refused", "illegal")


@task
def nim(heaps="1-3-5", max_take=None, misere=True, style="nim", number=None, seed=0) -> Task:
    """Returns the Inspect task, with one sample for each position."""
    try:
        rows = data_set(rules_of(heaps, max_take, misere), style, number, seed)
    except (TypeError, ValueError) as error:
        raise click.ClickException(str(error)) from error  # Inspect shows it in one line
    samples = [Sample(input=r["prompt"], target=r["winning_moves"], metadata={"heaps": r["heaps"]}) for r in rows]
    return Task(dataset=samples, scorer=move(heaps, max_take, misere))


def rules_of(heaps: str, max_take: int | None, misere: bool) -> NimRules:
    """Returns the rules for heaps written as in ``1-3-5``."""
    return NimRules(map(int, re.findall(r"\d+", str(heaps))), max_take, misere)


def data_set(rules: NimRules, style: str, number: int | None, seed: int) -> list[dict]:
    """Returns all positions with their prompts, or ``number`` winning positions."""
    if number is None:
        return text.questions(rules, style)
    return text.winning_questions(rules, number, style, seed=seed)


@scorer(metrics={name: [mean()] for name in (*FAULTS, "winning")})
def move(heaps: str, max_take: int | None, misere: bool) -> Scorer:
    """Returns a scorer with the rate of each fault and, over winning positions only, of winning moves."""
    rules = rules_of(heaps, max_take, misere)

    async def score(state: TaskState, target: Target) -> Score:
        verdict, answer = judge(rules, state.metadata["heaps"], state.output)
        value = {name: float(verdict == name) for name in FAULTS}
        value["winning"] = float(verdict == "winning") if list(target) else nan  # losing positions do not count
        return Score(value=value, answer=answer, explanation=verdict)

    return score


def judge(rules: NimRules, heaps: list[int], output: ModelOutput) -> tuple[str, str]:
    """Returns the verdict on an answer, and the answer itself.

    Unfinished answers are not read, since a number in them may be cut off. They count as empty.
    """
    if output.stop_reason in UNFINISHED:
        return UNFINISHED[output.stop_reason], ""
    return text.judge(rules, heaps, output.completion), output.completion


def main(paths: list[str]) -> None:
    """Prints the metrics of logs, a column for each log."""
    if not paths:
        raise ValueError("no logs given; name one or more .eval files")
    logs = [read_log(path) for path in paths]
    columns = [{"": str(number)} | metrics(log, logs[0]) for number, log in enumerate(logs, start=1)]
    print(logs[0].rules)
    for number, log in enumerate(logs, start=1):
        print(f"{number}: {log.name}, {log.answers.shape[0]} positions, {log.answers.shape[1]} answers in each")
    for name in columns[0]:
        print(f"{name:24}" + "".join(f"{column[name]:>24}" for column in columns))


class Log(NamedTuple):
    """What a model answered. The answers and verdicts have a row for each position and a column for each epoch."""

    name: str
    rules: NimRules
    is_sample: bool  # whether the positions are a sample of all winning positions
    heaps: np.ndarray
    answers: np.ndarray
    verdicts: np.ndarray
    rates: np.ndarray  # of winning moves, in each winning position


def read_log(path: str) -> Log:
    """Reads a log of the task."""
    log = read_eval_log(path)
    options = dict(log.eval.task_args)
    if log.eval.task.split("/")[-1] != "nim" or "heaps" not in options:
        raise ValueError(f"{path} is a log of another task, {log.eval.task}; give logs of the task nim")
    if not log.samples:
        raise ValueError(f"{path} has no answers: its run was interrupted; run the task again")
    rules = rules_of(options.pop("heaps"), options.pop("max_take"), options.pop("misere"))
    rows = data_set(rules, **options)
    heaps = np.array([row["heaps"] for row in rows])
    answers = np.full((len(rows), log.eval.config.epochs or 1), "", dtype=object)
    verdicts = np.full(answers.shape, "missing", dtype=object)
    for sample in log.samples or []:
        if not sample.error:
            row, column = sample.id - 1, sample.epoch - 1
            verdicts[row, column], answers[row, column] = judge(rules, heaps[row], sample.output)
    rates = (verdicts == "winning").mean(axis=1)[[row["won"] for row in rows]]
    name = f"{log.eval.model}, {options['style']}"
    return Log(name, rules, options["number"] is not None, heaps, answers, verdicts, rates)


def metrics(log: Log, first: Log) -> dict[str, str]:
    """Returns the printed column of a log, which is compared with the first log."""
    if log.rules != first.rules or not np.array_equal(log.heaps, first.heaps):
        raise ValueError(f"{log.name} plays other positions ({log.rules}) than {first.name} ({first.rules})")
    numbers = {name: (log.verdicts == name).mean() for name in (*FAULTS, "missing")}
    if not log.is_sample:  # exact figures of a player that draws its moves as the answers do
        heaps = np.repeat(log.heaps, log.answers.shape[1], axis=0)
        policy = text.policy_of_answers(log.rules, zip(heaps, log.answers.flat, strict=True))
        numbers |= evaluation.report(log.rules, policy, illegal_action="lose").to_dict()
    shown = {"winning": winning_rate(log), "difference": "" if log is first else difference(log, first)}
    return shown | {name: f"{number:.3f}" for name, number in numbers.items()}


def winning_rate(log: Log) -> str:
    """Returns the mean rate of winning moves with its 95 % interval."""
    rate = log.rates.mean()
    if log.is_sample:  # other positions could have been drawn
        low, high = evaluation.SampledMastery(rate, log.heaps, log.rates).interval()
        return f"{rate:.3f} ({low:.3f} to {high:.3f})"
    return f"{rate:.3f}{plus_minus(variance_of_answers(log))}"


def difference(log: Log, first: Log) -> str:
    """Returns how much the rate of winning moves differs from the first log, with its 95 % interval."""
    differences = log.rates - first.rates  # in the same positions
    if log.is_sample:
        variance = differences.var(ddof=1) / len(differences)
    else:
        variance = variance_of_answers(log) + variance_of_answers(first)
    return f"{differences.mean():+.3f}{plus_minus(variance)}"


def variance_of_answers(log: Log) -> float:
    """Estimates the variance of the mean rate. The log has all positions, so only the answers vary."""
    n_positions, n_answers = len(log.rates), log.answers.shape[1]
    return (log.rates * (1 - log.rates) / max(1, n_answers - 1)).sum() / n_positions**2


def plus_minus(variance: float) -> str:
    """Returns the half width of the 95 % interval, or nothing if the variance is 0."""
    return f" ± {NormalDist().inv_cdf(0.975) * sqrt(variance):.3f}" if variance else ""


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError) as error:
        sys.exit(f"nim_inspect.py: {error}")
