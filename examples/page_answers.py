"""How long the page of play_in_browser.py takes to answer a move, from a click to the browser's next frame."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from script import need

if TYPE_CHECKING:
    from playwright.sync_api import Page

ANSWERED = """(object) => new Promise((done) => {
    const board = document.querySelector(".nim-board"), start = performance.now();
    new MutationObserver((_, observer) => requestAnimationFrame(() => {
        observer.disconnect();
        done(performance.now() - start);
    })).observe(board, {attributes: true});
    object.click();
})"""
MATCHES = {
    "a trained Q-learner, 1-3-5-7": ("1 3 5 7", "Q-learning"),
    "a trained Q-learner, 9-9-9-9": ("9 9 9 9", "Q-learning"),
    "the expert, 15 heaps of 50": (" ".join(["50"] * 15), "the expert"),
}


def answers(moves: int) -> dict[str, list[float]]:
    """The milliseconds that each of so many moves took, with all that can be shown switched on."""
    need("nicegui", "playwright", extras="examples,browser,tools")
    from playwright.sync_api import sync_playwright

    script = Path(__file__).with_name("play_in_browser.py")
    command = [sys.executable, str(script), "--port", "0", "--no-browser", "--seed", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        assert server.stdout is not None
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None
        path = shutil.which("chromium") or shutil.which("google-chrome")
        page = playwright.chromium.launch(executable_path=path).new_page()
        try:
            page.goto(address[0])
            page.get_by_text("What your opponent thinks").click()
            page.get_by_text("Which moves truly win").click()
            return {name: _measured(page, *match, moves) for name, match in MATCHES.items()}
        finally:
            server.terminate()


def _measured(page: Page, heaps: str, opponent: str, moves: int) -> list[float]:
    page.get_by_label("Heaps, such").fill(heaps)
    page.get_by_label("Opponent").click()
    page.get_by_role("option", name=opponent).click()
    found: list[float] = []
    left = page.locator(".nim-object:not([inert])")
    _new_game(page, len(heaps.split()))
    while len(found) < moves:
        if not left.count():
            _new_game(page, len(heaps.split()))
        found.append(page.evaluate(ANSWERED, left.nth(len(found) % left.count()).element_handle()))
    return found


def _new_game(page: Page, heaps: int) -> None:
    stamp = page.locator(".nim-board").get_attribute("data-stamp")
    page.get_by_role("button", name="New game").click()
    page.wait_for_function(
        """([stamp, heaps]) => document.querySelector(".nim-board").dataset.stamp !== stamp
                              && document.querySelectorAll(".nim-heap").length === heaps
                              && document.querySelector(".nim-board").checkVisibility()""",
        arg=[stamp, heaps],
        timeout=120_000,
    )
