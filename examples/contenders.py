"""What the benchmark measures: environments and training loops, the project's own beside those of others.

A contender, once made, is called with a number of seconds to go on for; it says how many steps it took, and how
long they took. Of an environment only the calls are timed, not the choice of an action; of training, everything.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pettingzoo

import agents
from nim_env import NimRules, evaluation, solver, theory

Run = Callable[[float], tuple[int, float]]
AT_ONCE = (1, 16, 256, 1024, 4096)
BOARDS = ((1, 3, 5), (1, 3, 5, 7, 9), (1, 3, 5, 7, 9, 11, 13))
clock = time.perf_counter


@dataclass(frozen=True)
class Contender:
    """Something to measure.

    Attributes:
        name: What stands in the table.
        number: How many games are played at once.
        make: Makes it ready.
        needs: The packages that it needs beyond this project's.
        is_peer: Whether it is somebody else's.
    """

    name: str
    number: int
    make: Callable[[], Run]
    needs: tuple[str, ...] = ()
    is_peer: bool = False

    @property
    def missing(self) -> list[str]:
        """What it needs and has not got."""
        return [package for package in self.needs if importlib.util.find_spec(package) is None]


def pictures() -> list[Contender]:
    """Frames of the same position, drawn again and again."""
    boards = {"1-3-5-7": (1, 3, 5, 7), "15 heaps of 50": (50,) * 15}
    return [
        *(
            Contender(f"Nim-v0, {name}", 1, partial(frames, "nim_env:Nim-v0", heaps=heaps), ("pygame",))
            for name, heaps in boards.items()
        ),
        Contender("vector, 1-3-5-7", 16, vector_frames, ("pygame",)),
        Contender("Gymnasium, FrozenLake-v1", 1, partial(frames, "FrozenLake-v1"), ("pygame",), is_peer=True),
        Contender("Gymnasium, CartPole-v1", 1, partial(frames, "CartPole-v1"), ("pygame",), is_peer=True),
    ]


def frames(identifier: str, **arguments: Any) -> Run:
    """Calls of an environment's render."""
    env = gym.make(identifier, render_mode="rgb_array", **arguments)
    env.reset(seed=0)
    return partial(_drawn, env.unwrapped.render, 1)


def vector_frames() -> Run:
    """Calls of the vector environment's render, each of which draws all games."""
    envs = gym.make_vec("nim_env:Nim-v0", num_envs=16, render_mode="rgb_array")
    envs.reset(seed=0)
    return partial(_drawn, envs.render, 16)


def _drawn(render: Callable[[], Any], frames_a_call: int, seconds: float) -> tuple[int, float]:
    calls, start = 0, clock()
    while (spent := clock() - start) < seconds:
        render()
        calls += 1
    return frames_a_call * calls, spent


def environments() -> list[Contender]:
    """Environments: learner steps per second, plies in PettingZoo."""
    own = [
        Contender("Gymnasium, Nim-v0", 1, lambda: gymnasium_steps(gym.make("nim_env:Nim-v0"))),
        Contender("PettingZoo, nim-v0", 1, lambda: pettingzoo_plies(pettingzoo.make("aec", "nim-v0"))),
    ]
    vectors = {
        "vector, self-play": {"opponent": None},
        "vector, against random": {"opponent": "random"},
        "vector, against the expert": {"opponent": "expert"},
    }
    for name, arguments in vectors.items():
        own += [Contender(name, number, vector_of("nim_env:Nim-v0", number, **arguments)) for number in AT_ONCE]
    shimmy = ("shimmy", "pyspiel")
    peers = [
        Contender("Gymnasium, FrozenLake-v1", 1, lambda: gymnasium_steps(gym.make("FrozenLake-v1")), is_peer=True),
        Contender("PettingZoo, tic-tac-toe", 1, tic_tac_toe, is_peer=True),
        Contender("OpenSpiel's nim through Shimmy", 1, openspiel_plies, shimmy, is_peer=True),
    ]
    peers += [
        Contender("vector, CartPole-v1", number, vector_of("CartPole-v1", number), is_peer=True)
        for number in AT_ONCE
    ]
    return own + peers


