"""What a policy is, and the base classes of the policies of this package."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from gymnasium import Space
from numpy.typing import NDArray


@runtime_checkable
class Policy(Protocol):
    """Any object with the method ``action_probabilities``: a policy of this package, an agent, or your own class.

    Your class needs no base class. This policy, for example, always plays the first legal action::

        class FirstLegal:
            def action_probabilities(self, observation, action_mask):
                n_actions = action_mask.shape[-1]
                return np.eye(n_actions)[action_mask.argmax(axis=-1)]

    A policy can also have the attributes of :class:`PolicyAttributes`, and an attribute ``rules``: the only game
    that it can play.
    """

    def action_probabilities(self, observation: Any, action_mask: Any) -> NDArray[Any]:
        """Returns the probability of each action in each position, numbers of shape ``(..., n_actions)``.

        ``observation`` holds the heap sizes of positions in which the game is not over, int64 of shape
        ``(..., n_heaps)``. ``action_mask`` holds 1 for each legal action and 0 for each illegal one, int8 of shape
        ``(..., n_actions)``. Illegal actions must get the probability 0.
        """
        ...


class PolicyAttributes:
    """The optional attributes of a policy, with their defaults. The policies of this package inherit them.

    To set ``is_fixed``, pass it in the class statement: ``class ExpertPolicy(UniformPolicy, is_fixed=True)``. A
    subclass does not inherit it, since it can override ``action_probabilities``.

    Attributes:
        observation_space: The space of the observations that the policy takes, such as that of an agent. ``None``
            if it takes heap sizes.
        action_space: The action space that the policy was made for, such as that of an agent. ``None`` if the
            policy does not say. It is compared with the number of actions of the game.
        fault: A description of what is wrong with the policy's last probabilities, or ``None``. Error messages
            quote it.
        is_measurement: Whether the probabilities are frequencies that the policy has measured. Exact metrics query
            such a policy only once. They query others twice, to check that the probabilities are the same.
        is_fixed: Whether the policy always returns the same probabilities in a position. The environments then
            draw its moves from tables, and exact metrics query it only once.
    """

    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    fault: str | None = None
    is_measurement: bool = False
    is_fixed: bool = False

    def __init_subclass__(cls, *, is_fixed: bool = False) -> None:
        cls.is_fixed = is_fixed


class CompositePolicy(PolicyAttributes):
    """A policy that queries other policies, which are in the attribute ``policies``."""

    policies: Any  # a list or a tuple

    @property
    def fault(self) -> str | None:  # type: ignore[override]
        """The first ``fault`` among the queried policies, or ``None`` if none of them has one."""
        return next(filter(None, (getattr(policy, "fault", None) for policy in self.policies)), None)


def observed_space(policy: Any) -> Space[Any] | None:
    """Returns the attribute ``observation_space`` of a policy, or ``None`` if it is not a Gymnasium space."""
    space = getattr(policy, "observation_space", None)
    return space if isinstance(space, Space) else None
