"""Trained models as players, from memory or from a file."""

from __future__ import annotations

import copy
import inspect
import io
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sb3_contrib import ARS, QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_normalize

from nim_env._internal import limits
from nim_env.encodings import encoding_of
from nim_env.envs.gym_env import NimEnv
from nim_env.evaluation import ValueFunction
from nim_env.policies import Policy, PolicyAttributes, tabulate
from nim_env.rules import NimRules

# How each kind of network gives scores to all actions. The key is an attribute that only networks of this kind
# have. The kinds are an actor with a critic, the network of DQN, the network of QRDQN, and the policy of ARS.
_SCORES: dict[str, Callable[[Any, Any], torch.Tensor]] = {
    "get_distribution": lambda network, observations: network.get_distribution(observations).distribution.logits,
    "q_net": lambda network, observations: network.q_net(observations),
    "quantile_net": lambda network, observations: network.quantile_net(observations).mean(dim=1),
    "action_net": lambda network, observations: network.action_net(
        network.extract_features(observations, network.features_extractor)
    ),
}


class ModelPolicy(PolicyAttributes):
    """A model of Stable-Baselines3 or sb3-contrib as a player: an opponent, or a policy to evaluate.

    For example::

        evaluation.mastery(rules, ModelPolicy(model, env))
        gym.make("Nim-v0", opponent=ModelPolicy(model, env))
        evaluation.report(rules, ModelPolicy(dqn, env, use_masking=False), illegal_action="lose")

    An actor-critic model (PPO, A2C, TRPO, MaskablePPO) draws from the softmax of the logits of the legal actions.
    Any other model (DQN, QRDQN, ARS) plays the legal action with the highest score. Illegal actions have
    probability 0, even if the algorithm does not use masks. To get the model as it plays without masks, pass
    ``use_masking=False``.

    Attributes:
        discount: The model's ``gamma``, or ``None`` if its algorithm has none, such as ARS.

    Args:
        model: The model. The policy changes as the model is trained; :meth:`snapshot` returns a policy that does
            not.
        env: The environment that the model was trained in, or one with the same rules and encoding. It can be a
            Gymnasium environment, a vector environment or a ``VecEnv``.
        deterministic: Whether an actor-critic model plays its most probable legal action instead of drawing.
        use_masking: Whether illegal actions are masked. They are by default, since an opponent must not choose an
            illegal action. ``None`` masks them only for MaskablePPO, as in training.

    Raises:
        TypeError: If ``model`` is not a model of Stable-Baselines3, or is recurrent, since the moves of a
            recurrent model depend on more than the position.
        ValueError: If the model's observation space or action space differs from the one of the unwrapped
            environment, for example because the model was trained on normalized or flattened observations.
    """

    def __init__(
        self, model: BaseAlgorithm, env: Any, deterministic: bool = False, use_masking: bool | None = True
    ) -> None:
        if not isinstance(model, BaseAlgorithm):
            raise TypeError(f"model must be a Stable-Baselines3 model; got a {type(model).__name__}")
        _check_no_normalization(model, env)
        self.rules, self.encoding = (
            env.get_attr(name)[0] if isinstance(env, VecEnv) else getattr(env.unwrapped, name)
            for name in ("rules", "encoding")
        )
        self.deterministic = deterministic
        self._is_trained_with_masks = "action_masks" in inspect.signature(model.predict).parameters
        self.use_masking = self._is_trained_with_masks if use_masking is None else use_masking
        self.discount: float | None = getattr(model, "gamma", None)
        self._network: BasePolicy = model.policy
        self._scored_by = _scored_by(model)  # not the function itself, which could not be pickled
        self._is_actor_critic = self._scored_by == "get_distribution"
        self._learns_q_values = self._scored_by in ("q_net", "quantile_net")
        observation_space = self._network.observation_space
        action_space = self._network.action_space
        if observation_space != self.encoding.space or getattr(action_space, "n", None) != self.rules.n_actions:
            raise ValueError(
                f"model was trained on {observation_space} and {action_space}, but env ({self.rules}) has "
                f"{self.encoding.space} and {self.rules.n_actions} actions; instead of wrappers, make the "
                'environment with an argument such as observation="one_hot"'
            )

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """Returns the probability of each action, float64 of shape ``(..., n_actions)``.

        ``observation`` holds heap sizes, shape ``(..., n_heaps)``. ``action_mask`` has shape ``(..., n_actions)``.
        """
        mask = np.asarray(action_mask) != 0
        if not self.use_masking:
            mask = np.ones_like(mask)
        scores = self._scores(observation).reshape(mask.shape)
        scores = np.where(mask, scores, -np.inf)
        if self.deterministic or not self._is_actor_critic:
            return (np.arange(mask.shape[-1]) == scores.argmax(axis=-1)[..., None]).astype(np.float64)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    @property
    def values(self) -> ValueFunction | None:
        """A function that returns the values of positions to the player to move; ``None`` if the model has none.

        It maps positions, shape ``(n, n_heaps)``, to float64 values of shape ``(n,)``. For an actor-critic model
        these are the values of its critic. For DQN and QRDQN they are the largest Q-values of legal actions. ARS
        learns no values.
        """
        return self._values if self._is_actor_critic or self._learns_q_values else None

    @property
    def q_values(self) -> Callable[[NDArray[np.int64]], NDArray[np.float64]] | None:
        """A function that returns the Q-values of positions; ``None`` if the algorithm learns no Q-values.

        It maps positions, shape ``(n, n_heaps)``, to float64 values of shape ``(n, n_actions)``. They include the
        values of illegal actions, since DQN and QRDQN learn them too: about -1 after enough training, because an
        illegal action loses the game.
        """
        return self._scores if self._learns_q_values else None

    @property
    def behavior_policy(self) -> Policy | None:
        """The policy that the model plays in training, or ``None`` if the algorithm has no critic.

        The critic estimates the returns of this policy. The policy explores, so it draws from the softmax even if
        ``deterministic`` is True. Except in MaskablePPO, which trains with masks, it can choose illegal actions.
        Each of these loses the game, so it counts as a result of -1 in the values of the critic.

        To get it as a table, call ``policies.tabulate(rules, behavior_policy, illegal_action="lose")``. If a row
        of the table sums to less than 1, the missing probability is the probability of illegal actions.
        """
        if not self._is_actor_critic:
            return None
        actor = copy.copy(self)
        actor.deterministic = False
        actor.use_masking = self._is_trained_with_masks
        return actor

    def _values(self, heaps: NDArray[np.int64]) -> NDArray[np.float64]:
        if self._is_actor_critic:
            return self._evaluate(lambda network, observations: network.predict_values(observations)[:, 0], heaps)
        return np.where(self.rules.action_mask(heaps) != 0, self._scores(heaps), -np.inf).max(axis=-1)

    def _scores(self, heaps: ArrayLike) -> NDArray[np.float64]:
        return self._evaluate(_SCORES[self._scored_by], heaps)

    def snapshot(self) -> Policy:
        """Returns a copy of the policy that later training does not change.

        In a small game the copy is a table of probabilities, and in a large game it has a copy of the network.
        """
        if self.rules.n_pairs <= limits.SNAPSHOT_PAIRS:
            return tabulate(self.rules, self, illegal_action="raise" if self.use_masking else "lose")
        copied = copy.copy(self)
        file = io.BytesIO()  # copy.deepcopy fails for networks that have just been trained
        self._network.save(file)  # type: ignore[arg-type]  # torch.save takes a file too
        file.seek(0)
        copied._network = type(self._network).load(file, device="cpu")  # type: ignore[arg-type]
        return copied

    def _evaluate(self, function: Callable[[Any, Any], torch.Tensor], heaps: ArrayLike) -> NDArray[np.float64]:
        """Returns what a function computes from the model's network for some positions, as a float64 array.

        The positions ``heaps``, shape ``(..., n_heaps)``, are encoded first. ``function(network, observations)``
        returns a tensor with a row for each position.
        """
        positions = np.asarray(heaps)
        encoded = self.encoding(positions.reshape(-1, positions.shape[-1]))
        with torch.no_grad():
            output = function(self._network, self._network.obs_to_tensor(encoded)[0])
        return output.cpu().numpy().astype(np.float64)


