"""Tests the four functions that students write in CS50's project Nim.

Each function is tested independently of the others. Each fault is reported with its smallest counterexample: the
one whose position has the fewest objects and whose table of Q-values has the fewest entries.

The web page "Your own program" loads this file alone, in a browser that has neither NumPy nor this package. So the
module must stay a single file that needs only the standard library, and :class:`Fault`, :func:`faults` and
:func:`tested_functions` must keep their names.
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
# the values from which random tables are drawn, in one of these lists at a time; None is an unseen action
_POOLS = [_TENTHS, _TENTHS[:10], [-0.5, 0.5], [-0.3, 0], [*_TENTHS, *[None] * 20], [-1, None], [-0.5, 0.5, None]]
_SMALL_VALUES = (None, -1.0, 0.0, 0.5)  # every table with these values is tried in small positions
_N_RANDOM_CASES = 150
_TOLERANCE = 1e-3  # the difference allowed between a number and the right one
_N_DRAWS = 6000  # the number of moves from which the probability of exploring is estimated
# The error allowed in this estimate. By Hoeffding's inequality, a larger error to one side has a probability of at
# most exp(-2 * draws * slack²), which is below 1 / 20,000. It still tells an epsilon of 0.1 from 0.05 and 0.2.
_SLACK = 0.029


class Fault(NamedTuple):
    """A fault in a function of a player: it does something else than the course's specification says.

    Attributes:
        function: The name of the function.
        sentence: What the function does in the smallest counterexample, and what would be right.
    """

    function: str
    sentence: str


def faults(make_player: Callable[[], Any], seed: int = 0) -> list[Fault]:
    """Tests ``get_q_value``, ``best_future_reward``, ``update_q_value`` and ``choose_action`` of a player.

    The functions are called with small tables of Q-values, and their answers are compared with the course's
    specification, https://cs50.harvard.edu/ai/projects/4/nim:

    - A pair of state and action that was never updated has the value 0.
    - The best future reward of a finished game is 0.
    - An update sets the value to ``old_q + alpha * (reward + future_rewards - old_q)``.
    - If several actions are best, each of them is right.
    - Values can be rounded.
    - Exploration can draw from all available actions, or from all except the best one.

    Each call is made on a new player with a new table, so a function that changes its table cannot spoil another
    answer. A function is not tested if the player does not have it, or if it does not take the arguments of the
    course. If ``get_q_value`` has a fault, the other functions are tested with a correct one instead.

    Nothing is tested if the player does not keep its values in a dictionary ``q`` with keys ``(state, action)``,
    such as ``((1, 3, 5, 7), (3, 2))``. Updating a value shows whether it does. If the player has no
    ``update_q_value``, the caller must make sure of it.

    Players draw from Python's global random generator, whose state is restored at the end. How often a player
    explores is estimated. The probability that the estimate leads to a false report is at most 1 in 10,000.

    Args:
        make_player: A function that returns a new player with the attributes ``q``, ``alpha`` and ``epsilon``. Its
            errors are not caught.
        seed: The seed for the tables and for Python's global random generator.

    Returns:
        The faults. If a function fails in the same way in several calls, only the smallest example is reported.
    """
    before = random.getstate()
    random.seed(seed)
    try:
        return _faults(make_player, random.Random(seed))
    finally:
        random.setstate(before)


def tested_functions(make_player: Callable[[], Any]) -> dict[str, bool]:
    """Says which functions of a player :func:`faults` can test.

    Args:
        make_player: A function that returns a new player.

    Returns:
        A dictionary with a key for each of the course's four functions, such as ``"best_future_reward(state)"``.
        Its value is True if the player has a function with this name and these parameters. The dictionary is empty
        if nothing can be tested, because the player does not keep its values in ``q`` as the course does.
    """
    sample = make_player()
    if not _has_table_of_course(make_player()):
        return {}
    return {
        f"{function}({tested.parameters})": _takes(_parameters_of(sample, function), tested.n_arguments)
        for function, tested in _TESTS.items()
    }


def _faults(make_player: Callable[[], Any], generator: random.Random) -> list[Fault]:
    """Tests the functions of a player, and returns the smallest fault of each kind.

    ``generator`` draws the tables of Q-values.
    """
    sample = make_player()
    if not _has_table_of_course(make_player()):
        return []
    cases = _cases(generator)
    found: list[Fault] = []
    for function in _TESTS:
        is_corrected = any(fault.function == "get_q_value" for fault in found)
        smallest: dict[Any, Fault] = {}  # the first fault of each kind
        for trial in _trials(sample, function, cases, generator, is_corrected):
            answer = trial.answer_of(make_player())
            if not trial.accepts(answer):
                smallest.setdefault(trial.kind_of(answer), trial.fault(answer))
        found += smallest.values()
        has_flag = _has_epsilon_as_flag(_parameters_of(sample, function))
        if has_flag and (sentence := _exploration_fault(make_player())):
            found.append(Fault(function, sentence))
    return found


class _Case(NamedTuple):
    """A test case: the position in which a function is called, and the Q-values that the player has learned.

    Attributes:
        state: The position.
        table: The Q-values by ``(state, action)``. It can have Q-values of other positions too.
    """

    state: State
    table: dict[Any, float]

    @property
    def values(self) -> dict[Action, float]:
        """The Q-value of each available action. An action that is not in the table has the Q-value 0."""
        return {action: self.table.get((self.state, action), 0) for action in _actions(self.state)}

    @property
    def reason(self) -> str:
        """The Q-values in words, such as "the values are -1.0 for (3, 1)", to explain why an answer is right."""
        words = [
            f"{value} for {action}{'' if (self.state, action) in self.table else ' (unseen)'}"
            for action, value in self.values.items()
        ]
        others = [(key, value) for key, value in self.table.items() if key[0] != self.state]
        words += [f"{value} for {action} in {list(state)}" for (state, action), value in others]
        return f"the values are {', '.join(words)}" if words else "no action is available"


class _ExpectedCall(NamedTuple):
    """A call of a function, and the answers that are right.

    Attributes:
        arguments: The arguments of the call after the first one, which is the position.
        right: All right answers. For ``update_q_value``, which returns nothing, this is the value to be stored.
        reason: Why these answers are right, in words.
    """

    arguments: tuple[Any, ...]
    right: list[Any]
    reason: str


def _drawn_update(case: _Case, generator: random.Random) -> tuple[Action, float, int, float]:
    """Draws the last four arguments of ``update_q_value``: the action, old_q, reward and future_rewards.

    The action is legal in the position of the test case, and old_q is its Q-value.
    """
    action, old_q = generator.choice([*case.values.items()])
    return action, old_q, generator.choice((-1, 0, 1)), generator.choice(_TENTHS)


def _call_of_get_q_value(case: _Case, _: float, generator: random.Random) -> _ExpectedCall | None:
    """Draws an action for ``get_q_value`` in a test case, and returns it with the right answer.

    Returns ``None`` if the game is over, because there is no action.
    """
    if not case.values:
        return None
    action, value = _drawn_update(case, generator)[:2]
    return _ExpectedCall((action,), [value], f"{case.reason}, so {value} is right")


def _call_of_best_future_reward(case: _Case, *_: Any) -> _ExpectedCall:
    """Returns the right answer of ``best_future_reward`` in a test case, which is 0 if the game is over."""
    best = max(case.values.values(), default=0)
    return _ExpectedCall((), [best], f"{case.reason}, so {best} is right")


def _call_of_update_q_value(case: _Case, alpha: float, generator: random.Random) -> _ExpectedCall | None:
    """Draws arguments for ``update_q_value`` in a test case, and returns them with the value to be stored.

    ``alpha`` is the player's learning rate. Returns ``None`` if the game is over, because there is no action, or
    if ``alpha`` is NaN, because the player has no learning rate.
    """
    if not case.values:
        return None
    update = _drawn_update(case, generator)
    _, old, reward, future = update
    new = round(old + alpha * (reward + future - old), 6)
    if new != new:  # NaN
        return None
    return _ExpectedCall(update, [new], f"{old} + {alpha} * ({reward} + {future} - {old}) = {new} is right")


def _call_of_choose_action(case: _Case, *_: Any) -> _ExpectedCall | None:
    """Returns the right answers of ``choose_action`` in a test case: the actions with the largest Q-value.

    Returns ``None`` if the game is over, because there is no action.
    """
    values = case.values
    if not values:
        return None
    highest = max(values.values())
    best = [action for action in values if values[action] == highest]
    return _ExpectedCall((), best, f"{case.reason}, so {' or '.join(map(str, best))} is right")


class _Test(NamedTuple):
    """How one of the course's functions is tested.

    Attributes:
        parameters: The names of the function's parameters, separated by commas.
        make_call: Returns the arguments and the right answers for a test case. It takes the test case, the
            player's learning rate and a random generator. It returns ``None`` if the function cannot be tested in
            this case.
    """

    parameters: str
    make_call: Callable[[_Case, float, random.Random], _ExpectedCall | None]

    @property
    def n_arguments(self) -> int:
        """The number of arguments of the course's function, including the position."""
        return len(self.parameters.split(", "))


