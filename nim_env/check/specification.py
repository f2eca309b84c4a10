"""Tests of the four functions that students write in CS50's project Nim.

Each function is tested independently of the others. A fault comes with the smallest counterexample: the position
has the fewest objects, and the player's table of values has the fewest entries.

This module must stay a single file that needs only the standard library. It also runs in a browser, which loads
the file alone, without NumPy and without this package. So it imports nothing else, and :class:`Fault`,
:func:`faults` and :func:`tested_functions` keep their names.
"""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from itertools import product
from typing import Any, NamedTuple, TypeAlias

State: TypeAlias = tuple[int, ...]
"""The number of objects in each pile."""
Action: TypeAlias = tuple[int, int]
"""A pile, counted from 0, and the number of objects to take from it."""

_PILES: State = (1, 3, 5, 7)
_TENTHS: list[Any] = [tenth / 10 for tenth in range(-10, 11)]  # any two differ by 0.1, so rounding is harmless
_POOLS = [_TENTHS, _TENTHS[:10], [-0.5, 0.5], [-0.3, 0], [*_TENTHS, *[None] * 20], [-1, None], [-0.5, 0.5, None]]
_SMALL_VALUES = (None, -1.0, 0.0, 0.5)  # small positions get every table of these; None is an unseen action
_N_RANDOM_QUESTIONS = 150
_TOLERANCE = 1e-3  # the difference allowed between a number and the right one
_N_DRAWS = 6000  # the number of moves from which the probability of exploring is estimated
# By Hoeffding's inequality the estimate is off by more than the slack, to one side, with a probability of at most
# exp(-2 * draws * slack²), which is below 1 / 20,000. The slack still tells an epsilon of 0.1 from 0.05 and 0.2.
_SLACK = 0.029


class Fault(NamedTuple):
    """A difference between what a function does and what the specification says.

    Attributes:
        function: The name of the function.
        sentence: What the function does, with the smallest counterexample, and what would be right.
    """

    function: str
    sentence: str


def faults(make_player: Callable[[], Any], seed: int = 0) -> list[Fault]:
    """Tests ``get_q_value``, ``best_future_reward``, ``update_q_value`` and ``choose_action`` on small tables.

    The tests follow the specification of the course, https://cs50.harvard.edu/ai/projects/4/nim. A pair of state
    and action that was never updated has the value 0. The best future reward of a finished game is 0. An update
    sets the value to ``old_q + alpha * (reward + future_rewards - old_q)``. If several actions are best, each of
    them is right. Two things are left open: values can be rounded, and exploration can draw from all available
    actions or only from the other ones.

    Each call is made on a new player with a new table, so a function that changes its table cannot spoil another
    answer. A function is not tested if the player does not have it, or if it does not take the arguments of the
    course. If ``get_q_value`` has a fault, the other functions are tested with a correct one instead.

    The keys of ``q`` must be ``(state, action)``, as in ``((1, 3, 5, 7), (3, 2))``. The result is empty if the
    player stores its values elsewhere. This is the case if ``update_q_value`` leaves nothing at that key, but the
    player's own ``get_q_value`` finds the update. If there is no ``update_q_value``, the caller must make
    sure that the keys have this form.

    Players draw from Python's global random generator, whose state is restored at the end. The probability that a
    player that explores correctly gets a fault is at most 1 in 10,000.

    Args:
        make_player: A function that returns a new player with the attributes ``q``, ``alpha`` and ``epsilon``. Its
            errors are not caught.
        seed: The seed for the tables and for Python's global random generator.

    Returns:
        The faults, at most one for each function and kind of fault. The list is empty if there are none.
    """
    before = random.getstate()
    random.seed(seed)
    try:
        return _faults(make_player, random.Random(seed))
    finally:
        random.setstate(before)


