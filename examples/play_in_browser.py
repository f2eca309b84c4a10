"""Play Nim in your browser: against the expert, random play, take-3, or an agent, trained on the spot or saved.

This script plays the opponent and keeps the game. The page itself is the HTML, CSS and JavaScript of the folder
page/, which reads the game from /state and changes it by /move, /undo and /new. Both run on this machine alone.

Install: pip install -e ".[examples,browser]"
"""

from __future__ import annotations

import json
import re
import socket
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from common import check_at_least, checking_args, fail, load_player, run

import anyio
import gymnasium as gym
import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

import agents
from nim_env import NimRules, theory
from nim_env.policies import PolicyLike, as_policy, sample

MAX_HEAPS, MAX_OBJECTS = 15, 50  # what a screen can show
MAX_EPISODES, MAX_VALUES = 200_000, 50_000_000  # what is trained in a minute, in 400 MB
MAX_SECONDS = 300  # of loading or training an opponent
MAX_BYTES = 10_000  # of a request


@dataclass
class Args:
    """The options of this script."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes of the first game; the page can change these three."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    agents: tuple[str, ...] = ()
    """Opponents to offer, made for this game: file.py:name, or the files of saved agents, tables (.npz), networks
    (.pt) or MaskablePPO models (.zip). The first of them is the opponent of the first game.
    Files .py and .zip run code when loaded: give only those you trust."""
    port: int = 8080
    """The page is at http://127.0.0.1:PORT. 0 takes a free port."""
    browser: bool = True
    """Whether to open the page in your browser."""
    seed: int | None = None
    """Random seed."""


def main(args: Args) -> None:
    check_at_least(0, port=args.port, seed=args.seed)
    if args.port > 65535:
        fail(f"--port must be 65535 or less; got {args.port}")
    with checking_args():
        server = make_server(args)
    try:
        listener = socket.create_server(("127.0.0.1", args.port))
    except OSError as error:
        fail(f"--port {args.port} cannot be used: {error.strerror}; give another, or 0 for a free one")
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    print(f"Nim is at {address} (Ctrl-C stops)", flush=True)
    if args.browser:
        webbrowser.open(address)
    server.run(sockets=[listener])


def make_server(args: Args) -> uvicorn.Server:
    """The web server. Raises a ValueError or TypeError if the arguments make no game."""
    first_game = Settings(" ".join(map(str, args.heaps)), args.max_take, args.misere)
    players = [load_player(name, first_game.rules()) for name in (*args.agents, "expert")]
    first_game = replace(first_game, opponent=[*args.agents, "expert"][0])
    app = Starlette(
        routes=[
            Route("/state", show),
            Route("/move", changes(move), methods=["POST"]),
            Route("/undo", changes(undo), methods=["POST"]),
            Route("/new", changes(new), methods=["POST"]),
            Mount("/", StaticFiles(directory=Path(__file__).with_name("page"), html=True)),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
            Middleware(BaseHTTPMiddleware, dispatch=refuse_other_sites),
        ],
    )
    app.state.offered = args.agents
    app.state.game = Game(first_game, players[0], np.random.default_rng(args.seed))
    config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none", timeout_graceful_shutdown=5)
    app.state.server = uvicorn.Server(config)
    return app.state.server


# --- The routes -----------------------------------------------------------------------------------


