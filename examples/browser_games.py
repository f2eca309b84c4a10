"""The games of play_in_browser.py: what each browser has picked, whom it plays, and how its game stands."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock
from typing import Any, Literal, NamedTuple

import numpy as np
from hints import Hint, hints_of
from learners import LEARNERS
from players import trained
from terminal import Player, player_of, why_invalid

import agents
from nim_env import NimRules, aec_env
from nim_env.policies import as_policy

POLICIES = ("expert", "random", "take-3")
MOST_HEAPS, MOST_OBJECTS = 15, 50  # what a page can show
MOST_GAMES = 1_000_000
MOST_SEATS, MOST_TRAININGS = 100, 2
STAMPS = itertools.count()

First = Literal["you", "opponent", "drawn"]


class Refused(Exception):  # noqa: N818  nothing is broken
    """What cannot be done, in words for the person who tried it."""


@dataclass(frozen=True)
class Setup:
    """What a person picks."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    max_take: int | None = None
    misere: bool = True
    opponent: str = "expert"
    """One of POLICIES, one of learners.LEARNERS, or the name of a loaded agent."""
    games: int = 10_000
    """Training games of a learner."""
    first: First = "drawn"

    def rules(self) -> NimRules:
        """The game.

        Raises:
            Refused: There is no such game, or it does not fit on a page.
        """
        if len(self.heaps) > MOST_HEAPS or max(self.heaps, default=0) > MOST_OBJECTS:
            raise Refused(f"A page has room for {MOST_HEAPS} heaps of up to {MOST_OBJECTS} objects.")
        try:
            return NimRules(self.heaps, self.max_take, self.misere)
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from None


_trainings = BoundedSemaphore(MOST_TRAININGS)  # more would keep the page from answering


class Taken(NamedTuple):
    """A move that was made, and by which of the two players."""

    player: int
    heap: int
    count: int


class Game:
    """One game between a person and a machine.

    Args:
        rules: Which game.
        opponent: The agent or policy that the person plays.
        machine: Chooses its actions.
        person: 0 if the person moves first, else 1.
    """

    def __init__(self, rules: NimRules, opponent: Any, machine: Player, person: int) -> None:
        self.rules, self.opponent, self.person, self._machine = rules, opponent, person, machine
        self._env = aec_env.env(
            heaps=rules.heaps, max_take=rules.max_take, misere=rules.misere, illegal_action="raise"
        )
        self._env.reset()
        self.last_moves: list[Taken] = []
        """The person's last move and the reply, as far as there are any."""
        self.stamp = next(STAMPS)
        """Tells this position from all others, of this game and of any other."""
        if person == 1:
            self._play(0, self._reply_at(rules.heaps))

    @property
    def heaps(self) -> list[int]:
        """The heap sizes now."""
        return self._env.state()[:-1].tolist()

    @property
    def is_over(self) -> bool:
        """Whether the last object is taken."""
        return any(self._env.terminations.values())

    @property
    def person_won(self) -> bool:
        """Whether the person has won."""
        return self._env.rewards[self._env.possible_agents[self.person]] > 0

    def hints(self) -> list[Hint]:
        """What the opponent thinks of every move that the person may make, and which win."""
        return [] if self.is_over else hints_of(self.rules, self.opponent, self.heaps)

    def take(self, heap: int, count: int, stamp: int) -> None:
        """The person's move, and the reply to it.

        Args:
            heap: From which heap.
            count: How many objects.
            stamp: Of the position that the person saw.

        Raises:
            Refused: The move cannot be made; nothing has changed.
        """
        if self.is_over:
            raise Refused("The game is over.")
        if stamp != self.stamp:
            raise Refused("That came too late: the board had changed. Nothing was taken.")
        if (heap, count) not in self.rules.legal_moves(self.heaps):
            raise Refused(why_invalid(self.rules, self.heaps, heap, "heap"))
        action = self.rules.action(heap, count)
        after = self.rules.apply(self.heaps, action)
        reply = None if self.rules.is_over(after) else self._reply_at(after)  # before anything changes
        self.last_moves = []
        self._play(self.person, action)
        if reply is not None:
            self._play(1 - self.person, reply)
        self.stamp = next(STAMPS)

    def _reply_at(self, heaps: Sequence[int] | np.ndarray) -> int:
        position = np.asarray(heaps)
        return self._machine(position, self.rules.action_mask(position))

    def _play(self, player: int, action: int) -> None:
        self._env.step(action)
        self.last_moves.append(Taken(player, *self.rules.moves[action]))


@dataclass
class Training:
    """How far a training has come."""

    games: int
    played: int = 0
    is_stopped: bool = False

    def went_on(self, *_: object) -> bool:
        """Counts a game; whether the training goes on."""
        self.played += 1
        return not self.is_stopped


class Loaded(NamedTuple):
    """An agent from a file.

    Attributes:
        player: Makes it a player of a game; raises ValueError or OSError where it cannot be one.
        board: Heaps and takes of the games that it plays; None where only trying tells.
    """

    player: Callable[[NimRules], Any]
    board: NimRules | None