def tested_functions(make_player: Callable[[], Any]) -> dict[str, bool]:
    """Says which of the course's functions can be tested by :func:`faults` in a player.

    Args:
        make_player: A function that returns a new player.

    Returns:
        For each function with its parameters, such as ``best_future_reward(state)``, whether the player has it
        with these parameters. The dictionary is empty if nothing can be tested, since the player does not store
        its values in ``q`` as the course does.
    """
    if not _has_table_of_course(make_player):
        return {}
    sample = make_player()
    return {
        f"{function}({tested.parameters})": _takes(_parameters_of(sample, function), tested.n_arguments)
        for function, tested in _TESTS.items()
    }


def _faults(make_player: Callable[[], Any], generator: random.Random) -> list[Fault]:
    """Tests the functions of a player, and returns the smallest fault of each :class:`_Kind`."""
    sample = make_player()
    if not _has_table_of_course(make_player):
        return []
    questions = _questions(generator)
    found: dict[_Kind, Fault] = {}  # the first of each kind, which is the smallest
    for function in _TESTS:
        is_corrected = any(kind.function == "get_q_value" for kind in found)
        for trial in _trials(sample, function, questions, generator, is_corrected):
            answer = trial.answer_of(make_player())
            if not trial.accepts(answer):
                found.setdefault(trial.kind_of(answer), trial.fault(answer))
        has_flag = _has_epsilon_as_flag(_parameters_of(sample, function))
        if has_flag and (sentence := _exploration_fault(make_player())):
            found[_Kind(function, "exploration", True)] = Fault(function, sentence)
    return list(found.values())


class _Question(NamedTuple):
    """A position in which the functions are called, and the values that the player has learned.

    The keys of the table are ``(state, action)``. It can have values of other positions too.
    """

    state: State
    table: dict[Any, float]

    @property
    def values(self) -> dict[Action, float]:
        """The value of each available action. A pair that is not in the table has the value 0."""
        return {action: self.table.get((self.state, action), 0) for action in _actions(self.state)}

    @property
    def reason(self) -> str:
        """The values in words, as the reason why an answer is right."""
        words = [
            f"{value} for {action}{'' if (self.state, action) in self.table else ' (unseen)'}"
            for action, value in self.values.items()
        ]
        others = [(key, value) for key, value in self.table.items() if key[0] != self.state]
        words += [f"{value} for {action} in {list(state)}" for (state, action), value in others]
        return f"the values are {', '.join(words)}" if words else "no action is available"


class _ExpectedCall(NamedTuple):
    """The call of a function in a position, and its right answers.

    Attributes:
        arguments: The arguments after the position.
        right: All right answers. For ``update_q_value``, they are values that it can store.
        reason: Why they are right, in words.
    """

    arguments: tuple[Any, ...]
    right: list[Any]
    reason: str


class _Update(NamedTuple):
    """The arguments of ``update_q_value`` after the position."""

    action: Action
    old_q: float
    reward: int
    future_rewards: float


class _Kind(NamedTuple):
    """The kind of a fault: the function, what the wrong answer is, and whether the game is in progress.

    ``answer`` is "number" or the name of another type. For a wrong rate of exploration it is "exploration". Of the
    faults of one kind, only the smallest is reported.
    """

    function: str
    answer: str
    is_in_progress: bool  # not in the finished game


def _drawn_update(question: _Question, generator: random.Random) -> _Update:
    action, old_q = generator.choice([*question.values.items()])
    return _Update(action, old_q, reward=generator.choice((-1, 0, 1)), future_rewards=generator.choice(_TENTHS))


def _call_of_get_q_value(question: _Question, _: float, generator: random.Random) -> _ExpectedCall | None:
    """Returns a call of ``get_q_value`` for a random action, or ``None`` if the game is over."""
    if not question.values:
        return None
    update = _drawn_update(question, generator)
    return _ExpectedCall((update.action,), [update.old_q], f"{question.reason}, so {update.old_q} is right")


