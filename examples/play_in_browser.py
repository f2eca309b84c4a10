"""Play Nim in your browser: against agents, perfect play, another person, or your own player.

The page is the folder page/, which any web server can serve: rules, opponents and lessons run in the browser.
This script serves it on this machine alone. Your own player is tabulated first: the page gets its
probabilities, and its values if it has any, for every position.

Install: pip install -e ".[examples]"
"""

import functools
import json
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import install_hint  # noqa: F401  says what to install if a package is missing

import numpy as np

from nim_env import NimRules
from nim_env.check.players import LoadedPlayer
from nim_env.policies import checked_player

from command_line import load_player, run

PAGE = Path(__file__).with_name("page")
MAX_HEAPS, MAX_BLOCKS = 15, 50  # what a screen can show
MAX_POSITIONS = 20_000  # of a game whose players are tabulated


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move may take; None for no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    agents: tuple[str, ...] = ()
    """Opponents to add, made for this game: FILE.py:NAME, or the files of saved agents, tables (.npz), networks
    (.pt) or Stable-Baselines3 models (.zip). The first of them is the first opponent.
    Files .py and .zip run code when loaded: give only those you trust."""
    port: int = 8080
    """The page is at http://127.0.0.1:PORT. 0 takes a free port."""
    browser: bool = True
    """Whether to open the page in your browser."""


def main(args: Args) -> None:
    rules = NimRules(args.heaps, args.max_take, args.misere)
    if 0 in rules.heaps or rules.n_heaps > MAX_HEAPS or max(rules.heaps) > MAX_BLOCKS:
        raise ValueError(f"--heaps must be up to {MAX_HEAPS} heaps of 1 to {MAX_BLOCKS} blocks; got {rules}")
    names = [Path(name).name for name in args.agents]
    if len({*names}) < len(names):
        raise ValueError(f"--agents has two players with the name {max(names, key=names.count)}")
    server = make_server([tabulate(name, rules) for name in args.agents], args.port)
    address = f"http://127.0.0.1:{server.server_port}/{link(rules, args.agents)}"
    print(f"Nim is at {address} (Ctrl-C stops)", flush=True)
    if args.browser:
        webbrowser.open(address)
    with server:
        server.serve_forever()


def link(rules: NimRules, players: Sequence[str]) -> str:
    """The part of the address that names the game and the first opponent."""
    limit = "" if rules.max_take is None else f"&take={rules.max_take}"
    opponent = f"&vs={quote(Path(players[0]).name)}" if players else ""
    return f"#heaps={'-'.join(map(str, rules.heaps))}&last={'loses' if rules.misere else 'wins'}{limit}{opponent}"


def tabulate(name: str, rules: NimRules) -> dict[str, Any]:
    """The player that a command line names, as the page reads it: numbers for all positions and actions."""
    if rules.n_positions > MAX_POSITIONS:
        size = f"{rules.n_positions:,} positions, more than {MAX_POSITIONS:,}"
        raise ValueError(f"{name} cannot be tabulated: {rules} has {size}; choose smaller heaps")
    player = load_player(name, rules)
    positions = rules.all_positions()[1:]  # the first one is empty: nobody moves there
    mask = rules.action_mask(positions)
    probabilities = checked_player(player.policy, rules).query(positions, mask, twice=True).probabilities
    values = move_values(player, rules, positions)
    return {
        "name": Path(name).name,
        "heaps": rules.heaps,
        "max_take": rules.max_take,
        "misere": rules.misere,
        "probabilities": numbers(probabilities),
        "values": None if values is None else numbers(values),
    }


def move_values(player: LoadedPlayer, rules: NimRules, positions: np.ndarray) -> np.ndarray | None:
    """A player's Q-values, or those that follow from its values of positions; None if there are none."""
    if player.values is None:
        return None
    values = np.asarray(player.values(positions))
    if values.ndim == 2:
        return values
    values = np.zeros((len(positions), rules.n_actions))
    rows, actions = np.nonzero(rules.action_mask(positions))
    after = rules.apply(positions[rows], actions)
    values[rows, actions] = np.where(
        rules.is_over(after), rules.terminal_reward, -np.asarray(player.values(after))
    )
    return values


def numbers(table: np.ndarray) -> list[float]:
    """A row for the empty position, and those of all others."""
    return [0.0] * table.shape[1] + [round(number, 4) for number in table.ravel().tolist()]


class Handler(SimpleHTTPRequestHandler):
    """Serves the files of the page, and the players; only to a browser that asked for this machine by name."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}  # whatever Windows says

    def __init__(self, *args: Any, players: bytes, **options: Any) -> None:
        self.players = players
        super().__init__(*args, directory=str(PAGE), **options)

    def do_GET(self) -> None:
        if self.headers.get("Host", "").partition(":")[0] not in ("127.0.0.1", "localhost"):
            self.send_error(400, "Wrong host")  # another site's name that points here
        elif self.path == "/data/players.json":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(self.players)
        else:
            super().do_GET()

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")  # the page of another version is not mixed with this one
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        """Prints nothing."""


def make_server(players: list[dict[str, Any]], port: int) -> ThreadingHTTPServer:
    handler = functools.partial(Handler, players=json.dumps(players).encode())
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise ValueError(f"--port {port} cannot be used: {error}; give another, or 0 for a free one") from error


if __name__ == "__main__":
    run(main, Args)
