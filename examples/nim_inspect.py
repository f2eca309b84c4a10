"""A task of Inspect: the exact reward of a language model's moves, one on each position of Nim.

A winning move scores 1, another legal move 0, and anything else -1.

    pip install -e . inspect-ai openai
    export LOCAL_API_KEY=none LOCAL_BASE_URL=http://localhost:8000/v1
    inspect eval examples/nim_inspect.py --model openai-api/local/NAME
"""

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from nim_env import NimRules, text

RULES = NimRules((1, 2, 3))


@scorer(metrics=[mean(), stderr()])
def exact() -> Scorer:
    async def score(state: TaskState, _: Target) -> Score:
        heaps = [state.metadata["heaps"]]
        [reward] = text.move_reward(RULES)([state.output.completion], heaps)
        return Score(value=reward)

    return score


@task
def nim() -> Task:
    samples = []
    for heaps in RULES.all_positions()[1:].tolist():
        prompt = text.describe(RULES, heaps)
        samples.append(Sample(input=prompt, metadata={"heaps": heaps}))
    return Task(dataset=samples, scorer=exact())
