"""Loads players from files: programs, tables of Q-values and models that other people wrote.

:func:`load_player` loads the player that a command line names, and :func:`player_of` converts a Python object to a
player. ``python -m nim_env check --help`` lists the forms of a player, and docs/test_your_agent.md shows examples.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium.spaces import MultiDiscrete
from numpy.typing import NDArray

from nim_env import policies
from nim_env.check.foreign_code import run_file, running_code_of
from nim_env.check.programs import (
    choice_of,
    how_to_name_a_player,
    only_player,
    player_factory,
    required_parameters,
    shorten,
    training_function,
)
from nim_env.check.values import QFunction, entries_by_pair, find_values, lookup_function, q_table_of
from nim_env.encodings import encoding_of
from nim_env.evaluation import ValueFunction
from nim_env.policies.functions import from_heap_size
from nim_env.rules import NimRules, position_name

SUFFIXES = (".py", ".npy", ".npz", ".json", ".zip")
"""The suffixes of the files that can be loaded."""
_N_REPEATED_QUERIES = 100  # how often a function that draws its answers is queried for an illegal one


@dataclass(frozen=True)
class LoadedPlayer:
    """A player that was loaded from a file, with what the file says about its values and its training.

    Attributes:
        rules: The game.
        policy: The policy that it plays.
        values: Its values as a function of positions, see :data:`nim_env.check.values.QFunction`. ``None`` if it
            has no values.
        remark: A sentence about its values for the report. Empty if there is nothing to say.
        is_trained: Whether it was trained by the function ``train`` of its file.
        discount: The discount of its training. Only the file of a model contains it; otherwise it is ``None``.
        behavior_policy: The policy that a model with an actor and a critic followed in training. It draws moves
            with the actor's probabilities, and the critic's values are the expected returns of this play.
            ``policy``, in contrast, always plays the actor's most probable move. If the model was trained without
            masks, ``behavior_policy`` can also draw illegal actions, which lose at once. ``None`` for all others.
        initial: The value at which its Q-values started. It is what the player's method, such as ``get_q_value``,
            returns for a move that is missing from its dictionary of Q-values. ``None`` if it is not known.
        make_player: A function that makes a new, untrained player of the same class. ``None`` unless the player
            has a dictionary ``q`` with keys such as ``((1, 3, 5, 7), (0, 1))``, as in CS50's project Nim.
    """

    rules: NimRules
    policy: policies.Policy
    values: QFunction | None = None
    remark: str = ""
    is_trained: bool = False
    discount: float | None = None
    behavior_policy: policies.Policy | None = None
    initial: float | None = None
    make_player: Callable[[], Any] | None = None

    @property
    def state_values(self) -> ValueFunction | None:
        """A function from positions to their values for the player to move. ``None`` if the player has no values.

        It maps an array of shape ``(n, n_heaps)`` to one of shape ``(n,)``. The value of a position is the largest
        Q-value of its legal moves.
        """
        values = self.values
        if values is None:
            return None

        def best(heaps: NDArray[Any]) -> NDArray[Any]:
            found = np.asarray(values(heaps))
            if found.ndim == 2:
                found = np.where(self.rules.action_mask(heaps), found, -np.inf).max(axis=1)
            return found

        return best

    def illegal_answer_at(self, heaps: Sequence[int]) -> str:
        """Shows an illegal answer that the player gives in a position.

        Args:
            heaps: The position, one in which the player has given an illegal answer before.

        Returns:
            The illegal answer in up to 200 characters, such as ``None`` or ``(0, 9)``. The string is empty if the
            policy is not a function, or if it is a function that draws its answers and the next 100 are legal.
        """
        position = np.array([heaps])
        if isinstance(self.policy, policies.FunctionPolicy):
            for _ in range(_N_REPEATED_QUERIES):
                self.policy.action_probabilities(position, self.rules.action_mask(position))
                if self.policy.fault:
                    return shorten(self.policy.illegal_answer)
        return ""


def load_player(name: str, rules: NimRules, episodes: int = 10_000) -> LoadedPlayer:
    """Loads the player that a command line names.

    Loading a Python file or a model runs its code. The code prints nothing and gets no input.

    Args:
        name: The name of a built-in policy, such as ``random``, the path of a file, such as ``nim.py`` or
            ``q.npy``, or an object in a Python file, such as ``nim.py:player``.
        rules: The game.
        episodes: The number of games to train, if the Python file has a function ``train`` instead of a player.

    Returns:
        The player.

    Raises:
        PlayerError: If the code of the file fails. The message names the line.
        ValueError: If there is no such player, or if it was made for another game.
    """
    path = Path(name)
    if ".py:" in name:
        return player_of(_candidate_in_program(name), rules, name)
    if path.suffix == ".py":
        return _player_of_program(path, rules, episodes)
    if path.suffix == ".ipynb":
        raise ValueError(f"{name} is a notebook; convert it to a program: jupyter nbconvert --to script {name}")
    if not path.is_file():
        named = policies.checked_policy(name, rules, f"there is no file {name}, so the player")
        return LoadedPlayer(rules, named)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{name} cannot be loaded; use {', '.join(SUFFIXES)}, or a FILE.py that reads the file")
    try:
        return player_of(_candidate_in_data_file(path, rules), rules, name)
    except Exception as error:  # PyTorch, zipfile, json and NumPy raise many kinds
        raise ValueError(f"{name} cannot be loaded: {shorten(error, str)}") from error


def _candidate_in_program(name: str) -> Any:
    """Runs the file of a name such as ``nim.py:agent.get_move``, and returns the object with this name in it."""
    file, _, attribute = name.partition(".py:")
    with running_code_of(name):
        candidate: Any = SimpleNamespace(**run_file(Path(f"{file}.py")))
    for part in attribute.split("."):
        if not hasattr(candidate, part):
            raise ValueError(f"{file}.py has no {attribute}")
        candidate = getattr(candidate, part)
    return candidate


def _candidate_in_data_file(path: Path, rules: NimRules) -> Any:
    """Reads a file that is not a program, and returns what it contains, in a form that :func:`player_of` takes.

    A model or a table of probabilities is returned as a policy, and Q-values as a dictionary or an array.
    """
    if path.suffix == ".zip":
        from nim_env.sb3 import load_policy

        return load_policy(path, rules, use_masking=None)  # as in training
    if path.suffix == ".json":
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {(tuple(heaps), (heap, count)): value for heaps, heap, count, value in rows}
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    with np.load(path, allow_pickle=False) as arrays:
        if "game" in arrays and str(arrays["game"]) != str(rules):
            raise ValueError(f"its game is {arrays['game']}, not {rules}")
        if "probabilities" in arrays:
            return policies.TabularPolicy(rules, arrays["probabilities"])
        if len(arrays.files) != 1:
            raise ValueError(f"it must hold one array of Q-values, or probabilities; it holds {arrays.files}")
        return arrays[arrays.files[0]]


def _player_of_program(path: Path, rules: NimRules, episodes: int) -> LoadedPlayer:
    """Runs a Python file and returns the player that it defines.

    If it defines none, its function ``train`` is called with ``episodes`` and must return the player.
    """
    name = str(path)
    with running_code_of(name):
        defined = run_file(path)
    player = only_player(defined, name)
    if player is not None:
        return player_of(player, rules, name)
    train = training_function(defined, name)
    with running_code_of(name, f"in train({episodes})"):
        trained = train(episodes)
    return replace(player_of(trained, rules, f"{name}: what train({episodes}) returns"), is_trained=True)


def player_of(candidate: Any, rules: NimRules, name: str = "player") -> LoadedPlayer:
    """Converts a Python object to a player.

    If the object is an agent or a policy that was trained with an encoding of this package, such as ``"bits"``, it
    gets the observations of this encoding.

    Args:
        candidate: The object: a function, a policy, an agent, a table of Q-values (an array or a dictionary), or
            any object with a method ``choose_action`` or ``getMove``.
        rules: The game.
        name: The name of the object in error messages.

    Returns:
        The player.

    Raises:
        ValueError: If the object is not a player, or if it was made for another game.
    """
    if isinstance(candidate, Mapping):
        return _player_of_dictionary(candidate, rules, name)
    if isinstance(candidate, np.ndarray):
        return LoadedPlayer(rules, policies.greedy(rules, candidate), lookup_function(candidate, rules))
    sb3 = sys.modules.get("nim_env.sb3")  # not imported here, since it needs PyTorch
    if sb3 is not None and isinstance(candidate, sb3.ModelPolicy):
        return _player_of_model(candidate, rules, name)
    if isinstance(candidate, policies.Policy):
        return _player_of_policy(candidate, rules, name)
    choose, options = choice_of(candidate)
    if not callable(choose) or inspect.isclass(candidate):
        what = "a function, a policy, a table of Q-values or an object with choose_action or getMove"
        raise ValueError(f"{name} must be {what}; got {shorten(candidate)}{how_to_name_a_player(candidate, name)}")
    policy = _policy_of_function(choose, options, rules, name)
    values, remark, initial = find_values(candidate, rules, name)
    return LoadedPlayer(rules, policy, values, remark, initial=initial, make_player=player_factory(candidate))


def _player_of_model(model: Any, rules: NimRules, name: str) -> LoadedPlayer:
    """Converts a model of Stable-Baselines3 to a player, with what the model's file says about its training."""
    return LoadedPlayer(
        rules,
        policies.checked_policy(model, rules, name),
        model.q_values or model.values,
        discount=model.discount,
        behavior_policy=model.behavior_policy,
    )


