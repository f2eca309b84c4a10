"""Nim for Stable-Baselines3: a fast ``VecEnv``, trained models as players, and exact evaluation during training.

It needs Stable-Baselines3 (``pip install "nim-env[sb3]"``), so ``import nim_env`` does not import it.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import ArrayLike, NDArray

from nim_env import evaluation
from nim_env.policies import MixturePolicy, Policy, tabulate
from nim_env.rules import NimRules, checked_integer

try:
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_normalize
except ImportError as error:
    raise DependencyNotInstalled('nim_env.sb3 needs Stable-Baselines3; run pip install "nim-env[sb3]"') from error

from nim_env._sb3_vec_env import NimVecEnv

__all__ = ["EvaluationCallback", "ModelPolicy", "NimVecEnv", "SelfPlayCallback"]

_MAX_SNAPSHOT_ENTRIES = 2_000_000  # positions times actions of a snapshot that is stored as a table


class ModelPolicy:
    """A Stable-Baselines3 model as a player: an opponent, or a policy to evaluate.

    The probabilities of illegal actions are 0, whether or not the algorithm uses masks. A value-based model (DQN)
    plays the legal action of the largest Q-value. An actor-critic model (PPO, A2C, MaskablePPO) draws from the
    softmax over its legal logits.

    For example::

        evaluation.mastery(rules, ModelPolicy(model, env))
        gym.make("Nim-v0", opponent=ModelPolicy(model, env))

    Args:
        model: The model. The policy follows its training; :meth:`snapshot` makes one that does not.
        env: The environment that the model was trained in, or one like it: its rules and its encoding are used. A
            Gymnasium environment, a vector environment or a ``VecEnv``.
        deterministic: Whether an actor-critic model plays its most probable legal action.

    Raises:
        TypeError: ``model`` is not a Stable-Baselines3 model with discrete actions, or ``env`` is not of Nim.
        ValueError: The model was trained on other observations or actions than those of ``env`` without its
            wrappers, such as normalized or flattened observations.
    """

    def __init__(self, model: BaseAlgorithm, env: Any, deterministic: bool = False) -> None:
        if not isinstance(model, BaseAlgorithm):
            raise TypeError(
                "model must be a Stable-Baselines3 model, such as a DQN or MaskablePPO, not its network; "
                f"got a {type(model).__name__}"
            )
        for trained_in in (model.get_env(), env if isinstance(env, VecEnv) else None):
            normalization = None if trained_in is None else unwrap_vec_normalize(trained_in)
            if normalization is not None and normalization.norm_obs:
                raise ValueError(
                    "model must be trained without normalized observations: VecNormalize(..., norm_obs=False)"
                )
        rules = _attribute(env, "rules")
        if not isinstance(rules, NimRules):
            raise TypeError(f"env must be an environment of Nim; got {env!r}")
        self.rules, self.deterministic = rules, deterministic
        self.encoding = _attribute(env, "encoding")
        self._network: BasePolicy = model.policy
        self._is_actor_critic = hasattr(self._network, "get_distribution")
        if not (self._is_actor_critic or hasattr(self._network, "q_net")) or hasattr(self._network, "lstm_actor"):
            raise TypeError(
                f"model must be a DQN, PPO, A2C, MaskablePPO or the like, not recurrent; got {model!r}"
            )
        observation_space, action_space = self._network.observation_space, self._network.action_space
        if observation_space != self.encoding.space or getattr(action_space, "n", None) != rules.n_actions:
            raise ValueError(
                f"model was trained on {observation_space} and {action_space}, but env, a game of {rules}, makes "
                f"observations {self.encoding.space}; pass the environment it was trained in, and train without "
                'wrappers that change observations: gym.make(..., observation="one_hot") instead of '
                "FlattenObservation, VecNormalize(..., norm_obs=False)"
            )

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of each action.

        Args:
            observation: Heap sizes, shape ``(..., n_heaps)``.
            action_mask: The legal actions, shape ``(..., n_actions)``.

        Returns:
            float64 of shape ``(..., n_actions)``.
        """
        mask = np.asarray(action_mask) != 0
        preferences = np.where(mask, self._preferences(observation).reshape(mask.shape), -np.inf)
        preferences -= preferences.max(axis=-1, keepdims=True)
        if self.deterministic or not self._is_actor_critic:
            best = preferences.argmax(axis=-1)
            weights = (np.arange(mask.shape[-1]) == best[..., None]).astype(np.float64)
        else:
            weights = np.exp(preferences)
        probabilities: NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
        return probabilities

    def values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The model's value of positions to the player to move.

        For an actor-critic model it is the critic's value, for a value-based model the largest legal Q-value.

        Args:
            heaps: Unfinished positions, shape ``(n, n_heaps)``.

        Returns:
            float64 of shape ``(n,)``, as :func:`nim_env.evaluation.report` takes it.
        """
        network: Any = self._network
        if self._is_actor_critic:
            with torch.no_grad():
                values: NDArray[np.float64] = _to_numpy(network.predict_values(self._tensor(heaps))[:, 0])
                return values
        largest: NDArray[np.float64] = self._preferences(heaps).max(
            axis=-1, where=self.rules.action_mask(heaps) != 0, initial=-np.inf
        )
        return largest

    def snapshot(self) -> Policy:
        """A copy of the policy that later training does not change: a table, or in large games a network."""
        if self.rules.n_positions * self.rules.n_actions <= _MAX_SNAPSHOT_ENTRIES:
            return tabulate(self.rules, self)
        copied = object.__new__(ModelPolicy)
        copied.__dict__.update(self.__dict__)
        file = io.BytesIO()
        self._network.save(file)  # type: ignore[arg-type]  # torch.save takes a file too
        file.seek(0)
        copied._network = type(self._network).load(file, device="cpu")  # type: ignore[arg-type]
        return copied

    def _preferences(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """Q-values or logits, shape ``(n, n_actions)`` for all leading dimensions flattened."""
        network: Any = self._network
        with torch.no_grad():
            if self._is_actor_critic:
                return _to_numpy(network.get_distribution(self._tensor(heaps)).distribution.logits)
            return _to_numpy(network.q_net(self._tensor(heaps)))

    def _tensor(self, heaps: ArrayLike) -> Any:
        positions = np.asarray(heaps)
        encoded = self.encoding(positions.reshape(-1, positions.shape[-1]))
        return self._network.obs_to_tensor(encoded)[0]


class EvaluationCallback(BaseCallback):
    """Evaluates the model exactly at intervals, and logs the figures of :func:`nim_env.evaluation.report`.

    The logger (TensorBoard, CSV or the terminal) gets each figure under ``nim/``, such as ``nim/expert``. The
    model is evaluated before the first step, after every ``eval_freq`` timesteps, and at the end of training.

    Args:
        eval_freq: The number of timesteps between two evaluations, counted over all environments.
        deterministic: Whether the most probable actions are evaluated, or the distribution over actions.
        name: The first part of the names in the log; two callbacks need two.
        verbose: 1 to print the main figures.

    Attributes:
        evaluations: One dictionary for each evaluation: ``timesteps`` and the figures.

    Raises:
        TypeError: ``eval_freq`` is not an integer.
        ValueError: ``eval_freq`` is below 1.
        TypeError, ValueError: When training starts, as :class:`ModelPolicy` and
            :func:`nim_env.evaluation.report`.
    """

    def __init__(self, eval_freq: int, deterministic: bool = True, name: str = "nim", verbose: int = 0) -> None:
        super().__init__(verbose)
        self.eval_freq = checked_integer("eval_freq", eval_freq, 1)
        self.deterministic, self.name = deterministic, name
        self.evaluations: list[dict[str, Any]] = []
        self._next_evaluation = 0

    def _on_training_start(self) -> None:
        self._policy = ModelPolicy(self.model, self.training_env, self.deterministic)
        self._next_evaluation = self.num_timesteps
        self._evaluate_if_due()

    def _on_step(self) -> bool:
        self._evaluate_if_due()
        return True

    def _on_training_end(self) -> None:
        self._next_evaluation = self.num_timesteps
        self._evaluate_if_due()

    def _evaluate_if_due(self) -> None:
        if self.num_timesteps < self._next_evaluation:
            return
        self._next_evaluation = self.num_timesteps + self.eval_freq
        if self.evaluations and self.evaluations[-1]["timesteps"] == self.num_timesteps:
            return
        figures = evaluation.report(self._policy.rules, self._policy, values=self._policy.values).to_dict()
        self.evaluations.append({"timesteps": self.num_timesteps, **figures})
        for name, value in figures.items():
            self.logger.record(f"{self.name}/{name}", float(value))
        self.logger.dump(self.num_timesteps)
        if self.verbose:
            shown = ("expert", "champion", "exploitability", "value_accuracy_overall")
            main_figures = ", ".join(f"{name} {figures[name]:.4g}" for name in shown)
            print(f"{self.num_timesteps:,} timesteps: {main_figures}", flush=True)


class SelfPlayCallback(BaseCallback):
    """Trains the model against a pool of its own snapshots.

    The opponent of the environment becomes a uniform mixture of snapshots (:class:`MixturePolicy`). A snapshot of
    the model joins it before the first rollout and after every ``snapshot_interval`` rollouts.

    For example::

        env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=256, random_start=True, autoreset_mode="SameStep"))
        callbacks = [SelfPlayCallback(snapshot_interval=3, pool_size=20), CheckpointCallback(1000, "checkpoints")]
        model = MaskablePPO("MlpPolicy", env, n_steps=32)
        model.learn(1_000_000, callback=callbacks)

        model = MaskablePPO.load("checkpoints/rl_model_768000_steps", env=env)  # continues with its pool
        model.learn(232_000, callback=callbacks, reset_num_timesteps=False)

    The pool is ``model.opponent_pool``. ``model.save`` stores it with the model, so each file of
    ``CheckpointCallback`` holds the pool too; ``model.save(path, exclude=["opponent_pool"])`` leaves it out.

    Args:
        snapshot_interval: The number of rollouts between two snapshots.
        pool_size: The maximum number of snapshots in the pool, of which the oldest is removed; ``None`` for no
            limit.
        verbose: As in every callback of Stable-Baselines3.

    Attributes:
        pool: The opponent, once training has started.

    Raises:
        TypeError: ``snapshot_interval`` or ``pool_size`` is not an integer. When training starts, as
            :class:`ModelPolicy`.
        ValueError: ``snapshot_interval`` or ``pool_size`` is below 1. When training starts: the environment has
            ``opponent=None``, or the model has a pool of another game.
    """

    def __init__(self, snapshot_interval: int, pool_size: int | None = None, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.snapshot_interval = checked_integer("snapshot_interval", snapshot_interval, 1)
        self.pool_size = None if pool_size is None else checked_integer("pool_size", pool_size, 1)
        self._n_rollouts = 0

    def _on_training_start(self) -> None:
        self._policy = ModelPolicy(self.model, self.training_env)
        model: Any = self.model
        saved = getattr(model, "opponent_pool", None)
        snapshots = [] if saved is None else saved.policies
        self.pool = model.opponent_pool = MixturePolicy(self._policy.rules, snapshots, self.pool_size)
        self._n_rollouts = 0

    def _on_rollout_start(self) -> None:
        if self._n_rollouts % self.snapshot_interval == 0:
            self.pool.add(self._policy.snapshot())
            # each time, since environments in other processes have a copy of the pool
            self.training_env.env_method("set_opponent", self.pool)
        self._n_rollouts += 1

    def _on_step(self) -> bool:
        return True


def _attribute(env: Any, name: str) -> Any:
    """An attribute of an environment of Gymnasium or Stable-Baselines3 without its wrappers, None without one."""
    if isinstance(env, VecEnv):
        return env.get_attr(name)[0] if env.has_attr(name) else None
    return getattr(getattr(env, "unwrapped", None), name, None)


def _to_numpy(tensor: torch.Tensor) -> NDArray[np.float64]:
    return tensor.cpu().numpy().astype(np.float64)
