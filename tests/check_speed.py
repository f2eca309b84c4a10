"""Fails if a ratio measured by benchmark.py is below half of the ratio published in docs/benchmarks.md.

It measures the cost of opponents too, which benchmark.py does not compare. It prints each ratio that is too low,
with its comparison, the number of environments and the published ratio.

    python tests/check_speed.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import benchmark  # noqa: E402

from nim_env import MixturePolicy, NimRules  # noqa: E402
from nim_env.policies import tabulate  # noqa: E402

OPPONENTS = {"table": 1.04, "mixture": 0.84}  # with 1,024 games, as multiples of the rate against random play


def published():
    """Returns the ratios of each comparison on the page, by number of environments."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = page.partition("Times as fast as the baseline\n")[2].partition("```")[0]
    rows = re.findall(r"^(.+?) +((?: *\d+\.\d+)+)$", table, re.MULTILINE)
    return {
        name: dict(zip(benchmark.Args().num_envs, map(float, ratios.split()), strict=False))
        for name, ratios in rows
    }


def too_slow(ratios):
    """Yields the name, number of environments, ratio and published ratio of each comparison that is too slow."""
    for name, row in published().items():
        for num_envs, ratio in row.items():
            if not ratios.at[name, num_envs] >= ratio / 2:
                yield name, num_envs, ratios.at[name, num_envs], ratio


def slow_opponents():
    """Yields the name, 1,024, the ratio and the published ratio of each opponent that costs too much."""
    rules = NimRules()
    table = tabulate(rules, "expert")
    opponents = {"random": "random", "table": table, "mixture": MixturePolicy(rules, ["random", "take-3", table])}
    steps = (
        (name, 1024, benchmark.vector_steps("nim_env:Nim-v0", 1024, opponent=opponent))
        for name, opponent in opponents.items()
    )
    rates = benchmark.measure(benchmark.Args(), steps)[1024]
    for name, ratio in OPPONENTS.items():
        if not rates[name] / rates["random"] >= ratio / 2:
            yield f"{name} / random", 1024, rates[name] / rates["random"], ratio


if __name__ == "__main__":
    slow = [*slow_opponents(), *too_slow(benchmark.main(benchmark.Args())[1])]
    for name, num_envs, ratio, before in slow:
        print(f"{name}, {num_envs}: {ratio:.2f}, published {before}")
    sys.exit(bool(slow))
