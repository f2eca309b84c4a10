"""The tests of the four functions of CS50's project name planted faults and do not accuse correct variants."""

# ruff: noqa: ARG001, ARG005  all variants have the parameters of the course

import ast
import collections
import itertools
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from nim_env.check import specification
from nim_env.check.specification import faults

SEEDS = range(2)


def available(state):
    return [(pile, count) for pile, size in enumerate(state) for count in range(1, size + 1)]


class Right:
    """A correct player, as the course describes it."""

    def __init__(self, alpha=0.5, epsilon=0.1):
        self.q = {}
        self.alpha = alpha
        self.epsilon = epsilon

    def get_q_value(self, state, action):
        return self.q.get((tuple(state), action), 0)

    def update_q_value(self, state, action, old_q, reward, future_rewards):
        self.q[tuple(state), action] = old_q + self.alpha * (reward + future_rewards - old_q)

    def best_future_reward(self, state):
        return max((self.get_q_value(state, action) for action in available(state)), default=0)

    def choose_action(self, state, epsilon=True):
        if epsilon and random.random() < self.epsilon:
            return random.choice(available(state))
        return max(available(state), key=lambda action: self.get_q_value(state, action))

    def values(self, state):
        return {action: self.get_q_value(state, action) for action in available(state)}


def variant(base=Right, **methods):
    return type("Variant", (base,), methods)


def accused(player, seed=0):
    return {fault.function for fault in faults(player, seed)}


def loop(self, state, start, over=lambda values: values):
    best = start
    for value in over(list(self.values(state).values())):
        best = max(best, value)
    return best


def known(self, state):
    return [value for (position, _), value in self.q.items() if position == tuple(state)]


def raising(error):
    """The four functions, all of which raise an error."""

    def fail():
        raise error

    return {
        "get_q_value": lambda self, state, action: fail(),
        "update_q_value": lambda self, state, action, old_q, reward, future_rewards: fail(),
        "best_future_reward": lambda self, state: fail(),
        "choose_action": lambda self, state, epsilon=True: fail(),
    }


BEST = {
    "starts from 0": lambda self, state: loop(self, state, 0),
    "minimum": lambda self, state: min(self.values(state).values(), default=0),
    "mean": lambda self, state: np.mean([*self.values(state).values()] or [0]),
    "sum": lambda self, state: sum(self.values(state).values()),
    "known pairs only": lambda self, state: max(known(self, state), default=0),
    "very low in the finished game": lambda self, state: loop(self, state, float("-inf")),
    "None in the finished game": lambda self, state: max(self.values(state).values(), default=None),
    "raises in the finished game": lambda self, state: max(self.values(state).values()),
    "action": lambda self, state: max(self.values(state), key=self.values(state).get, default=0),
    "lists as keys": lambda self, state: max(
        (value for (position, _), value in self.q.items() if position == state), default=0
    ),
    "first action": lambda self, state: next(iter(self.values(state).values()), 0),
    "without pile 0": lambda self, state: max(
        (value for (pile, _), value in self.values(state).items() if pile > 0), default=0
    ),
    "without the largest count": lambda self, state: max(
        (value for (pile, count), value in self.values(state).items() if count < state[pile]), default=0
    ),
    "all positions": lambda self, state: max([*self.values(state).values(), *self.q.values()], default=0),
    "absolute value": lambda self, state: max(map(abs, self.values(state).values()), default=0),
    "text": lambda self, state: str(Right.best_future_reward(self, state)),
    "nothing": lambda self, state: None,
}


def update(new, key=lambda state, action: (tuple(state), action)):
    def update_q_value(self, state, action, old_q, reward, future_rewards):
        self.q[key(state, action)] = new(self.alpha, old_q, reward, future_rewards)

    return update_q_value


