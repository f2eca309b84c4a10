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
from nim_env.appearance import heap_name
from nim_env.policies import MixturePolicy

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Inspect's own streams
RULES = NimRules((1, 3, 5))
POSITIONS = RULES.all_positions()[1:]
IS_WON = theory.is_winning(RULES, POSITIONS)


def mock(answer):
    """A model of Inspect that gives ``answer(prompt)``, a text or its text and stop reason."""

    def outputs(messages, *_):
        given = answer(messages[-1].text)
        output = ModelOutput.from_content("mockllm/player", *([given] if isinstance(given, str) else given))
        output.usage = ModelUsage()  # else its tokens are counted by a file from the network
        return output

    return get_model("mockllm/player", custom_outputs=outputs, memoize=False)


def run(task, model, folder, **options):
    [log] = evaluate(task, model=model, display="none", log_dir=str(folder), **options)
    gc.collect()  # Inspect leaves streams open, which warn while warnings are ignored
    metrics = {score.name: score.metrics["mean"].value for score in log.results.scores if score.metrics}
    return log.location, metrics


def table(capsys, *logs):
    """The printed figures of each log by their names."""
    capsys.readouterr()
    main(logs)
    rows = [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()]
    return {name: cells for name, *cells in rows if cells}


def numbers(cell):
    return [float(number) for number in re.findall(r"[+-]?[0-9.]+", cell)]


def near(expected):
    return pytest.approx(expected, abs=6e-4)


def test_the_figures_are_those_of_the_known_player_in_every_form(tmp_path, capsys):
    player = MixturePolicy(RULES, ["expert", "random"], weights=[0.7, 0.3])
    generator = np.random.default_rng(0)
    forms = cycle(READ)
    logs, wins = [], []
    for style in ("nim", "rules"):
        at = {row["prompt"]: row["heaps"] for row in text.positions(RULES, style)}
        moves = {prompt: [] for prompt in at}

        def answer(prompt, at=at, moves=moves):
            probabilities = player.action_probabilities(at[prompt], RULES.action_mask(at[prompt]))
            moves[prompt].append(generator.choice(len(probabilities), p=probabilities))
            heap, number = RULES.moves[moves[prompt][-1]]
            return filled(next(forms), heap_name(heap), number)

        location, metrics = run(nim("1-3-5", style=style), mock(answer), tmp_path, epochs=2)
        frequencies = np.zeros((RULES.n_positions, RULES.n_actions))
        for row, actions in enumerate(moves.values(), start=1):
            np.add.at(frequencies[row], actions, 1 / 2)
        report = evaluation.report(RULES, TabularPolicy(RULES, frequencies)).to_dict() | {"champion": 0.0}
        assert metrics["winning"] == pytest.approx(report["expert"])
        logs.append((location, report))
        winning = theory.winning_action_mask(RULES, POSITIONS)[IS_WON]
        asked = np.array(list(moves.values()))[IS_WON]
        wins.append(np.take_along_axis(winning, asked, axis=1))
    printed = table(capsys, *(location for location, _ in logs))
    errors = [np.sqrt((won.var(axis=1, ddof=1) / 2).sum()) / len(won) for won in wins]
    for column, (_, report) in enumerate(logs):
        assert {name: numbers(printed[name][column])[0] for name in report} == near(report)
        assert numbers(printed["winning"][column]) == near([report["expert"], 1.96 * errors[column]])
    [difference] = printed["difference"]
    assert numbers(difference) == near([wins[1].mean() - wins[0].mean(), 1.96 * np.hypot(*errors)])


