"""Tests Nim in words: prompts that explain the game, answers, rewards, and the player made of answers."""

import json
import re

import numpy as np
import pytest
from answer_forms import NO_MOVE, READ, filled
from brute_force import mover_wins, moves
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import few_examples
from strategies import rules as any_rules
from table_policies import random_table

from nim_env import NimRules, evaluation, text, theory
from nim_env.rules import heap_name

RULES = NimRules((1, 2, 3))
POSITIONS = RULES.all_positions()[1:]
STYLES = ["nim", "rules", "numbers"]


def reader(prompt):
    """Answers a prompt like a human who knows only Nim and the prompt, by trying all lines of play."""
    sizes = dict(re.findall(r"\b([A-Z]): (\d+)\b", prompt))
    limit = re.search(r"at most (\d+) in a turn", prompt)
    max_take = None if limit is None else int(limit[1])
    if "We play Nim" in prompt:
        misere = {"misère": True, "normal": False}[re.search(r", (\w+) play\b", prompt)[1]]
    else:
        assert re.search("player takes one or more objects from a single heap|makes one number smaller", prompt)
        last = r"(?:player who takes the last object of all|Who makes all numbers 0) (\w+)\."
        misere = {"loses": True, "wins": False}[re.search(last, prompt)[1]]
    label = re.search(r'End your answer with a line of the form "(\w+): X N", which takes N from X', prompt)[1]
    answer = ""
    for (heap, count), after in moves(tuple(map(int, sizes.values())), max_take):
        if not answer or not mover_wins(tuple(sorted(after)), max_take, misere):
            answer = f"{label}: {list(sizes)[heap]} {count}"
    return answer


@pytest.mark.parametrize("style", STYLES)
@few_examples
@given(any_rules)
def test_who_plays_by_what_the_prompt_says_plays_perfectly(style, rules):
    assume(theory.is_winning(rules, rules.all_positions()[1:]).any())
    answers = [(row["heaps"], reader(row["prompt"])) for row in text.questions(rules, style)]
    mastery = evaluation.mastery(rules, text.policy_of_answers(rules, answers))
    assert mastery.expert == 1
    assert mastery.champion


@pytest.mark.parametrize("style", STYLES)
def test_a_style_keeps_its_words_and_its_form_is_no_move(style):
    prompt = text.describe(RULES, (1, 2, 3), style)
    assert ("Nim" in prompt) == (style == "nim")
    assert ("heap" in prompt) == (style != "numbers")
    form = re.search('"(.*)"', prompt)[1]
    assert text.parse_move(form) is None


@few_examples
@given(st.integers(0, 25), st.integers(0, 10**18 - 1), st.booleans())
def test_the_last_line_is_read_in_any_form_and_nothing_else(heap, count, is_small):
    name = heap_name(heap).lower() if is_small else heap_name(heap)
    for form in READ:
        assert text.parse_move(filled(form, name, count)) == (heap, count), form
    for form in NO_MOVE:
        assert text.parse_move(filled(form, name, count)) is None, form


@pytest.mark.parametrize(
    "answer", ["\0", "\n" * 10**5, "*" * 10**6, "Move: " + "B" * 10**6, "Move: B " + "9" * 10**6]
)
def test_long_nonsense_is_no_move(answer):
    assert text.parse_move(answer) is None


@given(st.sampled_from(POSITIONS.tolist()), st.integers(0, 3), st.integers(0, 4), st.booleans())
def test_verdicts_and_rewards(heaps, heap, count, is_chat):
    answer = f"Move: {heap_name(heap)} {count}"
    after = dict(moves(tuple(heaps), None)).get((heap, count))
    if after is None:
        verdict, reward = "illegal", -1.0
    elif not mover_wins(tuple(sorted(heaps)), None, True):
        verdict, reward = "lost", 0.0
    elif mover_wins(tuple(sorted(after)), None, True):
        verdict, reward = "mistake", 0.0
    else:
        verdict, reward = "winning", 1.0
    assert text.judge(RULES, heaps, answer) == verdict
    completion = [{"role": "user", "content": "Hi"}, {"content": answer}] if is_chat else answer
    assert text.move_reward(RULES)([completion, "A 1"], heaps=[heaps] * 2, prompts=None) == [reward, -1.0]


@few_examples
@given(any_rules)
def test_every_position_is_a_row(rules):
    assume(theory.is_winning(rules, rules.all_positions()[1:]).any())
    rows = text.questions(rules, "rules")
    assert json.loads(json.dumps(rows)) == rows
    assert [row["heaps"] for row in rows] == rules.all_positions()[1:].tolist()
    for row in rows:
        assert row["prompt"] == text.describe(rules, row["heaps"], "rules")
        verdicts = [text.judge(rules, row["heaps"], f"Move: {move}") for move in row["winning_moves"]]
        assert verdicts == ["winning"] * sum(theory.winning_action_mask(rules, row["heaps"]))
        assert row["won"] == bool(verdicts)


def test_sampled_rows_are_the_positions_of_sampled_mastery():
    rules = NimRules((30,) * 20, max_take=5)
    rows = text.winning_questions(rules, 50, seed=3)
    heaps = np.array([row["heaps"] for row in rows])
    np.testing.assert_array_equal(heaps, evaluation.sampled_mastery(rules, "random", 50, seed=3).positions)
    assert all(row["won"] for row in rows)


def test_the_player_of_answers_plays_each_as_often_as_it_was_given():
    table = np.floor(random_table(RULES, 2).probabilities * 10).astype(int)
    answers = []
    for heaps, row in zip(POSITIONS, table[1:], strict=True):
        for (heap, count), number in zip(RULES.moves, row, strict=True):
            answers += [(heaps, f"Move: {heap_name(heap)} {count}")] * number
        answers += [(heaps, "Move: Z 9"), (heaps, "")] * (10 - row.sum())
    counts = table[1:].sum(axis=1, keepdims=True)
    expected = table[1:] / (counts + 2 * (10 - counts))
    np.testing.assert_array_equal(text.policy_of_answers(RULES, answers).probabilities[1:], expected)
    silent = evaluation.report(RULES, text.policy_of_answers(RULES, []), illegal_action="lose")
    assert (silent.expert, silent.illegal_probability, silent.exploitability) == (0, 1, 1)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="style must be"):
        text.describe(RULES, (1, 2, 3), "poem")
    with pytest.raises(ValueError, match="26 heaps"):
        text.describe(NimRules((1,) * 27), (1,) * 27)
    with pytest.raises(ValueError, match="Nim 1, misère play has no winning position"):
        text.questions(NimRules((1,)))
    for answer in (None, 3, b"Move: A 1"):
        with pytest.raises(TypeError, match="answer"):
            text.judge(RULES, (1, 2, 3), answer)