UPDATE = {
    "no alpha": update(lambda alpha, old, reward, future: reward + future),
    "adds the target": update(lambda alpha, old, reward, future: old + alpha * (reward + future)),
    "no old value": update(lambda alpha, old, reward, future: alpha * (reward + future)),
    "no future": update(lambda alpha, old, reward, future: old + alpha * (reward - old)),
    "no reward": update(lambda alpha, old, reward, future: old + alpha * (future - old)),
    "minus the future": update(lambda alpha, old, reward, future: old + alpha * (reward - future - old)),
    "precedence": update(lambda alpha, old, reward, future: old + alpha * reward + future - old),
    "key in the other order": update(
        lambda alpha, old, reward, future: old + alpha * (reward + future - old),
        lambda state, action: (action, tuple(state)),
    ),
    "writes nothing": lambda self, state, action, old_q, reward, future_rewards: 0.5,
    "table lost": lambda self, state, action, old_q, reward, future_rewards: setattr(self, "q", 0.5),
    "raises": raising(NotImplementedError)["update_q_value"],
}
GET = {
    "default 1": lambda self, state, action: self.q.get((tuple(state), action), 1),
    "None if unseen": lambda self, state, action: self.q.get((tuple(state), action)),
    "raises if unseen": lambda self, state, action: self.q[tuple(state), action],
    "key in the other order": lambda self, state, action: self.q.get((action, tuple(state)), 0),
    "action ignored": lambda self, state, action: max(known(self, state), default=0),
    "absolute value": lambda self, state, action: abs(self.q.get((tuple(state), action), 0)),
    "not below 0": lambda self, state, action: max(0, self.q.get((tuple(state), action), 0)),
    "nothing": lambda self, state, action: None,
    "state as a list": lambda self, state, action: next(
        (value for key, value in self.q.items() if key == (state, action)), 0
    ),
}


def choose_from_zero(self, state, epsilon=True):
    best, chosen = 0, None
    for action, value in self.values(state).items():
        if value > best:
            best, chosen = value, action
    return chosen


def choose_from_zero_or_draw(self, state, epsilon=True):
    return choose_from_zero(self, state) or random.choice(available(state))


def choose_known(self, state, epsilon=True):
    pairs = {action: value for (position, action), value in self.q.items() if position == tuple(state)}
    return max(pairs, key=pairs.get)


def choose_known_or_first(self, state, epsilon=True):
    return choose_known(self, state) if known(self, state) else available(state)[0]


def best_key(self, state, epsilon=True):
    return tuple(state), Right.choose_action(self, state, False)


def inverted(self, state, epsilon=True):
    return Right.choose_action(self, state, not epsilon)


def always_drawn(self, state, epsilon=True):
    return random.choice(available(state)) if epsilon else Right.choose_action(self, state, False)


def exploring(chance):
    def choose_action(self, state, epsilon=True):
        return always_drawn(self, state, epsilon and random.random() < chance)

    return choose_action


CHOOSE = {
    "worst": lambda self, state, epsilon=True: min(self.values(state), key=self.values(state).get),
    "first": lambda self, state, epsilon=True: available(state)[0],
    "drawn": lambda self, state, epsilon=True: random.choice(available(state)),
    "explores without epsilon": lambda self, state, epsilon=True: Right.choose_action(self, state, True),
    "starts from 0": choose_from_zero,
    "starts from 0, then drawn": choose_from_zero_or_draw,
    "illegal": lambda self, state, epsilon=True: (0, 0),
    "one too many": lambda self, state, epsilon=True: (
        Right.choose_action(self, state, False)[0],
        Right.choose_action(self, state, False)[1] + 1,
    ),
    "known pairs, raises": choose_known,
    "known pairs": choose_known_or_first,
    "key": best_key,
    "value": lambda self, state, epsilon=True: Right.best_future_reward(self, state),
    "inverted": inverted,
    "illegal when it explores": lambda self, state, epsilon=True: (
        (0, 9) if epsilon and random.random() < 0.1 else Right.choose_action(self, state, epsilon)
    ),
}
EXPLORATION = {
    "never": lambda self, state, epsilon=True: Right.choose_action(self, state, False),
    "always": always_drawn,
    "0.9": exploring(0.9),
    "0.05": exploring(0.05),
    "0.2": exploring(0.2),
}
PLANTED = [
    pytest.param(function, change, id=f"{function}: {name}")
    for function, changes in (
        ("best_future_reward", BEST),
        ("update_q_value", UPDATE),
        ("get_q_value", GET),
        ("choose_action", CHOOSE),
        ("choose_action", EXPLORATION),
    )
    for name, change in changes.items()
]


