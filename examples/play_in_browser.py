"""Play Nim in your browser against agents, perfect play, another person, or your own player.

The page is in the folder page/. The rules, the opponents and the lessons run in the browser, so any web server can
serve it. This script makes it available only on your own machine. It can also add your own player to the page. For
this, it computes the player's probabilities, and its values if it has any, for every position in advance.

    python examples/play_in_browser.py

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

from command_line import run

import numpy as np

from nim_env import NimRules
from nim_env.policies import checked_player
from nim_env.solver import Solution

from saved_players import load_player

PAGE = Path(__file__).with_name("page")
MAX_HEAPS, MAX_BLOCKS = 15, 50  # what fits on a screen
MAX_POSITIONS = 20_000  # the largest game for which a player is tabulated


@dataclass
class Args:
    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The maximum number of objects that one move can take. None means no limit."""
    misere: bool = True
    """Whether the player who takes the last object loses."""
    agents: tuple[str, ...] = ()
    """Opponents to add, made for this game: FILE.py:NAME, or the files of saved players (README.md lists them).
    You play against the first of them first."""
    port: int = 8080
    """The page is at http://127.0.0.1:PORT. 0 means any free port."""
    browser: bool = True
    """Whether to open the page in your browser."""


def main(args: Args) -> None:
    rules = NimRules(args.heaps, args.max_take, args.misere)
    if 0 in rules.heaps or rules.n_heaps > MAX_HEAPS or max(rules.heaps) > MAX_BLOCKS:
        raise ValueError(f"--heaps must be at most {MAX_HEAPS} heaps of 1 to {MAX_BLOCKS} blocks; got {rules}")
    names = [Path(name).name for name in args.agents]
    if len({*names}) < len(names):
        raise ValueError(f"--agents has two players named {max(names, key=names.count)}; rename one of them")
    server = make_server([tabulate(name, rules) for name in args.agents], args.port)
    address = f"http://127.0.0.1:{server.server_port}/{link(rules, args.agents)}"
    print(f"Nim is running at {address} (press Ctrl-C to stop)", flush=True)
    if args.browser:
        webbrowser.open(address)
    with server:
        server.serve_forever()


def link(rules: NimRules, players: Sequence[str]) -> str:
    """Returns the part of the address that selects the game and the first opponent."""
    limit = "" if rules.max_take is None else f"&take={rules.max_take}"
    opponent = f"&vs={quote(Path(players[0]).name)}" if players else ""
    return f"#heaps={'-'.join(map(str, rules.heaps))}&last={'loses' if rules.misere else 'wins'}{limit}{opponent}"


def tabulate(name: str, rules: NimRules) -> dict[str, Any]:
    """Loads a player and computes what the page needs: its numbers for all positions and actions."""
    if rules.n_positions > MAX_POSITIONS:
        size = f"{rules.n_positions:,} positions, more than {MAX_POSITIONS:,}"
        raise ValueError(f"{name} cannot be tabulated: {rules} has {size}; choose smaller heaps")
    player = load_player(name, rules)
    positions = rules.all_positions()[1:]  # the first one is empty: nobody moves there
    mask = rules.action_mask(positions)
    moves = checked_player(player.policy, rules).query(positions, mask, require_same_answer=True)
    values = None
    if player.values is not None:
        values = np.asarray(player.values(positions))
        if values.ndim == 1:  # of positions; a move is worth minus the value of the position that it leads to
            afterstates = np.append(rules.terminal_reward, -values)
            values = np.where(mask, Solution(rules, afterstates).q_values(positions), 0.0)
    return {
        "name": Path(name).name,
        "heaps": rules.heaps,
        "max_take": rules.max_take,
        "misere": rules.misere,
        "probabilities": numbers(moves.probabilities),
        "values": None if values is None else numbers(values),
    }


def numbers(table: np.ndarray) -> list[float]:
    """Flattens a table for the page, with a row of zeros for the empty position first."""
    return [0.0] * table.shape[1] + [round(number, 4) for number in table.ravel().tolist()]


class Handler(SimpleHTTPRequestHandler):
    """Serves the files of the page and the players, but only if the browser asked for this machine by its name."""

    # some Windows settings have another type for scripts
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def __init__(self, *args: Any, players: bytes, **options: Any) -> None:
        self.players = players
        super().__init__(*args, directory=str(PAGE), **options)

    def do_GET(self) -> None:
        if self.headers.get("Host", "").partition(":")[0] not in ("127.0.0.1", "localhost"):
            self.send_error(400, "Wrong host")  # another site's name could point here
        elif self.path == "/data/players.json":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(self.players)
        else:
            super().do_GET()

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")  # never mixes files of two versions
        super().end_headers()

    def log_message(self, *args: Any) -> None:
        """Prints nothing, unlike the base class."""


def make_server(players: list[dict[str, Any]], port: int) -> ThreadingHTTPServer:
    handler = functools.partial(Handler, players=json.dumps(players).encode())
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        raise ValueError(
            f"--port {port} cannot be used: {error}; choose another, or 0 for any free one"
        ) from error


if __name__ == "__main__":
    run(main, Args)
