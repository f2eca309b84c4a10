"""The page of play_in_browser.py: what a browser shows of a seat, and what a person may do there."""

from __future__ import annotations

import asyncio
import contextlib
import re
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from browser_games import MOST_GAMES, MOST_OBJECTS, POLICIES, Game, Loaded, Refused, Seat, Setup
from hints import Hint, has_values, in_words, kind_of
from learners import LEARNERS
from nicegui import events, ui
from players import board_learnt, fitting

import agents
from nim_env import NimRules

UPLOAD_BYTES = 100_000_000
LONGEST_NAME = 40
IN_A_STACK = 10  # objects at most; larger heaps are drawn in rows of five
GAMES = {"Nim": Setup(), "Simple Nim": Setup((21,), 3, False), "Three heaps": Setup((3, 4, 5), None, False)}
NAMES = {
    "expert": "The expert",
    "random": "Random play",
    "take-3": "Take-3",
    "q-learning": "The Q-learner",
    "minimax-q": "The minimax-Q learner",
    "win-counting": "The win counter",
}
DESCRIPTIONS = {
    "expert": "the expert, who plays perfectly",
    "random": "random play",
    "take-3": "take-3, which takes 3 where it can",
    "q-learning": "Q-learning, trained now",
    "minimax-q": "minimax-Q, trained now",
    "win-counting": "win counting, trained now",
}
HOW_TO_TAKE = "Click an object, or reach it by Tab and arrow keys and press Enter: it goes with all on top of it."
WHO_STARTS = {"drawn": "drawn by lot", "you": "you", "opponent": "your opponent"}


TAKE = """(event) => {
    const object = event.target.closest(".nim-object");
    if (object) emit(object.dataset.heap, object.dataset.count, event.currentTarget.dataset.stamp);
}"""
ARROWS = """(event) => {
    const here = event.target.closest(".nim-object");
    const down = {ArrowUp: -1, ArrowDown: 1}[event.key], aside = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!here || !(down || aside)) return;
    event.preventDefault();
    const left = (heap) => [...heap.querySelectorAll(".nim-object:not([inert])")];
    const heaps = [...event.currentTarget.querySelectorAll(".nim-heap")].map(left).filter((heap) => heap.length);
    const at = heaps.findIndex((heap) => heap.includes(here));
    const depth = heaps[at].indexOf(here), heap = heaps[at + (aside || 0)] || heaps[at];
    (heap[Math.min(depth + (down || 0), heap.length - 1)] || here).focus();
}"""
STYLE = """
.nim-page { width: 100%; max-width: 1100px; margin: 0 auto; gap: 24px; align-items: flex-start; }
.nim-table { flex: 3 1 320px; gap: 8px; min-width: 0; }
.nim-picks { flex: 1 1 260px; gap: 4px; padding: 12px 16px; border: 1px solid #ddd6c8; border-radius: 8px; }
.nim-picks > .q-field { width: 100%; }
.nim-title { font-size: 28px; font-weight: 600; }
.nim-subtitle { font-size: 18px; font-weight: 600; }
.nim-status { font-size: 18px; min-height: 3em; }
.nim-training { width: 100%; }
.nim-board { gap: 20px 14px; align-items: flex-end; padding: 12px 0; width: 100%; }
.nim-heap { align-items: center; gap: 2px; min-width: 56px; max-width: 164px; }
.nim-objects { display: grid; gap: 4px; }
.nim-object { min-width: 64px; height: 28px; border-radius: 9px; background: #b06234; color: #fff; cursor: pointer;
    border: 2px solid transparent; font-size: 14px; font-weight: 600; white-space: nowrap; }
.nim-object::after { content: attr(data-says); }
.nim-object[data-wins=true]::after { content: attr(data-says) " ✓"; }
.nim-objects[data-rows] .nim-object[data-wins=true]::after { content: "✓\\A" attr(data-says); white-space: pre; }
.nim-object[data-wins=true] { background: #1d6b3c; }
.nim-objects[data-rows] .nim-object { min-width: 28px; width: 28px; padding: 0; font-size: 10px; line-height: 1; }
.nim-object[data-state=there]:hover, .nim-object[data-state=there]:has(~ .nim-object:hover),
.nim-object:focus-visible, .nim-object[data-state=there]:has(~ .nim-object:focus-visible) { border-color: #000; }
.nim-object:focus-visible { outline: 3px solid #0072b2; outline-offset: 1px; }
.nim-object[data-state=mine] { background: #a8ceec; border: 2px solid #0072b2; }
.nim-object[data-state=theirs] { background: #e8b8d4; border: 2px dotted #aa3c78; }
.nim-object[data-state=taken] { background: none; border: 1px dashed #8c8680; }
.nim-picks .q-uploader { display: none; }
.nim-number { font-size: 18px; font-weight: 600; }
.nim-name { color: #6b655f; }
.nim-refusal { color: #a4161a; font-weight: 600; text-align: center; }
.nim-legend { color: #4d4843; }
"""


