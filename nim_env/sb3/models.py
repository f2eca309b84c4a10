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
from nim_env.policies import NimPolicy, Policy, tabulate
from nim_env.rules import NimRules

# The scores of actions, by the attribute that tells the kind of a network: logits, Q-values, or those of ARS.
_SCORES: dict[str, Callable[[Any, Any], torch.Tensor]] = {
    "get_distribution": lambda network, observations: network.get_distribution(observations).distribution.logits,
    "q_net": lambda network, observations: network.q_net(observations),
    "quantile_net": lambda network, observations: network.quantile_net(observations).mean(dim=1),
    "action_net": lambda network, observations: network.action_net(
        network.extract_features(observations, network.features_extractor)
    ),
}


class ModelPolicy(NimPolicy):
    """A model of Stable-Baselines3 or sb3-contrib as a player: an opponent, or a policy to evaluate.

    The probabilities of illegal actions are 0, whether or not the algorithm uses masks. An actor-critic model
    (PPO, A2C, TRPO, MaskablePPO) draws from the softmax over its legal logits. Another (DQN, QRDQN, ARS) plays the
    legal action of the highest score. With ``use_masking=False`` it is the model as it plays without masks.

    For example::

        evaluation.mastery(rules, ModelPolicy(model, env))
        gym.make("Nim-v0", opponent=ModelPolicy(model, env))
        evaluation.report(rules, ModelPolicy(dqn, env, use_masking=False), illegal_action="lose")

    Attributes:
        discount: The ``gamma`` of the model; ``None`` if its algorithm has none, as ARS.

    Args:
        model: The model. The policy follows its training; :meth:`snapshot` makes one that does not.
        env: The environment that the model was trained in, or one like it: its rules and its encoding are used. A
            Gymnasium environment, a vector environment or a ``VecEnv``.
        deterministic: Whether an actor-critic model plays its most probable legal action.
        use_masking: Whether illegal actions are masked.

    Raises:
        TypeError: The model is recurrent, so its moves depend on more than the position, or no model at all.
        ValueError: The model was trained on other observations or actions than those of ``env`` without its
            wrappers, such as normalized or flattened observations.
    """

    def __init__(
        self, model: BaseAlgorithm, env: Any, deterministic: bool = False, use_masking: bool = True
    ) -> None:
        if not isinstance(model, BaseAlgorithm):
            raise TypeError(f"model must be a Stable-Baselines3 model; got a {type(model).__name__}")
        for trained_in in (model.get_env(), env if isinstance(env, VecEnv) else None):
            normalization = None if trained_in is None else unwrap_vec_normalize(trained_in)
            if normalization is not None and normalization.norm_obs:
                raise ValueError("model must be trained without normalized observations: norm_obs=False")
        self.rules, self.encoding = (
            env.get_attr(name)[0] if isinstance(env, VecEnv) else getattr(env.unwrapped, name)
            for name in ("rules", "encoding")
        )
        self.deterministic = deterministic
        self.use_masking = use_masking
        self.discount: float | None = getattr(model, "gamma", None)
        self._is_trained_with_masks = _has_masks(model)
        self._network: BasePolicy = model.policy
        kinds = [kind for kind in _SCORES if hasattr(self._network, kind)]
        if not kinds or isinstance(model, RecurrentPPO):
            raise TypeError(
                f"model must choose by the position alone, as PPO or DQN does; got a {type(model).__name__}"
            )
        self._kind = kinds[0]
        observation_space = self._network.observation_space
        action_space = self._network.action_space
        if observation_space != self.encoding.space or getattr(action_space, "n", None) != self.rules.n_actions:
            raise ValueError(
                f"model was trained on {observation_space} and {action_space}, but env ({self.rules}) has "
                f"{self.encoding.space} and {self.rules.n_actions} actions; instead of wrappers, use "
                'observation="one_hot" or the like'
            )

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of each action, float64 of shape ``(..., n_actions)``, given heap sizes and masks."""
        mask = np.asarray(action_mask) != 0
        if not self.use_masking:
            mask = np.ones_like(mask)
        scores = self._scores(observation).reshape(mask.shape)
        scores = np.where(mask, scores, -np.inf)
        if self.deterministic or self._kind != "get_distribution":
            return (np.arange(mask.shape[-1]) == scores.argmax(axis=-1)[..., None]).astype(np.float64)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    @property
    def values(self) -> ValueFunction | None:
        """A function from positions, shape ``(n, n_heaps)``, to their values, float64 of shape ``(n,)``.

        They are the critic's values to the player to move; of DQN and QRDQN the largest Q-values of legal actions.
        ARS learns no values: None.
        """
        return None if self._kind == "action_net" else self._values

    @property
    def q_values(self) -> ValueFunction | None:
        """A function from positions, shape ``(n, n_heaps)``, to Q-values, float64 of shape ``(n, n_actions)``.

        They include those of illegal actions, which DQN and QRDQN learn too: about -1 after enough training, since
        an illegal action loses the game. ``None`` if the algorithm learns no Q-values.
        """
        return self._scores if self._kind in ("q_net", "quantile_net") else None

    @property
    def on_policy(self) -> Policy | None:
        """The policy whose values the critic learns; ``None`` if the algorithm has no critic.

        A critic estimates the return of the actor as it explores in training, so this policy draws from the
        softmax, whatever ``deterministic`` says. Only MaskablePPO trains with masks. The policy of any other
        algorithm also gives illegal actions their probabilities. They lose the game, so a position's value is the
        mean over all of these probabilities, in which each illegal action counts -1. With
        ``policies.tabulate(rules, on_policy, illegal_action="lose")`` the probabilities of the illegal actions are
        what a row lacks to 1.
        """
        if self._kind != "get_distribution":
            return None
        actor = copy.copy(self)
        actor.deterministic = False
        actor.use_masking = self._is_trained_with_masks
        return actor

    def _values(self, heaps: NDArray[np.int64]) -> NDArray[np.float64]:
        if self._kind == "get_distribution":
            return self._ask(lambda network, observations: network.predict_values(observations)[:, 0], heaps)
        return np.where(self.rules.action_mask(heaps) != 0, self._scores(heaps), -np.inf).max(axis=-1)

    def _scores(self, heaps: ArrayLike) -> NDArray[np.float64]:
        return self._ask(_SCORES[self._kind], heaps)

    def snapshot(self) -> Policy:
        """A copy of the policy that later training does not change: a table, or in large games a network."""
        if self.rules.n_positions * self.rules.n_actions <= limits.SNAPSHOT:
            return tabulate(self.rules, self, illegal_action="raise" if self.use_masking else "lose")
        copied = copy.copy(self)
        file = io.BytesIO()  # copy.deepcopy fails for networks that have just been trained
        self._network.save(file)  # type: ignore[arg-type]  # torch.save takes a file too
        file.seek(0)
        copied._network = type(self._network).load(file, device="cpu")  # type: ignore[arg-type]
        return copied

    def _ask(self, function: Callable[[Any, Any], torch.Tensor], heaps: ArrayLike) -> NDArray[np.float64]:
        """What a function of network and observations returns for positions, all leading dimensions flattened."""
        positions = np.asarray(heaps)
        encoded = self.encoding(positions.reshape(-1, positions.shape[-1]))
        with torch.no_grad():
            output = function(self._network, self._network.obs_to_tensor(encoded)[0])
        return output.cpu().numpy().astype(np.float64)


def _has_masks(model: BaseAlgorithm) -> bool:
    """Whether its algorithm trains with masks, as MaskablePPO does."""
    return "action_masks" in inspect.signature(model.predict).parameters


def load_model(path: str | Path) -> BaseAlgorithm:
    """Loads a saved model of any algorithm with discrete actions for prediction, on the CPU.

    The policy class in the file decides on the algorithm, so a model of A2C or TRPO, which have the policy of PPO,
    is loaded as PPO; to train on, load it by its own class. A ValueError if the file holds no such model. It holds
    pickles: load only a file that you trust.
    """
    policy_class = (load_from_zip_file(path, device="cpu")[0] or {}).get("policy_class", type(None))
    for algorithm in (RecurrentPPO, PPO, DQN, MaskablePPO, QRDQN, ARS):
        if issubclass(policy_class, tuple(algorithm.policy_aliases.values())):
            return algorithm.load(path, device="cpu")
    raise ValueError(f"{path} must hold a model with discrete actions; its policy is a {policy_class.__name__}")


def load_policy(path: str | Path, rules: NimRules, use_masking: bool | None = None) -> ModelPolicy:
    """Loads a saved model as a player that does not draw, with the encoding that it was trained on.

    For example, to count the illegal actions of a model that was trained without masks::

        evaluation.report(rules, load_policy("ppo.zip", rules), illegal_action="lose")

    Args:
        path: The file, which holds pickles: load only one that you trust.
        rules: The game that the model was trained on.
        use_masking: Whether illegal actions are masked; ``None`` for MaskablePPO alone, as in training.

    Returns:
        The player of the most probable or best actions.

    Raises:
        TypeError: The model is recurrent.
        ValueError: The file holds no model with discrete actions, or one that was trained on another game, on a
            custom encoding, or behind a wrapper that changes observations, such as VecNormalize.
    """
    model = load_model(path)
    last = model._last_obs
    if isinstance(last, np.ndarray) and (last % 1).any():  # the encodings by name have whole numbers alone
        raise ValueError(
            f"{path} must be trained on an encoding by name, but its last observation is {last[0].tolist()}; "
            "train it without a wrapper that changes observations, such as VecNormalize (norm_obs=False)"
        )
    env = NimEnv(**asdict(rules), opponent=None, observation=encoding_of(rules, model.observation_space))
    if use_masking is None:
        use_masking = _has_masks(model)
    return ModelPolicy(model, env, deterministic=True, use_masking=use_masking)
