"""The diagnosis is compared with values and moves whose bug is known: they were made with it on purpose."""

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few_examples, seeds
from strategies import rules as any_rules

from nim_env import ExpertPolicy, NimRules, TabularPolicy, evaluation, policies, theory
from nim_env.policies import batched

BELLMAN = "Bellman's equation"
BOARDS = [((1, 2, 3), None), ((2, 3, 4), None), ((1, 1, 2, 3), None), ((5, 4), 3), ((2, 6), None)]
games = st.builds(lambda board, misere: NimRules(*board, misere), st.sampled_from(BOARDS), st.booleans())
RULES = NimRules((2, 3, 4))
RIGHT = (max, 1, 1, 1)
# for each bug: the function that makes one number of the next values, and three factors, for this number, for the
# reward of the player who moves last and for the reward of the other player
BUGS = {
    "opponent's reward": (max, 1, -1, -1),
    "no minus sign": (max, -1, 1, 1),
    "no future": (max, 0, 1, 1),
    "maximum that starts from 0": (lambda values: max(0, max(values)), 1, 1, 1),
    "minimum instead of the maximum": (min, 1, 1, 1),
    "mean instead of the maximum": (np.mean, 1, 1, 1),
    "last mover's reward dropped": (max, 1, 0, 1),
    "other player's reward dropped": (max, 1, 1, 0),
}
# a learner that bootstraps from the other player's values gets one reward per game, so it cannot drop one of two
BY_TURN = ("last mover's reward dropped", "other player's reward dropped")
# the same bug in a table, where the values of illegal actions stay 0
SAME = {"maximum over illegal actions": "maximum that starts from 0"}


def learn(
    rules, updates, opponent=None, by_turn=False, bug=RIGHT, discount=1.0, rate=1.0, exploration=0.3, seed=0
):
    """Trains a learner and returns its table. It learns against an opponent, or by self-play if there is none.

    In self-play it bootstraps from the other player's next values, or with ``by_turn`` from its own values after a
    reply.

    It updates random pairs, or with ``updates=None`` each pair once, where all next values are final.
    """
    future, sign, mover, other = bug
    generator = random.Random(seed)
    masks = rules.action_mask(rules.all_positions())
    legal = [np.flatnonzero(mask).tolist() for mask in masks]
    replies = policies.tabulate(rules, opponent or "random").probabilities.tolist()
    table = np.zeros(masks.shape).tolist()

    def values(position):
        return [table[position][action] for action in legal[position]]

    def choose(position):
        if generator.random() < exploration:
            return generator.choice(legal[position])
        return max(legal[position], key=lambda action: table[position][action])

    pairs = np.argwhere(masks).tolist() if updates is None else [None] * updates
    for pair in pairs:
        position = pair[0] if pair else generator.randrange(1, len(legal))
        action = pair[1] if pair else choose(position)
        after = position - rules.offsets[action]
        target = mover * rules.terminal_reward
        if after and not by_turn and opponent is None:
            target = -discount * sign * future(values(after))
        elif after:
            is_self = opponent is None
            reply = choose(after) if is_self else generator.choices(range(rules.n_actions), replies[after])[0]
            own = after - rules.offsets[reply]
            target = discount * sign * future(values(own)) if own else -other * rules.terminal_reward
        table[position][action] += rate * (target - table[position][action])
    return np.array(table)


def exact(rules, discount=1.0):
    return learn(rules, None, discount=discount)


def diagnoses(bug, n):
    """Trains ``n`` learners of various kinds with a bug, and diagnoses each after few and after many updates."""
    found = []
    for seed in range(n):
        draw = random.Random(seed)
        heaps, max_take = BOARDS[seed % 4]
        rules = NimRules(heaps, max_take, misere=seed % 8 < 4)
        kind = draw.choice(["by turn", "random", "take-1", "expert", "by move"][: 3 if bug in BY_TURN else 5])
        opponent = None if kind.startswith("by") else kind
        options = {"discount": draw.choice([0.8, 0.95, 1]), "rate": draw.choice([0.1, 0.4, 1]), "seed": seed}
        for per_pair in (3, 30):
            updates = per_pair * int(rules.action_mask(rules.all_positions()).sum())
            table = learn(rules, updates, opponent, kind == "by turn", BUGS.get(bug, RIGHT), **options)
            found.append(evaluation.diagnose(rules, table, opponent, discount=options["discount"]))
    return found