@pytest.mark.parametrize(("function", "change"), PLANTED)
def test_a_planted_fault_is_named_and_no_other_function_is_accused(function, change):
    assert accused(variant(**{function: change})) == {function}


@pytest.mark.parametrize("name", EXPLORATION)
def test_wrong_exploration_is_told_with_its_share_and_epsilon(name):
    (fault,) = faults(variant(choose_action=EXPLORATION[name]))
    expected = {"never": 0, "always": 15 / 16}.get(name) or float(name if name != "never" else 0) * 15 / 16
    share = float(re.search(r"explores in ([\d.]+)%", fault.sentence)[1]) / 100
    assert share == pytest.approx(expected, abs=0.02)
    assert "epsilon is 0.1" in fault.sentence


def told_size(sentence):
    state = ast.literal_eval(re.search(r"\((\[[\d, ]+\])", sentence)[1])
    pairs = re.findall(r"for \(\d, \d\)(?! \(unseen\))", sentence)
    return sum(state), len(pairs)


def small_questions():
    """Positions of up to two objects with all tables of four values, from the smallest on."""
    states = [state for state in itertools.product(range(2), range(3), range(3), range(3)) if sum(state) <= 2]
    tables = [
        (
            state,
            {
                (state, action): value
                for action, value in zip(available(state), values, strict=True)
                if value is not None
            },
        )
        for state in states
        for values in itertools.product((None, -1.0, -0.5, 0.0, 0.5), repeat=sum(state))
    ]
    return sorted(tables, key=lambda question: (sum(question[0]), len(question[1])))


def smallest_by_search(function, change):
    for state, table in small_questions():
        values = {action: table.get((state, action), 0) for action in available(state)}
        for action in values if function == "get_q_value" else [None]:
            player = variant(**{function: change})()
            player.q.update(table)
            try:
                if function == "get_q_value":
                    is_right = player.get_q_value(list(state), action) == values[action]
                elif function == "best_future_reward":
                    is_right = player.best_future_reward(list(state)) == max(values.values(), default=0)
                else:
                    chosen = player.choose_action(list(state), epsilon=False) if values else None
                    is_right = not values or values[chosen] == max(values.values())
            except (KeyError, TypeError, ValueError):
                is_right = False
            if not is_right:
                return sum(state), len(table)
    raise AssertionError("there is no small counterexample")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("function", "change"),
    [("best_future_reward", BEST[name]) for name in list(BEST) if name != "all positions"]
    + [("get_q_value", change) for change in GET.values()]
    + [("choose_action", CHOOSE[name]) for name in ("worst", "first", "starts from 0", "known pairs", "key")],
)
def test_the_counterexample_is_the_smallest_that_a_search_finds(function, change, seed):
    told = [fault.sentence for fault in faults(variant(**{function: change}), seed) if fault.function == function]
    told = [sentence for sentence in told if "explores" not in sentence]
    assert min(map(told_size, told)) == smallest_by_search(function, change)


def test_the_sentence_tells_the_answer_the_values_and_the_right_answer():
    (fault,) = faults(variant(best_future_reward=BEST["starts from 0"]))
    assert re.fullmatch(
        r"best_future_reward\(\[[01, ]+\]\) gives 0; the values are -1.0 for \(\d, 1\), so -1.0 is right",
        fault.sentence,
    )
    (fault,) = faults(variant(update_q_value=UPDATE["no future"]))
    arguments = re.search(r"update_q_value(.*\)) gives", fault.sentence)[1]
    old, reward, future = ast.literal_eval(arguments)[2:]
    assert f"= {round(old + 0.5 * (reward + future - old), 6)} is right" in fault.sentence
    (fault,) = faults(variant(update_q_value=raising(NotImplementedError("todo"))["update_q_value"]))
    assert "raises NotImplementedError('todo')" in fault.sentence
    for fault in faults(variant(best_future_reward=BEST["all positions"])):
        assert re.search(r"for \(\d, \d\) in \[", fault.sentence)


