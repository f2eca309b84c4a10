"""Tests of the four functions that students write in CS50's project Nim.

Each function is tested independently of the others. A fault comes with the smallest counterexample: the position
with the fewest objects, and among its tables the one with the fewest pairs. This module needs only the standard
library, so it also runs in a browser.
"""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Callable, Iterable, MutableMapping
from itertools import product
from typing import Any, NamedTuple

_PILES = (1, 3, 5, 7)
_N_ARGUMENTS = {"get_q_value": 2, "best_future_reward": 1, "update_q_value": 5, "choose_action": 1}
_TENTHS: list[Any] = [tenth / 10 for tenth in range(-10, 11)]  # any two differ by 0.1, so rounding is harmless
_POOLS = [_TENTHS, _TENTHS[:10], [-0.5, 0.5], [-0.3, 0], [*_TENTHS, *[None] * 20], [-1, None], [-0.5, 0.5, None]]
_DRAWS = 6000  # the number of moves from which the probability of exploring is estimated
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

    Each question goes to a new player with a new table, so a function that changes its table spoils no other
    answer. A function is not tested if the player does not have it, or if it does not take the arguments of the
    course. If ``get_q_value`` has a fault, the other functions are tested with a correct one instead.

    The keys of ``q`` must be ``(state, action)``, as in ``((1, 3, 5, 7), (3, 2))``. The result is empty if the
    player stores its values elsewhere. This is the case if ``update_q_value`` leaves nothing at that key, but the
    player's own ``get_q_value`` finds the update. If there is no ``update_q_value``, the caller must know the form
    of the keys.

    Players draw from Python's global random generator, whose state is restored at the end. A player that explores
    correctly is accused with a probability of at most 1 in 10,000.

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


def _faults(make_player: Callable[[], Any], generator: random.Random) -> list[Fault]:
    sample = make_player()
    if not isinstance(getattr(sample, "q", None), MutableMapping) or _has_another_table(make_player()):
        return []
    questions = _questions(generator)
    alpha = getattr(sample, "alpha", float("nan"))
    found: dict[tuple[str, str, bool], Fault] = {}  # the first of each kind, which is the smallest
    for function, n_arguments in _N_ARGUMENTS.items():
        parameters = inspect.signature(getattr(sample, function, lambda: None)).parameters
        n_needed = sum(parameter.default is parameter.empty for parameter in parameters.values())
        epsilon = parameters.get("epsilon")
        modes: list[dict[str, bool]] = [{"epsilon": False}, {"epsilon": True}] if epsilon else [{}]
        prefix = "With get_q_value corrected, " if any(name == "get_q_value" for name, *_ in found) else ""
        is_testable = n_needed <= n_arguments <= len(parameters)
        for state, table in questions if is_testable else []:
            arguments, right, reason = _expected(function, state, table, alpha, generator.choice)
            if not right:
                continue
            for options in modes:
                player = _prepared(make_player(), table, is_corrected=prefix != "")
                if not options:  # choose_action cannot be told not to explore
                    _call(setattr, player, "epsilon", 0)
                answer = _call(getattr(player, function), list(state), *arguments, **options)
                if function == "update_q_value" and not isinstance(answer, Exception):
                    answer = _call(_stored, player, state, arguments[0])
                accepted = _actions(state) if options.get("epsilon") else right
                if any(_call(_agrees, answer, one) is True for one in accepted):
                    continue
                given = [*map(str, [list(state), *arguments]), *(f"epsilon={on}" for on in options.values())]
                verb = "raises" if isinstance(answer, Exception) else "gives"
                said = f"{function}({', '.join(given)}) {verb} {_call(repr, answer)!s:.100}; {reason}"
                kind = "number" if isinstance(answer, int | float) else type(answer).__name__
                found.setdefault((function, kind, any(state)), Fault(function, prefix + said))
        has_flag = epsilon and epsilon.default in (True, False, epsilon.empty)  # not a probability instead
        if has_flag and (said := _exploration_fault(make_player())):
            found[function, "exploration", True] = Fault(function, said)
    return list(found.values())


def _actions(state: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(pile, count) for pile, size in enumerate(state) for count in range(1, size + 1)]


def _table(state: tuple[int, ...], values: Iterable[float | None]) -> dict[Any, float]:
    """A table with the values of a position in the order of its actions. None leaves a pair unseen."""
    return {(state, a): value for a, value in zip(_actions(state), values, strict=True) if value is not None}


def _questions(generator: random.Random) -> list[tuple[Any, dict[Any, float]]]:
    """Positions with tables, from small to large.

    Positions of up to two objects have all tables of a few values, and random positions have random tables.
    """
    positions = sorted(product(*(range(size + 1) for size in _PILES)), key=sum)
    # the first 14 positions have up to two objects, and a position has as many actions as objects
    questions = [(s, _table(s, v)) for s in positions[:14] for v in product((None, -1.0, 0.0, 0.5), repeat=sum(s))]
    for _ in range(150):
        asked = [positions[int(len(positions) * generator.random() ** 3)] for _ in range(generator.randint(1, 3))]
        tables = [_table(state, generator.choices(generator.choice(_POOLS), k=sum(state))) for state in asked]
        questions.append((asked[0], {pair: value for table in tables for pair, value in table.items()}))
    return sorted(questions, key=lambda question: (sum(question[0]), len(question[1])))


