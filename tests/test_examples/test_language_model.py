"""language_model.py: servers of known players and their faults, and the tiny model."""

import itertools
import json
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

from nim_env import NimRules, evaluation, text, theory
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
SOON = {"retry-after-ms": "1"}


def line(prompt):
    """The move of the known player, in the form that the prompt asks for."""
    heap, count = MOVES[prompt]
    return f"Move: {heap_name(heap)} {count}"


def as_json(prompt):
    heap, count = MOVES[prompt]
    return json.dumps({"heap": heap_name(heap), "count": count})


def message(content, finish_reason="stop", **fields):
    return {"message": {"role": "assistant", "content": content, **fields}, "finish_reason": finish_reason}


READ = {  # ways of answering with the player's move; test_text.py has those of the form
    "plain": line,
    "thought apart": lambda prompt: message(line(prompt), reasoning_content="Move: A 1"),
    "parts": lambda prompt: message([{"type": "text", "text": part} for part in line(prompt).partition(": ")]),
    "JSON": as_json,
}
NOT_READ = {
    "cut thought": lambda prompt: f"<think>{line(prompt)}",
    "thought alone": lambda prompt: message("", reasoning_content=line(prompt)),
    "null": lambda _: message(None),
    "cut number": lambda prompt: message(line(prompt), "length"),
}


@pytest.fixture
def args(tmp_path, monkeypatch):
    monkeypatch.setattr(language_model, "show_report", lambda *_: None)  # test_common.py draws
    return Args(model="player", folder=tmp_path)


@pytest.fixture
def one_thread(monkeypatch):
    monkeypatch.setattr(language_model, "CONCURRENCY", 1)


@pytest.fixture
def waits(monkeypatch):
    """The seconds for which requests wait, in which no time passes."""
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    return waits


def share_of(name, output):
    return float(re.search(rf"^{name} +([0-9.]+) %", output, re.MULTILINE)[1])


@pytest.mark.parametrize("way", READ)
def test_the_figures_are_those_of_the_player_in_every_way_of_answering(way, args, capsys):
    with serve(READ[way]) as url:
        assert main(replace(args, server=url, json=way == "JSON")) == {"nim": EXPECTED}
    output = capsys.readouterr().out
    assert share_of("no_move", output) == share_of("illegal", output) == 0
    expert = pytest.approx(100 * EXPECTED.expert, abs=0.1)
    assert share_of("winning", output) == share_of("expert", output) == expert


@pytest.mark.parametrize("way", NOT_READ)
def test_an_answer_without_the_form_is_no_move(way, args, capsys):
    with serve(NOT_READ[way]) as url:
        report = main(replace(args, server=url))["nim"]
    output = capsys.readouterr().out
    assert share_of("no_move", output) == 100
    assert ("23 thoughts" in output) == ("thought" in way)
    assert ("23 cut off" in output) == (way == "cut number")
    assert report.expert == report.win_probability_random == 0
    assert report.illegal_action == report.exploitability == 1


def test_the_three_shares_and_the_worst_answers_tell_apart_what_fails(args, capsys):
    def answer(prompt):
        number = list(MOVES).index(prompt)
        return {3: "I do not know.", 5: "Move: Z 99", 7: "Move: C 0"}.get(number, line(prompt))

    with serve(answer) as url:
        main(replace(args, server=url))
    output = capsys.readouterr().out
    assert share_of("no_move", output) == pytest.approx(100 / 23, abs=0.1)
    assert share_of("illegal", output) == pytest.approx(200 / 23, abs=0.1)
    worst = [row for row in output.splitlines() if row.startswith("(")]
    assert [str(tuple(POSITIONS[number].tolist())) in row for number, row in zip((3, 5, 7), worst, strict=True)]
    assert "I do not know." in worst[0]
    assert "Z 99" in worst[1]


@pytest.mark.parametrize("samples", [1, 3])
def test_each_position_has_its_number_of_answers_at_temperature_0(samples, args):
    requests = []
    with serve(line, requests=requests) as url:
        assert main(replace(args, server=url, samples=samples)) == {"nim": EXPECTED}
    assert len(requests) == samples * len(POSITIONS)
    assert all(request["temperature"] == 0 for request in requests)


# --- the faults of servers


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("every", "fault"),
    [
        (3, (503, "", SOON)),
        (3, (429, "", SOON)),
        (12, (200, "<html>Busy</html>")),
        (5, message(None, "error")),
        (5, (200, '{"choices": []}', {"Content-Type": "application/json"})),
        (5, (200, '{"choices": ', {"Content-Type": "application/json"})),
    ],
)
def test_a_server_that_fails_now_and_then_changes_nothing(every, fault, args):
    requests = itertools.count()
    with serve(lambda prompt: fault if next(requests) in range(2, 23, every) else line(prompt)) as url:
        assert main(replace(args, server=url)) == {"nim": EXPECTED}


@pytest.mark.usefixtures("one_thread")
def test_a_limit_of_ten_requests_in_ten_seconds_changes_nothing(args, waits):
    times = []

    def answer(prompt):
        now = sum(waits)
        if sum(now - then < 10 for then in times) == 10:
            return 429, ""
        times.append(now)
        return line(prompt)

    with serve(answer) as url:
        assert main(replace(args, server=url)) == {"nim": EXPECTED}
    assert waits


