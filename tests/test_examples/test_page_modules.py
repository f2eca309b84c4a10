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
from nim_env.policies import TabularPolicy

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
      const it = new learner.Learner(board, () => draws[used++]);
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
    assert np.array(right, dtype=float) == pytest.approx(exact.winning_move, abs=1e-12, nan_ok=True)


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
        const link = links.toLink(one, { vs: "20", view: null, panel: "learn", stage: 7 });
        const { game: other, vs, view, panel, stage } = links.fromLink(link);
        const isSame = String(other.heaps) === String(one.heaps) && boards.isSameBoard(other.board, board);
        answers.push(isSame && other.first === first && String([vs, view, panel, stage]) === "20,,learn,7");
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