_TESTS = {
    "get_q_value": _Test("state, action", _call_of_get_q_value),
    "best_future_reward": _Test("state", _call_of_best_future_reward),
    "update_q_value": _Test("state, action, old_q, reward, future_rewards", _call_of_update_q_value),
    "choose_action": _Test("state", _call_of_choose_action),
}


def _parameters_of(player: Any, function: str) -> Mapping[str, inspect.Parameter]:
    """Returns the parameters of a player's function by name. There are none if the player lacks the function."""
    return inspect.signature(getattr(player, function, lambda: None)).parameters


def _takes(parameters: Mapping[str, inspect.Parameter], n_arguments: int) -> bool:
    """Returns whether a function can be called with this number of positional arguments."""
    n_needed = sum(parameter.default is parameter.empty for parameter in parameters.values())
    return n_needed <= n_arguments <= len(parameters)


def _has_epsilon_as_flag(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Returns whether a function has a parameter ``epsilon`` that switches exploration on and off.

    In some programs, ``epsilon`` is the probability of exploring instead. Then its default is a number.
    """
    epsilon = parameters.get("epsilon")
    return epsilon is not None and epsilon.default in (True, False, epsilon.empty)


class _Trial(NamedTuple):
    """One call of a tested function, which is made on a new player.

    Attributes:
        function: The name of the function.
        case: The test case: the position of the call, and the Q-values that the player gets.
        call: The arguments of the call, and its right answers.
        options: The keyword arguments of the call. They turn exploration on or off, if the function has the
            parameter ``epsilon``.
        is_corrected: Whether the player's ``get_q_value`` is replaced by a correct one.
    """

    function: str
    case: _Case
    call: _ExpectedCall
    options: dict[str, bool]
    is_corrected: bool

    def answer_of(self, player: Any) -> Any:
        """Calls the function on a new player, and returns its answer or the exception that it raises.

        ``update_q_value`` returns nothing, so its answer is the value that it has stored.
        """
        _give_table(player, self.case.table, self.is_corrected)
        if not self.options:  # choose_action cannot be told not to explore
            _attempt(setattr, player, "epsilon", 0)
        state, arguments = self.case.state, self.call.arguments
        answer = _attempt(getattr(player, self.function), list(state), *arguments, **self.options)
        if self.function == "update_q_value" and not isinstance(answer, Exception):
            answer = _attempt(_stored_value, player, state, arguments[0])
        return answer

    def accepts(self, answer: Any) -> bool:
        """Returns whether an answer is right. In a call with exploration, every legal action is right."""
        right = _actions(self.case.state) if self.options.get("epsilon") else self.call.right
        return any(_attempt(_is_right, answer, one) is True for one in right)

    def kind_of(self, answer: Any) -> tuple[str, bool]:
        """Returns the kind of a wrong answer, because each kind of fault is reported only once.

        The kind is the type of the answer, such as "number", and whether the game is in progress.
        """
        name = "number" if isinstance(answer, int | float) else type(answer).__name__
        return name, any(self.case.state)

    def fault(self, answer: Any) -> Fault:
        """Returns the fault that a wrong answer shows, with a sentence about the call and the right answer."""
        prefix = "With get_q_value corrected, " if self.is_corrected else ""
        given = [str(list(self.case.state)), *map(str, self.call.arguments)]
        given += [f"epsilon={explores}" for explores in self.options.values()]
        verb = "raises" if isinstance(answer, Exception) else "gives"
        shown = f"{_attempt(repr, answer)!s:.100}"
        sentence = f"{prefix}{self.function}({', '.join(given)}) {verb} {shown}; {self.call.reason}"
        return Fault(self.function, sentence)


def _trials(
    sample: Any, function: str, cases: list[_Case], generator: random.Random, is_corrected: bool
) -> Iterator[_Trial]:
    """Yields the trials of a function, one for each test case in which the function can be tested.

    If the function has the parameter ``epsilon``, there are two trials for each test case: without and with
    exploration. ``sample`` is any player of the tested class. Yields nothing if this player lacks the function, or
    if the function does not take the arguments that the course prescribes for it.
    """
    tested, parameters = _TESTS[function], _parameters_of(sample, function)
    if not _takes(parameters, tested.n_arguments):
        return
    all_options = [{"epsilon": False}, {"epsilon": True}] if "epsilon" in parameters else [{}]
    for case in cases:
        call = tested.make_call(case, getattr(sample, "alpha", float("nan")), generator)
        if call is not None:
            for options in all_options:
                yield _Trial(function, case, call, options, is_corrected)


def _actions(state: State) -> list[Action]:
    """Returns all legal actions in a position, pile by pile."""
    return [(pile, count) for pile, size in enumerate(state) for count in range(1, size + 1)]


def _table(state: State, values: Iterable[float | None]) -> dict[Any, float]:
    """Returns a dictionary of the Q-values of one position, with keys ``(state, action)``.

    ``values`` has a Q-value for each legal action, or ``None`` to leave the action out.
    """
    pairs = zip(_actions(state), values, strict=True)
    return {(state, action): value for action, value in pairs if value is not None}


def _cases(generator: random.Random) -> list[_Case]:
    """Returns the test cases for each function, from the smallest to the largest.

    The size is the number of objects and then the number of Q-values, so the first wrong answer is the smallest
    counterexample. Positions with up to two objects are tested systematically: with each table that gives every
    action one of the ``_SMALL_VALUES``. In the other test cases, the position and the table are drawn at random.
    """
    positions = sorted(product(*(range(size + 1) for size in _PILES)), key=sum)
    cases = []
    for state in positions:
        if sum(state) <= 2:  # a position has as many actions as objects
            tables = product(_SMALL_VALUES, repeat=sum(state))
            cases += [_Case(state, _table(state, values)) for values in tables]
    for _ in range(_N_RANDOM_CASES):
        # the first positions are the smallest, and the cube makes them more frequent
        states = [positions[int(len(positions) * generator.random() ** 3)] for _ in range(generator.randint(1, 3))]
        table: dict[Any, float] = {}
        for state in states:
            table |= _table(state, generator.choices(generator.choice(_POOLS), k=sum(state)))
        cases.append(_Case(states[0], table))
    return sorted(cases, key=lambda case: (sum(case.state), len(case.table)))


def _give_table(player: Any, table: dict[Any, float], is_corrected: bool = False) -> None:
    """Replaces the Q-values of a player by a table. With ``is_corrected``, also replaces its ``get_q_value``."""
    _attempt(setattr, player, "q", copy.copy(player.q))  # a q that belongs to the class is shared by all players
    if is_corrected:
        _attempt(setattr, player, "get_q_value", lambda state, action: _stored_value(player, state, action))
    player.q.update({**dict.fromkeys(player.q, 0), **table})  # keeps all keys, since the player may rely on them


def _attempt(function: Callable[..., Any], state: Any, *arguments: Any, **options: Any) -> Any:
    """Calls a function, and returns its result or the exception that it raises.

    The course passes states as lists, but some programs expect tuples, for example as keys of a dictionary. So if
    ``state`` is a list and the function raises TypeError, it is called again with a tuple.
    """
    try:
        return function(state, *arguments, **options)
    except TypeError as error:
        return _attempt(function, tuple(state), *arguments, **options) if isinstance(state, list) else error
    except Exception as error:
        return error


def _is_right(answer: Any, right: Any) -> bool:
    """Returns whether an answer is equal to the right action, or close to the right number.

    ``right`` is a tuple if it is an action, and a number otherwise. The answer can also be a list that is equal to
    the action. If the answer is neither an action nor a number, any type of error can be raised.
    """
    return bool(tuple(answer) == right if isinstance(right, tuple) else abs(answer - right) < _TOLERANCE)


def _stored_value(player: Any, state: Iterable[int], action: Iterable[int]) -> Any:
    """Returns the Q-value that a player has in ``q`` for a state and an action, or 0 if it has none."""
    return player.q.get((tuple(state), tuple(action)), 0)


def _has_table_of_course(player: Any) -> bool:
    """Returns whether a player keeps its Q-values in a dictionary ``q`` with the keys of the course.

    To find out, a Q-value is updated with ``update_q_value``. The player keeps its Q-values somewhere else if
    ``get_q_value`` then returns a new value, but ``q`` has no value under the course's key. The player's Q-values
    are changed, so the caller passes a new player.
    """
    if not isinstance(getattr(player, "q", None), MutableMapping):
        return False
    state, action = [1, 0, 5, 2], (2, 1)  # neither sorted up nor down
    _give_table(player, {})
    read = getattr(player, "get_q_value", lambda *_: len(player.q))
    before = _attempt(read, state, action)
    _attempt(getattr(player, "update_q_value", len), state, action, 0, 1, 0)
    after, stored = _attempt(read, state, action), _attempt(_stored_value, player, state, action)
    is_found = isinstance(after, int | float) and before != after
    is_stored = isinstance(stored, int | float) and stored != 0
    return is_stored or not is_found


def _exploration_fault(player: Any) -> str:
    """Tests whether ``choose_action`` explores with the probability epsilon, and describes what is wrong.

    The string is empty if nothing is wrong, or if the test is not possible.
    """
    epsilon: Any = getattr(player, "epsilon", None)
    others = _explored_actions(player)
    is_known = isinstance(epsilon, int | float) and player.epsilon == epsilon  # the moves may have changed it
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
    """Lets a player choose many moves with exploration in one position, and returns those that are not the best.

    The moves are returned as strings. Returns ``None`` if they cannot show how often the player explores, that
    is, if a move is not a tuple or a list, or if the player does not play the best move with exploration off.
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
