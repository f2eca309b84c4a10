"""The page's modules that need no browser, in Node.js: its rules, learner, network, links and levels."""

import json
import re
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("playwright", reason='needs pip install -e ".[dev]"')

import playwright
from play_in_browser import PAGE

import agents
from nim_env import NimRules, evaluation, theory
from nim_env.policies import TabularPolicy, checked_policy

NODE = shutil.which("node") or Path(playwright.__file__).with_name("driver") / "node"
MODULES = ["rules", "boards", "game", "learner", "network", "links", "players", "words"]
LEARNED = [NimRules(), NimRules((21,), max_take=3, misere=False), NimRules((2, 3, 4))]


def compute(function, **values):
    """Calls a JavaScript function of the values and the modules."""
    imports = "".join(f'import * as {name} from "{(PAGE / name).as_uri()}.js";\n' for name in MODULES)
    call = f"const answer = await ({function})({json.dumps(values)});\nconsole.log(JSON.stringify(answer));"
    options = {"input": imports + call, "capture_output": True, "encoding": "utf-8"}
    return json.loads(subprocess.run([NODE, "--input-type=module", "-"], check=True, **options).stdout)


def board_of(rules):
    most = max(rules.heaps)
    return {"heaps": rules.heaps, "max": min(rules.max_take or most, most), "misere": rules.misere}


@pytest.mark.parametrize("misere", [True, False])
@pytest.mark.parametrize(("heaps", "max_take"), [((1, 3, 5, 7), None), ((3, 4, 5), 3), ((21,), 3), ((4, 4, 4), 1)])
def test_rules_theory_and_lessons_in_every_position(heaps, max_take, misere):
    function = """({ board, positions }) => positions.map((heaps) => {
      const analysis = rules.analyze(heaps, board), pair = (move) => move && [move.heap, move.count];
      const texts = [words.lessonText(heaps, board, analysis), words.hintText(heaps, board, analysis)];
      return [rules.isWinning(heaps, board), rules.legalMoves(heaps, board).map(pair),
              rules.winningMoves(heaps, board).map(pair), pair(analysis.move), texts];
    })"""
    game = NimRules(heaps, max_take, misere)
    positions = game.all_positions()
    answers = compute(function, board=board_of(game), positions=positions.tolist())
    for position, (won, legal, wins, move, texts) in zip(positions, answers, strict=True):
        assert won == theory.is_winning(game, position)
        assert legal == [list(pair) for pair in game.legal_moves(position)]
        winning = theory.winning_action_mask(game, position)
        assert wins == [list(game.moves[action]) for action in np.flatnonzero(winning)]
        assert move in (wins or [None])
        wrong = "binary|column|undefined|NaN|null" + ("|of one" if max_take else "")
        assert not re.search(wrong, " ".join(texts))


@pytest.mark.parametrize("rules", LEARNED)
def test_the_learner_is_that_of_agents(rules):
    function = """({ board, draws, games }) => {
      let used = 0;
      const it = new learner.Learner(board, learner.SELF_PLAY, { next: () => draws[used++] });
      while (it.games < games) it.playGame();
      const { positions } = it, { wins } = positions;
      return [Array.from(it.table.numbers), it.table.mastery,
              Array.from({ length: positions.number }, (_, i) => (wins.has(i) ? it.table.rightIn(i) : null))];
    }"""
    games = 500
    draws = np.random.default_rng(0).random(games * 2 * sum(rules.heaps)).tolist()
    table, mastery, right = compute(function, board=board_of(rules), draws=draws, games=games)
    env = gym.make("nim_env:Nim-v0", **asdict(rules), opponent=None)
    agent = agents.MinimaxQAgent(env.observation_space, env.action_space, learning_rate=0.5, epsilon=0.5)
    agent.generator = SimpleNamespace(random=iter(draws).__next__)
    agents.train(agent, env, games, seed=0)
    values = agent.q_values(rules.all_positions())
    assert table == values.ravel().tolist()
    legal = np.where(rules.action_mask(rules.all_positions()) == 1, values, -np.inf)
    best = legal == legal.max(axis=1, keepdims=True)  # of several best moves the page draws one
    exact = evaluation.mastery(rules, TabularPolicy(rules, best / best.sum(axis=1, keepdims=True)))
    assert mastery == pytest.approx(exact.expert, abs=1e-12)
    assert np.array(right, dtype=float) == pytest.approx(exact.winning_probabilities, abs=1e-12, nan_ok=True)


class OpponentStarts(gym.Wrapper):
    """The opponent starts every second game, from the second on."""

    games = 0

    def reset(self, **options):
        first = "opponent" if self.games % 2 else "agent"
        self.games += 1
        return super().reset(**options | {"options": {"first_player": first}})