def _expected(function: str, state: Any, table: dict[Any, float], alpha: float, draw: Callable[[Any], Any]) -> Any:
    """The arguments after the position, all right answers, and the reason in words.

    There is no right answer if there is nothing to ask.
    """
    values = {action: table.get((state, action), 0) for action in _actions(state)}
    best = max(values.values(), default=0)
    words = [f"{value} for {a}{'' if (state, a) in table else ' (unseen)'}" for a, value in values.items()]
    words += [f"{value} for {a} in {list(other)}" for (other, a), value in table.items() if other != state]
    reason = f"the values are {', '.join(words)}" if words else "no action is available"
    right: list[Any] = [best] if function == "best_future_reward" else [a for a in values if values[a] == best]
    if function in ("best_future_reward", "choose_action") or not values:
        return (), right, f"{reason}, so {' or '.join(map(str, right))} is right"
    (action, old), reward, future = draw([*values.items()]), draw((-1, 0, 1)), draw(_TENTHS)
    if function == "get_q_value":
        return (action,), [old], f"{reason}, so {old} is right"
    new = round(old + alpha * (reward + future - old), 6)
    reason = f"{old} + {alpha} * ({reward} + {future} - {old}) = {new} is right"
    return (action, old, reward, future), [new] if new == new else [], reason  # NaN if there is no alpha


def _prepared(player: Any, table: dict[Any, float], is_corrected: bool = False) -> Any:
    """Gives a player the values of a table and no others, and if asked a correct ``get_q_value``."""
    _call(setattr, player, "q", copy.copy(player.q))  # of the same type; a table of the class would be shared
    if is_corrected:
        _call(setattr, player, "get_q_value", lambda state, action: _stored(player, state, action))
    player.q.update({**dict.fromkeys(player.q, 0), **table})  # a player can start with all pairs and rely on them
    return player


def _call(function: Callable[..., Any], state: Any, *arguments: Any, **options: Any) -> Any:
    """The answer of a function, or the exception that it raises. A state is passed as a list, else as a tuple."""
    try:
        return function(state, *arguments, **options)
    except TypeError as error:
        return _call(function, tuple(state), *arguments, **options) if isinstance(state, list) else error
    except Exception as error:
        return error


def _agrees(answer: Any, right: Any) -> bool:
    """Whether an answer is the right action, as any sequence, or nearly the right number; can raise errors."""
    return bool(tuple(answer) == right if isinstance(right, tuple) else abs(answer - right) < 1e-3)


def _stored(player: Any, state: Iterable[int], action: Iterable[int]) -> Any:
    """The value that ``get_q_value`` should return."""
    return player.q.get((tuple(state), tuple(action)), 0)


def _has_another_table(player: Any) -> bool:
    """Whether ``get_q_value`` finds an update that is not at the key of ``q`` that the course uses."""
    state, action = [1, 0, 5, 2], (2, 1)  # neither sorted up nor down
    read = getattr(_prepared(player, {}), "get_q_value", lambda *_: len(player.q))
    before = _call(read, state, action)
    _call(getattr(player, "update_q_value", len), state, action, 0, 1, 0)
    after, stored = _call(read, state, action), _call(_stored, player, state, action)
    return isinstance(after, int | float) and before != after and not (isinstance(stored, int | float) and stored)


def _exploration_fault(player: Any) -> str:
    """Says how often choose_action explores. The string is empty if that is right or cannot be judged."""
    best = (3, 4)  # in the largest pile, so it makes little difference if a pile is drawn first
    table = _table(_PILES, [0.5 if action == best else -0.5 for action in _actions(_PILES)])
    epsilon: Any = getattr(_prepared(player, table), "epsilon", None)

    def choose(state: tuple[int, ...], explores: bool) -> Any:
        player.q.update(table)
        return player.choose_action(list(state), epsilon=explores)

    usual, *answers = [_call(choose, _PILES, explores) for explores in (False, *[True] * _DRAWS)]
    others = [repr(answer) for answer in answers if _call(_agrees, answer, best) is not True]
    share = len(others) / _DRAWS
    is_known = isinstance(epsilon, int | float) and player.epsilon == epsilon  # the player can change it
    is_chosen = _call(_agrees, usual, best) is True and {*map(type, answers)} <= {tuple, list}
    is_random = len({*others}) != 1 or share < 0.01  # a few draws can agree by chance
    if not is_known or not is_chosen or (is_random and epsilon * 15 / 16 - _SLACK <= share <= epsilon + _SLACK):
        return ""
    kinds = f"with {len({*others})} of the 15 others"
    return f"choose_action explores in {share:.1%} of its moves, {kinds}; epsilon is {epsilon}"
