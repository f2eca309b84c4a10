"""docs/scripts/draw_tables.py: the figures of published tables."""

import runpy
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "docs" / "scripts" / "draw_tables.py"))


@pytest.mark.parametrize(
    ("name", "draw", "title"),
    [
        ("alphazero", "draw_alphazero", "Policy and value without a mistake at the end: 40 of 40 runs"),
        ("find_the_bug", "draw_bugs", "The fraction of the runs in which the diagnosis names the bug"),
        ("large_boards", "draw_large_boards", "Minimax-Q by self-play, until it makes no mistake"),
    ],
)
def test_a_table_of_the_experiments_is_drawn(name, draw, title, script):
    table = pd.read_csv(ROOT / "docs" / "experiments" / f"{name}.csv", keep_default_na=False)
    (axes,) = script[draw](table).axes
    assert axes.get_title(loc="left") == title
    assert title in (ROOT / "examples" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")


def test_the_rates_of_the_page_are_drawn(script):
    rates = script["benchmark_rates"]()
    assert rates.loc["vector, Nim-v0, random", 1024] == pytest.approx(34_789_410)
    assert rates.loc["Gymnasium, Nim-v0"].count() == 1
    (axes,) = script["draw_benchmark"](rates).axes
    assert len(axes.lines) == len(rates) == 11
