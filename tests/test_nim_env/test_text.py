"""Nim in words: prompts and answers, rewards, and a language model as a player."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import few_examples, seeds
from strategies import rules as any_rules
from table_policies import random_table

from nim_env import NimRules, evaluation, text, theory
from nim_env.appearance import heap_name

RULES = NimRules((1, 2, 3))
POSITIONS = RULES.all_positions()[1:]
STYLES = ["nim", "rules", "numbers"]
PHRASES = [
    "{name} {count}",
    "**{name}: {count}**",
    "{count} from {name}",
    "I take **{count}** stones from pile `{name}`.",
    "$\\boxed{{\\text{{{name} }} {count}}}$",
    "First I thought of A 1, but then: make {name} smaller by {count}",
]


def speaker(policy, samples=1):
    """A complete function that answers as a policy does, by the prompts of its positions in all styles."""
    positions = {text.describe(policy.rules, heaps, style): heaps for heaps in POSITIONS for style in STYLES}
    asked = []

    def complete(prompts):
        for prompt in prompts:
            heaps = positions[prompt]
            row = policy.action_probabilities(heaps)
            action = np.repeat(np.arange(len(row) + 1), [*(row * samples).astype(int), samples])[
                asked.count(prompt)
            ]
            asked.append(prompt)
            if action == len(row):
                yield prompt, "I do not know."
            else:
                heap, count = policy.rules.moves[action]
                yield prompt, f"{heap_name(heap)} {count}"

    complete.asked = asked
    return complete


@given(any_rules, st.sampled_from(PHRASES), st.data())
def test_every_move_is_read_back(rules, phrase, data):
    action = data.draw(st.integers(0, rules.n_actions - 1))
    heap, count = rules.moves[action]
    assert text.parse_move(rules, phrase.format(name=heap_name(heap), count=count)) == action


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "B",
        "2",
        "B two",
        "b 2",
        "B 0",
        "B 4",
        "E 1",
        "AB 1",
        "B -1",
        "B 1.5",
        "1.5 from B",
        "B 1,000",
        "\0",
        "B" * 10**6,
    ],
)
def test_anything_else_is_no_move(answer):
    assert text.parse_move(RULES, answer) is None


@pytest.mark.parametrize("style", STYLES)
@few_examples
@given(any_rules, seeds)
def test_prompts_tell_positions_and_rules_apart(style, rules, seed):
    positions = {
        tuple(row)
        for row in np.random.default_rng(seed).integers(0, np.array(rules.heaps) + 1, (9, rules.n_heaps))
    }
    games = {
        rules,
        NimRules(rules.heaps, rules.max_take, not rules.misere),
        NimRules(rules.heaps, 3, rules.misere),
    }
    prompts = {text.describe(game, heaps, style) for game in games for heaps in positions}
    assert len(prompts) == len(games) * len(positions)
    assert all(("Nim" in prompt) == (style == "nim") for prompt in prompts)
    assert all(("heap" in prompt) == (style != "numbers") for prompt in prompts)


@given(st.sampled_from(POSITIONS.tolist()), st.sampled_from([*range(RULES.n_actions), None]), st.booleans())
def test_rewards(heaps, action, is_chat):
    heap, count = (0, 9) if action is None else RULES.moves[action]
    answer = f"{heap_name(heap)} {count}"
    expected = -1.0
    if action is not None and RULES.action_mask(heaps)[action]:
        expected = float(not theory.is_winning(RULES, RULES.apply(heaps, action)))
    completion = [{"role": "assistant", "content": answer}] if is_chat else answer
    assert text.move_reward(RULES)([completion] * 2, heaps=[heaps] * 2, prompts=None) == [expected] * 2


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("illegal", [False, True])
def test_a_model_has_the_exact_figures_of_the_player_whose_answers_it_gives(style, illegal):
    policy = random_table(RULES, 1, deterministic=True, illegal=illegal)
    policy.probabilities[policy.probabilities < 1] = 0  # one action, or no move
    complete = speaker(policy)
    model = text.LanguageModelPolicy(RULES, complete, style=style)
    found = evaluation.report(RULES, model, illegal_action="lose")
    assert found == evaluation.report(RULES, policy, illegal_action="lose")
    assert (found.illegal_action > 0) == illegal
    assert len(set(complete.asked)) == len(complete.asked) == len(POSITIONS)


def test_probabilities_are_frequencies():
    policy = random_table(RULES, 2)
    policy.probabilities[:] = np.floor(policy.probabilities * 10) / 10
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
    chosen = [text.parse_move(RULES, answers[0]) for answers in both.answers.values()]
    expected = [np.arange(RULES.n_actions) == action for action in chosen]  # none where it is None
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


@pytest.mark.parametrize("answers", [[], ["A 1"] * 3, [None] * len(POSITIONS), iter([])])
def test_missing_answers_name_the_position(answers):
    model = text.LanguageModelPolicy(RULES, lambda _: answers)
    with pytest.raises(TypeError, match="A: "):
        evaluation.mastery(RULES, model, illegal_action="lose")


def test_a_broken_line_of_the_file_is_named(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text('{"prompt": "", "answer": ""}\n{"prompt":', encoding="utf-8")
    with pytest.raises(ValueError, match=r"answers\.jsonl, line 2"):
        text.LanguageModelPolicy(RULES, list, path=path)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="style must be"):
        text.LanguageModelPolicy(RULES, list, style="poem")
    with pytest.raises(ValueError, match="samples must be 1"):
        text.LanguageModelPolicy(RULES, list, samples=0)