async def refuse_other_sites(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    if request.headers.get("origin", "same") not in ("same", f"http://{request.headers['host']}"):
        return JSONResponse({"error": "The request comes from another site"}, 403)
    return await call_next(request)


async def show(request: Request) -> Response:
    state = request.app.state
    return JSONResponse({**state.game.state(), "offered": state.offered})


async def move(state: Any, data: Any) -> None:
    state.game.move(**data)


async def undo(state: Any, data: Any) -> None:  # noqa: ARG001
    state.game.undo()


async def new(state: Any, data: Any) -> None:
    """Starts a game; with another opponent or other rules, the score starts again too."""
    settings, game = Settings(**data), state.game
    if settings == replace(game.settings, first=settings.first):
        game.start(settings)
        return

    seed = int(game.generator.integers(2**31))
    with anyio.move_on_after(MAX_SECONDS) as time_limit:

        def is_wanted(*_: Any) -> bool:
            return not (time_limit.cancel_called or state.server.should_exit)  # as Ctrl-C asks

        arguments = settings, state.offered, seed, is_wanted
        opponent = await anyio.to_thread.run_sync(make_opponent, *arguments, abandon_on_cancel=True)
    if time_limit.cancel_called:
        raise ValueError(f"{settings.opponent} was not ready after {MAX_SECONDS} seconds; choose another opponent")
    state.game = Game(settings, opponent, game.generator, game.number)


def changes(change: Callable[[Any, Any], Awaitable[None]]) -> Callable[[Request], Awaitable[Response]]:
    """A route that changes the game and returns its state; a wrong value is a status 400."""

    async def route(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BYTES:
                return JSONResponse({"error": f"The request is longer than {MAX_BYTES:,} bytes"}, 413)
        try:
            await change(request.app.state, json.loads(body))
        except (OSError, ValueError, TypeError, KeyError) as error:
            return JSONResponse({"error": str(error)}, 400)
        return await show(request)

    return route


# --- The game -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What is chosen in the dialog of the page."""

    heaps: str
    max_take: int | None
    misere: bool
    opponent: str = "expert"
    """A policy's name, one of agents.ALGORITHMS, or an opponent of the command line."""
    episodes: int = 10_000
    """Training episodes of an agent trained on the spot."""
    first: str = "random"
    """Who moves first: you, opponent or random."""

    def rules(self) -> NimRules:
        if not re.fullmatch(r"\s*\d{1,4}([ ,-]+\d{1,4})*\s*", self.heaps):
            raise ValueError(f"Heaps must be whole numbers such as 1 3 5 7; got {self.heaps[:60]}")
        heaps = tuple(map(int, re.findall(r"\d+", self.heaps)))
        if len(heaps) > MAX_HEAPS or max(heaps) > MAX_OBJECTS:
            raise ValueError(f"The page shows up to {MAX_HEAPS} heaps of up to {MAX_OBJECTS} objects")
        return NimRules(heaps, self.max_take, self.misere)


class Game:
    """The human's game, and the score of all games with these settings.

    Args:
        settings: The rules, the opponent's name, and who moves first.
        opponent: An agent or policy.
        generator: Draws the opponent's moves and who moves first.
        number: How many games were played before.
    """

    def __init__(
        self, settings: Settings, opponent: PolicyLike, generator: np.random.Generator, number: int = 0
    ) -> None:
        self.rules, self.opponent, self.generator = settings.rules(), opponent, generator
        self.score = {"you": 0, "opponent": 0}
        self.number = number
        self.start(settings)

    def start(self, settings: Settings) -> None:
        """Starts the next game."""
        drawn = self.generator.random() < 0.5
        opponent_is_first = {"you": False, "opponent": True, "random": drawn}[settings.first]
        self.settings = settings
        self.number += 1
        self.positions = [np.array(self.rules.heaps)]
        self.moves: list[dict[str, Any]] = []
        if opponent_is_first:
            self._record("opponent", self._reply(self.positions[0]))

    @property
    def winner(self) -> str | None:
        """``"you"``, ``"opponent"`` or None."""
        if not self.rules.is_over(self.positions[-1]):
            return None
        you_moved_last = self.moves[-1]["player"] == "you"
        return "you" if you_moved_last != self.rules.misere else "opponent"

    def move(self, heap: int, count: int) -> None:
        """Makes the human's move and the opponent's reply."""
        if self.winner:
            raise ValueError("The game is over")
        action = self.rules.action(heap, count)
        after = self.rules.apply(self.positions[-1], action)
        reply = None if self.rules.is_over(after) else self._reply(after)
        self._record("you", action)
        if reply is not None:
            self._record("opponent", reply)

    def undo(self) -> None:
        """Takes back the human's last move, and what followed."""
        if not (turns := self._your_turns()):
            raise ValueError("There is no move of yours to undo")
        if self.winner:
            self.score[self.winner] -= 1
        del self.moves[turns[-1] :], self.positions[turns[-1] + 1 :]

    def hints(self) -> dict[str, Any]:
        """The value of each legal move of the human's turn, after the end of the last turn, and whether it wins.

        The value is the opponent's Q-value if it has any, else the probability that it would make the move.
        """
        turns = [*self._your_turns(), *([] if self.winner else [len(self.moves)])]
        if not turns:
            return {"kind": "value", "moves": []}
        heaps = self.positions[turns[-1]]
        mask = self.rules.action_mask(heaps)
        has_values = isinstance(self.opponent, agents.QLearningAgent)
        values = self.opponent.q_values(heaps) if has_values else self._probabilities(heaps)
        wins = theory.winning_action_mask(self.rules, heaps)
        moves = [
            {"heap": heap, "count": count, "value": float(values[action]), "wins": bool(wins[action])}
            for action, (heap, count) in enumerate(self.rules.moves)
            if mask[action]
        ]
        return {"kind": "value" if has_values else "probability", "moves": moves}

    def state(self) -> dict[str, Any]:
        """All that the page shows."""
        return {
            "settings": asdict(self.settings),
            "number": self.number,
            "heaps": self.rules.heaps,
            "moves": [*self.moves],
            "winner": self.winner,
            "score": {**self.score},
            "hints": self.hints(),
        }

    def _your_turns(self) -> list[int]:
        return [ply for ply, move in enumerate(self.moves) if move["player"] == "you"]

    def _probabilities(self, heaps: np.ndarray) -> np.ndarray:
        policy = as_policy(self.opponent, self.rules)
        return policy.action_probabilities(heaps, self.rules.action_mask(heaps))

    def _reply(self, heaps: np.ndarray) -> int:
        return int(sample(self._probabilities(heaps), self.generator))

    def _record(self, player: str, action: int) -> None:
        heaps, (heap, count) = self.positions[-1], self.rules.moves[action]
        winning = theory.winning_action_mask(self.rules, heaps)
        rating = "wins" if winning[action] else "mistake" if winning.any() else "no move wins"
        self.moves.append({"player": player, "heap": heap, "count": count, "rating": rating})
        self.positions.append(self.rules.apply(heaps, action))
        if self.winner:
            self.score[self.winner] += 1


def make_opponent(settings: Settings, offered: Sequence[str], seed: int, callback: Any) -> PolicyLike:
    """The opponent that the settings name. An algorithm trains until the callback returns False."""
    rules = settings.rules()
    if settings.opponent in ("expert", "random", "take-3", *offered):
        return load_player(settings.opponent, rules)
    if not isinstance(settings.episodes, int) or not 1 <= settings.episodes <= MAX_EPISODES:
        raise ValueError(f"Training episodes must be 1 to {MAX_EPISODES:,}; got {settings.episodes}")
    if rules.n_positions * rules.n_actions > MAX_VALUES:
        raise ValueError("The heaps are too large to train an agent on the spot; choose another opponent")
    kind = agents.ALGORITHMS[settings.opponent]
    env = gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=64,
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        opponent=None if kind.supports_self_play else "random",  # None is self-play
    )
    agent = kind(env.single_observation_space, env.single_action_space, seed=seed)
    agents.train(agent, env, settings.episodes, seed=seed, callback=callback)
    return agent


if __name__ == "__main__":
    run(main, Args)
