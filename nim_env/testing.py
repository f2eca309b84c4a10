"""A test for your test suite: train your learner on a small game, and let exact evaluation judge it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from nim_env._internal.checks import checked_integer
from nim_env.evaluation.judgment import judge
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules


def assert_learns(
    train: Callable[[int], PolicyLike | tuple[PolicyLike, ArrayLike]],
    *,
    rules: NimRules = NimRules((1, 2, 3)),  # noqa: B008  it is frozen
    opponent: PolicyLike | None = None,
    discount: float = 1.0,
    seeds: int = 3,
    min_expert: float = 0.95,
    rewards: tuple[float, float] | None = None,
    initial: float | None = None,
    on_policy: bool | PolicyLike | None = None,
) -> None:
    """Asserts that a learner learns a game with each seed, and that its values show no bug.

    A bug can leave all moves right; then the values show it. Tell what you know about the learner: a diagnosis
    that is undecided because of what it was not told does not fail. A discount other than the one given fails, and
    so do values that are all the same. docs/test_suite.md says how often correct learners fail.

    Args:
        train: Trains a learner with a seed. It returns a player, as :func:`nim_env.evaluation.mastery` takes it,
            or a tuple of it and its values, as :func:`nim_env.evaluation.diagnose` takes them. Illegal moves lose.
        rules: The game.
        opponent: Whom the values were learned against; ``None`` for self-play.
        discount: The discount of the values.
        seeds: The number of trainings, with the seeds 0, 1 and so on.
        min_expert: The minimum of expert mastery, 0 to 1.
        rewards: The rewards of a win and of a loss, as for :func:`nim_env.evaluation.diagnose`.
        initial: The value of a pair that was never updated, likewise.
        on_policy: Whether the targets follow the learner's own moves, likewise.

    Raises:
        AssertionError: It has each seed's expert mastery, verdict and first mistakes.
    """
    __tracebackhide__ = True  # pytest points at the test
    checked_integer("seeds", seeds, 1)
    if not 0 <= min_expert <= 1:
        raise ValueError(f"min_expert must lie between 0 and 1; got {min_expert!r}")
    failed, lines = [], []
    for seed in range(seeds):
        trained = train(seed)
        player, values = trained if isinstance(trained, tuple) else (trained, None)
        policy = tabulate(rules, player, np.float64, illegal_action="lose")
        told = {"rewards": rewards, "initial": initial, "on_policy": on_policy}
        judged = judge(rules, policy, values, is_mask_required=True, opponent=opponent, discount=discount, **told)
        expert, diagnosis = judged.mastery.expert, judged.diagnosis
        is_wrong = diagnosis.result == "bug" or diagnosis.findings[0].startswith(("untrained", "discount of"))
        if expert < min_expert or is_wrong:
            failed.append(seed)
        lines.append(f"seed {seed}: expert mastery {expert:.4f}. {diagnosis.verdict}")
        lines += judged.mistakes
    assert not failed, "\n".join([f"seeds {failed} fail on {rules}:", *lines])
