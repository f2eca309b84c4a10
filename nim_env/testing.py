"""A test for your test suite: it trains your learner on a small game and judges it by exact evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from nim_env._internal.checks import checked_integer
from nim_env.evaluation.assessment import TrainingFacts, assess
from nim_env.evaluation.diagnosis import findings
from nim_env.policies import PolicyLike, tabulate
from nim_env.rules import NimRules


def assert_learns(
    train: Callable[[int], PolicyLike | tuple[PolicyLike, ArrayLike]],
    *,
    rules: NimRules = NimRules((1, 2, 3)),  # noqa: B008  the default is immutable
    opponent: PolicyLike | None = None,
    discount: float = 1.0,
    seeds: int = 3,
    min_expert: float = 0.95,
    rewards: tuple[float, float] | None = None,
    initial: float | None = None,
    on_policy: bool | None = None,
    behavior_policy: PolicyLike | None = None,
) -> None:
    """Asserts that a learner learns a game with several seeds, and that its values show no bug.

    For example, if ``train(seed)`` returns a learner's player and its values::

        def test_my_learner():
            assert_learns(train, rewards=(1, -1), on_policy=False)

    If ``train`` returns values, the test judges them too, because a learner with a bug can still play all the
    right moves. ``opponent``, ``discount`` and the arguments from ``rewards`` on describe the training. The test
    fails if the values show a bug, fit a discount other than ``discount``, or are still the initial ones. If the
    diagnosis is undecided for another reason, it passes. docs/test_suite.md says how often correct learners fail.

    Args:
        train: Trains a learner with a seed. It returns a player, as :func:`nim_env.evaluation.mastery` takes it,
            or a tuple of the player and its values, as :func:`nim_env.evaluation.diagnose` takes them. A player
            that makes an illegal move loses.
        rules: The game.
        opponent: The opponent that the values were learned against, or ``None`` for self-play.
        discount: The discount of the values.
        seeds: The number of trainings. They use the seeds 0, 1 and so on.
        min_expert: The minimum expert mastery, from 0 to 1.
        rewards: The rewards of a win and of a loss, as for :func:`nim_env.evaluation.diagnose`.
        initial: The value of a pair of position and action that was never updated, as for
            :func:`nim_env.evaluation.diagnose`.
        on_policy: Whether the targets follow the learner's own moves, as for :func:`nim_env.evaluation.diagnose`.
        behavior_policy: The policy that a critic evaluates, as for :func:`nim_env.evaluation.diagnose`.

    Raises:
        AssertionError: If the learner fails with a seed. The message has the expert mastery, the verdict and the
            first mistakes of every seed.
        ValueError: If ``min_expert`` is not from 0 to 1, or if ``seeds`` is below 1.
        TypeError: If ``seeds`` is not an integer.
    """
    __tracebackhide__ = True  # pytest shows the line of the test instead
    checked_integer("seeds", seeds, 1)
    if not 0 <= min_expert <= 1:
        raise ValueError(f"min_expert must be between 0 and 1; got {min_expert!r}")
    facts = TrainingFacts(
        opponent=opponent,
        discount=discount,
        rewards=rewards,
        initial=initial,
        on_policy=on_policy,
        behavior_policy=behavior_policy,
    )
    failed, lines = [], []
    for seed in range(seeds):
        trained = train(seed)
        player, values = trained if isinstance(trained, tuple) else (trained, None)
        policy = tabulate(rules, player, np.float64, illegal_action="lose")
        assessed = assess(rules, policy, values, facts, is_mask_required=True)
        expert, diagnosis = assessed.mastery.expert, assessed.diagnosis
        has_wrong_values = diagnosis.findings[0] in (findings.UNTRAINED, findings.OTHER_DISCOUNT)
        is_wrong = diagnosis.result == "bug" or has_wrong_values
        if expert < min_expert or is_wrong:
            failed.append(seed)
        lines.append(f"seed {seed}: expert mastery {expert:.4f}. {diagnosis.verdict}")
        lines += assessed.mistakes
    if failed:  # not an assert statement, which Python can be told to skip
        raise AssertionError("\n".join([f"seeds {failed} fail on {rules}:", *lines]))
