"""What the scripts that train networks share: the game, the network and how it learns, and what it has learnt."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from script import check_at_least, checking_arguments, fail, need

need("torch", "stable_baselines3", "sb3_contrib", "tensorboard", extras="examples,sb3")

import gymnasium as gym  # noqa: E402
import joblib  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from joblib.memory import MemorizedFunc  # noqa: E402
from learners import BASELINES, SELF_PLAY, board_of, check_network  # noqa: E402
from players import BestMoves  # noqa: E402
from sb3_contrib import MaskablePPO  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.policies import BasePolicy  # noqa: E402
from stable_baselines3.common.utils import LinearSchedule  # noqa: E402

from nim_env import NimRules, evaluation, solver, wrappers  # noqa: E402
from nim_env.policies import MixturePolicy, Policy, as_policy, batched, tabulate  # noqa: E402
from nim_env.sb3 import NimVecEnv  # noqa: E402

torch.distributions.Distribution.set_default_validate_args(False)  # else a fifth of a rollout goes into it

Representation = Literal["one-hot", "bits", "unary"]
REPRESENTATIONS = {"one-hot": wrappers.one_hot, "bits": wrappers.bits, "unary": wrappers.unary}
Row = dict[str, float]
SEEDS = 2**32
TABULATED = 2_000_000  # probabilities of a snapshot; those of larger games are worked out move by move


@dataclass
class Learning:
    """The game, the network, and how it learns; not yet how it sees a position."""

    heaps: tuple[int, ...] = (1, 3, 5, 7)
    """Starting heap sizes."""
    max_take: int | None = None
    """The most objects one move may take; None for no limit."""
    misere: bool = True
    """Whether taking the last object loses."""
    teacher: str = SELF_PLAY
    """Whom it plays against: self-play (a pool of its own earlier selves), random, take-N or expert."""
    steps: int = 4_000_000
    """How many moves it makes."""
    num_envs: int = 512
    """How many games are played at once."""
    rollout: int = 32
    """How many moves are made in each game between two lessons."""
    batch_size: int = 2048
    """How many moves one step of the optimiser takes."""
    epochs: int = 4
    """How often a lesson goes over its moves."""
    layers: tuple[int, ...] = (256, 256)
    """The sizes of the hidden layers."""
    learning_rate: float = 1e-3
    """The optimiser's learning rate at the start; it falls to 0."""
    entropy: float = 0.5
    """The coefficient of the entropy at the start; it falls to 0."""
    gae_lambda: float = 0.5
    """How far advantages look at what came out (1) rather than at what was expected (0)."""
    pool: int = 20
    """In self-play, how many earlier selves are played against."""
    lessons_a_snapshot: int = 3
    """In self-play, how many lessons apart the earlier selves are."""
    seed: int = 0
    """Decides every draw."""

    @property
    def rules(self) -> NimRules:
        return NimRules(self.heaps, self.max_take, self.misere)

    def check(self) -> None:
        """Ends the script if an option makes no sense; raises what the libraries find wrong."""
        check_seeds(self.seed)
        check_at_least(
            1,
            steps=self.steps,
            num_envs=self.num_envs,
            rollout=self.rollout,
            epochs=self.epochs,
            pool=self.pool,
            lessons_a_snapshot=self.lessons_a_snapshot,
        )
        check_at_least(2, batch_size=self.batch_size)
        if self.num_envs * self.rollout % self.batch_size:
            lesson = self.num_envs * self.rollout
            fail(f"--batch-size must divide --num-envs times --rollout, {lesson:,}; got {self.batch_size:,}")
        check_network(self)
        if self.teacher != SELF_PLAY:
            try:
                as_policy(self.teacher, self.rules, "teacher")
            except ValueError:
                fail(
                    f"--teacher must be {SELF_PLAY}, {', '.join(BASELINES)} or another take-N; got {self.teacher}"
                )
        solver.iter_positions(self.rules)  # what is too large is refused before anything is learnt


@dataclass
class Recipe(Learning):
    """All of a training run."""

    representation: Representation = "one-hot"
    """How it sees a position."""