def training() -> list[Contender]:
    """Learners of 3-4-5: moves learnt from per second."""
    own = [
        Contender("minimax-Q, PettingZoo", 1, lambda: moves_learnt(agents.MinimaxQAgent, aec_345())),
        Contender("minimax-Q, Gymnasium", 1, lambda: moves_learnt(agents.MinimaxQAgent, gym_345())),
    ]
    settings = {
        "minimax-Q, vector": (agents.MinimaxQAgent, None),
        "Q-learning, vector, self-play": (agents.QLearningAgent, None),
        "Q-learning, vector, against random": (agents.QLearningAgent, "random"),
        "win counting, vector, against random": (agents.WinCountAgent, "random"),
    }
    for name, (kind, opponent) in settings.items():
        own += [Contender(name, number, learner_of(kind, opponent, number)) for number in AT_ONCE]
    return [*own, Contender("OpenSpiel's Q-learner", 1, openspiel_learner, ("pyspiel",), is_peer=True)]


def exact() -> list[Contender]:
    """Exact answers about games in normal play and a table agent in them: how often in a second."""
    questions = {
        "solve": lambda rules, agent: solver.solve(rules),  # noqa: ARG005
        "best response to the agent": solver.best_response,
        "its mastery": evaluation.mastery,
        "its exploitability": evaluation.exploitability,
        "its win probability against random": partial(evaluation.win_probability, opponent="random"),
    }
    own = [
        Contender(name, NimRules(heaps, misere=False).n_positions, answers(heaps, question))
        for name, question in questions.items()
        for heaps in BOARDS
    ]
    million = Contender("closed form, a million positions", NimRules(BOARDS[-1]).n_positions, closed_form)
    peer = Contender(
        "OpenSpiel's exploitability", NimRules(BOARDS[0]).n_positions, openspiel_exploitability, ("pyspiel",), True
    )
    return [*own, million, peer]


# --- Environments ---------------------------------------------------------------------------------


def gymnasium_steps(env: gym.Env) -> Run:
    """A single environment, played at random."""
    draw = np.random.default_rng(0)

    def run(seconds: float) -> tuple[int, float]:
        steps, spent = 0, 0.0
        while spent < seconds:
            start = clock()
            _, info = env.reset()
            spent += clock() - start
            over = False
            while not over:
                action = random_action(info.get("action_mask"), env.action_space.n, draw)
                start = clock()
                _, _, terminated, truncated, info = env.step(action)
                spent += clock() - start
                over = terminated or truncated
                steps += 1
        return steps, spent

    return run


def pettingzoo_plies(env: pettingzoo.AECEnv, mask_in: str = "observation") -> Run:
    """A PettingZoo environment, played at random."""
    draw = np.random.default_rng(0)

    def run(seconds: float) -> tuple[int, float]:
        plies, spent = 0, 0.0
        while spent < seconds:
            start = clock()
            env.reset()
            for _ in env.agent_iter():
                observation, _, terminated, truncated, info = env.last()
                spent += clock() - start
                action = None
                if not (terminated or truncated):
                    mask = (observation if mask_in == "observation" else info)["action_mask"]
                    action = random_action(mask, None, draw)
                    plies += 1
                start = clock()
                env.step(action)
            spent += clock() - start
        return plies, spent

    return run


def random_action(mask: Any, number: int | None, draw: np.random.Generator) -> int:
    """A legal action, any of so many without a mask."""
    if mask is None:
        return int(draw.random() * number)
    legal = np.asarray(mask).nonzero()[0]
    return int(legal[int(draw.random() * len(legal))])


