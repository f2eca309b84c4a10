"""Evaluates language models on Nim with Inspect, by a task in which the model chooses a move in each position.

    pip install -e . inspect-ai openai
    export LOCAL_API_KEY=none LOCAL_BASE_URL=http://localhost:8000/v1
    inspect eval examples/nim_inspect.py --model openai-api/local/NAME -T heaps=1-3-5 -T style=rules --epochs 10

Inspect prints the rate of winning moves over the winning positions, which is the model's expert mastery, and the
rates of answers without a legal move. For example, compare the styles of the prompts to see whether a model plays
worse if the prompt does not name the game.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict
from math import nan

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from nim_env import NimRules, text

UNFINISHED = {"max_tokens": "cut", "model_length": "cut", "content_filter": "refused"}  # verdicts by stop reason
FAULTS = ("no_move", "cut", "refused", "illegal")


@task
def nim(
    heaps: str = "1-3-5",
    max_take: int | None = None,
    misere: bool = True,
    style: text.Style = "nim",
    number: int | None = None,
    seed: int = 0,
) -> Task:
    """Returns the task. On the command line, its arguments are options such as ``-T heaps=1-3-5``.

    Args:
        heaps: The starting heap sizes.
        max_take: The maximum number of objects that one move can take. None means no limit.
        misere: Whether the player who takes the last object loses.
        style: The wording of the prompts: "nim", "rules" or "numbers".
        number: The number of winning positions to sample. If it is not given, there is a sample for each position.
        seed: The random seed of this choice of positions.
    """
    sizes = re.findall(r"\d+", str(heaps))  # Inspect passes a single heap as a number
    rules = NimRules(map(int, sizes), max_take, misere)
    if number is None:
        rows = text.questions(rules, style)
    else:
        rows = text.winning_questions(rules, number, style, seed=seed)
    samples = [Sample(input=r["prompt"], target=r["winning_moves"], metadata={"heaps": r["heaps"]}) for r in rows]
    return Task(dataset=samples, scorer=move(**asdict(rules)))


@scorer(metrics={"winning": [mean(), stderr()]} | {fault: [mean()] for fault in FAULTS})
def move(heaps: Sequence[int], max_take: int | None, misere: bool) -> Scorer:
    """Returns a scorer with the rate of winning moves, over winning positions only, and of each fault."""
    rules = NimRules(heaps, max_take, misere)

    async def score(state: TaskState, target: Target) -> Score:
        if state.output.stop_reason in UNFINISHED:
            answer, verdict = "", UNFINISHED[state.output.stop_reason]  # not read: a number in it may be cut off
        else:
            answer = state.output.completion
            verdict = text.judge(rules, state.metadata["heaps"], answer)
        value = {fault: float(verdict == fault) for fault in FAULTS}
        value["winning"] = float(verdict == "winning") if list(target) else nan  # losing positions do not count
        return Score(value=value, answer=answer, explanation=verdict)

    return score