def test_a_correct_learner_has_no_bug():
    found = diagnoses(None, 60)
    assert "bug" not in {diagnosis.result for diagnosis in found}
    assert not any(diagnosis.witness for diagnosis in found)
    assert sum(BELLMAN in diagnosis.findings for diagnosis in found[1::2]) >= 15
    assert all(diagnosis.verdict.lower().startswith(diagnosis.result) for diagnosis in found)


@pytest.mark.parametrize("bug", BUGS)
def test_learners_with_a_bug_are_told_its_name(bug):
    found = diagnoses(bug, 16)
    assert sum(diagnosis.result == "bug" and bug not in diagnosis.findings for diagnosis in found) <= 1
    named = [diagnosis.findings for diagnosis in found[1::2] if bug in diagnosis.findings]
    assert len(named) >= 9
    assert sum(len({SAME.get(name, name) for name in names}) for names in named) <= 1.7 * len(named)


@pytest.mark.parametrize("bug", BUGS)
def test_the_fixed_point_of_each_bug_has_its_name(bug):
    """The board 1-2-3 is left out, since it has too few values to tell a mean over turns from a minimum."""
    for board, misere, by_turn in product(BOARDS[1:], (False, True), (bug in BY_TURN, True)):
        rules = NimRules(*board, misere)
        table = learn(rules, None, by_turn=by_turn, bug=BUGS[bug], exploration=0)
        # if a reward is dropped, the values do not show the size of the rewards
        for scale in (1,) if bug in BY_TURN else (1, 2.5, 100):
            assert bug in evaluation.diagnose(rules, scale * table).findings


@few_examples
@given(any_rules, st.floats(-3, 3))
def test_exact_values_satisfy_bellmans_equation(rules, exponent):
    scale = 10.0**exponent
    wins = theory.winning_action_mask(rules, rules.all_positions())
    values = np.where(wins, 1.0, -1.0)
    of_positions = np.where(theory.is_winning(rules, rules.all_positions()), 1, -1)
    values[rules.action_mask(rules.all_positions()) == 0] = np.nan
    assert evaluation.diagnose(rules, values).findings == (BELLMAN,)
    assert evaluation.diagnose(rules, of_positions).findings == (BELLMAN,)
    assert evaluation.diagnose(rules, of_positions, "random").findings != ("a bug in no list",)
    if rules.n_actions > 2 and abs(scale - 1) > 0.2:  # with fewer actions there are too few last moves
        assert evaluation.diagnose(rules, scale * values).findings == ("rewards of a scale other than 1",)


@pytest.mark.parametrize(("discount", "step"), [(0.3, "move"), (0.7, "move"), (0.9, "move"), (0.8, "own turn")])
@settings(max_examples=5)
@given(games)
def test_another_discount_is_told(discount, step, rules):
    rules = rules if step == "move" else RULES  # a board with enough values
    table = learn(rules, None, by_turn=step == "own turn", discount=discount, exploration=0)
    for close in (discount, discount + 0.03):
        assert evaluation.diagnose(rules, table, discount=close).findings == (BELLMAN,)
    diagnosis = evaluation.diagnose(rules, table)
    assert diagnosis.findings == ("another discount",)
    assert diagnosis.discount == pytest.approx(discount)
    assert f"a discount of {discount:.2f} per {step}" in diagnosis.verdict


@given(games, seeds, st.sampled_from([0.02, 0.3, 1.0]), st.integers(1, 2000))
def test_values_by_move_never_pass_their_targets(rules, seed, rate, updates):
    """By the theorem, a value that starts at 0 always lies between 0 and its target, so a witness does too."""
    witness = evaluation.diagnose(rules, learn(rules, updates, rate=rate, seed=seed)).witness
    assert witness is None or abs(witness.value) <= abs(witness.target)


def put(table, heaps, move, value):
    table[RULES.index(heaps), RULES.action(*move)] = value
    return table