class Page:
    """One page in one browser."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        ui.colors(primary="#0b5c8f")
        with ui.row().classes("nim-page"):
            with ui.column().classes("nim-table"):
                ui.label("Nim").props("role=heading aria-level=1").classes("nim-title")
                self.rules = ui.label().classes("nim-legend")
                ui.label(HOW_TO_TAKE).classes("nim-legend")
                self.status = ui.label().props("role=status").classes("nim-status")
                with ui.column().classes("nim-training") as self.training:
                    self.trained = ui.label()
                    self.progress = ui.linear_progress(show_value=False).props('aria-label="training"')
                    ui.button("Stop and play", on_click=seat.stop_training)
                self.board = Board(self.take)
                self.legend = ui.label().classes("nim-legend")
                self.new_game_button = ui.button("New game", on_click=self.new_game)
                self.refusal = ui.label().props("role=alert").classes("nim-refusal")
                self.opinions = ui.switch("What your opponent thinks of each move", on_change=self.show)
                self.truth = ui.switch("Which moves truly win", on_change=self.show)
            self.picks = Picks(seat, self.new_game)
        ui.timer(0.1, self.show_training)
        seat.pages.add(self.show)
        ui.context.client.on_delete(lambda: seat.leave(self.show))
        if seat.game is None:
            with contextlib.suppress(Refused):
                seat.new_game(seat.setup)
            seat.changed()
        self.show()

    def take(self, heap: int, count: int, stamp: int) -> None:
        """Takes the objects that were clicked."""
        game = self.seat.game
        assert game is not None
        self.refusal.text = ""
        try:
            game.take(heap, count, stamp)
        except Refused as refused:
            self.board.refuse(heap, str(refused))
            return
        self.seat.changed()
        if game.is_over:
            focus(self.new_game_button)
        else:
            self.board.focus(heap)

    async def new_game(self) -> None:
        """Begins a game of what is picked."""
        self.refusal.text = ""
        try:
            setup = self.picks.setup()
            await asyncio.to_thread(self.seat.new_game, setup)
        except Refused as refused:
            self.refusal.text = str(refused)
        finally:
            self.seat.changed()

    def show_training(self) -> None:
        """Shows how far the training has come."""
        training = self.seat.training
        self.training.set_visibility(training is not None)
        for shown in (self.board.row, self.legend):
            shown.set_visibility(training is None)
        self.new_game_button.set_enabled(training is None)
        if training is not None:
            self.status.text = "Your opponent is in training."
            self.trained.text = f"{training.played:,} of {training.games:,} games"
            self.progress.value = training.played / training.games

    def show(self) -> None:
        """Shows the game as it stands."""
        self.show_training()
        self.picks.show()
        game = self.seat.game
        if game is None or self.seat.training is not None:
            return
        opponent = self.seat.setup.opponent
        self.rules.text = rules_of(game.rules)
        self.status.text = status_of(game, NAMES.get(opponent, opponent))
        opinions, truth = self.opinions.value, self.truth.value
        hints = game.hints() if opinions or truth else []
        explained = []
        if hints and opinions:
            explained.append(f"The numbers are what your opponent thinks of each move: {kind_of(game.opponent)}.")
        if hints and truth:
            wins = any(hint.wins for hint in hints)
            explained.append("✓ wins against perfect play." if wins else "No move wins against perfect play.")
        self.legend.text = " ".join(explained)
        self.board.show(game, {hint[:2]: advice_of(game, hint, opinions, truth) for hint in hints})


class Advice(NamedTuple):
    """What there is to say of a move: shown on the object that makes it, in words, and whether it wins."""

    number: str = ""
    words: str = ""
    wins: bool = False


NO_ADVICE = Advice()


def advice_of(game: Game, hint: Hint, opinions: bool, truth: bool) -> Advice:
    """What there is to say of a move, as far as it was asked for."""
    number = in_words(game.opponent, hint.opinion) if opinions else ""
    unit = "value" if has_values(game.opponent) else "probability"
    words = f", {unit} {number}" * opinions + ", wins" * (truth and hint.wins)
    return Advice(number, words, truth and hint.wins)


def rules_of(rules: NimRules) -> str:
    """A game in words for a person."""
    takes = "any number of objects" if rules.max_take is None else f"1 to {rules.max_take} objects"
    end = "loses" if rules.misere else "wins"
    return f"Take {takes} from one heap. Whoever takes the last object of all {end}."


def status_of(game: Game, opponent: str) -> str:
    """What was last done and whose turn it is, or who has won."""
    moves = [
        f"{'You' if move.player == game.person else opponent} took {move.count} from heap {move.heap}."
        for move in game.last_moves
    ]
    end = "Your turn."
    if game.is_over:
        end = "You have won!" if game.person_won else "You have lost."
    return " ".join([*moves, end])


class Picks:
    """The fields in which a person picks a game and an opponent."""

    def __init__(self, seat: Seat, begin: Callable[[], Awaitable[None]]) -> None:
        setup = self._shown = seat.setup
        self.seat = seat
        with ui.column().classes("nim-picks").props('role=form aria-label="The next game"'):
            ui.label("The next game").props("role=heading aria-level=2").classes("nim-subtitle")
            with ui.row():
                for name, game in GAMES.items():
                    ui.button(name, on_click=partial(self.show_game, game)).props("outline no-caps")
            self.heaps = ui.input("Heaps, such as 1 3 5 7", value=in_digits(setup.heaps))
            most = "Take at most (empty: any number)"
            self.max_take = ui.number(most, value=setup.max_take)
            self.misere = ui.switch("Whoever takes the last object loses", value=setup.misere)
            self.opponent = ui.select(
                self._opponents(), value=setup.opponent, label="Opponent", on_change=self._opponent_picked
            )
            self.games = ui.number("Training games", value=setup.games)
            self.games.bind_visibility_from(self.opponent, "value", lambda opponent: opponent in LEARNERS)
            self.first = ui.select(WHO_STARTS, value=setup.first, label="Who starts")
            for choice in (self.opponent, self.first):
                choice.props("transition-duration=0")  # a menu that fades takes the focus from a quick move
            for enter in (self.heaps, self.max_take, self.games):
                enter.on("keydown.enter", begin)
            self.upload = ui.upload(
                auto_upload=True,
                max_files=1,
                max_file_size=UPLOAD_BYTES,
                on_upload=self.load,
                on_rejected=lambda: self._say(f"A file may have {UPLOAD_BYTES // 10**6} MB at most."),
            )
            choose = f"() => runMethod({self.upload.id}, 'pickFiles', [])"
            ui.button("Load a saved agent").props("outline no-caps").on("click", js_handler=choose)
            self.said = ui.label().props("role=alert").classes("nim-refusal")

    def setup(self) -> Setup:
        """What is picked, which is shown here already.

        Raises:
            Refused: A field holds something else than it should.
        """
        heaps = re.split(r"\s*,\s*|\s+|-", (self.heaps.value or "").strip(" ,"))
        if not all(re.fullmatch(r"[0-9]{1,9}", size) for size in heaps):
            raise Refused("Heaps are whole numbers, such as 1 3 5 7.")
        max_take = self.max_take.value
        if max_take is not None:
            max_take = _whole("Take at most", max_take, MOST_OBJECTS)
        games = self.seat.setup.games
        if self.opponent.value in LEARNERS:
            games = _whole("Training games", self.games.value, MOST_GAMES)
        self._shown = Setup(
            tuple(map(int, heaps)), max_take, self.misere.value, self.opponent.value, games, self.first.value
        )
        return self._shown

    def show(self) -> None:
        """Shows what was picked for the game that is played, unless that is shown already."""
        if self._shown is not self.seat.setup:
            setup = self._shown = self.seat.setup
            self.show_game(setup)
            self._offer(setup.opponent)
            self.games.value, self.first.value = setup.games, setup.first

    def show_game(self, setup: Setup) -> None:
        """Fills in a game."""
        self._show_board(setup.heaps, setup.max_take)
        self.misere.value = setup.misere

    def _show_board(self, heaps: tuple[int, ...], max_take: int | None) -> None:
        self.heaps.value = in_digits(heaps)
        self.max_take.value = max_take

    def _offer(self, opponent: str) -> None:
        self.opponent.set_options(self._opponents(), value=opponent)

    def _opponents(self) -> dict[str, str]:
        names = [*POLICIES, *LEARNERS, *self.seat.loaded]
        return {name: DESCRIPTIONS.get(name, name) for name in names}

    def _opponent_picked(self, event: events.ValueChangeEventArguments) -> None:
        loaded = self.seat.loaded.get(event.value)
        if loaded is not None and loaded.board is not None:
            self._show_board(loaded.board.heaps, loaded.board.max_take)

    async def load(self, event: events.UploadEventArguments) -> None:
        """Makes an agent of an uploaded file an opponent."""
        self._say("")
        name = event.file.name[-LONGEST_NAME:]
        self.upload.reset()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "agent"
            await event.file.save(path)
            try:
                agent = await asyncio.to_thread(agents.load, path)
            except ValueError:
                self._say(f"{name} is damaged or no saved agent. Models are given by --agents at the start.")
                return
        loaded = Loaded(lambda rules: fitting(agent, rules, name), board_learnt(agent))
        self._offer(self.seat.load(name, loaded))

    def _say(self, words: str) -> None:
        self.said.text = words


def _whole(field: str, number: float | None, most: int) -> int:
    """A whole number from a field."""
    if number is None or not 1 <= number <= most or number != int(number):
        raise Refused(f"{field}: a whole number from 1 to {most:,}.")
    return int(number)


def in_digits(heaps: Sequence[int]) -> str:
    """Heap sizes as they are typed."""
    return " ".join(map(str, heaps))


class Board:
    """The heaps, every object a button that takes itself and those above it.

    Args:
        take: Called with a heap, a count, and the stamp of the board that was clicked.
    """

    def __init__(self, take: Callable[[int, int, int], None]) -> None:
        self._take, self._sizes = take, ()
        self._heaps: list[Heap] = []
        self.row = ui.row().classes("nim-board").props('role=group aria-label="heaps"')
        self.row.on("click", self._clicked, js_handler=TAKE)
        self.row.on("keydown", js_handler=ARROWS)

    def show(self, game: Game, advice: dict[tuple[int, int], Advice]) -> None:
        """Shows how a game stands, and what there is to say of its moves."""
        if self._sizes != game.rules.heaps:
            self._sizes = game.rules.heaps
            self.row.clear()
            columns = 1 if max(self._sizes) <= IN_A_STACK else 5
            with self.row:
                self._heaps = [Heap(heap, size, columns) for heap, size in enumerate(self._sizes)]
        self.row.props["data-stamp"] = game.stamp
        for column, left in zip(self._heaps, game.heaps, strict=True):
            ghosts = [
                "mine" if move.player == game.person else "theirs"
                for move in reversed(game.last_moves)  # the last one took from further below
                for _ in range(move.count)
                if move.heap == column.heap
            ]
            column.show(left, ghosts, advice)

    def refuse(self, heap: int, why: str) -> None:
        """Says at a heap why a click there has had no effect."""
        for column in self._heaps:
            again = " " if column.refusal.text == why else ""  # a change, so that screen readers say it again
            column.refusal.text = why + again if column.heap == heap else ""

    def focus(self, heap: int) -> None:
        """Moves the keyboard's focus to the top of a heap, or of another one if nothing is left of it."""
        for column in sorted(self._heaps, key=lambda column: column.heap != heap):
            if column.left:
                focus(column.objects[column.left - 1])
                return

    def _clicked(self, event: events.GenericEventArguments) -> None:
        with contextlib.suppress(TypeError, ValueError):  # which no page of ours sends
            heap, count, stamp = map(int, event.args)
            self._take(heap, count, stamp)


