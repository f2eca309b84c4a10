"""nim_inspect.py: models whose play is known, and servers with faults."""

import gc
from itertools import count, cycle

import pytest

pytest.importorskip("inspect_ai", reason="needs pip install inspect-ai openai")

import numpy as np
from answer_forms import READ, filled
from chat_server import serve
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from nim_inspect import nim

from nim_env import NimRules, TabularPolicy, evaluation, text, theory
from nim_env.policies import MixturePolicy, tabulate
from nim_env.rules import heap_name

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Inspect's own streams
RULES = NimRules((1, 3, 5))
POSITIONS = RULES.all_positions()[1:]
IS_WON = theory.is_winning(RULES, POSITIONS)


def mock(answer):
    """A model of Inspect that gives ``answer(prompt)``, a text, or a text and its stop reason."""

    def outputs(messages, *_):
        output = ModelOutput.from_content("mockllm/player", *np.atleast_1d(answer(messages[-1].text)).tolist())
        output.usage = ModelUsage()  # else its tokens are counted by a file from the network
        return output

    return get_model("mockllm/player", custom_outputs=outputs, memoize=False)


def run(task, model, folder, **options):
    """Returns a log, and its metrics by score and metric."""
    [log] = evaluate(task, model=model, display="none", log_dir=str(folder), **options)
    gc.collect()  # Inspect leaves streams open, which warn while warnings are ignored
    metrics = {(s.name, metric.name): metric.value for s in log.results.scores for metric in s.metrics.values()}
    return log, metrics


def test_the_figures_are_those_of_the_known_player_in_every_form(tmp_path):
    mixture = MixturePolicy(RULES, ["expert", "random"], weights=[0.7, 0.3])
    table = tabulate(RULES, mixture, dtype=float).probabilities[1:]
    generator = np.random.default_rng(0)
    forms = cycle(READ)
    rates = []
    for style in ("nim", "rules"):
        actions = np.array([generator.choice(RULES.n_actions, size=2, p=row) for row in table])
        left = {
            text.describe(RULES, heaps, style): list(row) for heaps, row in zip(POSITIONS, actions, strict=True)
        }

        def answer(prompt, left=left):
            heap, number = RULES.moves[left[prompt].pop()]
            return filled(next(forms), heap_name(heap), number)

        log, metrics = run(nim("1-3-5", style=style), mock(answer), tmp_path, epochs=2)
        frequencies = np.eye(RULES.n_actions)[actions].mean(axis=1)
        policy = TabularPolicy(RULES, np.vstack([np.zeros(RULES.n_actions), frequencies]))
        won = np.take_along_axis(theory.winning_action_mask(RULES, POSITIONS), actions, axis=1)[IS_WON].mean(
            axis=1
        )
        assert metrics["winning", "mean"] == pytest.approx(evaluation.mastery(RULES, policy).expert)
        assert metrics["winning", "stderr"] == pytest.approx(won.std(ddof=1) / np.sqrt(len(won)))
        print({name: round(value, 3) for name, value in metrics.items()})  # for pytest -rP

        # as on the page
        answers = [(sample.metadata["heaps"], sample.scores["move"].answer) for sample in log.samples]
        player = text.policy_of_answers(RULES, answers)
        report = evaluation.report(RULES, player, illegal_action="lose")
        assert report == evaluation.report(RULES, policy)
        print(report)
        rates.append(np.array([sample.value["winning"] for sample in log.reductions[0].samples]))
        np.testing.assert_array_equal(rates[-1][IS_WON], won)
    differences = (rates[1] - rates[0])[IS_WON]
    print(f"{differences.mean():.3f}, standard error {differences.std(ddof=1) / len(differences) ** 0.5:.3f}")


def test_what_is_no_move_is_told_apart(tmp_path):
    def answer(prompt):
        row, number = rows[prompt]
        own = f"Move: {[*row['winning_moves'], 'A 1'][0]}"
        return [(own, "max_tokens"), (own, "content_filter"), "I give up.", "Move: Z 9", own][number % 5]

    rows = {row["prompt"]: (row, number) for number, row in enumerate(text.questions(RULES))}
    _, metrics = run(nim("1-3-5"), mock(answer), tmp_path, temperature=0)
    kinds = np.arange(len(POSITIONS)) % 5
    for kind, name in enumerate(("cut", "refused", "no_move", "illegal")):
        assert metrics[name, "mean"] == pytest.approx((kinds == kind).mean())
    # losing positions do not count as not won
    assert metrics["winning", "mean"] == pytest.approx((kinds[IS_WON] == 4).mean())


def test_a_sample_of_a_large_board(tmp_path):
    rules = NimRules((30,) * 20, max_take=5)
    rows = text.winning_questions(rules, 40, "numbers", seed=5)
    answers = {
        row["prompt"]: f"Move: {row['winning_moves'][0]}" if number % 4 else "I do not know."
        for number, row in enumerate(rows)
    }
    task = nim("-".join(["30"] * 20), max_take=5, style="numbers", number=40, seed=5)
    _, metrics = run(task, mock(answers.__getitem__), tmp_path)
    assert metrics["winning", "mean"] == 0.75
    assert metrics["no_move", "mean"] == 0.25


@pytest.mark.parametrize(
    ("fault", "counted"),
    [
        ((503, "", {"retry-after-ms": "1"}), None),
        ({"message": {"content": "Move: C 2", "reasoning_content": "Move: A 1"}}, None),
        ({"message": {"content": "<think>Move: A 1</think>\nMove: C 2"}}, None),
        ({"message": {"content": None}}, "no_move"),
        ({"message": {"content": "", "reasoning_content": "Move: C 2"}}, "no_move"),
        ({"message": {"content": "Move: C 2"}, "finish_reason": "length"}, "cut"),
        ({"message": {"content": None}, "finish_reason": "content_filter"}, "refused"),
        ((400, "refused", {}), "error"),
        ({"message": None}, "error"),
    ],
)
def test_a_fault_of_a_server_changes_nothing_or_is_counted(fault, counted, tmp_path):
    requests = count()
    with serve(lambda _: fault if next(requests) == 5 else "Move: C 2") as url:
        model = get_model("openai-api/local/player", base_url=url, api_key="none")
        log, metrics = run(nim("1-2-3"), model, tmp_path, fail_on_error=False)
    assert sum(sample.error is not None for sample in log.samples) == (counted == "error")
    for name in ("no_move", "cut", "refused"):
        assert metrics[name, "mean"] == pytest.approx((counted == name) / 23)


def test_a_board_without_a_winning_position_is_refused():
    with pytest.raises(ValueError, match="position"):
        nim(1)
