"""Exact evaluation and self-play during training, as callbacks."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from nim_env import evaluation
from nim_env._internal.checks import checked_integer
from nim_env.policies import OpponentPool, Player
from nim_env.sb3.models import ModelPolicy


class EvaluationCallback(BaseCallback):
    """Evaluates the model at intervals, and logs the exact metrics of :func:`nim_env.evaluation.report`.

    For example::

        model.learn(100_000, callback=EvaluationCallback(eval_freq=10_000, verbose=1))

    The model is evaluated before the first step, after every ``eval_freq`` timesteps, and at the end of training.
    The logger (TensorBoard, CSV or the terminal) gets each metric with the prefix ``nim/``, such as
    ``nim/expert``.

    Args:
        eval_freq: The number of timesteps between two evaluations, counted over all environments.
        deterministic: Whether the model's most probable actions are evaluated, or its distribution over actions.
        name: The prefix of the metrics in the log. Two callbacks need different prefixes.
        verbose: 1 to print the main metrics.
        use_masking: Whether illegal actions are masked, as in :class:`ModelPolicy`. Without masks an illegal
            action loses the game, and ``illegal_probability`` shows how often the model chooses one.

    Attributes:
        evaluations: A list with a dictionary for each evaluation, which has ``timesteps`` and the metrics.
    """

    def __init__(
        self,
        eval_freq: int,
        deterministic: bool = True,
        name: str = "nim",
        verbose: int = 0,
        *,
        use_masking: bool | None = True,
    ) -> None:
        super().__init__(verbose)
        self.eval_freq = checked_integer("eval_freq", eval_freq, 1)
        self.deterministic = deterministic
        self.name = name
        self.use_masking = use_masking
        self.evaluations: list[dict[str, Any]] = []
        self._next_evaluation = 0

    def _on_training_start(self) -> None:
        self._policy = ModelPolicy(self.model, self.training_env, self.deterministic, self.use_masking)
        if not self._is_evaluated():
            self._evaluate()

    def _on_step(self) -> bool:
        if self.num_timesteps >= self._next_evaluation:
            self._evaluate()
        return True

    def _on_training_end(self) -> None:
        if self._is_evaluated():
            self.evaluations.pop()  # made before the last update of the model
        self._evaluate()

    def _is_evaluated(self) -> bool:
        return bool(self.evaluations) and self.evaluations[-1]["timesteps"] == self.num_timesteps

    def _evaluate(self) -> None:
        self._next_evaluation = self.num_timesteps + self.eval_freq
        player = Player(self._policy, "raise" if self._policy.use_masking else "lose")
        metrics = evaluation.report(self._policy.rules, player, self._policy.values).to_dict()
        self.evaluations.append({"timesteps": self.num_timesteps, **metrics})
        for name, value in metrics.items():
            self.logger.record(f"{self.name}/{name}", float(value))
        self.logger.dump(self.num_timesteps)
        if self.verbose:
            names = ("expert", "champion", "exploitability", "value_accuracy_overall")
            main_metrics = ", ".join(f"{name} {metrics[name]:.4g}" for name in names if name in metrics)
            print(f"{self.num_timesteps:,} timesteps: {main_metrics}", flush=True)


class SelfPlayCallback(BaseCallback):
    """Trains the model against a pool of its own earlier versions.

    A *snapshot* is a copy of the model that does not change. The opponent of the environment becomes an
    :class:`nim_env.policies.OpponentPool` of snapshots, and each game is played against one of them, all with the
    same probability. A snapshot joins the pool before the first rollout and after every ``snapshot_interval``
    rollouts. You can change the weights of the pool.

    For example::

        env = NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=256, random_start=True, autoreset_mode="SameStep"))
        callbacks = [SelfPlayCallback(snapshot_interval=3, pool_size=20), CheckpointCallback(1000, "checkpoints")]
        model = MaskablePPO("MlpPolicy", env, n_steps=32)
        model.learn(1_000_000, callback=callbacks)

        model = MaskablePPO.load("checkpoints/rl_model_768000_steps", env=env)  # continues with its pool
        model.learn(232_000, callback=callbacks, reset_num_timesteps=False)

    The pool is ``model.opponent_pool``. ``model.save`` stores it with the model, so the files of
    ``CheckpointCallback`` contain it too. Use ``model.save(path, exclude=["opponent_pool"])`` to leave it out.

    Args:
        snapshot_interval: The number of rollouts between two snapshots.
        pool_size: The maximum number of snapshots in the pool, or ``None`` for no limit. When the pool is full, a
            new snapshot replaces the oldest.
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
        snapshots = model.opponent_pool.policies if hasattr(model, "opponent_pool") else ()
        self.pool = OpponentPool(self._policy.rules, snapshots, max_size=self.pool_size)
        model.opponent_pool = self.pool
        self._n_rollouts = 0

    def _on_rollout_start(self) -> None:
        if self._n_rollouts % self.snapshot_interval == 0:
            self.pool.add(self._policy.snapshot())
            # repeated for each snapshot, since environments in other processes have a copy of the pool
            self.training_env.env_method("set_opponent", self.pool)
        self._n_rollouts += 1

    def _on_step(self) -> bool:
        return True