def _call_of_best_future_reward(question: _Question, *_: Any) -> _ExpectedCall:
    best = max(question.values.values(), default=0)
    return _ExpectedCall((), [best], f"{question.reason}, so {best} is right")


def _call_of_update_q_value(question: _Question, alpha: float, generator: random.Random) -> _ExpectedCall | None:
    """Returns a call of ``update_q_value`` for a random action.

    Returns ``None`` if the game is over or if the player has no ``alpha``.
    """
    if not question.values:
        return None
    update = _drawn_update(question, generator)
    _, old, reward, future = update
    new = round(old + alpha * (reward + future - old), 6)
    if new != new:  # NaN, since there is no alpha
        return None
    return _ExpectedCall(update, [new], f"{old} + {alpha} * ({reward} + {future} - {old}) = {new} is right")


def _call_of_choose_action(question: _Question, *_: Any) -> _ExpectedCall | None:
    """Returns a call of ``choose_action``, or ``None`` if the game is over, since every action would be wrong."""
    values = question.values
    if not values:
        return None
    highest = max(values.values())
    best = [action for action in values if values[action] == highest]
    return _ExpectedCall((), best, f"{question.reason}, so {' or '.join(map(str, best))} is right")


class _Test(NamedTuple):
    """How a function is tested.

    Attributes:
        parameters: The parameters that it needs, in the order of its arguments.
        make_call: Makes a call for a question, given the player's alpha and a random generator. Returns ``None``
            if the function cannot be tested there.
    """

    parameters: str
    make_call: Callable[[_Question, float, random.Random], _ExpectedCall | None]

    @property
    def n_arguments(self) -> int:
        """The number of arguments of the function, including the position."""
        return len(self.parameters.split(", "))


_TESTS = {
    "get_q_value": _Test("state, action", _call_of_get_q_value),
    "best_future_reward": _Test("state", _call_of_best_future_reward),
    "update_q_value": _Test("state, action, old_q, reward, future_rewards", _call_of_update_q_value),
    "choose_action": _Test("state", _call_of_choose_action),
}


def _parameters_of(player: Any, function: str) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(getattr(player, function, lambda: None)).parameters


def _takes(parameters: Mapping[str, inspect.Parameter], n_arguments: int) -> bool:
    """Returns whether a function can be called with this number of positional arguments."""
    n_needed = sum(parameter.default is parameter.empty for parameter in parameters.values())
    return n_needed <= n_arguments <= len(parameters)


def _call_options(parameters: Mapping[str, inspect.Parameter]) -> list[dict[str, bool]]:
    """Returns the keyword arguments of each call to make.

    A function that has the parameter ``epsilon`` is called without and with exploration, any other function once.
    """
    return [{"epsilon": False}, {"epsilon": True}] if "epsilon" in parameters else [{}]


