"""nim_inspect.py: models whose play is known, and servers with faults."""

import gc
import re
from itertools import count, cycle

import pytest

pytest.importorskip("inspect_ai", reason="needs pip install inspect-ai openai")

import numpy as np
from answer_forms import READ, filled
from chat_server import serve
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from nim_inspect import main, nim

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
    [log] = evaluate(task, model=model, display="none", log_dir=str(folder), **options)
    gc.collect()  # Inspect leaves streams open, which warn while warnings are ignored
    return log.location, {score.name: score.metrics["mean"].value for score in log.results.scores if score.metrics}


def figures(capsys, *logs):
    """The printed figures of each log by their names, each a list of numbers."""
    capsys.readouterr()
    main(logs)
    output = capsys.readouterr().out
    print(output)  # for pytest -rP
    rows = [re.split(r"\s{2,}", line.strip()) for line in output.splitlines()]
    return {
        name: [[float(n) for n in re.findall("[+-]?[0-9.]+", cell)] for cell in cells] for name, *cells in rows
    }


def near(*expected):
    return pytest.approx(expected, abs=6e-4)


def test_the_figures_are_those_of_the_known_player_in_every_form(tmp_path, capsys):
    mixture = MixturePolicy(RULES, ["expert", "random"], weights=[0.7, 0.3])
    table = tabulate(RULES, mixture, dtype=float).probabilities[1:]
    generator = np.random.default_rng(0)
    forms = cycle(READ)
    logs, reports, wins = [], [], []
    for style in ("nim", "rules"):
        actions = np.array([generator.choice(RULES.n_actions, size=2, p=row) for row in table])
        left = {
            text.describe(RULES, heaps, style): list(row) for heaps, row in zip(POSITIONS, actions, strict=True)
        }

        def answer(prompt, left=left):
            heap, number = RULES.moves[left[prompt].pop()]
            return filled(next(forms), heap_name(heap), number)

        location, metrics = run(nim("1-3-5", style=style), mock(answer), tmp_path, epochs=2)
        frequencies = np.eye(RULES.n_actions)[actions].mean(axis=1)
        policy = TabularPolicy(RULES, np.vstack([np.zeros(RULES.n_actions), frequencies]))
        reports.append(evaluation.report(RULES, policy).to_dict())
        assert metrics["winning"] == pytest.approx(reports[-1]["expert"])
        logs.append(location)
        wins.append(np.take_along_axis(theory.winning_action_mask(RULES, POSITIONS), actions, axis=1)[IS_WON])
    printed = figures(capsys, *logs)
    errors = [1.96 * np.sqrt((won.var(axis=1, ddof=1) / 2).sum()) / len(won) for won in wins]
    for column, report in enumerate(reports):
        for name, value in report.items():
            assert printed[name][column] == near(float(value))
        assert printed["winning"][column] == near(report["expert"], errors[column])
    assert printed["difference"] == [near(wins[1].mean() - wins[0].mean(), np.hypot(*errors))]


def test_what_is_no_move_is_told_apart(tmp_path, capsys):
    def answer(prompt):
        row, number = rows[prompt]
        own = f"Move: {[*row['winning_moves'], 'A 1'][0]}"
        return [(own, "max_tokens"), (own, "content_filter"), "I give up.", "Move: Z 9", own][number % 5]

    rows = {row["prompt"]: (row, number) for number, row in enumerate(text.questions(RULES))}
    location, metrics = run(nim("1-3-5"), mock(answer), tmp_path, temperature=0)
    kinds = np.arange(len(POSITIONS)) % 5
    expected = {name: (kinds == kind).mean() for kind, name in enumerate(("cut", "refused", "no_move", "illegal"))}
    expected["winning"] = (kinds[IS_WON] == 4).mean()  # lost positions do not count as not won
    assert metrics == pytest.approx(expected)
    printed = figures(capsys, location)
    for name, share in expected.items():
        assert printed[name] == [near(share)]  # at temperature 0 without an interval


def test_samples_of_a_large_board_have_wilson_intervals_and_paired_differences(tmp_path, capsys):
    rules = NimRules((30,) * 20, max_take=5)
    logs, wins = [], []
    for style, period in (("nim", 3), ("numbers", 4)):
        rows = text.winning_questions(rules, 40, style, seed=5)
        wins.append(np.arange(40) % period > 0)
        answers = {
            row["prompt"]: f"Move: {row['winning_moves'][0]}" if wins_it else "I do not know."
            for row, wins_it in zip(rows, wins[-1], strict=True)
        }
        task = nim("-".join(["30"] * 20), max_take=5, style=style, number=40, seed=5)
        logs.append(run(task, mock(answers.__getitem__), tmp_path)[0])
    printed = figures(capsys, *logs)
    for figure, won in zip(printed["winning"], wins, strict=True):
        assert figure == near(won.mean(), *evaluation.MatchResult(won.sum(), 40).interval())
    difference = wins[1].astype(int) - wins[0]
    assert printed["difference"] == [near(difference.mean(), 1.96 * np.std(difference, ddof=1) / np.sqrt(40))]


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
        ((400, "refused", {}), "missing"),
        ({"message": None}, "missing"),
    ],
)
def test_a_fault_of_a_server_changes_nothing_or_is_counted(fault, counted, tmp_path, capsys):
    requests = count()
    with serve(lambda _: fault if next(requests) == 5 else "Move: C 2") as url:
        model = get_model("openai-api/local/player", base_url=url, api_key="none")
        location, _ = run(nim("1-2-3"), model, tmp_path, fail_on_error=False)
    printed = figures(capsys, location)
    for name in ("no_move", "cut", "refused", "missing"):
        assert printed[name] == [near((name == counted) / 23)]


def test_logs_that_do_not_fit_are_refused(tmp_path):
    model = mock(lambda _: "Move: A 1")
    other, _ = run(Task(dataset=[Sample(input="A?", target="B")], name="other"), model, tmp_path)
    logs = [run(nim(*args), model, tmp_path)[0] for args in (("1-2",), ("1-3",), ("1-3", None, True, "nim", 5))]
    with pytest.raises(ValueError, match="other"):
        main([logs[0], other])
    for pair in (logs[:2], logs[1:]):
        with pytest.raises(ValueError, match="positions"):
            main(pair)
    with pytest.raises(Exception, match="position"):
        nim("1")
