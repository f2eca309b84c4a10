"""95 % intervals of what several seeds gave, as seaborn asks for them."""

from __future__ import annotations

import pandas as pd
from scipy.stats import t

from nim_env.evaluation import MatchResult


def students(values: pd.Series) -> tuple[float, float]:
    """The 95 % interval of the mean by Student's t distribution (Student 1908, Biometrika 6)."""
    half = t.ppf(0.975, len(values) - 1) * values.sem()
    return values.mean() - half, values.mean() + half


def students_of_shares(values: pd.Series) -> tuple[float, float]:
    """The same where nothing can lie below 0 or above 1."""
    low, high = students(values)
    return max(0.0, low), min(1.0, high)


def wilsons(values: pd.Series) -> tuple[float, float]:
    """The 95 % interval of the share of ones."""
    return MatchResult(int(values.sum()), len(values)).interval()