def test_what_is_no_move_is_told_apart(tmp_path, capsys):
    def answer(prompt):
        row, number = rows[prompt]
        won_or_lost = (row["winning_moves"] or ["A 1"])[0]
        faults = [("Move: A 1", "max_tokens"), ("Move: A 1", "content_filter"), "I give up.", "Move: Z 9"]
        return [*faults, f"Move: {won_or_lost}"][number % 5]

    rows = {row["prompt"]: (row, number) for number, row in enumerate(text.positions(RULES))}
    location, metrics = run(nim("1-3-5"), mock(answer), tmp_path, temperature=0)
    kinds = np.arange(len(POSITIONS)) % 5
    expected = {name: (kinds == kind).mean() for kind, name in enumerate(("cut", "refused", "no_move", "illegal"))}
    expected["winning"] = (kinds[IS_WON] == 4).mean()
    assert metrics == pytest.approx(expected)  # lost positions do not count as not won
    printed = table(capsys, location)
    assert {name: numbers(printed[name][0]) for name in expected} == {
        name: near([share])
        for name, share in expected.items()  # at temperature 0 without an interval
    }


def test_samples_of_a_large_board_have_wilson_intervals_and_paired_differences(tmp_path, capsys):
    rules = NimRules((30,) * 20, max_take=5)
    logs, wins = [], []
    for style, period in (("nim", 3), ("numbers", 4)):
        rows = text.positions(rules, style, number=40, seed=5)
        answers = {
            row["prompt"]: f"Move: {row['winning_moves'][0]}" if number % period else "I do not know."
            for number, row in enumerate(rows)
        }
        task = nim("-".join(["30"] * 20), max_take=5, style=style, number=40, seed=5)
        logs.append(run(task, mock(answers.__getitem__), tmp_path)[0])
        wins.append(np.arange(40) % period > 0)
    printed = table(capsys, *logs)
    for cell, won in zip(printed["winning"], wins, strict=True):
        assert numbers(cell) == near([won.mean(), *evaluation.MatchResult(won.sum(), 40).interval()])
    difference = wins[1].astype(int) - wins[0]
    error = 1.96 * np.std(difference, ddof=1) / np.sqrt(40)
    assert numbers(printed["difference"][0]) == near([difference.mean(), error])


@pytest.mark.parametrize(
    ("fault", "counted"),
    [
        ((503, "", {"retry-after-ms": "1"}), None),
        ((429, "", {"retry-after-ms": "1"}), None),
        ({"message": {"role": "assistant", "content": "Move: C 2", "reasoning_content": "Move: A 1"}}, None),
        ({"message": {"role": "assistant", "content": "Move: C 2", "reasoning": "Move: A 1"}}, None),
        ({"message": {"role": "assistant", "content": "<think>Move: A 1</think>\nMove: C 2"}}, None),
        ({"message": {"role": "assistant", "content": None}}, "no_move"),
        ({"message": {"role": "assistant", "content": "", "reasoning_content": "Move: C 2"}}, "no_move"),
        ({"message": {"role": "assistant", "content": "Move: C 2"}, "finish_reason": "length"}, "cut"),
        ({"message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}, "refused"),
        ((400, "refused"), "missing"),
        ((200, '{"choices": []}', {"Content-Type": "application/json"}), "missing"),
        ({"message": None}, "missing"),
    ],
)
def test_a_fault_of_a_server_changes_nothing_or_is_counted(fault, counted, tmp_path, capsys):
    requests = count()
    with serve(lambda _: fault if next(requests) == 5 else "Move: C 2") as url:
        model = get_model("openai-api/local/player", base_url=url, api_key="none")
        location, _ = run(nim("1-2-3"), model, tmp_path, fail_on_error=False)
    printed = table(capsys, location)
    for name in ("no_move", "cut", "refused", "missing"):
        assert numbers(printed[name][0]) == near([(name == counted) / 23])


def test_logs_that_do_not_fit_are_refused(tmp_path):
    model = mock(lambda _: "Move: A 1")
    other, _ = run(Task(dataset=[Sample(input="A?", target="B")], name="other"), model, tmp_path)
    logs = [run(nim(*args), model, tmp_path)[0] for args in (("1-2",), ("1-3",), ("1-3", None, True, "nim", 5))]
    with pytest.raises(ValueError, match="other"):
        main([logs[0], other])
    for pair in (logs[:2], logs[1:]):
        with pytest.raises(ValueError, match="positions"):
            main(pair)
    with pytest.raises(ValueError, match="won position"):
        nim("1")