@dataclass
class Study(Learning):
    """Many runs: with each representation, from several seeds on."""

    steps: int = 1_000_000
    """How many moves each network makes."""
    representations: tuple[Representation, ...] = tuple(REPRESENTATIONS)
    """Which representations."""
    seeds: int = 1
    """How many seeds, from --seed on."""
    jobs: int = -1
    """How many runs at once; -1 for as many as there are cores."""

    def check(self) -> None:
        check_at_least(1, seeds=self.seeds)
        check_jobs(self.jobs)
        check_seeds(self.seed, self.seeds)
        if not self.representations:
            fail(f"--representations must name one or more of {', '.join(REPRESENTATIONS)}")
        super().check()

    def recipes(self, heaps: tuple[int, ...]) -> list[Recipe]:
        """Those of all runs on a board."""
        shared = {field.name: getattr(self, field.name) for field in fields(Learning)}
        return [
            Recipe(**{**shared, "heaps": heaps, "seed": seed}, representation=representation)
            for representation in dict.fromkeys(self.representations)
            for seed in range(self.seed, self.seed + self.seeds)
        ]


# --- Players --------------------------------------------------------------------------------------


class NetworkPolicy:
    """A network as a player: it draws its moves as the network does, or makes the likeliest by :meth:`best`.

    Args:
        network: The policy of a MaskablePPO model.
        encode: Shows it a position.
    """

    def __init__(self, network: BasePolicy, encode: Callable[[Any], np.ndarray]) -> None:
        self.network, self.encode = network, encode

    def action_probabilities(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            seen, _ = self.network.obs_to_tensor(self.encode(observation))
            drawn = self.network.get_distribution(seen, action_masks=action_mask).distribution
        return drawn.probs.numpy().reshape(action_mask.shape)

    def best(self, observation: np.ndarray, action_mask: np.ndarray) -> np.ndarray:
        """The likeliest legal action."""
        return self.network.predict(self.encode(observation), action_masks=action_mask, deterministic=True)[0]

    def values(self, observation: np.ndarray) -> np.ndarray:
        """What the network expects to win, between about -1 and 1."""
        with torch.no_grad():
            seen, _ = self.network.obs_to_tensor(self.encode(observation))
            return self.network.predict_values(seen).numpy()[:, 0]

    def kept(self, rules: NimRules) -> Policy:
        """The player as it is now, whatever the network learns from now on."""
        if rules.n_positions * rules.n_actions > TABULATED:
            return NetworkPolicy(_copy(self.network), self.encode)
        return tabulate(rules, self)


def saved_model(path: Path, rules: NimRules) -> BestMoves:
    """The MaskablePPO model in a file, which must be one of this game, in whatever way it sees positions.

    Raises:
        ValueError: The file is damaged, or holds another kind of model.
    """
    try:
        model = MaskablePPO.load(path, device="cpu")
    except Exception as error:  # whatever a broken file may raise
        raise ValueError(f"{path} is damaged or holds no MaskablePPO model ({type(error).__name__})") from error
    plain = gym.make("nim_env:Nim-v0", heaps=rules.heaps, max_take=rules.max_take, opponent=None)
    ways = [(plain.observation_space, np.asarray)]
    ways += [(env.observation_space, env.encode) for env in (wrap(plain) for wrap in REPRESENTATIONS.values())]
    spaces = model.observation_space, model.action_space
    fitting = [encode for space, encode in ways if spaces == (space, plain.action_space)]
    if not fitting:
        raise ValueError(f"{path} holds a model of another game than {board_of(rules)}")
    return BestMoves(NetworkPolicy(model.policy, fitting[0]))


def _copy(network: BasePolicy) -> BasePolicy:
    """Another network of the same weights; those that have learnt refuse to be copied as they stand."""
    file = io.BytesIO()
    network.save(file)
    file.seek(0)
    return type(network).load(file, device="cpu")


def positions(rules: NimRules) -> np.ndarray:
    """Every position but the empty one, in the order of their indices."""
    return rules.all_positions()[1:]


# --- Learning -------------------------------------------------------------------------------------


class Seen(gym.vector.VectorWrapper):
    """Notes which positions a learner has been shown."""

    def __init__(self, env: gym.vector.VectorEnv) -> None:
        super().__init__(env)
        self._strides = np.array(env.unwrapped.rules.strides)
        self.seen = np.zeros(env.unwrapped.rules.n_positions, dtype=bool)

    def reset(self, **arguments: Any) -> Any:
        return self._noted(self.env.reset(**arguments))

    def step(self, actions: np.ndarray) -> Any:
        return self._noted(self.env.step(actions))

    def _noted(self, told: Any) -> Any:
        self.seen[told[0] @ self._strides] = True
        return told


def vector_env(rules: NimRules, num_envs: int, opponent: Any) -> gym.vector.VectorEnv:
    """Games that start anywhere."""
    return gym.make_vec(
        "nim_env:Nim-v0",
        num_envs=num_envs,
        heaps=rules.heaps,
        max_take=rules.max_take,
        misere=rules.misere,
        opponent=opponent,
        random_start=True,
        autoreset_mode="SameStep",
    )


def games(recipe: Recipe, opponent: Any) -> NimVecEnv:
    """The games that a recipe learns from."""
    env = Seen(vector_env(recipe.rules, recipe.num_envs, opponent))
    return NimVecEnv(REPRESENTATIONS[recipe.representation](env))


def new_model(recipe: Recipe, env: NimVecEnv, log: Path) -> MaskablePPO:
    """A model that knows nothing."""
    return MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=recipe.rollout,
        batch_size=recipe.batch_size,
        n_epochs=recipe.epochs,
        learning_rate=LinearSchedule(recipe.learning_rate, 0.0, 1.0),
        gamma=1.0,
        gae_lambda=recipe.gae_lambda,
        ent_coef=recipe.entropy,
        policy_kwargs={"net_arch": list(recipe.layers)},
        tensorboard_log=str(log),
        seed=recipe.seed,
        device="cpu",
    )