@dataclass
class Seat:
    """What one browser has, on however many of its pages."""

    loaded: dict[str, Loaded]
    """Agents to play against, by their names."""
    seed: int | None = None
    setup: Setup = field(default_factory=Setup)
    game: Game | None = None
    training: Training | None = None
    pages: set[Callable[[], None]] = field(default_factory=set)
    """What is called when something has changed."""

    def __post_init__(self) -> None:
        self._generator = np.random.default_rng(self.seed)
        self._is_beginning = Lock()
        self._opponent: tuple[Any, Player] | None = None
        self._met_as: tuple[NimRules, str, int] | None = None  # what the opponent was picked as

    def new_game(self, setup: Setup) -> None:
        """Begins a game, its opponent trained if need be; to be called in a thread of its own.

        Raises:
            Refused: There is no such game or opponent, or another game is about to begin; nothing has changed.
        """
        if not self._is_beginning.acquire(blocking=False):
            raise Refused("Your opponent is still in training.")
        try:
            self._begin(setup)
        finally:
            self._is_beginning.release()

    def leave(self, page: Callable[[], None]) -> None:
        """Takes leave of a page; with the last one a training ends."""
        self.pages.discard(page)
        if not self.pages:
            self.stop_training()

    def stop_training(self) -> None:
        """Ends the training; the opponent plays as it has learnt to until then."""
        if self.training is not None:
            self.training.is_stopped = True

    def load(self, name: str, loaded: Loaded) -> str:
        """Offers a loaded agent as an opponent, and returns by which name: its own, unless that is taken."""
        name = new_name(name, self.loaded)
        self.loaded[name] = loaded
        return name

    def changed(self) -> None:
        """Shows the seat as it is now on all its pages."""
        for show in list(self.pages):
            show()

    def _begin(self, setup: Setup) -> None:
        rules = setup.rules()
        picked = rules, setup.opponent, setup.games if setup.opponent in LEARNERS else 0
        if self._opponent is None or picked != self._met_as:
            opponent, is_whole = self._picked(setup, rules)
            self._opponent = opponent, player_of(opponent, self._seed())
            self._met_as = picked if is_whole else None
        person = {"you": 0, "opponent": 1, "drawn": int(self._generator.integers(2))}[setup.first]
        self.game, self.setup = Game(rules, *self._opponent, person), setup

    def _picked(self, setup: Setup, rules: NimRules) -> tuple[Any, bool]:
        """The opponent, and whether its training was not cut short."""
        try:
            if setup.opponent in LEARNERS:
                return self._trained(setup, rules)
            if setup.opponent in self.loaded:
                return self.loaded[setup.opponent].player(rules), True
            return as_policy(setup.opponent, rules, "opponent"), True
        except (ValueError, OSError, MemoryError) as error:
            raise Refused(str(error)) from None

    def _trained(self, setup: Setup, rules: NimRules) -> tuple[agents.Agent, bool]:
        if not 1 <= setup.games <= MOST_GAMES:
            raise Refused(f"Training games must be 1 to {MOST_GAMES:,}; got {setup.games:,}.")
        if not _trainings.acquire(blocking=False):
            raise Refused("Other people's opponents are in training now; try again in a little while.")
        training = self.training = Training(setup.games)
        try:
            agent = trained(setup.opponent, rules, setup.games, self._seed(), training.went_on)
        finally:
            self.training = None
            _trainings.release()
        return agent, not training.is_stopped

    def _seed(self) -> int:
        return int(self._generator.integers(2**31))


def new_name(name: str, loaded: Collection[str]) -> str:
    """A name for another loaded agent, numbered if it is taken already."""
    taken = {*POLICIES, *LEARNERS, *loaded}
    names = (name, *(f"{name} ({number})" for number in range(2, len(taken) + 2)))
    return next(candidate for candidate in names if candidate not in taken)


class Seats:
    """The seats of all browsers, by the identifiers that their cookies hold.

    Of those that have no page open the oldest are given up when there are too many; whoever comes back then starts
    afresh.
    """

    def __init__(self, loaded: dict[str, Loaded], seed: int | None) -> None:
        self._loaded, self._seed = loaded, seed
        self._seats: OrderedDict[str, Seat] = OrderedDict()

    def of(self, browser: str) -> Seat:
        """The seat of a browser, a new one for an unknown browser."""
        if browser not in self._seats:
            unused = [other for other, seat in self._seats.items() if not seat.pages]
            for other in unused[: max(0, len(self._seats) - MOST_SEATS + 1)]:
                del self._seats[other]
            self._seats[browser] = Seat(dict(self._loaded), self._seed)
        self._seats.move_to_end(browser)
        return self._seats[browser]

    def stop_training(self) -> None:
        """Ends what is still in training."""
        for seat in self._seats.values():
            seat.stop_training()
