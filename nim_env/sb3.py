"""Nim for Stable-Baselines3: a fast ``VecEnv``, trained models as players, and exact evaluation during training.

It needs Stable-Baselines3 (``pip install "nim-env[sb3]"``), so ``import nim_env`` does not import it.
"""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import ArrayLike, NDArray

from nim_env import _limits, evaluation
from nim_env._checks import checked_integer
from nim_env.envs.vector_env import NimVectorEnv
from nim_env.policies import MixturePolicy, Policy, tabulate

try:
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_normalize
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices
except ImportError as error:
    raise DependencyNotInstalled('nim_env.sb3 needs Stable-Baselines3; run pip install "nim-env[sb3]"') from error


class NimVecEnv(VecEnv):
    """A :class:`nim_env.envs.vector_env.NimVectorEnv` as a Stable-Baselines3 ``VecEnv``.

    For example::

        import gymnasium as gym
        from nim_env.sb3 import NimVecEnv
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.vec_env import VecMonitor

        env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=256, autoreset_mode="SameStep"))
        MaskablePPO("MlpPolicy", VecMonitor(env)).learn(100_000)  # VecMonitor logs the episodes' returns

    It behaves as ``DummyVecEnv`` and has masks for sb3-contrib: ``env_method("action_masks")``. They and those in
    the infos are read-only. All environments share their attributes and one generator, so the first of the seeds
    of ``seed`` counts. ``set_options`` takes the same options for all; only ``heaps`` may differ.

    Args:
        env: A vector environment of Nim in same-step autoreset mode; wrapped or not.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        nim = env.unwrapped if isinstance(env, VectorEnv) else None
        if not isinstance(nim, NimVectorEnv):
            raise TypeError(f'env must be a vector environment, from gym.make_vec("Nim-v0", ...); got {env!r}')
        if nim.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(f'env must be made with autoreset_mode="SameStep"; got {nim.autoreset_mode.value!r}')
        self.env = env
        self.unwrapped_env = nim
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.metadata = env.metadata
        self._finished_mask = np.ones(nim.rules.n_actions, dtype=np.int8)
        self._finished_mask.flags.writeable = False
        self._shared_rows: NDArray[np.object_] | None = None
        if nim.board.n * nim.rules.n_actions <= _limits.TABULATED_MOVES:
            rows = _read_only_rows(nim.board.masks(np.arange(2 * nim.board.n + 1)))
            self._shared_rows = np.fromiter(rows, dtype=object, count=len(rows))
        self._masks: list[NDArray[np.int8]] | None = None  # None before the first reset

    def reset(self) -> Any:
        """Starts an episode in every environment; the options of ``set_options`` are used once."""
        observations, infos = self.env.reset(seed=self._seeds[0], options=self._shared_options())
        self._masks = self._mask_rows()
        self.reset_infos = _list_infos(self._masks, infos)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Stores the actions of the next :meth:`step_wait`, shape ``(num_envs,)``."""
        self.actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Plays the stored actions."""
        observations, rewards, terminated, truncated, infos = self.env.step(self.actions)
        self._masks = self._mask_rows()
        listed = _list_infos(self._masks, infos)
        if "final_info" in infos:
            final = infos["final_info"]
            ended = infos["_final_info"].nonzero()[0]
            masks = [self._finished_mask] * len(ended)  # faster than a row for each
            if truncated.any():
                masks = final["action_mask"][ended]
                masks.flags.writeable = False
            final_infos = _list_infos(masks, final, ended)
            are_illegal = final["illegal_action"][ended].tolist()
            ends = zip(ended.tolist(), final_infos, are_illegal, infos["final_obs"][ended], strict=True)
            for env, info, is_illegal, observation in ends:
                info["illegal_action"] = is_illegal
                info["terminal_observation"] = observation
                self.reset_infos[env] = listed[env]
                listed[env] = info
        for info, is_truncated in zip(listed, (truncated & ~terminated).tolist(), strict=True):
            info["TimeLimit.truncated"] = is_truncated
        return observations, rewards.astype(np.float32), terminated | truncated, listed

    def _mask_rows(self) -> list[NDArray[np.int8]]:
        """The masks as read-only rows, which a small board shares: that is faster than slicing."""
        if self._shared_rows is None:
            return _read_only_rows(self.unwrapped_env.action_masks())
        return self._shared_rows.take(self.unwrapped_env.states).tolist()

    def get_images(self) -> list[Any]:
        """The pictures of all games with ``render_mode="rgb_array"``, from which ``render`` tiles one."""
        return list(self.env.render() or ())

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the environment or of its wrappers, once for each of ``indices``."""
        value = getattr(_owner(self.env, attr_name), attr_name)
        return self._at(indices, [value] * self.num_envs)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Sets an attribute, which all environments share, so a ValueError where ``indices`` leave some out."""
        if len(set(self._at(indices, range(self.num_envs)))) != self.num_envs:
            raise ValueError(f"all environments share {attr_name!r}; set it for all, got indices={indices!r}")
        setattr(_owner(self.env, attr_name), attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Calls a method of the vector environment once, for all environments.

        It returns the results of ``indices`` if the method has one for each environment, as ``action_masks``, and
        None for each if it returns None, as ``set_opponent``.
        """
        if method_name == "action_masks":  # sb3-contrib calls it at every step
            return self._at(indices, self._masks or self._mask_rows())
        results = getattr(_owner(self.env, method_name), method_name)(*args, **kwargs)
        return self._at(indices, [None] * self.num_envs if results is None else results)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:  # noqa: ARG002
        """False for each of ``indices``, since there are no single environments."""
        return self._at(indices, [False] * self.num_envs)

    def _at(self, indices: VecEnvIndices, results: Any) -> list[Any]:
        return list(results) if indices is None else [results[index] for index in self._get_indices(indices)]

    def _shared_options(self) -> dict[str, Any]:
        """The options of all environments as those of the vector environment."""
        heaps = [options["heaps"] for options in self._options if options.get("heaps") is not None]
        others = [{name: options[name] for name in options if name != "heaps"} for options in self._options]
        is_shared = all(options == others[0] for options in others)
        if not is_shared or len(others) != self.num_envs or len(heaps) not in (0, self.num_envs):
            raise ValueError(f"set_options needs the same for all, or heaps for each; got {self._options}")
        return others[0] | ({"heaps": heaps} if heaps else {})


