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
    return (
        text.questions(rules, style) if number is None else text.winning_questions(rules, number, style, seed=seed)
    )


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


class Log:
    """The answers and verdicts of a log, with a row for each position and a column for each epoch."""

    def __init__(self, path: str) -> None:
        log = read_eval_log(path)
        args = dict(log.eval.task_args)
        if log.eval.task.split("/")[-1] != "nim" or "heaps" not in args:
            raise ValueError(f"{path} is a log of another task, {log.eval.task}; give logs of the task nim")
        self.name = f"{log.eval.model}, {args['style']}"
        self.rules = rules_of(args.pop("heaps"), args.pop("max_take"), args.pop("misere"))
        self.is_sample = args["number"] is not None
        rows = data_set(self.rules, **args)
        self.heaps = np.array([row["heaps"] for row in rows])
        self.answers = np.full((len(rows), log.eval.config.epochs or 1), "", dtype=object)
        self.verdicts = np.full(self.answers.shape, "missing", dtype=object)
        for sample in log.samples or []:
            if not sample.error:
                place = sample.id - 1, sample.epoch - 1
                self.verdicts[place], self.answers[place] = judge(self.rules, self.heaps[place[0]], sample.output)
        self.winning = (self.verdicts == "winning").mean(axis=1)[[row["won"] for row in rows]]
        # the variance of the mean, estimated from the different answers to the same position
        within = self.winning * (1 - self.winning) / max(1, self.answers.shape[1] - 1)
        self.variance = within.sum() / len(within) ** 2

    def figures(self, first: "Log") -> dict[str, str]:
        """Returns the metrics with 95 % intervals. Differences from the first log are paired by position."""
        if self.rules != first.rules or not np.array_equal(self.heaps, first.heaps):
            raise ValueError(f"{self.name} plays other positions ({self.rules}) than {first.name} ({first.rules})")
        difference = self.winning - first.winning
        variance = self.variance + first.variance
        interval = plus_minus(self.variance)
        if self.is_sample:
            variance = difference.var() / (len(difference) - 1)
            result = evaluation.SampledMastery(self.winning.mean(), self.heaps, self.winning)
            interval = " ({:.3f} to {:.3f})".format(*result.interval())
        figures = {"winning": f"{self.winning.mean():.3f}{interval}", "difference": ""}
        if self is not first:
            figures["difference"] = f"{difference.mean():+.3f}{plus_minus(variance)}"
        figures |= {name: f"{(self.verdicts == name).mean():.3f}" for name in (*FAULTS, "missing")}
        if not self.is_sample:
            heaps = np.repeat(self.heaps, self.answers.shape[1], axis=0)
            policy = text.policy_of_answers(self.rules, zip(heaps, self.answers.flat, strict=True))
            report = evaluation.report(self.rules, policy, illegal_action="lose").to_dict()
            figures |= {name: f"{value:.3f}" for name, value in report.items()}
        return figures


def plus_minus(variance: float) -> str:
    """Returns the half width of the 95 % interval, or nothing if the variance is 0."""
    return f" ± {NormalDist().inv_cdf(0.975) * sqrt(variance):.3f}" if variance else ""


def main(paths: list[str]) -> None:
    """Prints the metrics of logs, a column for each log."""
    if not paths:
        raise ValueError("no logs given; name one or more .eval files")
    logs = [Log(path) for path in paths]
    figures = [log.figures(logs[0]) for log in logs]
    print(logs[0].rules)
    for number, log in enumerate(logs, start=1):
        print(f"{number}: {log.name}, {log.answers.shape[0]} positions, {log.answers.shape[1]} answers in each")
    print(f"{'':24}" + "".join(f"{number:>24}" for number in range(1, len(logs) + 1)))
    for name in figures[0]:
        print(f"{name:24}" + "".join(f"{column[name]:>24}" for column in figures))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError) as error:
        sys.exit(f"nim_inspect.py: {error}")