class Course(BaseCallback):
    """What happens between two lessons: the entropy falls, the pool grows, the network is held against the truth.

    Args:
        recipe: How it learns.
        pool: Its earlier selves, if it plays against them.
        looks: How often it is measured, evenly over its steps, and at the start.

    Attributes:
        rows: What :func:`measured` found, with ``steps``, ``seconds`` of learning, and ``seen``, the share of all
            positions that it was shown by then.
    """

    def __init__(self, recipe: Recipe, pool: MixturePolicy | None, looks: int) -> None:
        super().__init__()
        self.recipe, self.pool = recipe, pool
        self.lessons, self.seconds = 0, 0.0
        self.next_looks = np.linspace(0, recipe.steps, looks + 1).tolist()
        self.rows: list[Row] = []
        self._since = time.perf_counter()

    def _on_training_start(self) -> None:
        self._since = time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        recipe, step = self.recipe, self.model.num_timesteps
        self.model.ent_coef = recipe.entropy * max(0.0, 1 - step / recipe.steps)
        if step >= self.lessons * recipe.rollout * recipe.num_envs:  # not again where a run was taken up
            self.between_lessons()

    def _on_training_end(self) -> None:
        self.between_lessons()

    def between_lessons(self) -> None:
        """All that is due after so many lessons."""
        step, player = self.model.num_timesteps, player_of(self.model, self.training_env)
        if self.pool is not None and self.lessons % self.recipe.lessons_a_snapshot == 0:
            self.pool.add(player.kept(self.recipe.rules))
        self.lessons += 1
        self.seconds += time.perf_counter() - self._since
        if self.next_looks and step >= self.next_looks[0]:
            self.next_looks = [look for look in self.next_looks if look > step]
            self.look(player, step)
        self._since = time.perf_counter()

    def look(self, player: NetworkPolicy, step: int) -> None:
        """Holds the network against the truth."""
        encoded = self.training_env.env
        seen = encoded.env.seen[1:].mean()
        found = {**measured(self.recipe.rules, player), "seen": float(seen), "seconds": self.seconds}
        for name, value in found.items():
            self.logger.record(f"nim/{name}", value)
        self.logger.dump(step)
        self.rows.append({"steps": step, **found})


def player_of(model: MaskablePPO, env: NimVecEnv) -> NetworkPolicy:
    """A model as a player."""
    return NetworkPolicy(model.policy, env.env.encode)