def random_training(generator):
    """A board, an opponent and the settings of a training."""
    heaps = tuple(generator.integers(1, 7, generator.integers(1, 4)).tolist())
    max_take = None if generator.random() < 0.5 else int(generator.integers(1, 5))
    rules = NimRules((*heaps, 4), max_take, bool(generator.integers(2)))
    name = str(generator.choice(["random", "take-3", "expert"]))
    return rules, name, float(generator.choice([0.1, 0.2, 0.5, 1])), float(generator.choice([0.1, 0.2, 0.5]))


@pytest.mark.parametrize("seed", range(6))
def test_the_learner_against_an_opponent_is_that_of_agents(seed):
    generator = np.random.default_rng(seed)
    rules, name, rate, exploration = random_training(generator)
    games = 200
    draws = generator.random(games * 3 * sum(rules.heaps)).tolist()
    function = """({ board, draws, games, chosen }) => {
      let used = 0;
      const it = new learner.Learner(board, learner.settingsOf(...chosen), { next: () => draws[used++] });
      const updates = [];
      while (it.games < games) it.playGame(updates);
      return [updates.map(({ position, action }) => [position, action]), Array.from(it.table.numbers), used];
    }"""
    chosen = [name, rate, exploration]
    moves, table, used = compute(function, board=board_of(rules), draws=draws, games=games, chosen=chosen)

    numbers = iter(draws)
    policy = checked_policy(name, rules)
    played = []

    def reply(heaps, mask):
        """The opponent's move by the next draw; its opening never ends the game."""
        support = np.flatnonzero(policy.support(heaps, mask))
        if (heaps == rules.heaps).all():
            support = [action for action in support if rules.apply(heaps, action).any()]
        return support[int(next(numbers) * len(support))]

    env = OpponentStarts(gym.make("nim_env:Nim-v0", **asdict(rules), opponent=reply))
    settings = {"learning_rate": rate, "epsilon": exploration}
    agent = agents.QLearningAgent(env.observation_space, env.action_space, **settings)
    agent.generator = SimpleNamespace(random=numbers.__next__)
    act = agent.act

    def record(observation, *arguments, **options):
        action = act(observation, *arguments, **options)
        played.append([index_of(rules, observation), action])
        return action

    agent.act = record
    agents.train(agent, env, games, seed=0)
    assert moves == played
    assert table == agent.q_values(rules.all_positions()).ravel().tolist()
    assert next(numbers) == draws[used]


def index_of(rules, heaps):
    """The row of a position in ``all_positions``."""
    return int(np.ravel_multi_index(heaps, np.add(rules.heaps, 1)))


@pytest.mark.parametrize("rules", LEARNED)
def test_what_a_training_has_taught(rules):
    function = """({ board }) => ["itself", "random", "take-3", "expert"].map((rival) => {
      const it = new learner.Learner(board).with(learner.settingsOf(rival));
      while (it.train(100));
      const table = it.tables.at(-1), { number, legal, moves } = it.positions;
      const isBest = (position) => moves.map((_, action) => Number(table.best(position).includes(action)));
      const wins = ["random", "take-3", "expert"].map((each) => table.winsAgainst(each));
      return [Array.from({ length: number }, (_, position) => isBest(position)), table.mastery, wins];
    })"""
    shares = []
    for best, mastery, wins in compute(function, board=board_of(rules)):
        best = np.array(best, dtype=float)
        player = TabularPolicy(rules, best / np.maximum(1, best.sum(axis=1, keepdims=True)))
        for name, share in zip(("random", "take-3", "expert"), wins, strict=True):
            exact = [evaluation.win_probability(rules, player, name, moves_first=first) for first in (True, False)]
            assert share == pytest.approx(np.mean(exact), abs=1e-12)
        assert mastery == pytest.approx(evaluation.mastery(rules, player).expert, abs=1e-12)
        shares.append(mastery)
    by_itself, _, against_take_3, against_expert = shares
    assert against_take_3 < 0.75 < by_itself
    assert against_take_3 < against_expert