IS_LAST = RULES.all_positions().sum(axis=1)[:, None] == RULES.move_counts
MODULO_3 = np.arange(RULES.n_positions)[:, None] % 3


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda q: 0.93 * q, BELLMAN),  # still below the targets, but near
        (lambda q: put(2 * q, (0, 0, 1), (2, 1), -1.9), "values out of range"),  # last moves show no scale
        (lambda q: put(q, (2, 3, 4), (0, 1), 1.15), "values out of range"),  # more than any return
        (lambda q: 1e7 * q * np.arange(len(q))[:, None], "values out of range"),
        (lambda q: 1e5 * q, "rewards of a scale other than 1"),  # far larger, but no future at the end
        (lambda q: np.where(q, q - 1e5, 0), "future of a finished game"),
        (lambda q: put(q, (0, 2, 0), (1, 1), 0.86), BELLMAN),  # too near to its target to show a bug
        (lambda q: put(q, (0, 2, 2), (1, 1), 0.3), "perfect play"),  # a best move is off its target
        (lambda q: put(q, (0, 2, 0), (1, 2), 0.9), "last moves of both signs"),
        (lambda q: q / np.where(MODULO_3 == 0, 2, 1), "perfect play"),  # Bellman's equation explains two thirds
        (lambda q: put(q, (0, 1, 2), (2, 1), 1.0), "train longer"),  # a mistake has the best value
        (lambda q: q * np.where(IS_LAST, -0.3 * MODULO_3, 0.5), "opponent's reward"),  # of the wrong sign
    ],
)
def test_changed_values(change, finding):
    assert evaluation.diagnose(RULES, change(exact(RULES))).findings == (finding,)


def test_values_that_never_moved_are_untrained_or_their_reward_is_dropped():
    assert evaluation.diagnose(RULES, 0 * exact(RULES)).findings == ("untrained", "last mover's reward dropped")
    assert evaluation.diagnose(RULES, 0 * exact(RULES), "random").findings == ("untrained",)


@pytest.mark.parametrize("is_first", [True, False])
def test_of_several_best_moves_the_first_is_played(is_first):
    """All moves in one position get the value of a win. The player then makes the first one, which wins or not."""
    heaps = RULES.all_positions()
    legal = RULES.action_mask(heaps) > 0
    wins = theory.winning_action_mask(RULES, heaps) > 0
    table = exact(RULES)
    rows = np.flatnonzero(
        wins.any(axis=1) & (legal & ~wins).any(axis=1) & (heaps.sum(axis=1) == 4) & (heaps[:, 0] > 0)
    )
    row = next(row for row in rows if wins[row, legal[row].argmax()] == is_first)
    table[row, legal[row]] = 1
    assert ("train longer" in evaluation.diagnose(RULES, table).findings) != is_first


@pytest.mark.parametrize("misere", [True, False])
def test_a_learner_by_move_with_probabilities_of_winning_is_correct(misere):
    """The rewards are 1 and 0, so the value of a move is 1 minus the other player's best next value."""
    rules = NimRules((2, 3, 4), misere=misere)
    values = (exact(rules) + 1) / 2 * (rules.action_mask(rules.all_positions()) > 0)
    assert evaluation.diagnose(rules, values, rewards=(1, 0)).findings == (BELLMAN,)


@pytest.mark.parametrize("opponent", ["random", "take-1"])
@pytest.mark.parametrize("initial", [0, -1, 1])
def test_a_start_that_is_a_reward_accuses_no_correct_learner(opponent, initial):
    for seed in range(6):
        table = play(RULES, 1_000, (0, -1), initial, opponent=opponent, seed=seed)
        told = {"rewards": (0, -1), "initial": initial, "on_policy": False}
        assert evaluation.diagnose(RULES, table, opponent, **told).result != "bug"


def test_few_last_moves_tell_no_scale():
    assert evaluation.diagnose(NimRules((2,)), 10 * exact(NimRules((2,)))).findings == ("values out of range",)


@pytest.mark.parametrize(("opponent", "updates"), [("random", 60_000), ("take-1", 20_000)])
def test_noise_of_replies_is_no_bug(opponent, updates):
    table = learn(RULES, updates, opponent, rate=0.3)
    assert evaluation.diagnose(RULES, table, opponent).findings == (BELLMAN,)
    assert opponent == "random" or evaluation.diagnose(RULES, table).findings != (BELLMAN,)


