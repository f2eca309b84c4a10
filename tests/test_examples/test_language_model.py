"""language_model.py: servers of a known player, and the tiny model."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("trl", reason='needs pip install -e ".[llm]"')

import language_model
import transformers
from chat_server import serve
from language_model import Args, main
from table_policies import random_table

from nim_env import NimRules, evaluation, text
from nim_env.appearance import heap_name

import local_models

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of trl

RULES = NimRules((1, 2, 3))
POSITIONS = RULES.all_positions()[1:]
PLAYER = random_table(RULES, 1, deterministic=True)
EXPECTED = evaluation.report(RULES, PLAYER)
MOVES = {
    text.describe(RULES, heaps): RULES.moves[row.argmax()]
    for heaps, row in zip(POSITIONS, PLAYER.probabilities[1:], strict=True)
}


def line(prompt):
    """The move of the known player, in the form that the prompt asks for."""
    heap, count = MOVES[prompt]
    return f"Move: {heap_name(heap)} {count}"


@pytest.fixture
def args(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model, "show_report", lambda *_: None)  # test_common.py draws
    return Args(model="player", folder=tmp_path)


def share_of(name, output):
    return float(re.search(rf"^{name} +([0-9.]+) %", output, re.MULTILINE)[1])


@pytest.mark.parametrize("samples", [1, 3])
def test_the_figures_are_those_of_the_player(samples, args, capsys):
    requests = []
    with serve(line, requests=requests) as url:
        assert main(replace(args, server=url, samples=samples)) == EXPECTED
    output = capsys.readouterr().out
    assert share_of("no_move", output) == share_of("illegal", output) == 0
    assert (
        share_of("winning", output) == share_of("expert", output) == pytest.approx(100 * EXPECTED.expert, abs=0.1)
    )
    assert len(requests) == samples * len(POSITIONS)
    assert all(request["temperature"] == 0 for request in requests)


@pytest.mark.parametrize(("content", "finish_reason"), [(None, "stop"), ("Move: A 1", "length")])
def test_an_answer_without_a_whole_move_loses(content, finish_reason, args, capsys):
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}
    with serve(lambda _: choice) as url:
        report = main(replace(args, server=url))
    output = capsys.readouterr().out
    assert share_of("no_move", output) == 100
    assert ("23 cut off" in output) == (finish_reason == "length")
    assert report.expert == report.win_probability_random == 0
    assert report.illegal_action == report.exploitability == 1


def test_the_three_shares_and_the_examples_tell_apart_what_fails(args, capsys):
    def answer(prompt):
        number = list(MOVES).index(prompt)
        return {3: "I do not know.", 5: "Move: Z 99", 7: "Move: C 0"}.get(number, line(prompt))

    with serve(answer) as url:
        main(replace(args, server=url))
    output = capsys.readouterr().out
    assert share_of("no_move", output) == pytest.approx(100 / 23, abs=0.1)
    assert share_of("illegal", output) == pytest.approx(200 / 23, abs=0.1)
    assert f"no_move at {tuple(POSITIONS[3].tolist())}: 'I do not know.'" in output
    assert f"illegal at {tuple(POSITIONS[7].tolist())}: 'Move: C 0'" in output


@pytest.mark.parametrize("fault", [(401, ""), (200, "<html>Busy</html>"), (200, '{"choices": []}')])
def test_after_a_failure_the_same_command_asks_only_for_the_rest(fault, args, monkeypatch):
    monkeypatch.setattr(language_model, "CONCURRENCY", 1)
    requests = itertools.count()
    answered = []

    def answer(prompt):
        if next(requests) == 10:
            return fault
        answered.append(prompt)
        return line(prompt)

    with serve(answer) as url:
        with pytest.raises(OSError, match=url):
            main(replace(args, server=url))
        assert main(replace(args, server=url)) == EXPECTED
    assert set(answered) == set(MOVES)
    assert all(answered.count(prompt) == 1 for prompt in answered[:10])


def test_the_tiny_model_learns_by_exact_rewards(args, capsys, monkeypatch):
    monkeypatch.setattr(local_models, "IMITATION_STEPS", 100)
    report = main(replace(args, model="tiny", max_steps=10))
    curve = [float(value) for value in re.findall(r"expert mastery ([0-9.]+) %", capsys.readouterr().out)]
    assert len(curve) == 10
    assert curve[-1] == pytest.approx(100 * report.expert, abs=0.06)
    assert curve[-1] > 100 * evaluation.mastery(RULES, "random").expert + 5
    assert report.illegal_action == 0
    folder = str(args.folder / "tiny")
    assert main(replace(args, model=folder, max_tokens=local_models.TINY_TOKENS)) == report
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="right")  # as most have it
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    complete = local_models.answers_of(model, tokenizer, local_models.TINY_TOKENS)
    pair = [text.describe(NimRules((3,)), (3,)), text.describe(RULES, (1, 2, 3))]
    assert list(complete(pair)) == [*complete(pair[:1]), *complete(pair[1:])]


def test_the_code_of_the_page_trains_a_model(tmp_path):
    model, tokenizer = local_models.make_tiny(RULES)
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    page = (Path(__file__).parents[2] / "docs" / "language_models.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    for old, new in (
        ("Qwen/Qwen3-0.6B", str(tmp_path / "model")),
        ("=512", "=4"),
        ("=100", "=1, use_cpu=True, bf16=False"),
    ):
        assert code.count(old) == 1
        code = code.replace(old, new)
    exec(compile(code, "language_models.md", "exec"), {"__name__": "__main__"})
    assert (tmp_path / "trained" / "model.safetensors").exists()
