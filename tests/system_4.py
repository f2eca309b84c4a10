"""Compares an agent with the published tables of system 4."""

import csv
from pathlib import Path

from nim_env import NimRules

DATA = Path(__file__).parent / "data"
TABLES = [((0, 1, 2), 10), ((1, 2, 3), 108)]  # the heaps, and the number of pairs in their table


def check_table(agent, heaps, pairs):
    """Asserts that an agent has every value of a table, to the last published digit."""
    rules = NimRules(heaps)
    with open(DATA / f"q_table_{'-'.join(map(str, heaps))}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == pairs
    for row in rows:
        position = [int(row[f"heap_{heap}"]) for heap in range(3)]
        action = rules.action(int(row["move_heap"]), int(row["move_count"]))
        sign = {"A": 1, "B": -1}[row["player"]]  # the table has values from A's point of view
        value = 1000 * sign * agent.q_values(position)[action]
        assert abs(value - float(row["q_value"])) < 0.05