def _check_no_normalization(model: BaseAlgorithm, env: Any) -> None:
    """Raises ValueError if the model was trained on normalized observations."""
    for trained_in in (model.get_env(), env if isinstance(env, VecEnv) else None):
        normalization = None if trained_in is None else unwrap_vec_normalize(trained_in)
        if normalization is not None and normalization.norm_obs:
            raise ValueError(
                "model must be trained without normalized observations; use VecNormalize with norm_obs=False"
            )


def _scored_by(model: BaseAlgorithm) -> str:
    """Returns the name of the attribute by which a model's network scores actions, such as ``"q_net"`` for DQN.

    Raises TypeError if the network cannot score the actions of a single position, for example if it is recurrent.
    """
    found = [attribute for attribute in _SCORES if hasattr(model.policy, attribute)]
    if not found or isinstance(model, RecurrentPPO):
        raise TypeError(
            f"model must choose by the position alone, as PPO and DQN do; got a {type(model).__name__}"
        )
    return found[0]


def load_model(path: str | Path) -> BaseAlgorithm:
    """Loads a saved model of any algorithm with discrete actions, for prediction on the CPU.

    The algorithm is found from the class of the policy in the file. A2C and TRPO have the same policy class as
    PPO, so their models are loaded as PPO. To continue training, load such a model with its own algorithm.

    Raises ValueError if the file has no model with discrete actions. A model's file contains pickles, which can
    run any code, so load only files that you trust.
    """
    policy_class = (load_from_zip_file(path, device="cpu")[0] or {}).get("policy_class", type(None))
    for algorithm in (RecurrentPPO, PPO, DQN, MaskablePPO, QRDQN, ARS):
        if issubclass(policy_class, tuple(algorithm.policy_aliases.values())):
            return algorithm.load(path, device="cpu")
    raise ValueError(f"{path} must contain a model with discrete actions; its policy is a {policy_class.__name__}")