def test_all_faults_are_told():
    wrong = {"get_q_value": GET, "best_future_reward": BEST, "update_q_value": UPDATE, "choose_action": CHOOSE}
    generator = random.Random(0)
    for _ in range(20):
        two = generator.sample(list(wrong), 2)
        changes = {function: generator.choice(list(wrong[function].values())) for function in two}
        if "get_q_value" in two and changes.get("update_q_value") is UPDATE["key in the other order"]:
            continue  # may be a table of another form
        assert set(two) <= accused(variant(**changes))
    both = variant(choose_action=lambda self, state, epsilon=True: choose_from_zero(self, state))
    sentences = [fault.sentence for fault in faults(both)]
    assert len(sentences) == 2
    assert "epsilon=False" in sentences[0]
    assert "explores in 0.0%" in sentences[1]


def test_the_finished_game_is_a_fault_of_its_own():
    def best_future_reward(self, state):
        return min(self.values(state).values()) if any(state) else None

    finished, other = faults(variant(best_future_reward=best_future_reward))
    assert "[0, 0, 0, 0]) gives None" in finished.sentence
    assert told_size(other.sentence) == (2, 1)


def test_only_the_root_of_a_fault_is_accused():
    assert accused(variant(get_q_value=GET["raises if unseen"])) == {"get_q_value"}  # all others call it
    told = faults(variant(get_q_value=GET["default 1"], best_future_reward=BEST["minimum"]))
    assert [fault.function for fault in told] == ["get_q_value", "best_future_reward"]
    assert told[1].sentence.startswith("With get_q_value corrected, ")


class Written(Right):
    def get_q_value(self, state, action):
        return self.q.setdefault((tuple(state), action), 0)


class Default(Right):
    def __init__(self):
        super().__init__()
        self.q = collections.defaultdict(int)

    def get_q_value(self, state, action):
        return self.q[tuple(state), action]


class Table(dict):
    def __missing__(self, key):
        return 0.0


class OwnTable(Right):
    def __init__(self):
        super().__init__()
        self.q = Table()

    def get_q_value(self, state, action):
        return self.q[tuple(state), action]


class AllPairs(Right):
    def __init__(self):
        super().__init__()
        states = itertools.product(range(2), range(4), range(6), range(8))
        self.q = {(state, action): 0 for state in states for action in available(state)}

    def get_q_value(self, state, action):
        return self.q[tuple(state), action]


class RandomStart(AllPairs):
    def __init__(self):
        super().__init__()
        self.q = dict.fromkeys(self.q, random.uniform(-0.01, 0.01))


class Shared(Right):
    q = {}

    def __init__(self):
        self.alpha = 0.5
        self.epsilon = 0.1


class Property(Right):
    def __init__(self):
        self._q = {}
        self.alpha = 0.3

    q = property(lambda self: self._q)
    epsilon = property(lambda self: 0.1)


class Slots:
    __slots__ = ("alpha", "epsilon", "q")
    __init__ = Right.__init__
    get_q_value = Right.get_q_value
    update_q_value = Right.update_q_value
    best_future_reward = Right.best_future_reward
    choose_action = Right.choose_action
    values = Right.values


class Decaying(Right):
    def choose_action(self, state, epsilon=True):
        self.epsilon *= 0.999
        return super().choose_action(state, epsilon)


class NewTable(Right):
    def update_q_value(self, state, action, old_q, reward, future_rewards):
        new = (1 - self.alpha) * old_q + self.alpha * (reward + future_rewards)
        self.q = {**self.q, (tuple(state), action): new}


