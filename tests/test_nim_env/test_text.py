"""Nim in words: prompts and answers, rewards, and a language model as a player."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import few_examples, seeds
from strategies import rules as any_rules
from table_policies import random_table

from nim_env import NimRules, TabularPolicy, evaluation, text, theory
from nim_env.appearance import heap_name

RULES = NimRules((1, 2, 3))
POSITIONS = RULES.all_positions()[1:]
STYLES = ["nim", "rules", "numbers"]
MARKUPS = [
    "{noun}: {name} {count}",
    "**{noun}: {name} {count}**",
    "**{noun}:** {name} {count}",
    "{noun}: **{name}** `{count}`",
    "> ### {noun}: _{name} {count}_\r\n",
    "- `{noun}: {name} {count}`",
    "```text\n{noun}: {name} {count}\n```",
    "{noun}: ${name}\\ {count}$",
    "$$\\boxed{{\\text{{{noun}: }} {name}\\ {count}}}$$",
    "\\[ \\textbf{{{noun}: {name} {count}}} \\]",
    "<think>\n{noun}: A 1\nNo.</think>{noun}: {name} {count}",
    "{noun}: A 1\nNo, better:\n{noun}: {name} {count}\nThat leaves an XOR of 0. Move on.",
]
NEARLY = [  # the form, but for one thing
    "{name} {count}",
    "I move: {name} {count}",
    "Move {name} {count}",
    "Move: {name}{count}",
    "Move: {name}: {count}",
    "Move: {name} -{count}",
    "Move: {name} {count}.5",
    "Move: {name} {count},000",
    "Move: {name}_{count}",
    "Move: {name} {count}.",
    "Move: {name} {count} (so that XOR 0 is left)",
    "Move: take {name} {count}",
    "Move: {count} {name}",
    "Move: {name} {count} or A 1",
    "Move: {name} {count}\nMove: I do not know",
    '{{"heap": "{name}", "count": {count}}}',
    "<think>\nMove: {name} {count}",
    "<think></think><think>\nMove: {name} {count}",
    "Move: {name} {count}\n</think>",
]


def speaker(policy, samples=1):
    """A complete function that answers as a policy does, by the prompts of its positions in all styles."""
    positions = {text.describe(policy.rules, heaps, style): heaps for heaps in POSITIONS for style in STYLES}
    asked = []

    def complete(prompts):
        for prompt in prompts:
            heaps = positions[prompt]
            row = policy.action_probabilities(heaps)
            actions = np.repeat(np.arange(len(row) + 1), [*(row * samples).astype(int), samples])
            action = actions[asked.count(prompt)]
            asked.append(prompt)
            if action == len(row):
                yield prompt, "I do not know."
            else:
                heap, count = policy.rules.moves[action]
                noun = "Change" if "numbers" in prompt else "Move"
                yield prompt, f"{noun}: {heap_name(heap)} {count}"

    complete.asked = asked
    return complete


@given(
    st.integers(0, 10**4 - 1), st.integers(0, 10**18 - 1), st.sampled_from(MARKUPS), st.booleans(), st.booleans()
)
def test_the_form_is_read_in_any_markup(heap, count, markup, is_change, is_small):
    name = heap_name(heap).lower() if is_small else heap_name(heap)
    answer = markup.format(noun="Change" if is_change else "Move", name=name, count=count)
    assert text.parse_move(f"I think:\n{answer}") == (heap, count)


@given(st.integers(0, 99), st.integers(0, 99), st.sampled_from(NEARLY))
def test_nothing_else_is_a_move(heap, count, nearly):
    assert text.parse_move(nearly.format(name=heap_name(heap), count=count)) is None


@pytest.mark.parametrize(
    "answer", ["\0", "\n" * 10**6, "*" * 10**6, "Move: " + "B" * 10**6, "Move: B " + "9" * 10**6]
)
def test_long_nonsense_is_no_move(answer):
    assert text.parse_move(answer) is None


@pytest.mark.parametrize("style", STYLES)
@few_examples
@given(any_rules, seeds)
def test_prompts_tell_positions_and_rules_apart(style, rules, seed):
    drawn = np.random.default_rng(seed).integers(rules.shape, size=(9, rules.n_heaps))
    positions = set(map(tuple, drawn.tolist()))
    games = {rules, replace(rules, misere=not rules.misere), replace(rules, max_take=3)}
    prompts = {text.describe(game, heaps, style) for game in games for heaps in positions}
    assert len(prompts) == len(games) * len(positions)
    assert all(("Nim" in prompt) == (style == "nim") for prompt in prompts)
    assert all(("heap" in prompt) == (style != "numbers") for prompt in prompts)


@given(st.sampled_from(POSITIONS.tolist()), st.integers(0, 3), st.integers(0, 4), st.booleans())
def test_verdicts_and_rewards(heaps, heap, count, is_chat):
    answer = f"Move: {heap_name(heap)} {count}"
    if (heap, count) not in RULES.legal_moves(heaps):
        verdict, reward = "illegal", -1.0
    elif not theory.is_winning(RULES, heaps):
        verdict, reward = "lost", 0.0
    elif theory.is_winning(RULES, RULES.apply(heaps, RULES.action(heap, count))):
        verdict, reward = "mistake", 0.0
    else:
        verdict, reward = "winning", 1.0
    assert text.judge(RULES, heaps, answer) == verdict
    completion = [{"role": "user", "content": "Hi"}, {"content": answer}] if is_chat else answer
    assert text.move_reward(RULES)([completion] * 2, heaps=[heaps] * 2, prompts=None) == [reward] * 2


@pytest.mark.parametrize(
    "content", ["", "A 1", "<think>Move: A 1", None, [], [{"type": "text", "text": "Move: A 1"}]]
)
def test_the_reward_of_what_is_no_text_with_a_move(content):
    completions = [content, [{"role": "assistant", "content": content}]]
    assert text.move_reward(RULES)(completions, heaps=[(1, 0, 0)] * 2) == [-1.0, -1.0]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("illegal", [False, True])
def test_a_model_has_the_exact_figures_of_the_player_whose_answers_it_gives(style, illegal):
    table = random_table(RULES, 1, deterministic=True, illegal=illegal).probabilities
    policy = TabularPolicy(RULES, table == 1)  # one action, or no move
    complete = speaker(policy)
    model = text.LanguageModelPolicy(RULES, complete, style=style)
    found = evaluation.report(RULES, model, illegal_action="lose")
    assert found == evaluation.report(RULES, policy, illegal_action="lose")
    assert (found.illegal_action > 0) == illegal
    assert len(set(complete.asked)) == len(complete.asked) == len(POSITIONS)
    judged = model.judged_answers()
    assert [heaps for heaps, _, _ in judged] == [tuple(heaps) for heaps in POSITIONS.tolist()]
    verdicts = Counter(verdict for _, _, verdict in judged)
    assert verdicts["winning"] == pytest.approx(found.expert * theory.is_winning(RULES, POSITIONS).sum())
    assert verdicts["no_move"] + verdicts["illegal"] == pytest.approx(found.illegal_action * len(POSITIONS))
    assert verdicts["no_move"] == sum(answer == "I do not know." for _, answer, _ in judged)


def test_probabilities_are_frequencies():
    policy = TabularPolicy(RULES, np.floor(random_table(RULES, 2).probabilities * 10) / 10)
    model = text.LanguageModelPolicy(RULES, speaker(policy, samples=10), samples=10)
    np.testing.assert_array_equal(
        model.action_probabilities(POSITIONS, RULES.action_mask(POSITIONS)), policy.probabilities[1:]
    )


def test_only_as_many_answers_as_samples_count(tmp_path):
    path = tmp_path / "answers.jsonl"
    mask = RULES.action_mask(POSITIONS)
    both = text.LanguageModelPolicy(RULES, speaker(random_table(RULES, 4), samples=10), samples=10, path=path)
    both.action_probabilities(POSITIONS, mask)
    first = text.LanguageModelPolicy(RULES, speaker(random_table(RULES, 5)), path=path)
    chosen = [text.parse_move(answers[0]) for answers in both.answers.values()]
    expected = [[move == action for action in RULES.moves] for move in chosen]  # none where it is None
    np.testing.assert_array_equal(first.action_probabilities(POSITIONS, mask), expected)


def test_an_interrupted_run_loses_nothing_and_asks_nothing_twice(tmp_path):
    policy = random_table(RULES, 3, deterministic=True)
    complete = speaker(policy)

    def interrupted(prompts):
        yield from complete(prompts[::-4])  # in any order
        raise KeyboardInterrupt

    path = tmp_path / "answers.jsonl"
    with pytest.raises(KeyboardInterrupt):
        evaluation.mastery(RULES, text.LanguageModelPolicy(RULES, interrupted, path=path))
    for _ in range(2):
        found = evaluation.mastery(RULES, text.LanguageModelPolicy(RULES, complete, path=path))
        assert found.expert == evaluation.mastery(RULES, policy).expert
        assert len(complete.asked) == len(set(complete.asked)) == len(POSITIONS)


def test_a_position_without_an_answer_loses_and_is_asked_again():
    policy = random_table(RULES, 6, deterministic=True)
    complete = speaker(policy)
    model = text.LanguageModelPolicy(RULES, lambda prompts: complete(prompts[1:]))
    report = evaluation.report(RULES, model, illegal_action="lose")
    assert report.illegal_action == pytest.approx(1 / len(POSITIONS))
    assert len(model.judged_answers()) == len(POSITIONS) - 1
    model.complete = complete
    assert evaluation.mastery(RULES, model).expert == evaluation.mastery(RULES, policy).expert


@pytest.mark.parametrize("answer", [None, 3])
def test_an_answer_that_is_no_text_names_the_position_and_is_not_kept(answer, tmp_path):
    path = tmp_path / "answers.jsonl"
    model = text.LanguageModelPolicy(RULES, lambda prompts: [(prompts[0], answer)], path=path)
    with pytest.raises(TypeError, match="A: "):
        evaluation.mastery(RULES, model, illegal_action="lose")
    assert not path.exists()


def test_a_file_of_another_source_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    source = {"model": "a", "server": "b"}
    model = text.LanguageModelPolicy(RULES, speaker(random_table(RULES, 7)), path=path, source=source)
    evaluation.mastery(RULES, model, illegal_action="lose")
    first, *rest = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert first == source
    assert len(rest) == len(POSITIONS)
    text.LanguageModelPolicy(RULES, list, path=path, source=dict(source))
    for other in ({}, {"model": "a"}, {"model": "a", "server": "c"}):
        with pytest.raises(ValueError, match=r"answers\.jsonl"):
            text.LanguageModelPolicy(RULES, list, path=path, source=other)


def test_a_broken_line_of_the_file_is_named(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{}\n{"prompt":', encoding="utf-8")
    with pytest.raises(ValueError, match=r"answers\.jsonl, line 2"):
        text.LanguageModelPolicy(RULES, list, path=path)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="style must be"):
        text.describe(RULES, (1, 2, 3), "poem")
    with pytest.raises(ValueError, match="samples must be 1"):
        text.LanguageModelPolicy(RULES, list, samples=0)