def test_an_earlier_table_tells_a_bug_from_a_learner_on_its_way():
    """The values of a few best moves near the end of the game lie off their targets, and do or do not move."""
    later = exact(RULES)
    for heaps in ((0, 2, 1), (1, 2, 0), (2, 1, 0), (0, 1, 2)):
        best = later[RULES.index(heaps)].argmax()
        later[RULES.index(heaps), best] = 0.4
    moved = np.where(later == 0.4, 0.3, 0.99 * later)
    assert evaluation.diagnose(RULES, later).result == "no bug found"
    assert evaluation.diagnose(RULES, later, earlier=moved).result == "no bug found"
    # no value has moved, so exploration has ended
    assert evaluation.diagnose(RULES, later, earlier=later).result == "no bug found"
    stuck = np.where(later == 0.4, 0.4, 0.99 * later)
    assert evaluation.diagnose(RULES, later, earlier=stuck).result == "undecided"  # the learner may be on-policy
    diagnosis = evaluation.diagnose(RULES, later, earlier=stuck, on_policy=False)
    assert diagnosis.result == "bug"
    assert diagnosis.findings == ("a bug in no list",)
    assert sum(diagnosis.witness.heaps) == 3
    assert diagnosis.witness[2:] == (0.4, 1.0)
    assert str(diagnosis.witness) in diagnosis.verdict


def test_values_of_illegal_actions_tell_what_the_maximum_runs_over():
    table = np.random.default_rng(0).uniform(-1, 1, size=(RULES.n_positions, RULES.n_actions))
    for index, action in np.argwhere(RULES.action_mask(RULES.all_positions())):
        after = index - RULES.offsets[action]
        table[index, action] = -table[after].max() if after else RULES.terminal_reward
    assert evaluation.diagnose(RULES, table).findings == ("maximum over illegal actions",)


def test_a_network_may_overshoot_and_has_last_moves_of_both_signs_when_young():
    table = exact(RULES)
    is_illegal = RULES.action_mask(RULES.all_positions()) == 0
    table[is_illegal] = np.random.default_rng(0).uniform(-0.5, 0.5, is_illegal.sum())  # 0 in a table
    assert evaluation.diagnose(RULES, put(table.copy(), (2, 3, 4), (0, 1), 1.3)).findings == (BELLMAN,)
    far = 1.3 * table * np.linspace(1, 1.1, len(table))[:, None]
    assert evaluation.diagnose(RULES, far).findings == ("values out of range",)
    young = evaluation.diagnose(RULES, np.random.default_rng(0).uniform(-0.3, 0.3, table.shape))
    grown = evaluation.diagnose(RULES, put(exact(RULES), (0, 1, 2), (2, 1), 1.0))
    assert young.findings == grown.findings == ("train longer",)
    assert "last move" in young.verdict
    assert "last move" not in grown.verdict


def test_a_large_game_is_judged_by_its_small_positions():
    rules = NimRules((37, 37, 37), max_take=2)
    for misere, finding in ((True, BELLMAN), (False, "opponent's reward")):
        wins = theory.winning_action_mask(replace(rules, misere=misere), rules.all_positions())
        assert evaluation.diagnose(rules, np.where(wins, 1, -1)).findings == (finding,)


def test_a_player_that_explores_at_each_move_is_told():
    table = learn(RULES, 30_000, by_turn=True, rate=0.05, exploration=1)
    assert "explore less" in evaluation.diagnose(RULES, table).verdict


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("q_values", np.ones((6, 24))),
        ("earlier", np.ones(5)),
        ("discount", 1.5),
        ("rewards", (0, 1)),
        ("rewards", (np.inf, 0)),
        ("initial", np.nan),
        ("on_policy", "random"),
    ],
)
def test_wrong_arguments_are_refused(name, wrong):
    rules = NimRules((1, 2, 3))
    with pytest.raises(ValueError, match=rf"{name} must"):
        evaluation.diagnose(rules, **{"q_values": np.zeros((24, 6)), name: wrong})


