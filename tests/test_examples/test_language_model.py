"""language_model.py: servers of known players, a model of a folder, and the tiny model."""

import itertools
import re
import signal
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("trl", reason='needs pip install -e ".[llm]"')

import numpy as np
import torch
from chat_server import serve
from language_model import Args, main

from nim_env import NimRules, evaluation, text
from nim_env.appearance import heap_name
from nim_env.policies import checked_policy

import local_models

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of trl

RULES = NimRules((1, 2, 3))
POSITIONS = RULES.all_positions()[1:]


@pytest.fixture
def args(tmp_path):
    return Args(model="player", folder=tmp_path)


def speaker(name):
    """The answers of a policy, in which each action of a position has its turn; and the policy that it plays."""
    table = checked_policy(name, RULES).action_probabilities(POSITIONS, RULES.action_mask(POSITIONS))
    first = np.eye(RULES.n_actions)[table.argmax(axis=1)]
    rows = {text.describe(RULES, heaps): row for heaps, row in zip(POSITIONS, first, strict=True)}

    def answer(prompt):
        heap, count = RULES.moves[rows[prompt].argmax()]
        return f"I think that **{heap_name(heap)}: {count}** is good."

    def play(heaps, _):
        return rows[text.describe(RULES, heaps)].argmax()

    return answer, play


@pytest.mark.parametrize("name", ["expert", "random", "take-3"])
def test_the_figures_of_a_player_are_the_same_through_a_server(name, args):
    answer, play = speaker(name)
    with serve(answer) as url:
        report = main(replace(args, server=url))
    assert report.to_dict() == pytest.approx(evaluation.report(RULES, play).to_dict())


def test_slow_servers_that_fail_and_recover_change_nothing(args):
    answer, play = speaker("random")
    requests = itertools.count()

    def unreliable(prompt):
        time.sleep(0.01)
        return 503 if next(requests) % 3 == 2 else answer(prompt)

    with serve(unreliable) as url:
        report = main(replace(args, server=url))
    assert report.to_dict() == pytest.approx(evaluation.report(RULES, play).to_dict())


@pytest.mark.parametrize("nonsense", ["", "I do not know.", "A" * 10**6, "\0\x1b[2J\n\x7f"])
def test_nonsense_loses_every_game(nonsense, args):
    with serve(lambda _: nonsense) as url:
        report = main(replace(args, server=url))
    assert report.expert == report.win_probability_random == 0
    assert report.illegal_action == report.exploitability == 1


@pytest.mark.parametrize("interrupt", ["error", "Ctrl-C"])
def test_an_interrupted_run_loses_no_answer_and_asks_only_for_the_rest(interrupt, args):
    answer, play = speaker("expert")
    asked, requests = Counter(), itertools.count()

    def interrupted(prompt):
        number = next(requests)
        asked[prompt] += 1
        if number < 10:
            return answer(prompt)
        time.sleep(0.1)  # the script waits for answers
        if number > 10:
            return answer(prompt)
        if interrupt == "Ctrl-C":
            signal.raise_signal(signal.SIGINT)
            return answer(prompt)
        asked[prompt] -= 1
        return 400

    with serve(interrupted) as url:
        with pytest.raises(KeyboardInterrupt if interrupt == "Ctrl-C" else OSError):
            main(replace(args, server=url))
        report = main(replace(args, server=url))
    assert report.to_dict() == pytest.approx(evaluation.report(RULES, play).to_dict())
    assert set(asked.values()) == {1}
    assert len(asked) == len(POSITIONS)


@pytest.mark.parametrize("page", ["<html></html>", {"choices": []}])
def test_a_server_without_answers_is_an_error_that_names_the_position(page, args):
    with serve(lambda _: page, whole=True) as url, pytest.raises(OSError, match="A: "):
        main(replace(args, server=url))


def test_the_tiny_model_learns_by_exact_rewards(args, capsys):
    report = main(replace(args, model="tiny", max_steps=10))
    curve = [float(value) for value in re.findall(r"expert mastery ([0-9.]+) %", capsys.readouterr().out)]
    assert len(curve) == 10
    assert curve[-1] == pytest.approx(100 * report.expert, abs=0.06)
    assert curve[-1] > 100 * evaluation.mastery(RULES, "random").expert + 5
    assert report.illegal_action == 0


def test_a_model_of_a_folder_plays_as_in_memory(args):
    torch.manual_seed(0)
    model, tokenizer = local_models.make_tiny(RULES)
    prompts = [text.describe(RULES, heaps) for heaps in POSITIONS]
    local_models.imitate_random_play(RULES, POSITIONS, prompts, model, tokenizer, seed=0)
    model.save_pretrained(args.folder / "model")
    tokenizer.save_pretrained(args.folder / "model")
    tokenizer.padding_side = "right"  # as most models of the hub have it
    complete = local_models.answers_of(model, tokenizer, max_tokens=3)
    pair = [text.describe(NimRules((3,)), (3,)), prompts[-1]]
    assert list(complete(pair)) == [*complete(pair[:1]), *complete(pair[1:])]
    player = text.LanguageModelPolicy(RULES, complete)
    report = main(replace(args, model=str(args.folder / "model"), max_tokens=3))
    assert report == evaluation.report(RULES, player, illegal_action="lose")
    assert 0 < report.expert < 1
    assert all(re.fullmatch("[A-C] [1-3]", answer) for [answer] in player.answers.values())


def test_the_code_of_the_page_trains_a_model(tmp_path):
    model, tokenizer = local_models.make_tiny(RULES)
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    page = (Path(__file__).parents[2] / "docs" / "language_models.md").read_text(encoding="utf-8")
    code = "".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    for old, new in (
        ("Qwen/Qwen3-0.6B", str(tmp_path / "model")),
        ("=512", "=3"),
        ("=100", "=1, use_cpu=True, bf16=False"),
    ):
        assert code.count(old) == 1
        code = code.replace(old, new)
    exec(compile(code, "language_models.md", "exec"), {"__name__": "__main__"})
    assert (tmp_path / "trained" / "model.safetensors").exists()