def _has_epsilon_as_flag(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Returns whether ``epsilon`` switches exploration on and off. In other programs it is a probability."""
    epsilon = parameters.get("epsilon")
    return epsilon is not None and epsilon.default in (True, False, epsilon.empty)


class _Trial(NamedTuple):
    """One call of a function on a new player that gets the table of a question as its values.

    ``options`` are the keyword arguments of the call, which turn exploration on or off. With ``is_corrected``, the
    player also gets a correct ``get_q_value``.
    """

    function: str
    question: _Question
    call: _ExpectedCall
    options: dict[str, bool]
    is_corrected: bool  # the player gets a correct get_q_value

    def answer_of(self, player: Any) -> Any:
        """Calls the function, and returns its answer or the exception that it raises.

        ``update_q_value`` returns nothing, so its answer is the value that it has stored.
        """
        _give_table(player, self.question.table, self.is_corrected)
        if not self.options:  # choose_action cannot be told not to explore
            _attempt(setattr, player, "epsilon", 0)
        state, arguments = self.question.state, self.call.arguments
        answer = _attempt(getattr(player, self.function), list(state), *arguments, **self.options)
        if self.function == "update_q_value" and not isinstance(answer, Exception):
            answer = _attempt(_stored_value, player, state, arguments[0])
        return answer

    def accepts(self, answer: Any) -> bool:
        """Returns whether an answer is right. While the player explores, every legal action is right."""
        right = _actions(self.question.state) if self.options.get("epsilon") else self.call.right
        return any(_attempt(_is_right, answer, one) is True for one in right)

    def kind_of(self, answer: Any) -> _Kind:
        """Returns the kind of fault that a wrong answer is."""
        name = "number" if isinstance(answer, int | float) else type(answer).__name__
        return _Kind(self.function, name, any(self.question.state))

    def fault(self, answer: Any) -> Fault:
        """Returns the fault that a wrong answer shows. Its sentence says what was called and what is right."""
        prefix = "With get_q_value corrected, " if self.is_corrected else ""
        given = [str(list(self.question.state)), *map(str, self.call.arguments)]
        given += [f"epsilon={explores}" for explores in self.options.values()]
        verb = "raises" if isinstance(answer, Exception) else "gives"
        shown = f"{_attempt(repr, answer)!s:.100}"
        sentence = f"{prefix}{self.function}({', '.join(given)}) {verb} {shown}; {self.call.reason}"
        return Fault(self.function, sentence)


def _trials(
    sample: Any, function: str, questions: list[_Question], generator: random.Random, is_corrected: bool
) -> Iterator[_Trial]:
    """Yields a :class:`_Trial` of a function for each question, and a second one with exploration if it can do so.

    Questions for which the function cannot be tested are left out. Nothing is yielded if the player ``sample``
    does not have the function, or if it takes other arguments.
    """
    tested, parameters = _TESTS[function], _parameters_of(sample, function)
    if not _takes(parameters, tested.n_arguments):
        return
    for question in questions:
        call = tested.make_call(question, getattr(sample, "alpha", float("nan")), generator)
        if call is not None:
            for options in _call_options(parameters):
                yield _Trial(function, question, call, options, is_corrected)


def _actions(state: State) -> list[Action]:
    return [(pile, count) for pile, size in enumerate(state) for count in range(1, size + 1)]


def _table(state: State, values: Iterable[float | None]) -> dict[Any, float]:
    """Returns a dictionary ``(state, action) -> value`` for one position, given a value for each of its actions.

    An action whose value is ``None`` is left out.
    """
    pairs = zip(_actions(state), values, strict=True)
    return {(state, action): value for action, value in pairs if value is not None}


def _questions(generator: random.Random) -> list[_Question]:
    """Returns the questions in the order of their size: first by objects, then by entries of the table.

    Each position of up to two objects is combined with every table of values from ``_SMALL_VALUES``. The other
    questions have random positions and random tables.
    """
    positions = sorted(product(*(range(size + 1) for size in _PILES)), key=sum)
    questions = []
    for state in positions:
        if sum(state) <= 2:  # a position has as many actions as objects
            tables = product(_SMALL_VALUES, repeat=sum(state))
            questions += [_Question(state, _table(state, values)) for values in tables]
    for _ in range(_N_RANDOM_QUESTIONS):
        # the cube makes small positions more frequent
        states = [positions[int(len(positions) * generator.random() ** 3)] for _ in range(generator.randint(1, 3))]
        table: dict[Any, float] = {}
        for state in states:
            table |= _table(state, generator.choices(generator.choice(_POOLS), k=sum(state)))
        questions.append(_Question(states[0], table))
    return sorted(questions, key=lambda question: (sum(question.state), len(question.table)))


def _give_table(player: Any, table: dict[Any, float], is_corrected: bool = False) -> None:
    """Replaces the values of a player by a table. With ``is_corrected``, also corrects its ``get_q_value``."""
    _attempt(setattr, player, "q", copy.copy(player.q))  # since a table of the class would be shared
    if is_corrected:
        _attempt(setattr, player, "get_q_value", lambda state, action: _stored_value(player, state, action))
    player.q.update({**dict.fromkeys(player.q, 0), **table})  # a player can start with all keys and rely on them


def _attempt(function: Callable[..., Any], state: Any, *arguments: Any, **options: Any) -> Any:
    """Calls a function, and returns its result or the exception that it raises.

    If it raises TypeError for a state that is a list, it is called again with a tuple.
    """
    try:
        return function(state, *arguments, **options)
    except TypeError as error:
        return _attempt(function, tuple(state), *arguments, **options) if isinstance(state, list) else error
    except Exception as error:
        return error


def _is_right(answer: Any, right: Any) -> bool:
    """Returns whether an answer is the right action (in a sequence of any type) or nearly the right number.

    An answer of another type can raise any error.
    """
    return bool(tuple(answer) == right if isinstance(right, tuple) else abs(answer - right) < _TOLERANCE)


def _stored_value(player: Any, state: Iterable[int], action: Iterable[int]) -> Any:
    """Returns the value that the player has in ``q`` for a state and an action, or 0 if it has none."""
    return player.q.get((tuple(state), tuple(action)), 0)


def _has_table_of_course(make_player: Callable[[], Any]) -> bool:
    return isinstance(getattr(make_player(), "q", None), MutableMapping) and not _has_another_table(make_player())


def _has_another_table(player: Any) -> bool:
    """Returns whether a player stores its values elsewhere than in ``q`` with the keys of the course.

    This is the case if ``get_q_value`` finds the new value after an update, but there is none at the key.
    """
    state, action = [1, 0, 5, 2], (2, 1)  # neither sorted up nor down
    _give_table(player, {})
    read = getattr(player, "get_q_value", lambda *_: len(player.q))
    before = _attempt(read, state, action)
    _attempt(getattr(player, "update_q_value", len), state, action, 0, 1, 0)
    after, stored = _attempt(read, state, action), _attempt(_stored_value, player, state, action)
    return isinstance(after, int | float) and before != after and not (isinstance(stored, int | float) and stored)


def _exploration_fault(player: Any) -> str:
    """Describes a wrong rate of exploration. The string is empty if the rate is right or cannot be judged."""
    epsilon: Any = getattr(player, "epsilon", None)
    others = _explored_actions(player)
    is_known = isinstance(epsilon, int | float) and player.epsilon == epsilon  # the player can change it
    if others is None or not is_known:
        return ""
    share, n_kinds = len(others) / _N_DRAWS, len({*others})
    n_others = len(_actions(_PILES)) - 1
    is_random = n_kinds != 1 or share < 0.01  # a few draws can agree by chance
    least = epsilon * n_others / (n_others + 1)  # if all actions are drawn, the best one is among them
    if is_random and least - _SLACK <= share <= epsilon + _SLACK:
        return ""
    kinds = f"with {n_kinds} of the {n_others} others"
    return f"choose_action explores in {share:.1%} of its moves, {kinds}; epsilon is {epsilon}"


def _explored_actions(player: Any) -> list[str] | None:
    """Makes many moves with exploration in one position, and returns those other than the best one, as strings.

    Returns ``None`` if these moves cannot be judged: if one of them is not a tuple or a list, or if the player
    does not play the best action when it does not explore.
    """
    best = (3, 4)  # in the largest pile, so it makes little difference if a pile is drawn first
    table = _table(_PILES, [0.5 if action == best else -0.5 for action in _actions(_PILES)])
    _give_table(player, table)

    def choose(state: State, explores: bool) -> Any:
        player.q.update(table)
        return player.choose_action(list(state), epsilon=explores)

    usual = _attempt(choose, _PILES, False)
    answers = [_attempt(choose, _PILES, True) for _ in range(_N_DRAWS)]
    if _attempt(_is_right, usual, best) is not True or not {*map(type, answers)} <= {tuple, list}:
        return None
    return [repr(answer) for answer in answers if _attempt(_is_right, answer, best) is not True]