@pytest.mark.parametrize("start", [0, 3, 1000, 20_000])
def test_the_steps_are_the_updates_of_the_training_that_change_a_value(start):
    function = """({ board, start }) => ["itself", "take-3"].map((rival) => {
      const it = new learner.Learner(board).with(learner.settingsOf(rival));
      while (it.train(100));
      const stages = it.plan.length, steps = [], expected = [], updates = [];
      for (let games = start; steps.length < 30; games = steps.at(-1).table.games) steps.push(it.step(games));
      const again = new learner.Learner(board, it.settings);
      while (again.games < start) again.playGame();
      while (expected.length < 30) {
        again.playGame(updates);
        const changed = updates.splice(0).filter(({ from, to }) => Math.abs(to - from) >= 0.01);
        expected.push(...changed.map(({ pair, from, to }) => [again.games, pair, from, to]));
      }
      const isOwn = steps.every(({ table, pair, to }) => table.numbers[pair] === to);
      const told = steps.map(({ table, pair, from, to }) => [table.games, pair, from, to]);
      return [told, expected.slice(0, 30), isOwn, it.plan.length - stages];
    })"""
    for told, expected, is_own, added in compute(function, board=board_of(NimRules()), start=start):
        assert told == expected
        assert is_own
        assert added == 0


def test_one_ring_marks_the_group_without_a_partner():
    function = """({ heaps }) => {
      const board = { heaps, max: Math.max(...heaps), misere: false }, analysis = rules.analyze(heaps, board);
      return [1, 2, 4].map((size) => heaps.map((_, heap) => rules.isAlone(heap, size, analysis)));
    }"""
    for heaps in ([1, 1, 1], [1, 3, 5, 4], [7, 5, 3, 2], [2, 2]):
        for size, rings in zip((1, 2, 4), compute(function, heaps=heaps), strict=True):
            assert sum(rings) == sum(heap & size > 0 for heap in heaps) % 2
            assert all(heap & size for heap, ring in zip(heaps, rings, strict=True) if ring)


def test_a_won_position_near_a_lost_start():
    function = "({ board }) => rules.wonNear(board.heaps, board) ?? null"
    for rules in (NimRules(), NimRules((20,), 3, misere=False), NimRules((3, 3))):
        position = compute(function, board=board_of(rules))
        assert not theory.is_winning(rules, rules.heaps)
        assert theory.is_winning(rules, position)
        assert np.not_equal(position, rules.heaps).sum() == 1
    assert compute(function, board=board_of(NimRules())) == [1, 3, 5, 4]
    assert compute(function, board=board_of(NimRules((21,), 3))) == [18]  # take-3 moves there
    assert compute(function, board=board_of(NimRules((1,)))) is None  # every move ends the game


@pytest.mark.parametrize("misere", [True, False])
def test_the_network_plays_perfectly(misere):
    function = """({ board, positions, weights }) =>
      positions.map((heaps) => network.networkMove(weights, heaps, board))"""
    rules = NimRules((9, 12, 7, 5, 3, 14), misere=misere)
    positions = np.random.default_rng(1).integers(0, np.add(rules.heaps, 1), (60, 6))
    positions = positions[theory.is_winning(rules, positions) & positions.any(axis=1)]
    weights = json.loads((PAGE / "data" / f"network_{'misere' if misere else 'normal'}.json").read_text())
    moves = compute(function, board=board_of(rules), positions=positions.tolist(), weights=weights)
    actions = [rules.action(move["heap"], move["count"]) for move in moves]
    assert theory.winning_action_mask(rules, positions)[np.arange(len(actions)), actions].all()


def test_a_link_opens_the_position_that_it_was_made_of():
    function = """() => boards.PRESETS.flatMap((board) => [0, 1].flatMap((first) => {
      const start = board.heaps.map((size) => Math.ceil(size / 2));
      const one = new game.Game(board, first, start), answers = [];
      while (one.winner === null) {
        const link = links.toLink(one, { vs: "20", view: null, panel: "learn", stage: "7~take-3~0.2~0.5" });
        const { game: other, vs, view, panel, stage } = links.fromLink(link);
        const isSame = String(other.heaps) === String(one.heaps) && boards.isSameBoard(other.board, board);
        const isStage = stage.games === 7 && stage.settings === learner.settingsOf("take-3", 0.2, 0.5);
        answers.push(isSame && isStage && other.first === first && String([vs, view, panel]) === "20,,learn");
        one.play(learner.drawn(rules.legalMoves(one.heaps, board)));
      }
      return answers;
    }))"""
    assert set(compute(function)) == {True}


def test_the_levels_of_every_board_differ():
    function = """() => [boards.PRESETS[0], boards.PRESETS[1], boards.PRESETS[2]].map((board) => {
      const it = new learner.Learner(board);
      while (it.train(100));
      return Object.values(it.levels()).map((games) => [games, it.tableAt(games).mastery]);
    })"""
    for levels in compute(function):
        games, mastery = zip(*levels, strict=True)
        assert list(games) == sorted(set(games))
        assert mastery[0] < mastery[1] < mastery[2] > 0.97
