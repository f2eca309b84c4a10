"""Fails if a ratio measured by benchmark.py is below half of the ratio published in docs/benchmarks.md.

Prints each ratio that is too low, with its comparison, the number of environments and the published ratio.

    python tests/check_speed.py
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import benchmark  # noqa: E402


def published():
    """Returns the ratios of each comparison on the page, by number of environments."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = page.partition("Times as fast as the baseline\n")[2].partition("```")[0]
    rows = re.findall(r"^(.+?) +((?: *\d+\.\d+)+)$", table, re.MULTILINE)
    return {name: dict(zip(benchmark.NUM_ENVS, map(float, ratios.split()), strict=False)) for name, ratios in rows}


def too_slow(ratios):
    """Yields the name, number of environments, ratio and published ratio of each comparison that is too slow."""
    for name, row in published().items():
        for num_envs, ratio in row.items():
            if not ratios.at[name, num_envs] >= ratio / 2:
                yield name, num_envs, ratios.at[name, num_envs], ratio


if __name__ == "__main__":
    slow = list(too_slow(benchmark.main(benchmark.Args())[1]))
    for name, num_envs, ratio, before in slow:
        print(f"{name}, {num_envs}: {ratio:.2f}, published {before}")
    sys.exit(bool(slow))