class Sorted(Right):
    """Has one entry for all orders of the piles, so its keys are not the course's."""

    def key(self, state, action):
        pile, count = action
        return tuple(sorted(state)), (state[pile], count)

    def get_q_value(self, state, action):
        return self.q.get(self.key(state, action), 0)

    def update_q_value(self, state, action, old_q, reward, future_rewards):
        self.q[self.key(state, action)] = old_q + self.alpha * (reward + future_rewards - old_q)


class Text(Sorted):
    def key(self, state, action):
        return f"{state} {action}"


class ActionFirst(Sorted):
    def key(self, state, action):
        return action, tuple(state)


class TextWithoutGet:
    __init__ = Right.__init__
    key = Text.key
    update_q_value = Sorted.update_q_value

    def best_future_reward(self, state):
        return max((self.q.get(self.key(state, action), 0) for action in available(state)), default=0)


class OwnAlpha(Right):
    def __init__(self):
        self.q = {}
        self.epsilon = 0.1
        self.learning_rate = 0.9

    def update_q_value(self, state, action, old_q, reward, future_rewards):
        self.q[tuple(state), action] = old_q + self.learning_rate * (reward + future_rewards - old_q)


class Nested(Right):
    def get_q_value(self, state, action):
        return self.q.get(tuple(state), {}).get(action, 0)

    def update_q_value(self, state, action, old_q, reward, future_rewards):
        self.q.setdefault(tuple(state), {})[action] = old_q + self.alpha * (reward + future_rewards - old_q)


class Counted(Right):
    """Keeps a number of visits with each value."""

    def get_q_value(self, state, action):
        return self.q.get((tuple(state), action), [0, 0])[0]

    def update_q_value(self, state, action, old_q, reward, future_rewards):
        self.q[tuple(state), action] = [old_q + self.alpha * (reward + future_rewards - old_q), 1]


def best_actions(self, state):
    values = self.values(state)
    return [action for action in values if values[action] == max(values.values())]


def others(self, state):
    best = Right.choose_action(self, state, False)
    return [action for action in available(state) if action != best] or [best]


def explores_among_others(self, state, epsilon=True):
    if epsilon and random.random() <= self.epsilon:
        return random.choice(others(self, state))
    return Right.choose_action(self, state, False)


def weighted(self, state, epsilon=True):
    best = Right.choose_action(self, state, False)
    if not epsilon or available(state) == [best]:
        return best
    return random.choices([random.choice(others(self, state)), best], [self.epsilon, 1 - self.epsilon])[0]


def numpy_random(self, state, epsilon=True):
    if epsilon and np.random.random() < self.epsilon:  # noqa: NPY002
        return available(state)[np.random.randint(len(available(state)))]  # noqa: NPY002
    return Right.choose_action(self, state, False)


def pile_first(self, state, epsilon=True):
    if epsilon and random.random() < self.epsilon:
        pile = random.choice([pile for pile, size in enumerate(state) if size])
        return pile, random.randint(1, state[pile])
    return Right.choose_action(self, state, False)


def destructive(self, state, epsilon=True):
    chosen = Right.choose_action(self, state, epsilon)
    self.q.clear()
    state[chosen[0]] -= chosen[1]
    return chosen


def destructive_best(self, state):
    best = Right.best_future_reward(self, state)
    self.q = None
    state.clear()
    return best


def tuples_only(self, state, action):
    return self.q.get((hash(state) and state, action), 0)


def update_from_the_table(self, state, action, old_q, reward, future_rewards):
    old = self.get_q_value(state, action)
    self.q[tuple(state), action] = old + self.alpha * (reward + future_rewards - old)


def greedy_only(self, state):
    return Right.choose_action(self, state, False)


def always_explores_a_little(self, state):
    return Right.choose_action(self, state, True)


def numeric_epsilon(self, state, epsilon=0.1):
    return always_drawn(self, state, random.random() < epsilon)


