"""The first program."""

import re
import runpy
import sys
from pathlib import Path

from nim_env import NimRules, theory

ROOT = Path(__file__).parents[2]


def test_it_learns_and_plays_a_game(capsys):
    runpy.run_path(str(ROOT / "examples" / "quickstart.py"))
    shown = capsys.readouterr().out
    share = {games: float(percent) for games, percent in re.findall(r"^([\d,]+) games: ([\d.]+)%", shown, re.M)}
    assert list(share) == ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]
    assert share["0"] < 25
    assert share["0"] < share["1,000"] < share["2,000"]
    assert share["5,000"] >= 99
    assert shown.partition("[")[0] in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    heaps = [1, 3, 5, 7]
    moves = re.findall(r"^\[([\d ]+)\] player ([12]) takes (\d) from heap ([ABCD])$", shown, re.M)
    for ply, (position, player, count, heap) in enumerate(moves):
        assert position.split() == [str(size) for size in heaps]
        assert int(player) == 1 + ply % 2
        heaps["ABCD".index(heap)] -= int(count)
    assert f"[0 0 0 0] player {moves[-1][1]} took the last object and loses\n" in shown
    mistakes = re.findall(r"\[(\d \d \d \d)\]", shown.splitlines()[-1])
    assert len(mistakes) == round(335 * (1 - share["5,000"] / 100))
    assert all(theory.is_winning(NimRules(), [*map(int, heaps.split())]) for heaps in mistakes)


def test_the_first_program_is_short_and_needs_the_core_only():
    text = (ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    imported = set(re.findall(r"^(?:import|from) (\w+)", text, re.M))
    assert imported - set(sys.stdlib_module_names) <= {"gymnasium", "numpy", "nim_env"}