def measured(rules: NimRules, player: NetworkPolicy) -> Row:
    """What a network knows of a game, exactly.

    Returns:
        ``expert`` and ``champion`` mastery of its best moves; ``exploitability`` of the moves that it draws; and
        ``value_accuracy``, the share of positions of which it rightly says who wins.
    """
    found = evaluation.mastery(rules, batched(player.best))
    return {
        "expert": found.expert,
        "champion": float(found.champion),
        "exploitability": evaluation.exploitability(rules, player),
        "value_accuracy": evaluation.value_accuracy(rules, player.values).overall,
    }


def learn(recipe: Recipe, looks: int, log: Path) -> list[Row]:
    """A whole training run; what was found on the way, as :class:`Course` has it."""
    pool = new_pool(recipe)
    env = games(recipe, recipe.teacher if pool is None else pool)
    course = Course(recipe, pool, looks)
    new_model(recipe, env, log).learn(recipe.steps, course, tb_log_name=name_of_run(recipe))
    return course.rows


def new_pool(recipe: Recipe) -> MixturePolicy | None:
    """The opponents of self-play."""
    return MixturePolicy(recipe.rules, max_size=recipe.pool) if recipe.teacher == SELF_PLAY else None


def name_of_run(recipe: Recipe) -> str:
    """What a run is called in TensorBoard."""
    return f"{'-'.join(map(str, recipe.heaps))}_{recipe.teacher}_{recipe.representation}_seed_{recipe.seed}"


# --- Many runs ------------------------------------------------------------------------------------


def check_seeds(first: int, number: int = 1) -> None:
    """Ends the script if one of the seeds is not one that PyTorch and NumPy take."""
    check_at_least(0, seed=first)
    if first + number > SEEDS:
        fail(f"--seed must be {SEEDS - number} or less; got {first}")


def check_jobs(jobs: int) -> None:
    """Ends the script if --jobs makes no sense."""
    if jobs < -1 or not jobs:
        fail(f"--jobs must be 1 or more, or -1 for all cores; got {jobs}")


def run_all(
    function: Callable[..., list[Row]],
    runs: list[tuple],
    folder: Path,
    jobs: int,
    tell: Callable[[tuple, list[Row]], str],
) -> list[list[Row]]:
    """What a function found in each of many runs, spread over the cores.

    Those finished before are not repeated, unless the code of this module or of the function's has changed since.

    Args:
        function: Takes a run's arguments and ``log``, TensorBoard's folder; others must find it in a module.
        runs: The arguments of each.
        folder: Where finished runs are kept.
        jobs: How many at once; -1 for as many as there are cores.
        tell: A finished run in a line.
    """
    with checking_arguments():
        folder.mkdir(parents=True, exist_ok=True)
    code = [Path(sys.modules[name].__file__).read_bytes() for name in (__name__, function.__module__)]
    kept = joblib.Memory(folder / "runs" / joblib.hash(code)[:8], verbose=0).cache(function, ignore=["log"])
    log = folder / "tensorboard"
    before = sum(kept.check_call_in_cache(*run, log) for run in runs)
    print(f"{len(runs)} runs, {before} of them finished before", flush=True)
    with joblib.parallel_config(backend="loky", n_jobs=jobs):
        return joblib.Parallel(batch_size=1)(joblib.delayed(_finished)(kept, run, log, tell) for run in runs)


def table_of(runs: list[tuple[Recipe, int]], found: list[list[Row]]) -> pd.DataFrame:
    """What runs of :func:`learn` found, a row for each look."""
    return pd.DataFrame(
        {
            "heaps": "-".join(map(str, recipe.heaps)),
            "n_heaps": len(recipe.heaps),
            "representation": recipe.representation,
            "seed": recipe.seed,
            **row,
        }
        for (recipe, _), rows in zip(runs, found, strict=True)
        for row in rows
    )


def _finished(kept: MemorizedFunc, run: tuple, log: Path, tell: Callable[[tuple, list[Row]], str]) -> list[Row]:
    """The rows of a run, from what is kept where they are there; a new run is kept, and then told of."""
    is_new = not kept.check_call_in_cache(*run, log)
    if is_new:
        torch.set_num_threads(1)  # there are as many runs as cores
    rows = kept(*run, log)
    if is_new:
        sys.stdout.write(tell(run, rows) + "\n")  # in one piece, since others write too
        sys.stdout.flush()
    return rows