def test_a_learner_with_a_behavior_policy_is_on_policy():
    table = exact(RULES)
    told = evaluation.diagnose(RULES, table, behavior_policy="random", on_policy=True)
    assert evaluation.diagnose(RULES, table, behavior_policy="random") == told
    with pytest.raises(ValueError, match="on_policy must"):
        evaluation.diagnose(RULES, table, behavior_policy="random", on_policy=False)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_a_finding_with_the_first_position(number):
    diagnosis = evaluation.diagnose(
        RULES, put(put(exact(RULES), (2, 1, 0), (0, 1), number), (0, 0, 2), (2, 1), number)
    )
    assert diagnosis.result == "bug"
    assert "0-0-2, take 1 from C" in diagnosis.verdict
    values = np.ones(RULES.n_positions)
    values[5] = number
    assert evaluation.diagnose(RULES, values).result == "bug"


STYLES = {  # how the learner differs from the usual one, and the argument of diagnose that says so
    "rewards of 1 and 0": ({"rewards": (1, 0)}, {"rewards": (1, 0)}),
    "rewards of 0 and -1": ({"rewards": (0, -1)}, {"rewards": (0, -1)}),
    "rewards of 100": ({"rewards": (100, -100)}, {"rewards": (100, -100)}),
    "values from 1": ({"initial": 1}, {"initial": 1}),
    "values from 0.5": ({"initial": 0.5}, {"initial": 0.5}),
    "on-policy": ({"on_policy": True}, {"on_policy": True}),
    "from the start": ({}, {}),
}


def play(rules, n_games, rewards=(1, -1), initial=0.0, on_policy=False, opponent=None, first=None, seed=0):
    """Trains a Q-learner in plain Python and returns its table. All games begin with the full heaps."""
    draws = random.Random(seed)
    learning_rate = draws.choice([0.1, 0.5, 1])
    table = {}
    legal = {tuple(heaps): rules.legal_moves(heaps) for heaps in rules.all_positions().tolist()}
    reply = opponent and policies.tabulate(rules, opponent).probabilities

    def choose(state):
        if draws.random() < 0.2:
            return draws.choice(legal[state])
        return max(legal[state], key=lambda move: (table.get((state, move), initial), draws.random()))

    def update(turn, target):
        table[turn] = table.get(turn, initial) + learning_rate * (target - table.get(turn, initial))

    for game in range(n_games):
        state, last = rules.heaps, {}
        player = game % 2 if first is None else first  # 0 is the learner's side against an opponent
        while any(state):
            if opponent and player == 1:
                move = rules.moves[draws.choices(range(rules.n_actions), reply[rules.index(state)])[0]]
            else:
                move = choose(state)
                if player in last:
                    best = table.get((state, move), initial)
                    if not on_policy:
                        best = max(table.get((state, other), initial) for other in legal[state])
                    update(last[player], best)
                last[player] = state, move
            state = tuple(size - move[1] * (heap == move[0]) for heap, size in enumerate(state))
            player = 1 - player
        for side, turn in last.items():
            takes_last = side != player
            update(turn, rewards[0] if takes_last != rules.misere else rewards[1])
    q_values = np.zeros((rules.n_positions, rules.n_actions))
    for heaps, moves in legal.items():
        for move in moves:
            q_values[rules.index(heaps), rules.action(*move)] = table.get((heaps, move), initial)
    return q_values


@pytest.mark.parametrize("style", STYLES)
def test_correct_learners_of_other_styles_are_told_no_bug(style):
    options, told = STYLES[style]
    results = []
    for seed, misere in product(range(5), (True, False)):
        rules = NimRules(((1, 3, 4), (2, 3, 3), (6,), (1, 1, 2, 2), (4, 4))[seed], 3, misere)
        for n_games in (100, 1_500):
            q_values = play(rules, n_games, seed=seed, **options)
            assert evaluation.diagnose(rules, q_values).result != "bug"
            results.append(evaluation.diagnose(rules, q_values, **told).result)
    assert "bug" not in results
    assert results.count("no bug found") >= 3


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("opponent", ["expert", "take-1"])
def test_a_learner_that_always_or_never_starts_is_told_no_bug(opponent, first):
    for seed, misere in product(range(4), (True, False)):
        rules = NimRules((2, 3, 3), misere=misere)
        for n_games in (100, 2_000):
            q_values = play(rules, n_games, opponent=opponent, first=first, seed=seed)
            assert evaluation.diagnose(rules, q_values, opponent).result != "bug"


