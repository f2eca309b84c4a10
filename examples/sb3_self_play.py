"""MaskablePPO learns Nim by self-play: its opponents are a pool of its own earlier selves.

The pool is a policy, passed to the environment as its opponent; every few lessons a snapshot of the network joins
it, tabulated where the positions can be enumerated. On the way the network is held against the exact answer: in
what share of all winning positions its best move wins (expert mastery), whether it wins every game that can be
won (champion), and what a best response gains over perfect play against the moves that it draws (exploitability).

A run that was stopped goes on with --resume: with the steps, the games and the random numbers that it would have
had, so that on the same machine it ends with the same network. Checkpoints are pickles: resume only your own.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from script import check_at_least, check_folder, check_same_options, checking_arguments, fail, run, save

import deep
import matplotlib.pyplot as plt
import numpy as np
import torch
from deep import Recipe
from learners import name_of, percent
from sb3_contrib import MaskablePPO

from nim_env.policies import MixturePolicy


@dataclass
class Arguments(Recipe):
    """The options of this script."""

    looks: int = 25
    """How often the network is held against the truth, evenly over its steps."""
    lessons_a_checkpoint: int = 10
    """How many lessons apart checkpoints are."""
    resume: bool = False
    """Go on with the run whose checkpoint is in --folder, with its options."""
    overwrite: bool = False
    """Start anew even if --folder has the checkpoint of another run, which is then lost."""
    folder: Path = Path("results/sb3_self_play")
    """Where the checkpoint, the model (.zip), the figure (.png) and TensorBoard's logs are kept."""

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint.pkl"


class KeptCourse(deep.Course):
    """A course that leaves checkpoints on its way."""

    def __init__(self, arguments: Arguments, pool: MixturePolicy | None) -> None:
        super().__init__(arguments, pool, arguments.looks)

    def between_lessons(self) -> None:
        super().between_lessons()
        if (self.lessons - 1) % self.recipe.lessons_a_checkpoint == 0:
            self.keep()

    def look(self, player: deep.NetworkPolicy, step: int) -> None:
        super().look(player, step)
        print_row(self.rows[-1])

    def keep(self) -> None:
        """Writes the whole state of the run, or nothing."""
        model = io.BytesIO()
        self.model.save(model)
        state = {
            "recipe": asdict(self.recipe),
            "course": {name: getattr(self, name) for name in KEPT},
            "env": self.training_env,  # with the pool, its opponent
            "model": model.getvalue(),
            "random": (random.getstate(), np.random.get_state(), torch.get_rng_state()),  # noqa: NPY002
        }
        path = self.recipe.checkpoint
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(pickle.dumps(state))
        os.replace(unfinished, path)


KEPT = ("lessons", "seconds", "next_looks", "rows", "pool")


def main(arguments: Arguments) -> None:
    with checking_arguments():
        check_folder(arguments.folder, "sb3_self_play.png")
        if arguments.resume:
            arguments, course, model = taken_up(arguments)
        else:
            arguments.check()
            check_at_least(1, looks=arguments.looks, lessons_a_checkpoint=arguments.lessons_a_checkpoint)
            if arguments.checkpoint.exists() and not arguments.overwrite:
                fail(f"{arguments.checkpoint} is of another run: give --resume, --overwrite or another --folder")
            course, model = begun(arguments)
    print(f"{name_of(arguments.rules)}; {arguments.representation}; taught by {arguments.teacher}")
    print("      moves  seconds  expert champion exploitability  values    seen")
    for row in course.rows:
        print_row(row)
    if model.num_timesteps < arguments.steps:
        learn(arguments, course, model)
    model.save(arguments.folder / "model.zip")
    row = course.rows[-1]
    print(f"expert mastery {percent(row['expert'], 2)} % after {row['seconds']:.0f} s of learning")
    print(f"model: {arguments.folder / 'model.zip'}")
    save(picture_of(arguments, course.rows), arguments.folder / "sb3_self_play.png")


def learn(arguments: Arguments, course: KeptCourse, model: MaskablePPO) -> None:
    """What is left of the run."""
    try:
        model.learn(
            arguments.steps - model.num_timesteps,
            course,
            tb_log_name=deep.name_of_run(arguments),
            reset_num_timesteps=not arguments.resume,
        )
    except KeyboardInterrupt:
        if arguments.checkpoint.exists():
            print(f"\n--resume goes on from {arguments.checkpoint}", file=sys.stderr, end="")
        raise
    course.keep()


def begun(arguments: Arguments) -> tuple[KeptCourse, MaskablePPO]:
    """A run from its beginning."""
    pool = deep.new_pool(arguments)
    env = deep.games(arguments, arguments.teacher if pool is None else pool)
    return KeptCourse(arguments, pool), deep.new_model(arguments, env, arguments.folder / "tensorboard")


def taken_up(arguments: Arguments) -> tuple[Arguments, KeptCourse, MaskablePPO]:
    """A run as its checkpoint left it, with its options."""
    path = arguments.checkpoint
    if not path.is_file():
        fail(f"--resume needs a checkpoint, but there is no {path}; start without --resume")
    try:
        state = pickle.loads(path.read_bytes())
        recipe = Arguments(**{**state["recipe"], "resume": True, "folder": arguments.folder})
        model = MaskablePPO.load(io.BytesIO(state["model"]), env=state["env"], force_reset=False, device="cpu")
        course = KeptCourse(recipe, None)
        for name in KEPT:
            setattr(course, name, state["course"][name])
        python, numpy, pytorch = state["random"]
    except Exception as error:  # whatever a broken pickle may raise
        fail(f"{path} is broken, or no checkpoint of this script ({type(error).__name__}); start without --resume")
    check_same_options(recipe, ("folder", "overwrite"), str(path))
    model.tensorboard_log = str(arguments.folder / "tensorboard")
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.set_rng_state(pytorch)
    return recipe, course, model


def print_row(row: deep.Row) -> None:
    """One line of what was found."""
    print(
        f"{row['steps']:11,.0f} {row['seconds']:8.0f} {percent(row['expert']):>7} "
        f"{'yes' if row['champion'] else 'no':>8} {row['exploitability']:14.4f} "
        f"{percent(row['value_accuracy']):>7} {percent(row['seen']):>7}",
        flush=True,
    )


def picture_of(arguments: Arguments, rows: list[deep.Row]) -> plt.Figure:
    """Mastery and exploitability while it learnt."""
    figure, axis = plt.subplots(figsize=(9, 5), layout="constrained")
    moves = [row["steps"] for row in rows]
    for name, label in (
        ("expert", "expert mastery of its best moves"),
        ("value_accuracy", "accuracy of its values"),
        ("exploitability", "exploitability of the moves that it draws"),
    ):
        axis.plot(moves, [row[name] for row in rows], label=label, marker=".")
    axis.set(
        xlabel="moves made in training",
        ylim=(-0.02, 1.02),
        title=f"MaskablePPO taught by {arguments.teacher}: {name_of(arguments.rules)}, seed {arguments.seed}",
    )
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(alpha=0.3)
    axis.legend()
    return figure


if __name__ == "__main__":
    run(main, Arguments)