def without(*functions):
    kept = {name: getattr(Right, name) for name in FOUR if name not in functions}
    return type("Without", (), {"__init__": Right.__init__, "values": Right.values, **kept})


FOUR = ("get_q_value", "update_q_value", "best_future_reward", "choose_action")
CORRECT = {
    "course": Right,
    "written down when asked": Written,
    "defaultdict": Default,
    "dict subclass": OwnTable,
    "all pairs from the start": AllPairs,
    "random values at the start": RandomStart,
    "table of the class": Shared,
    "properties": Property,
    "slots": Slots,
    "decaying epsilon": Decaying,
    "new table at each update": NewTable,
    "sorted keys": Sorted,
    "text keys": Text,
    "text keys without get_q_value": TextWithoutGet,
    "action first in keys": ActionFirst,
    "nested tables": Nested,
    "values with counts": Counted,
    "no table": type("NoTable", (), {"choose_action": Right.choose_action}),
    "array": variant(__init__=lambda self: setattr(self, "q", np.zeros(3))),
    "another name for alpha": OwnAlpha,
    "alpha 0.1": lambda: Right(alpha=0.1),
    "alpha 0": lambda: Right(alpha=0),
    "alpha 1": lambda: Right(alpha=1),
    "epsilon 0": lambda: Right(epsilon=0),
    "epsilon 1": lambda: Right(epsilon=1),
    "epsilon 0.5": lambda: Right(epsilon=0.5),
    "ties drawn": variant(
        choose_action=lambda self, state, epsilon=True: (
            Right.choose_action(self, state, epsilon) if epsilon else random.choice(best_actions(self, state))
        )
    ),
    "last of ties": variant(
        choose_action=lambda self, state, epsilon=True: (
            random.choice(available(state))
            if epsilon and random.random() < self.epsilon
            else best_actions(self, state)[-1]
        )
    ),
    "explores among others": variant(choose_action=explores_among_others),
    "weights": variant(choose_action=weighted),
    "NumPy's generator": variant(choose_action=numpy_random),
    "pile first": variant(choose_action=pile_first),
    "list": variant(
        choose_action=lambda self, state, epsilon=True: list(Right.choose_action(self, state, epsilon))
    ),
    "NumPy action": variant(
        choose_action=lambda self, state, epsilon=True: np.array(Right.choose_action(self, state, epsilon))
    ),
    "NumPy numbers": variant(
        get_q_value=lambda self, state, action: np.float32(Right.get_q_value(self, state, action)),
        best_future_reward=lambda self, state: np.array(Right.best_future_reward(self, state)),
    ),
    "rounded": variant(
        best_future_reward=lambda self, state: round(Right.best_future_reward(self, state), 4),
        update_q_value=update(lambda alpha, old, reward, future: round(old + alpha * (reward + future - old), 4)),
    ),
    "minus zero": variant(best_future_reward=lambda self, state: Right.best_future_reward(self, state) or -0.0),
    "changes what it is given": variant(choose_action=destructive, best_future_reward=destructive_best),
    "takes tuples": variant(get_q_value=tuples_only),
    "old value from the table": variant(update_q_value=update_from_the_table),
    "best by choice": variant(
        best_future_reward=lambda self, state: (
            self.get_q_value(state, self.choose_action(state, epsilon=False)) if any(state) else 0
        )
    ),
    "without epsilon": variant(choose_action=greedy_only),
    "without epsilon, explores": variant(choose_action=always_explores_a_little),
    "a number as epsilon": variant(choose_action=numeric_epsilon),
    "other functions": variant(
        best_future_reward=lambda self, state, actions: None, update_q_value=lambda self, state, reward: None
    ),
    **{f"without {name}": without(name) for name in ("update_q_value", "best_future_reward", "choose_action")},
    "only choose_action": variant(
        type("Base", (), {"__init__": Right.__init__, "values": Right.values, "get_q_value": Right.get_q_value}),
        choose_action=Right.choose_action,
    ),
}