def _read_only_rows(masks: NDArray[np.int8]) -> list[NDArray[np.int8]]:
    masks.flags.writeable = False
    return list(masks)


def _list_infos(masks: Any, infos: dict[str, Any], envs: Any = slice(None)) -> list[dict[str, Any]]:
    """One info for each of ``envs`` from the infos of a vector environment; ``masks`` are theirs."""
    listed = [{"action_mask": mask, "illegal_action": False} for mask in masks]
    if "to_play" in infos:
        for info, player in zip(listed, infos["to_play"][envs].tolist(), strict=True):
            info["to_play"] = player
    return listed


def _owner(env: Any, name: str) -> Any:
    """The outermost wrapper of an environment that has an attribute, or the environment itself."""
    while not hasattr(env, name) and hasattr(env, "env"):
        env = env.env
    return env


class ModelPolicy:
    """A Stable-Baselines3 model as a player: an opponent, or a policy to evaluate.

    The probabilities of illegal actions are 0, whether or not the algorithm uses masks. A value-based model (DQN)
    plays the legal action of the largest Q-value. An actor-critic model (PPO, A2C, MaskablePPO) draws from the
    softmax over its legal logits. With ``use_masking=False`` it is the model as it plays without masks.

    For example::

        evaluation.mastery(rules, ModelPolicy(model, env))
        gym.make("Nim-v0", opponent=ModelPolicy(model, env))
        evaluation.report(rules, ModelPolicy(dqn, env, use_masking=False), illegal_action="lose")

    Args:
        model: The model. The policy follows its training; :meth:`snapshot` makes one that does not.
        env: The environment that the model was trained in, or one like it: its rules and its encoding are used. A
            Gymnasium environment, a vector environment or a ``VecEnv``.
        deterministic: Whether an actor-critic model plays its most probable legal action.
        use_masking: Whether illegal actions are masked.

    Raises:
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
        self._network: BasePolicy = model.policy
        self._is_actor_critic = hasattr(self._network, "get_distribution")
        if not (self._is_actor_critic or hasattr(self._network, "q_net")) or hasattr(self._network, "lstm_actor"):
            raise TypeError(f"model must be a DQN, PPO, A2C, MaskablePPO or the like; got {model!r}")
        observation_space = self._network.observation_space
        action_space = self._network.action_space
        if observation_space != self.encoding.space or getattr(action_space, "n", None) != self.rules.n_actions:
            raise ValueError(
                f"model was trained on {observation_space} and {action_space}, but env has {self.encoding.space} "
                f'and {self.rules.n_actions} actions; use observation="one_hot" or the like instead of wrappers'
            )

    def action_probabilities(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float64]:
        """The probability of each action, float64 of shape ``(..., n_actions)``, given heap sizes and masks."""
        mask = np.asarray(action_mask) != 0
        if not self.use_masking:
            mask = np.ones_like(mask)
        preferences = np.where(mask, self._preferences(observation).reshape(mask.shape), -np.inf)
        preferences -= preferences.max(axis=-1, keepdims=True)
        if self.deterministic or not self._is_actor_critic:
            best = preferences.argmax(axis=-1)
            weights = (np.arange(mask.shape[-1]) == best[..., None]).astype(np.float64)
        else:
            weights = np.exp(preferences)
        return weights / weights.sum(axis=-1, keepdims=True)

    def values(self, heaps: ArrayLike) -> NDArray[np.float64]:
        """The critic's value of positions to the player to move; of a DQN the largest legal Q-value.

        ``heaps`` has shape ``(n, n_heaps)``. The values are float64 of shape ``(n,)``.
        """
        network: Any = self._network
        if self._is_actor_critic:
            with torch.no_grad():
                return _to_numpy(network.predict_values(self._tensor(heaps)).flatten())
        q_values = np.where(self.rules.action_mask(heaps) != 0, self._preferences(heaps), -np.inf)
        return q_values.max(axis=-1)

    def snapshot(self) -> Policy:
        """A copy of the policy that later training does not change: a table, or in large games a network."""
        if self.rules.n_positions * self.rules.n_actions <= _limits.SNAPSHOT:
            return tabulate(self.rules, self, illegal_action="raise" if self.use_masking else "lose")
        copied = copy.copy(self)
        file = io.BytesIO()  # copy.deepcopy fails for networks that have just been trained
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
    """Evaluates the model exactly at intervals, and logs the metrics of :func:`nim_env.evaluation.report`.

    The logger (TensorBoard, CSV or the terminal) gets each metric under ``nim/``, such as ``nim/expert``. The
    model is evaluated before the first step, after every ``eval_freq`` timesteps, and at the end of training.

    Args:
        eval_freq: The number of timesteps between two evaluations, counted over all environments.
        deterministic: Whether the most probable actions are evaluated, or the distribution over actions.
        name: The first part of the names in the log; two callbacks need two.
        verbose: 1 to print the main metrics.

    Attributes:
        evaluations: One dictionary for each evaluation: ``timesteps`` and the metrics.
    """

    def __init__(self, eval_freq: int, deterministic: bool = True, name: str = "nim", verbose: int = 0) -> None:
        super().__init__(verbose)
        self.eval_freq = checked_integer("eval_freq", eval_freq, 1)
        self.deterministic = deterministic
        self.name = name
        self.evaluations: list[dict[str, Any]] = []
        self._next_evaluation = 0

    def _on_training_start(self) -> None:
        self._policy = ModelPolicy(self.model, self.training_env, self.deterministic)
        self._evaluate()

    def _on_step(self) -> bool:
        if self.num_timesteps >= self._next_evaluation:
            self._evaluate()
        return True

    def _on_training_end(self) -> None:
        self._evaluate()

    def _evaluate(self) -> None:
        """Evaluates the model, unless it was evaluated at this timestep."""
        self._next_evaluation = self.num_timesteps + self.eval_freq
        if self.evaluations and self.evaluations[-1]["timesteps"] == self.num_timesteps:
            return
        metrics = evaluation.report(self._policy.rules, self._policy, values=self._policy.values).to_dict()
        self.evaluations.append({"timesteps": self.num_timesteps, **metrics})
        for name, value in metrics.items():
            self.logger.record(f"{self.name}/{name}", float(value))
        self.logger.dump(self.num_timesteps)
        if self.verbose:
            names = ("expert", "champion", "exploitability", "value_accuracy_overall")
            main_metrics = ", ".join(f"{name} {metrics[name]:.4g}" for name in names)
            print(f"{self.num_timesteps:,} timesteps: {main_metrics}", flush=True)


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
    """

    def __init__(self, snapshot_interval: int, pool_size: int | None = None, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.snapshot_interval = checked_integer("snapshot_interval", snapshot_interval, 1)
        self.pool_size = None if pool_size is None else checked_integer("pool_size", pool_size, 1)
        self._n_rollouts = 0

    def _on_training_start(self) -> None:
        self._policy = ModelPolicy(self.model, self.training_env)
        model: Any = self.model
        snapshots = model.opponent_pool.policies if hasattr(model, "opponent_pool") else []
        self.pool = MixturePolicy(self._policy.rules, snapshots, self.pool_size)
        model.opponent_pool = self.pool
        self._n_rollouts = 0

    def _on_rollout_start(self) -> None:
        if self._n_rollouts % self.snapshot_interval == 0:
            self.pool.add(self._policy.snapshot())
            # each time, since environments in other processes have a copy of the pool
            self.training_env.env_method("set_opponent", self.pool)
        self._n_rollouts += 1

    def _on_step(self) -> bool:
        return True


def _to_numpy(tensor: torch.Tensor) -> NDArray[np.float64]:
    return tensor.cpu().numpy().astype(np.float64)