def test_told_rewards_decide_what_was_undecided():
    """The values look the same with rewards of 1 and 0 and with a dropped reward of the loser."""
    q_values = play(RULES, 8_000, rewards=(1, 0), seed=5)
    both = evaluation.diagnose(RULES, q_values)
    assert both.result == "undecided"
    assert both.findings == ("last mover's reward dropped",)
    assert evaluation.diagnose(RULES, q_values, rewards=(1, 0)).result == "no bug found"
    assert evaluation.diagnose(RULES, q_values, rewards=(1, -1)).findings == both.findings


def test_arguments_that_contradict_the_values_are_said():
    q_values = play(RULES, 3_000)
    assert evaluation.diagnose(RULES, q_values, rewards=(1, 0)).findings == ("last moves of another reward",)
    assert evaluation.diagnose(RULES, 10 * q_values, rewards=(1, -1)).findings == ("values out of range",)
    from_1 = play(RULES, 5, initial=1)
    from_1[RULES.action_mask(RULES.all_positions()) == 0] = 1
    assert evaluation.diagnose(RULES, from_1, initial=0.5).findings == ("another initial value",)
    assert evaluation.diagnose(RULES, from_1, initial=1).findings != ("another initial value",)


def test_noise_and_young_networks_get_no_name():
    generator = np.random.default_rng(0)
    for scale, shape in product((0.02, 0.1, 0.3), ((RULES.n_positions, RULES.n_actions), (RULES.n_positions,))):
        for opponent in (None, "random", "expert"):
            noise = generator.normal(0, scale, shape)
            assert evaluation.diagnose(RULES, noise, opponent).result == "undecided"


def test_a_critic_is_judged_against_its_own_actor():
    """The exact values of a random policy satisfy its own Bellman equation, but not that of a greedy player."""
    weights = RULES.action_mask(RULES.all_positions()) * np.random.default_rng(0).uniform(0.1, 1, IS_LAST.shape)
    actor = TabularPolicy(RULES, weights / weights.sum(axis=1, keepdims=True).clip(1e-9))
    replies = policies.tabulate(RULES, "random").probabilities
    values = np.zeros(RULES.n_positions)
    for index in range(1, RULES.n_positions):
        for action in np.flatnonzero(actor.probabilities[index]):
            after = index - RULES.offsets[action]
            value = RULES.terminal_reward
            if after:
                later = [(p, after - RULES.offsets[reply]) for reply, p in enumerate(replies[after]) if p]
                value = sum(p * (values[own] if own else -RULES.terminal_reward) for p, own in later)
            values[index] += actor.probabilities[index, action] * value
    assert evaluation.diagnose(RULES, values, "random", behavior_policy=actor).findings == (BELLMAN,)
    assert evaluation.diagnose(RULES, values, "random").result != "bug"


def test_sorted_positions_are_a_premise():
    q_values = play(RULES, 3_000)
    is_unsorted = (np.diff(RULES.all_positions(), axis=1) < 0).any(axis=1)
    q_values[is_unsorted] = 0
    assert evaluation.diagnose(RULES, q_values).findings == ("sorted positions",)


@pytest.mark.parametrize("misere", [True, False])
def test_moves_tell_the_other_variant_and_the_worst_moves(misere):
    rules = NimRules((2, 3, 4), misere=misere)
    other = ExpertPolicy(replace(rules, misere=not misere))
    heaps = rules.all_positions()
    legal = rules.action_mask(heaps) > 0
    wins = theory.winning_action_mask(rules, heaps) > 0
    worst = np.where((legal & ~wins).any(axis=1, keepdims=True), legal & ~wins, legal)
    players = {
        "perfect play": ExpertPolicy(rules),
        "opponent's reward": batched(lambda heaps, masks: other.support(heaps, masks).argmax(axis=1)),
        "minimum instead of the maximum": batched(lambda heaps, _: worst[rules.index(heaps)].argmax(axis=1)),
        "no mask at prediction": TabularPolicy(rules, np.eye(rules.n_actions)[np.full(rules.n_positions, 3)]),
        "train longer": "random",
    }
    for finding, player in players.items():
        assert evaluation.diagnose_moves(rules, player).findings == (finding,)