def load_policy(path: str | Path, rules: NimRules, use_masking: bool | None = True) -> ModelPolicy:
    """Loads a saved model as a deterministic player, with the encoding that it was trained on.

    For example, this counts the illegal actions of a model that was trained without masks::

        evaluation.report(rules, load_policy("ppo.zip", rules, use_masking=False), illegal_action="lose")

    Args:
        path: The file. It contains pickles, which can run any code, so load only files that you trust.
        rules: The game that the model was trained on.
        use_masking: Whether illegal actions are masked, as in :class:`ModelPolicy`.

    Returns:
        The player, which plays the model's most probable or best actions.

    Raises:
        TypeError: If the model is recurrent.
        ValueError: If the file has no model with discrete actions, if the model was trained on another game or on
            a custom encoding, or if a wrapper such as VecNormalize changed its observations.
    """
    model = load_model(path)
    last = model._last_obs
    if isinstance(last, np.ndarray) and (last % 1).any():  # all named encodings have whole numbers
        raise ValueError(
            f"{path} must contain a model of a named encoding, but its last observation is {last[0].tolist()}; "
            "train it without a wrapper that changes observations, such as VecNormalize (norm_obs=False)"
        )
    env = NimEnv(**asdict(rules), opponent=None, observation=encoding_of(rules, model.observation_space))
    return ModelPolicy(model, env, deterministic=True, use_masking=use_masking)
