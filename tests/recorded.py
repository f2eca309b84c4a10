"""Replays the sessions at the terminal that a page shows: the command, what the human types, and the screen."""

import builtins
import re
import shlex
from pathlib import Path

import tyro

PAGE = Path(__file__).parents[1] / "docs" / "experiments" / "five_systems.md"


def session(script, question):
    """The options of a script's recorded session on the page, what the human types, and the screen.

    The human types what follows a question, a text that matches ``question``, on its line.
    """
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(
        rf"^```sh\n(python examples/{script}[^`]*)\n```\n\n```text\n(.*?)```", text, re.DOTALL | re.M
    )
    options = shlex.split(found[1].replace("\\\n", ""))[2:]
    lines = re.findall(rf"^(?:{question})(.+)$", found[2], re.M)
    return options, lines, found[2]


def replay(module, options, lines, person, monkeypatch):
    """Runs a script with these options; the human types these lines, which the screen shows as a terminal does."""
    person(*lines)
    answer = builtins.input

    def typed(question=""):
        line = answer(question)
        print(line)
        return line

    monkeypatch.setattr("builtins.input", typed)
    module.main(tyro.cli(module.Args, args=options))