def vector_of(name: str, number: int, **arguments: Any) -> Callable[[], Run]:
    """A vector environment, played at random."""

    def make() -> Run:
        mode = gym.VectorizeMode.VECTOR_ENTRY_POINT
        env = gym.make_vec(name, num_envs=number, vectorization_mode=mode, **arguments)
        draw = np.random.default_rng(0)
        env.action_space.seed(0)

        def run(seconds: float) -> tuple[int, float]:
            steps, spent = 0, 0.0
            _, info = env.reset(seed=0)
            while spent < seconds:
                actions = env.action_space.sample()
                if "action_mask" in info:
                    weights = draw.random(info["action_mask"].shape, dtype=np.float32) + 0.5
                    actions = (weights * info["action_mask"]).argmax(axis=1)
                start = clock()
                *_, info = env.step(actions)
                spent += clock() - start
                steps += number
            return steps, spent

        return run

    return make


def tic_tac_toe() -> Run:
    """PettingZoo's own."""
    return pettingzoo_plies(pettingzoo.make("aec", "classic/tictactoe-v3"))


def openspiel_plies() -> Run:
    """OpenSpiel's Nim, which is 1-3-5-7 too, as a PettingZoo environment."""
    from shimmy import OpenSpielCompatibilityV0

    return pettingzoo_plies(OpenSpielCompatibilityV0(game_name="nim"), mask_in="info")


# --- Training -------------------------------------------------------------------------------------


def aec_345() -> pettingzoo.AECEnv:
    """3-4-5 for two players."""
    return pettingzoo.make("aec", "nim-v0", heaps=(3, 4, 5))


def gym_345() -> gym.Env:
    """3-4-5 in self-play."""
    return gym.make("nim_env:Nim-v0", heaps=(3, 4, 5), opponent=None)


def learner_of(kind: type[agents.Agent], opponent: str | None, number: int) -> Callable[[], Run]:
    """An agent in a vector environment."""

    def make() -> Run:
        return moves_learnt(
            kind, gym.make_vec("nim_env:Nim-v0", num_envs=number, heaps=(3, 4, 5), opponent=opponent)
        )

    return make


def moves_learnt(kind: type[agents.Agent], env: Any) -> Run:
    """Training, until the time is over."""
    if isinstance(env, pettingzoo.AECEnv):
        spaces = env.observation_space("player_0"), env.action_space("player_0")
    elif isinstance(env, gym.vector.VectorEnv):
        spaces = env.single_observation_space, env.single_action_space
    else:
        spaces = env.observation_space, env.action_space
    agent = kind(*spaces, seed=0)

    def run(seconds: float) -> tuple[int, float]:
        start = clock()
        history = agents.train(agent, env, 10**7, seed=0, callback=lambda *_: clock() - start < seconds)
        return int(history.lengths.sum()), clock() - start

    return run


def openspiel_learner() -> Run:
    """OpenSpiel's tabular Q-learning by self-play."""
    from open_spiel.python import rl_environment
    from open_spiel.python.algorithms import tabular_qlearner

    env = rl_environment.Environment("nim(pile_sizes=3;4;5)")
    learners = [tabular_qlearner.QLearner(player, env.action_spec()["num_actions"]) for player in range(2)]

    def run(seconds: float) -> tuple[int, float]:
        moves, start = 0, clock()
        while clock() - start < seconds:
            step = env.reset()
            while not step.last():
                step = env.step([learners[step.observations["current_player"]].step(step).action])
                moves += 1
            for learner in learners:
                learner.step(step)
        return moves, clock() - start

    return run


# --- Rollouts through Stable-Baselines3 -----------------------------------------------------------