def _player_of_dictionary(q: Mapping[Any, Any], rules: NimRules, name: str) -> LoadedPlayer:
    """Converts a dictionary of Q-values to a player, which plays the move with the largest value."""
    entries = entries_by_pair(q, rules, name)
    try:
        table, remark = q_table_of(entries, rules)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not a table of Q-values: {shorten(error, str)}") from error
    return LoadedPlayer(rules, policies.greedy(rules, table), lookup_function(table, rules), remark)


def _player_of_policy(policy: Any, rules: NimRules, name: str) -> LoadedPlayer:
    """Converts a policy or an agent to a player, with its values if it has any.

    If the object has an ``observation_space``, its values come from its method ``q_values``, which maps
    observations to Q-values. Otherwise they come from its method ``values``, which maps positions to values.
    """
    space = getattr(policy, "observation_space", None)
    if space is None:
        return LoadedPlayer(rules, policies.checked_policy(policy, rules, name), getattr(policy, "values", None))
    encoding = encoding_of(rules, space)
    observes_heaps = isinstance(encoding.space, MultiDiscrete)
    of_heaps = policy if observes_heaps else policies.EncodedPolicy(policy, encoding)
    player = policies.checked_policy(of_heaps, rules, name)
    try:
        policy.q_values(encoding(rules.heaps))
    except (AttributeError, NotImplementedError):
        return LoadedPlayer(rules, player)
    return LoadedPlayer(rules, player, lambda heaps: policy.q_values(encoding(heaps)))


def _policy_of_function(
    choose: Callable[..., Any], options: Mapping[str, bool], rules: NimRules, name: str
) -> policies.Policy:
    """Wraps ``choose``, a function or method that chooses a move, as a policy.

    ``options`` are keyword arguments for each call. If a call raises an error, its message names the position.
    """
    required = required_parameters(choose)
    given = "observation, action_mask" if len(required) > 1 else "heap" if rules.n_heaps == 1 else "heaps"
    called = f"({given}{', epsilon=False' if options else ''})"
    if len(required) > 2:
        raise ValueError(f"{name} must take (heaps) or {called}; it needs ({', '.join(required)})")

    @functools.wraps(choose)
    def answer(heaps: Any, *mask: Any) -> Any:
        with running_code_of(name, f"at {position_name(np.atleast_1d(heaps))}, called as {called}"):
            return choose(heaps, *mask, **options)

    if len(required) > 1:
        return policies.FunctionPolicy(answer)
    return from_heap_size(rules, answer) or policies.from_moves(rules, answer)