class Heap:
    """One heap: its objects from above to below, how many there are, and what was refused."""

    def __init__(self, heap: int, size: int, columns: int) -> None:
        self.heap, self.left = heap, size
        self.objects: list[ui.element] = []  # from below
        with ui.column().classes("nim-heap").props("role=group") as self._group:
            with ui.element().classes("nim-objects").props("data-rows" if columns > 1 else ""):
                for number in reversed(range(size)):
                    item = ui.element("button").classes("nim-object")
                    item.props["type"], item.props["data-heap"] = "button", heap
                    item.style(f"grid-row: {(size - 1) // columns - number // columns + 1}")
                    item.style(f"grid-column: {number % columns + 1}")
                    self.objects.insert(0, item)
            self._number = ui.label().classes("nim-number")
            ui.label(f"heap {heap}").classes("nim-name")
            self.refusal = ui.label().props("role=alert").classes("nim-refusal")

    def show(self, left: int, ghosts: list[str], advice: dict[tuple[int, int], Advice]) -> None:
        """Shows how many objects are left, what was just taken, and what there is to say of taking some."""
        self.left, self.refusal.text, self._number.text = left, "", str(left)
        self._group.props["aria-label"] = f"heap {self.heap}, {left} of {len(self.objects)} left"
        states = ["there"] * left + ghosts
        states += ["taken"] * (len(self.objects) - len(states))
        for number, (item, state) in enumerate(zip(self.objects, states, strict=True)):
            count = left - number
            said = advice.get((self.heap, count), NO_ADVICE)
            label = f"take {count} from heap {self.heap}{said.words}" if count > 0 else "taken"
            shown = {
                "data-state": state,
                "data-count": count,
                "data-says": said.number,
                "data-wins": said.wins,
                "aria-label": label,
                "title": label,
                "inert": count <= 0,
                "tabindex": 0 if count == 1 else -1,
            }
            if any(item.props.get(name) != value for name, value in shown.items()):
                item.props.update(shown)
                item.update()


def focus(element: ui.element) -> None:
    """Moves the keyboard's focus to an element of the page that is served."""
    ui.run_javascript(f"getHtmlElement({element.id})?.focus({{preventScroll: true}})")