@pytest.mark.parametrize("name", CORRECT)
def test_correct_variants_are_not_accused(name):
    for seed in SEEDS if name not in ("all pairs from the start", "random values at the start") else [0]:
        assert faults(CORRECT[name], seed) == []


class Even(Right):
    """Explores in a given share of its moves on the starting board, evenly, and counts the moves there."""

    share = 0.1
    moves = 0

    def choose_action(self, state, epsilon=True):
        best = Right.choose_action(self, state, False)
        if not epsilon or state != [1, 3, 5, 7]:
            return best
        before = self.moves
        type(self).moves += 1
        n_explored = int(self.moves * self.share)
        others = [action for action in available(state) if action != best]
        return others[n_explored % len(others)] if n_explored > int(before * self.share) else best


def test_exploration_is_accused_less_than_once_in_ten_thousand():
    def is_accused(share):
        player = type("Player", (Even,), {"share": share})
        return bool(faults(player)), player.moves

    moves = is_accused(0.1)[1]
    limits = []
    for wrong, right in ((0, 0.095), (0.3, 0.095)):
        while abs(wrong - right) > 1e-3:
            middle = (wrong + right) / 2
            wrong, right = (middle, right) if is_accused(middle)[0] else (wrong, middle)
        limits.append(right)  # accepted, so the probabilities below are slightly too large
    low, high = (limit * moves for limit in limits)
    for chance in (0.1 * 15 / 16, 0.1):  # exploration may draw the best action, too
        assert binom.cdf(low - 1, moves, chance) + binom.sf(high, moves, chance) < 1e-4
    for chance in (0, 0.05 * 15 / 16, 0.05, 0.2 * 15 / 16, 0.9 * 15 / 16, 15 / 16, 1):
        assert binom.cdf(high + 10, moves, chance) - binom.cdf(low - 10, moves, chance) < 1e-4


def test_exploration_that_always_plays_the_same_move_is_not_random():
    class Popped(Right):
        def choose_action(self, state, epsilon=True):
            explores = epsilon and random.random() < self.epsilon
            return available(state)[0] if explores else Right.choose_action(self, state, False)

    assert [fault.function for fault in faults(Popped)] == ["choose_action"]


def test_the_same_seed_gives_the_same_faults_and_the_global_generator_is_as_before():
    player = variant(choose_action=choose_from_zero_or_draw, update_q_value=UPDATE["no future"])
    random.seed(7)
    before = random.getstate()
    first = faults(player, 3)
    assert random.getstate() == before
    random.seed(8)
    assert faults(player, 3) == first

    def fails():
        raise RuntimeError("cannot be made")

    with pytest.raises(RuntimeError, match="cannot be made"):
        faults(fails)


def test_errors_of_every_kind_are_told():
    class OwnError(Exception):
        pass

    for error in (OwnError("x"), RecursionError(), AssertionError(), StopIteration(), KeyError(), TypeError("y")):
        told = faults(variant(**raising(error)))
        assert {fault.function for fault in told} == set(FOUR)
        assert all(type(error).__name__ in fault.sentence for fault in told)


def test_it_needs_only_the_standard_library():
    tree = ast.parse(Path(specification.__file__).read_text(encoding="utf-8"))
    imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names] + [
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    ]
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_the_file_runs_alone_without_numpy_and_without_this_package():
    """A browser loads the file alone."""
    code = f"""
import importlib.util, sys
for missing in ("numpy", "gymnasium", "nim_env"):
    sys.modules[missing] = None  # importing it raises ImportError
spec = importlib.util.spec_from_file_location("specification", {specification.__file__!r})
specification = importlib.util.module_from_spec(spec)
spec.loader.exec_module(specification)
class Player:
    def __init__(self):
        self.q, self.alpha, self.epsilon = dict(), 0.5, 0.1
    def get_q_value(self, state, action):
        return self.q.get((tuple(state), action), 1)
print(*(fault.function for fault in specification.faults(Player)))
"""
    result = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["get_q_value"]