def rollouts() -> list[Contender]:
    """Learner steps per second: of the environments alone, masks included, and of MaskablePPO's rollouts."""
    needs = ("torch", "stable_baselines3", "sb3_contrib")
    kinds = {"NimVecEnv": (nim_vec_env, AT_ONCE), "DummyVecEnv": (dummy_vec_env, AT_ONCE[:-1])}
    return [
        Contender(f"{what}, {kind}", number, partial(measure, make, number), needs, kind == "DummyVecEnv")
        for what, measure in (("environment", vec_env_steps), ("MaskablePPO", maskable_ppo_steps))
        for kind, (make, numbers) in kinds.items()
        for number in numbers
    ]


def nim_vec_env(number: int) -> Any:
    from nim_env.sb3 import NimVecEnv

    return NimVecEnv(gym.make_vec("nim_env:Nim-v0", num_envs=number, autoreset_mode="SameStep"))


def dummy_vec_env(number: int) -> Any:
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([lambda: gym.make("nim_env:Nim-v0")] * number)


def vec_env_steps(make: Callable[[int], Any], number: int) -> Run:
    """Random legal play; what sb3-contrib makes of the masks is not timed."""
    env, generator = make(number), np.random.default_rng(0)
    env.reset()

    def run(seconds: float) -> tuple[int, float]:
        steps, spent, begun = 0, 0.0, clock()
        while not steps or clock() - begun < seconds:
            start = clock()
            rows = env.env_method("action_masks")
            spent += clock() - start
            masks = np.stack(rows)
            actions = (generator.random(masks.shape) * masks).argmax(axis=1)
            start = clock()
            env.step(actions)
            spent += clock() - start
            steps += number
        return steps, spent

    return run


def maskable_ppo_steps(make: Callable[[int], Any], number: int) -> Run:
    """A whole rollout with sb3-contrib's default network, and no lesson after it."""
    import torch
    from sb3_contrib import MaskablePPO

    class Rollouts(MaskablePPO):
        def train(self) -> None:
            """Learns nothing."""

    torch.set_num_threads(1)
    model = Rollouts("MlpPolicy", make(number), n_steps=8, batch_size=8 * number, seed=0, device="cpu")
    return again_and_again(lambda: model.learn(8 * number, reset_num_timesteps=False), 8 * number)


# --- Exact answers --------------------------------------------------------------------------------


def answers(heaps: tuple[int, ...], question: Callable[[NimRules, agents.Agent], object]) -> Callable[[], Run]:
    """A question about an agent that has learnt a little, asked again and again."""

    def make() -> Run:
        env = gym.make_vec("nim_env:Nim-v0", num_envs=256, heaps=heaps, misere=False, opponent=None)
        agent = agents.MinimaxQAgent(env.single_observation_space, env.single_action_space, seed=0)
        agents.train(agent, env, 10_000, seed=0)
        return again_and_again(lambda: question(NimRules(heaps, misere=False), agent))

    return make


def closed_form() -> Run:
    """Who wins a million random positions of the largest board, and by which moves."""
    rules = NimRules(BOARDS[-1], misere=False)
    positions = np.random.default_rng(0).integers(0, rules.shape, size=(1_000_000, rules.n_heaps))
    return again_and_again(
        lambda: (theory.is_winning(rules, positions), theory.winning_action_mask(rules, positions))
    )


def openspiel_exploitability() -> Run:
    """OpenSpiel's, of random play on the smallest board."""
    import pyspiel
    from open_spiel.python import policy
    from open_spiel.python.algorithms.exploitability import exploitability

    game = pyspiel.load_game(f"nim(pile_sizes={';'.join(map(str, BOARDS[0]))},is_misere=false)")
    return again_and_again(lambda: exploitability(game, policy.UniformRandomPolicy(game)))


def again_and_again(call: Callable[[], object], steps_of_a_call: int = 1) -> Run:
    """A call, repeated until the time is over."""

    def run(seconds: float) -> tuple[int, float]:
        calls, start = 0, clock()
        while not calls or clock() - start < seconds:
            call()
            calls += 1
        return calls * steps_of_a_call, clock() - start

    return run
