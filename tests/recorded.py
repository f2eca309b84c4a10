"""Replays the terminal sessions shown on a page: the command, what the human types, and the screen."""

import builtins
import re
import shlex
from pathlib import Path

import tyro

PAGE = Path(__file__).parents[1] / "docs" / "experiments" / "five_systems.md"


def session(script, question):
    """Reads a script's session from the page; returns its options, the lines that the human types, and the screen.

    A line that the human types is the text that follows a question on the screen. ``question`` is a regular
    expression that matches the questions.
    """
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(
        rf"^```sh\n(python examples/{script}[^`]*)\n```\n\n(?:<details>[^`]*)?```text\n(.*?)```",
        text,
        re.DOTALL | re.M,
    )
    options = shlex.split(found[1].replace("\\\n", ""))[2:]
    lines = re.findall(rf"^(?:{question})(.+)$", found[2], re.M)
    return options, lines, found[2]


def replay(module, options, lines, person, monkeypatch):
    """Runs a script while the human types the lines, which are shown on the screen as in a terminal."""
    person(*lines)
    answer = builtins.input

    def typed(question=""):
        line = answer(question)
        print(line)
        return line

    monkeypatch.setattr("builtins.input", typed)
    module.main(tyro.cli(module.Args, args=options))