@pytest.mark.parametrize(("status", "headers"), [(400, {}), (500, {}), (500, {"Retry-After": "7"})])
def test_a_position_without_an_answer_is_named_and_the_rest_kept(status, headers, args, capsys, waits):
    refused, requests = text.describe(RULES, (1, 0, 2)), []
    answer = {refused: (status, "", headers)}
    with (
        serve(lambda prompt: answer.get(prompt) or line(prompt), requests=requests) as url,
        pytest.raises(OSError, match=r"1 positions: \[\(1, 0, 2\)\]"),
    ):
        main(replace(args, server=url))
    assert share_of("expert", capsys.readouterr().out) > 0
    assert requests[0].keys() == requests[-1].keys()  # the refusal names no parameter
    if status == 500:
        assert set(waits) == {7} if headers else sum(waits) > 2 * 10  # at both tries
    asked = []
    with serve(lambda prompt: asked.append(prompt) or line(prompt)) as other:
        with pytest.raises(ValueError, match="answers of"):
            main(replace(args, server=other))
        [path] = args.folder.glob("*.jsonl")
        path.write_text(path.read_text(encoding="utf-8").replace(url, other), encoding="utf-8")
        assert main(replace(args, server=other)) == {"nim": EXPECTED}
    assert asked == [refused]


@pytest.mark.parametrize("refuses", [{"max_completion_tokens"}, {"response_format", "temperature"}])
def test_parameters_that_the_server_refuses_are_left_out_with_one_warning(refuses, args, capsys):
    requests = []
    with serve(line, refuses=refuses, requests=requests) as url:
        assert main(replace(args, server=url, json=True)) == {"nim": EXPECTED}
    assert sorted(re.findall(r"refuses (\w+)", capsys.readouterr().out)) == sorted(refuses)
    assert len(requests) <= len(POSITIONS) + language_model.CONCURRENCY * len(refuses)
    assert {"max_completion_tokens", "response_format", "temperature"} - requests[-1].keys() == refuses


def test_a_server_that_is_not_there_is_an_error(args, waits):
    with serve(line) as url:
        pass
    with pytest.raises(OSError, match=url):
        main(replace(args, server=url))
    assert waits


# --- styles, boards of a seed, and whole games


def test_the_styles_are_compared_on_the_same_positions(args):
    def recalls(prompt):
        heaps = [int(size) for size in re.findall(r"[A-C]: (\d)", prompt)]
        legal, winning = RULES.action_mask(heaps), theory.winning_action_mask(RULES, heaps)
        heap, count = RULES.moves[(winning if "Nim" in prompt and winning.any() else legal).argmax()]
        return f"{'Change' if 'Change' in prompt else 'Move'}: {heap_name(heap)} {count}"

    with serve(recalls) as url:
        reports = main(replace(args, server=url, style="all"))
    first = evaluation.report(RULES, lambda _, mask: mask.argmax())
    assert [report.expert for report in reports.values()] == [1, first.expert, first.expert]
    assert reports["rules"] == reports["numbers"] == first
    picture = (args.folder / "styles.svg").read_text(encoding="utf-8")
    assert all(f">{style}<" in picture for style in reports)


def test_a_board_is_that_of_its_seed(args, capsys):
    boards = []
    with serve(lambda _: "Move: A 1") as url:
        for seed in (0, 1, 2, 2):
            main(replace(args, server=url, heaps=(2, 1, 5), board_seed=seed))
            boards.append(re.search(r"Nim (\d)-1-(\d)", capsys.readouterr().out).groups())
    assert boards[2] == boards[3]
    assert len(set(boards)) > 1
    assert all("1" <= first <= "2" and "1" <= last <= "5" for first, last in boards)


def test_whole_games_of_a_player_without_memory_are_won_as_often_as_expected(args, capsys):
    requests = []
    with serve(line, requests=requests) as url:
        main(replace(args, server=url, games=100))
    output = capsys.readouterr().out
    for opponent in ("random", "take-3", "expert"):
        n_won = int(re.search(rf"against {opponent}: .*?(\d+) of 100", output)[1])
        low, high = evaluation.MatchResult(n_won, 100).interval(0.999)
        assert low <= evaluation.win_probability(RULES, PLAYER, opponent) <= high
    chats = [request["messages"] for request in requests]
    assert max(map(len, chats)) >= 3
    for chat in chats:  # the earlier turns of the game, with ever fewer objects
        assert [turn["role"] for turn in chat] == (["user", "assistant"] * len(chat))[: len(chat)]
        contents = [turn["content"] for turn in chat]
        assert contents[1::2] == [line(prompt) for prompt in contents[:-1:2]]
        sizes = [sum(map(int, re.findall(r"[A-C]: (\d)", prompt))) for prompt in contents[::2]]
        assert sizes == sorted(set(sizes), reverse=True)


def test_whole_games_without_a_server_are_refused(args):
    with pytest.raises(ValueError, match="games"):
        main(replace(args, games=1))


# --- models that run here


def test_the_tiny_model_learns_by_exact_rewards(args, capsys, monkeypatch):
    monkeypatch.setattr(local_models, "IMITATION_STEPS", 100)
    report = main(replace(args, model="tiny", max_steps=10))["nim"]
    curve = [float(value) for value in re.findall(r"expert mastery ([0-9.]+) %", capsys.readouterr().out)]
    assert len(curve) == 10
    assert curve[-1] == pytest.approx(100 * report.expert, abs=0.06)
    assert curve[-1] > 100 * evaluation.mastery(RULES, "random").expert + 5
    assert report.illegal_action == 0
    folder = str(args.folder / "tiny")
    assert main(replace(args, model=folder, max_tokens=local_models.TINY_TOKENS)) == {"nim": report}
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
