"""What a policy is, and what the policies of this package have in common."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from gymnasium import Space
from numpy.typing import NDArray

from nim_env.rules import NimRules


@runtime_checkable
class Policy(Protocol):
    """Anything with ``action_probabilities``: a policy of this package, an agent, or your own class.

    Your own class needs no base class. For example, a policy that always plays the first legal action::

        class FirstLegal:
            def action_probabilities(self, observation, action_mask):
                n_actions = action_mask.shape[-1]
                return np.eye(n_actions)[action_mask.argmax(axis=-1)]

    It can also set the attributes of :class:`PolicyAttributes`, and ``rules``, the game that it was made for.
    """

    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[Any]:
        """Returns a distribution over the legal actions of each position, numbers of shape ``(..., n_actions)``.

        ``observation`` holds the heap sizes of unfinished positions, int64 of shape ``(..., n_heaps)``, and
        ``action_mask`` their legal actions, int8 of shape ``(..., n_actions)``.
        """
        ...


class PolicyAttributes:
    """The attributes that a policy can have, with their defaults. The policies of this package inherit them.

    A class whose objects always give the same answer in a position says so in its class statement:
    ``class ExpertPolicy(UniformPolicy, is_fixed=True)``. Subclasses do not inherit this, since they can override
    ``action_probabilities`` and draw random numbers.

    Attributes:
        observation_space: The space that an agent or a model observes; ``None`` for heap sizes.
        action_space: The action space of an agent or a model, or ``None``.
        fault: What was wrong with its last answer, or ``None``. Every query overwrites it, and error
            messages quote it.
        is_measurement: Whether its probabilities are frequencies that it measured. Exact metrics query every other
            policy twice, to make sure that it gives the same answer both times.
        is_fixed: Whether it always gives the same answer in a position. The environments then draw its moves from
            tables, and exact metrics query it once.
    """

    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    fault: str | None = None
    is_measurement: bool = False
    is_fixed: bool = False

    def __init_subclass__(cls, *, is_fixed: bool = False) -> None:
        cls.is_fixed = is_fixed


def attributes_of(policy: Any) -> PolicyAttributes:
    """Returns the attributes of a policy, with defaults for those that it does not have.

    If the policy inherits :class:`PolicyAttributes`, the result is the policy itself. For an agent or a custom
    class it is a new object, in which ``is_fixed`` is always False.
    """
    if isinstance(policy, PolicyAttributes):
        return policy
    attributes = PolicyAttributes()
    for name in ("observation_space", "action_space", "fault", "is_measurement"):
        setattr(attributes, name, getattr(policy, name, getattr(attributes, name)))
    if not isinstance(attributes.observation_space, Space):
        attributes.observation_space = None
    return attributes


class CompositePolicy(PolicyAttributes):
    """A policy made from other policies. Its attribute ``policies`` is a list or a tuple of them."""

    policies: Any

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """The first ``fault`` that one of its policies has, or ``None`` if none has one."""
        return next(filter(None, (attributes_of(policy).fault for policy in self.policies)), None)


def game_of(policy: Any) -> NimRules | None:
    """Returns the ``rules`` of a policy that was made for one game, or ``None`` if it plays every game."""
    rules = getattr(policy, "rules", None)
    return rules if isinstance(rules, NimRules) else None


class MixedStrategy:
    """A distribution over policies, one of which is drawn for each game.

    It is not a policy, since its next move depends on the policy that was drawn. So functions that
    need a policy refuse it.
    """
