"""Play Nim in your browser: against the expert, random play, take-3, or an agent, trained there or loaded.

Pick a game and an opponent, and take objects by clicking: the one you click goes, with all that lie on it, which
are marked under the pointer. With the keyboard, Tab goes from heap to heap, the arrow keys go within and between
heaps, and Enter takes. Two switches show what your opponent thinks of each of your moves, and which truly win.
"""

from __future__ import annotations

import errno
import logging
import secrets
import socket
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from script import check_at_least, checking_arguments, fail, need, run

need("nicegui", extras="examples,browser")

from browser_games import Loaded, Seats, new_name  # noqa: E402
from browser_page import STYLE, Page  # noqa: E402
from nicegui import app, ui  # noqa: E402
from players import board_learnt, fitting, is_model, is_saved, library_of, saved_agent  # noqa: E402

import agents  # noqa: E402


@dataclass
class Arguments:
    """The options of this script."""

    port: int = 8080
    """Where the page is: http://127.0.0.1:PORT. 0 takes any port that is free."""
    host: str = "127.0.0.1"
    """Which of this machine's addresses the page is at; 0.0.0.0, all of them, lets others in."""
    browser: bool = True
    """Whether your browser is opened at the page."""
    agents: tuple[Path, ...] = ()
    """Files of saved agents, or models of sb3_self_play.py or rllib_self_play.py, to play against."""
    seed: int | None = None
    """The same seed gives every browser the same opponents and draws; drawn when not given."""


def main(arguments: Arguments) -> None:
    check_at_least(0, seed=arguments.seed or 0)
    loaded: dict[str, Loaded] = {}
    with checking_arguments():
        for path in arguments.agents:
            if not is_saved(path):
                fail(f"--agents {path} is no file or folder of a saved agent or model")
            loaded[new_name(path.name, loaded)] = from_file(path)
    port = free_port(arguments.host, arguments.port)
    seats = Seats(loaded, arguments.seed)
    ui.add_css(STYLE, shared=True)
    ui.page("/", title="Nim")(lambda: Page(seats.of(app.storage.browser["id"])))
    address = f"http://{reached_at(arguments.host)}:{port}"
    app.on_startup(lambda: print(f"Nim is at {address} (Ctrl-C stops it)", flush=True))
    app.on_shutdown(seats.stop_training)
    logging.getLogger("nicegui").addFilter(is_news)
    sys.setswitchinterval(0.0005)  # so that trainings leave the page its turn more often
    ui.run(
        host=arguments.host,
        port=port,
        title="Nim",
        favicon="🟤",
        language="en-US",
        show=arguments.browser,
        reload=False,
        show_welcome_message=False,
        storage_secret=secrets.token_hex(32),  # cookies are forgotten with the games when the server stops
        session_middleware_kwargs={"session_cookie": f"nim-{port}"},  # so that two servers have two
    )


def from_file(path: Path) -> Loaded:
    """The agent or model in a file."""
    if is_model(path):
        library_of(path)  # so that what is missing is said now
        return Loaded(partial(saved_agent, path), None)
    agent = agents.load(path)
    return Loaded(lambda rules: fitting(agent, rules, path.name), board_learnt(agent))


def free_port(host: str, port: int) -> int:
    """The port, or a free one for 0; ends the script if it is in use."""
    if not 0 <= port < 2**16:
        fail(f"--port must be 0 to 65535; got {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host.strip() or "nowhere", port), family=family) as server:
            return server.getsockname()[1]
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(f"--port {port} is in use on {host}; give another, or 0 for any that is free")
        fail(f"--host {host} --port {port} cannot be served: {error.strerror}")


def reached_at(host: str) -> str:
    """How this machine's own browser reaches the page, as part of an address."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def is_news(record: logging.LogRecord) -> bool:
    """Whether a message says more than that NiceGUI's own tasks took their time to end after Ctrl-C."""
    return not record.getMessage().startswith("Could not cancel")


if __name__ == "__main__":
    run(main, Arguments)
