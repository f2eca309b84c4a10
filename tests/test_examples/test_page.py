"""The page of play_in_browser.py in a headless Chromium: the system's, or else Playwright's own."""

import json
import shutil
import threading
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason='needs pip install -e ".[dev]"')
pytest.importorskip("axe_playwright_python", reason='needs pip install -e ".[dev]"')
pytest.importorskip("playwright", reason='needs pip install -e ".[dev]"')

import axe_playwright_python
import play_in_browser
import torch
from brute_force import mover_wins
from play_in_browser import make_server, tabulate
from playwright.sync_api import expect, sync_playwright

import agents
from nim_env import NimRules, evaluation, theory
from nim_env.policies import TabularPolicy

from learn_the_rule.network import DigitNetwork, predict

BOARDS = [
    NimRules((1, 3, 5, 7)),
    NimRules((1, 3, 5, 7), misere=False),
    NimRules((3, 4, 5)),
    NimRules((3, 4, 5), max_take=2),
    NimRules((3, 4, 5), max_take=3, misere=False),
    NimRules((21,), max_take=3, misere=False),
    NimRules((21,), max_take=3),
    NimRules((5, 6, 7), max_take=3),
    NimRules((4, 4, 4, 4), max_take=1),
    NimRules((2, 9), misere=False),
]
EVERY_BOARD = pytest.mark.parametrize("rules", BOARDS, ids=str)
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
DESK, PHONE = {"width": 1280, "height": 720}, {"width": 375, "height": 760}
SIZES = [
    (320, 568),
    (375, 667),
    (375, 760),
    (414, 896),
    (768, 1024),
    (1024, 768),
    (667, 375),
    (1280, 720),
    (1920, 1080),
]
FAST = """for (const name of ["setTimeout", "setInterval"]) {
  const wait = window[name];
  window[name] = (act, time = 0) => wait(act, time / 20);
}"""
CLASSIC = "heaps=1-3-5-7&last=loses"


def find_chromium():
    """The path of a Chromium; None if there is none."""
    if path := shutil.which("chromium") or shutil.which("google-chrome"):
        return path
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


CHROMIUM = find_chromium()
if CHROMIUM is None:
    pytest.skip("needs playwright install --with-deps chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--disable-gpu", "--disable-software-rasterizer"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def agent():
    """A player of the user."""
    env = gym.make("nim_env:Nim-v0", heaps=(2, 3), opponent=None)
    agent = agents.MinimaxQAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 200, seed=0)
    return agent


@pytest.fixture(scope="module")
def address(agent, tmp_path_factory):
    """The address of a server."""
    path = tmp_path_factory.mktemp("player") / "my.agent"
    agent.save(path)
    with make_server([tabulate(str(path), NimRules((2, 3)))], 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def visit(browser, address):
    """Opens the page; no error may occur there, and no other site may be asked."""
    contexts, wrong = [], []

    def visit(link=CLASSIC, size=DESK, reduced_motion="reduce", **options):
        context = browser.new_context(viewport=size, reduced_motion=reduced_motion, **options)
        contexts.append(context)
        context.set_default_timeout(10_000)
        context.add_init_script(FAST)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        page.on("request", lambda asked: asked.url.startswith(address) or wrong.append(asked.url))
        page.goto(f"{address}#{link}")
        expect(page.locator(".heap")).not_to_have_count(0)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def modules(browser, address):
    """Evaluates a JavaScript function of an argument and of the page's modules."""
    page = browser.new_page()
    page.goto(address)

    def call(function, argument=None):
        names = ("rules", "learner", "network", "game")
        imports = " ".join(f'const {name} = await import("/{name}.js");' for name in names)
        return page.evaluate(f"async (argument) => {{ {imports} return ({function})(argument); }}", argument)

    yield call
    page.close()


def in_page(rules):
    return {"heaps": list(rules.heaps), "max": rules.max_take, "misere": rules.misere}


# --- What the modules compute -----------------------------------------------------------------------


@EVERY_BOARD
def test_rules_theory_and_lessons_in_every_position(modules, rules):
    positions = rules.all_positions()
    answers = modules(
        """({ board, positions }) => positions.map((heaps) => {
             const { move, text, isWon } = rules.lessonOf(heaps, board), pair = (m) => m && [m.heap, m.count];
             return [rules.isWinning(heaps, board), rules.legalMoves(heaps, board).map(pair),
                     rules.winningMoves(heaps, board).map(pair), isWon, pair(move) ?? null, text];
           })""",
        {"board": in_page(rules), "positions": positions.tolist()},
    )
    grundy = theory.grundy(rules, positions)
    for heaps, value, (won, legal, wins, lesson_won, move, text) in zip(positions, grundy, answers, strict=True):
        pairs = [list(pair) for pair in rules.legal_moves(heaps)]
        winning = theory.winning_action_mask(rules, heaps)
        assert won == theory.is_winning(rules, heaps)
        assert legal == pairs
        assert wins == [list(rules.moves[action]) for action in np.flatnonzero(winning)]
        assert lesson_won == bool(wins)
        assert move in (wins or [None])
        after = rules.apply(heaps, rules.action(*move)) if move else heaps
        if text.endswith("every column is even."):
            assert theory.grundy(rules, after) == 0
        assert text.startswith("Every column is even") <= (value == 0)
        if "odd number of single blocks" in text and move:
            assert after.sum() % 2 == 1
        assert not any(word in text for word in ("undefined", "NaN", "null"))


class Draws:
    """A generator that repeats recorded draws."""

    def __init__(self, draws):
        self.draws = iter(draws)

    def random(self):
        return next(self.draws)


@pytest.mark.parametrize("rules", [BOARDS[0], BOARDS[3], BOARDS[5]], ids=str)
def test_the_learner_is_that_of_agents(modules, rules):
    games = 500
    draws = np.random.default_rng(0).random(games * 2 * sum(rules.heaps)).tolist()
    table, tried, mastery = modules(
        """({ board, draws, games }) => {
             const learn = new learner.Learner(board, () => draws[used++]); let used = 0;
             learn.prepare();
             for (let game = 0; game < games; game++) learn.playGame(game);
             return [Array.from(learn.table), Array.from(learn.triedIn, (game) => game < games),
                     learn.expertMastery(learn.table)];
           }""",
        {"board": in_page(rules), "draws": draws, "games": games},
    )
    options = {"heaps": rules.heaps, "max_take": rules.max_take, "misere": rules.misere}
    env = gym.make("nim_env:Nim-v0", opponent=None, **options)
    agent = agents.QLearningAgent(env.observation_space, env.action_space)
    agent.generator = Draws(draws)
    agents.train(agent, env, games, seed=0)
    positions = rules.all_positions()
    values = agent.q_values(positions)
    assert table == values.ravel().tolist()
    assert not (values.ravel()[~np.array(tried)]).any()
    legal = np.where(rules.action_mask(positions) == 1, values, -np.inf)
    best = legal == legal.max(axis=1, keepdims=True)  # the page draws one of several best moves
    policy = TabularPolicy(rules, best / best.sum(axis=1, keepdims=True))
    assert mastery == pytest.approx(evaluation.mastery(rules, policy).expert, abs=1e-12)


def test_the_table_of_five_heaps_plays_as_its_script_says(modules):
    rules = NimRules((1, 3, 5, 7, 9))
    table, mastery, games = modules(
        """async (board) => {
             const learn = new learner.Learner(board);
             learn.prepare();
             learn.addLonger(await (await fetch("data/five_heaps.json")).json());
             return [Array.from(learn.tables[0]), learn.mastery[0], learn.stages[0]];
           }""",
        in_page(rules),
    )
    values = np.where(rules.action_mask(rules.all_positions()) == 1, np.reshape(table, (-1, 25)), -np.inf)
    best = values == values.max(axis=1, keepdims=True)
    exact = evaluation.mastery(rules, TabularPolicy(rules, best / best.sum(axis=1, keepdims=True)))
    assert mastery == pytest.approx(exact.expert, abs=1e-12)
    assert exact.champion
    assert games > 10_000


@pytest.mark.parametrize("name", ["misere", "normal"])
def test_the_network_is_that_of_pytorch(modules, name):
    weights = json.loads((play_in_browser.PAGE / "data" / f"network_{name}.json").read_text())
    network = DigitNetwork()
    network.load_state_dict({key: torch.tensor(value) for key, value in weights.items()})
    assert sum(weight.numel() for weight in network.parameters()) == 873
    generator = np.random.default_rng(0)
    for shape in ((40, 12), (40, 3), (40, 1)):
        positions = generator.integers(0, 51, shape)
        values = modules(
            """async ({ positions, misere }) => {
                 const weights = await network.loadNetwork(misere);
                 return positions.map((heaps) => network.networkValue(weights, heaps));
               }""",
            {"positions": positions.tolist(), "misere": name == "misere"},
        )
        assert values == pytest.approx(predict(network, positions), abs=1e-5)


@pytest.mark.parametrize("name", ["misere", "normal"])
def test_the_network_plays_perfectly(modules, name):
    rules = NimRules((9, 12, 7, 5, 3, 14), misere=name == "misere")
    positions = np.random.default_rng(1).integers(0, np.add(rules.heaps, 1), (60, 6))
    positions = positions[theory.is_winning(rules, positions) & positions.any(axis=1)]
    moves = modules(
        """async ({ board, positions }) => {
             const weights = await network.loadNetwork(board.misere);
             return positions.map((heaps) => network.networkMove(weights, heaps, board));
           }""",
        {"board": in_page(rules), "positions": positions.tolist()},
    )
    actions = [rules.action(move["heap"], move["count"]) for move in moves]
    wins = theory.winning_action_mask(rules, positions)
    assert wins[np.arange(len(actions)), actions].all()


@EVERY_BOARD
def test_replay_flags_the_losing_move(modules, rules):
    generator = np.random.default_rng(0)
    games = []
    for _ in range(20):
        heaps, moves, first = rules.heaps, [], int(generator.integers(2))
        while any(heaps):
            legal = rules.legal_moves(heaps)
            moves.append(legal[generator.integers(len(legal))])
            heaps = tuple(rules.apply(heaps, rules.action(*moves[-1])).tolist())
        games.append((first, moves))
    answers = modules(
        """({ board, games }) => games.map(([first, moves]) => {
             const played = new game.Game(board, first);
             for (const [heap, count] of moves) played.play({ heap, count });
             return [played.winner, played.decisive];
           })""",
        {"board": in_page(rules), "games": games},
    )

    def wins(heaps):
        return mover_wins(tuple(sorted(heaps)), rules.max_take, rules.misere)

    for (first, moves), (winner, flag) in zip(games, answers, strict=True):
        won = [wins(rules.heaps)]
        heaps = rules.heaps
        for move in moves:
            heaps = tuple(rules.apply(heaps, rules.action(*move)).tolist())
            won.append(wins(heaps))
        assert winner == (first + len(moves) + (not rules.misere)) % 2
        mistakes = [ply for ply in range(len(moves)) if won[ply] and won[ply + 1] and (first + ply) % 2 != winner]
        assert flag == max(mistakes, default=-1)


# --- Playing ----------------------------------------------------------------------------------------


def heaps_of(page):
    """The heaps as they are drawn, and as a screen reader gets them."""
    drawn, told = page.locator(".heap").evaluate_all(
        """heaps => [heaps.map((heap) => heap.querySelectorAll(".block:not(.ghost)").length),
                     heaps.map((heap) => Number(heap.getAttribute("aria-valuemax")))]"""
    )
    assert drawn == told
    return drawn


def block(page, heap, count):
    blocks = page.locator(f'[data-heap="{heap}"] .block:not(.ghost)')
    return blocks.nth(blocks.count() - count)


def click(page, heap, count):
    block(page, heap, count).hover()
    expect(page.locator(".chosen")).to_have_count(count)
    block(page, heap, count).click()


def tap(page, heap, count):
    block(page, heap, count).tap()
    expect(page.locator(".chosen")).to_have_count(count)
    page.locator("#take").tap()


def tap_twice(page, heap, count):
    block(page, heap, 1).tap()
    block(page, heap, count).tap()
    block(page, heap, count).tap() if count > 1 else None


def press_keys(page, heap, count):
    page.locator("[data-heap]:not(.empty)").first.focus()
    page.keyboard.press("ABC"[heap])
    page.keyboard.press("Home")
    for _ in range(count - 1):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".chosen")).to_have_count(count)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("take", [click, tap, tap_twice, press_keys])
def test_a_whole_game(visit, take):
    options = {"size": PHONE, "has_touch": True, "is_mobile": True} if take in (tap, tap_twice) else {}
    page = visit("heaps=3-4-5&last=wins&vs=random", **options)
    rules, heaps = NimRules((3, 4, 5), misere=False), [3, 4, 5]
    while any(heaps):
        move = rules.moves[theory.winning_action_mask(rules, heaps).argmax()]
        take(page, *move)
        expect(page.locator("#say")).to_contain_text("Opponent took" if sum(heaps) > move[1] else "You win!")
        if sum(heaps) > move[1]:
            expect(page.locator("#take")).not_to_contain_text("Wait")
        heaps = heaps_of(page) if sum(heaps) > move[1] else []
    expect(page.locator("#score")).to_contain_text("You 1, Opponent 0")
    expect(page.locator("#live")).to_contain_text("You took the last block.")
    page.get_by_role("button", name="Play again").click()
    assert heaps_of(page) == [3, 4, 5]


def test_the_buttons_below_the_board_are_for_every_mouse(visit):
    page = visit("heaps=3-4-5&last=wins&vs=friend")
    block(page, 1, 2).hover()
    page.get_by_role("button", name="One block more").hover()
    expect(page.locator("#take")).to_have_text("Take 2 from B")
    page.get_by_role("button", name="One block fewer").click()
    page.locator("#take").click()
    assert heaps_of(page) == [3, 3, 5]
    block(page, 2, 1).hover()
    page.locator("#open-boards").hover()
    expect(page.locator(".chosen")).to_have_count(0)


def test_keys_go_on_after_a_game_and_stop_at_the_last_block(visit):
    page = visit("heaps=1-2&last=wins&vs=friend")
    for heap, count in ((1, 2), (0, 1)):
        press_keys(page, heap, count)
    expect(page.get_by_role("button", name="Play again")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-heap='0']")).to_be_focused()
    page.keyboard.press("ArrowRight")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".chosen")).to_have_count(2)
    expect(page.locator("#say")).to_have_text("Player 1’s turn")


def test_undo_replay_and_another_try(visit):
    page = visit(f"{CLASSIC}&vs=random&moves=D2.B1.C3.D4.C2.B2.A1")
    page.wait_for_selector("#do-again")
    expect(page.locator("#how")).to_have_text("Opponent took the last block. Its move 6 gave you the win.")
    page.locator("#prev").click()
    page.locator("#prev").click()
    expect(page.locator("#status")).to_have_class("p1 past flagged")
    page.get_by_role("button", name="Show better").click()
    expect(page.locator("#how")).to_contain_text("1 from B wins for it")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)  # it was not yours
    assert heaps_of(page) == [1, 2, 0, 1]
    expect(page.locator(".winning")).to_have_count(1)
    page.locator("#ply").press("Home")
    expect(page.locator("#say")).to_have_text("Start: You to move")
    page.locator("[data-value=moves]").click()
    page.locator(".move").nth(1).click()
    assert heaps_of(page) == [1, 2, 5, 5]
    expect(page.locator(".ghost.p1")).to_have_count(1)
    page.locator(".move").nth(4).click()
    page.get_by_role("button", name="Play again").click()
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    click(page, 3, 2)
    expect(page.locator("#say")).to_contain_text("Opponent took")
    page.get_by_role("button", name="Undo").click()
    assert heaps_of(page) == [1, 3, 5, 7]
    expect(page.locator("#toast")).to_have_text("Your last move is taken back.")


def test_another_try_by_keys_after_the_score_was_reset(visit):
    page = visit(f"{CLASSIC}&vs=random&moves=D2.B1.C3.D4.C2.B1.A1.B1.D1")
    expect(page.locator("#score")).to_contain_text("You 0, Opponent 1")
    expect(page.locator("#how")).to_have_text("You took the last block. Move 3 gave it the win.")
    page.locator("[data-do=menu]").locator("visible=true").click()
    page.get_by_role("button", name="Set the score").click()
    page.locator("[data-value=moves]").click()
    page.locator(".move").nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".move").nth(2)).to_be_focused()
    expect(page.locator("#live")).to_contain_text("You took 3 from C Left: A 1, B 2, C 2, D 5.")
    page.get_by_role("button", name="Show better").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Try again from here")).to_be_focused()
    page.keyboard.press("Enter")
    assert heaps_of(page) == [1, 2, 5, 5]
    expect(page.locator("#say")).to_have_text("Opponent took 1 from B. Your turn.")
    expect(page.locator("#score")).to_contain_text("You 0, Opponent 0")


def test_two_people_and_limits(visit):
    page = visit("heaps=3-4&last=loses&take=2&vs=friend")
    click(page, 0, 2)
    expect(page.locator("#say")).to_have_text("Player 2’s turn")
    block(page, 1, 4).hover()
    expect(page.locator("#say")).to_have_text("At most 2 in one move")
    block(page, 1, 4).click()
    expect(page.locator(".block:not(.ghost)")).to_have_count(5)


def test_levels_and_training(visit):
    page = visit()
    expect(page.locator("#levels label")).to_have_count(5)
    page.locator("[data-value=learn]").click()
    expect(page.locator("#n-mastery")).to_have_text("20 %")
    expect(page.locator("#games")).to_have_attribute("max", "39")  # all stages are there
    page.locator("#games").press("End")
    expect(page.locator("#n-games")).to_have_text("10,000")
    page.locator("#play-it").click()
    expect(page.locator("#levels :checked")).to_have_value("master")
    page.locator("#games").press("Home")
    expect(page.locator(".value")).to_have_text(["?"] * 16)
    page.locator("#play-learning").click()
    expect(page.locator("#n-games")).to_have_text("10,000", timeout=20_000)
    expect(page.locator(".value", has_text="?")).to_have_count(0)
    page.locator("#games").press("ArrowLeft")
    page.locator("#play-it").click()
    expect(page.locator("#levels label")).to_have_count(6)
    expect(page.locator("#levels :checked + span")).to_contain_text("9,000")


def test_five_heaps_come_with_a_table_and_big_boards_with_a_network(visit):
    page = visit("heaps=1-3-5-7-9&last=loses")
    expect(page.locator("#levels label").nth(2)).to_contain_text("500,000", timeout=20_000)
    page.locator("#open-boards").click()
    page.get_by_role("button", name="Big").click()
    expect(page.locator("#levels input:disabled")).to_have_count(3)
    expect(page.locator("#levels :checked")).to_have_value("perfect")
    page.locator("[data-do=menu]").locator("visible=true").click()
    page.get_by_role("button", name="Network").click()
    click(page, 0, 1)
    expect(page.locator("#say")).to_contain_text("Opponent took")
    rules = NimRules((3, 31, 12, 25, 7, 18, 29, 5, 22, 14, 27, 10))
    assert not theory.is_winning(rules, heaps_of(page))


def test_a_player_of_the_user(visit, agent):
    page = visit("heaps=2-3&last=loses&vs=my.agent&first=opponent")
    expect(page.locator("#levels :checked + span")).to_contain_text("my.agent")
    expect(page.locator("#say")).to_contain_text("Opponent took")
    rules = NimRules((2, 3))
    mask = rules.action_mask((2, 3))
    move = rules.moves[agent.act(np.array([2, 3]), mask)]
    heaps = heaps_of(page)
    assert heaps == rules.apply((2, 3), rules.action(*move)).tolist()
    page.locator("[data-value=learn]").click()
    values = agent.q_values(np.array(heaps))[rules.action_mask(heaps) == 1]
    shown = [float(text.replace("−", "-")) for text in page.locator(".value").all_inner_texts()]
    assert sorted(shown) == pytest.approx(sorted(values), abs=0.006)
    expect(page.locator("#learn-figures")).to_be_hidden()  # they are those of the page's learner
    page.reload()
    expect(page.locator("#levels :checked + span")).to_contain_text("my.agent")


def test_damaged_players_are_named(visit):
    page = visit()
    players = [{"name": "mine", "heaps": [2, 3], "max_take": None, "misere": True, "probabilities": [1]}]
    page.route("**/players.json", lambda route: route.fulfill(json=players))
    page.reload()
    expect(page.locator("#toast")).to_have_text("The table of “mine” is damaged: 2-3 needs 60 numbers.")


@pytest.mark.parametrize(
    ("heaps", "most", "error"),
    [
        ("1 three 5", "", "“three” is not a number. Write sizes such as 1 3 5 7."),
        ("", "", "Write the size of each heap, such as 1 3 5 7."),
        ("1 0 5", "", "A heap needs at least 1 block. Leave the 0 out."),
        ("1 " * 18, "", "At most 15 heaps fit. You wrote 18."),
        ("99", "", "A heap can have at most 50 blocks. You wrote 99."),
        ("3 3", "0", "A move takes at least 1 block. Write 1 or more, or leave it empty."),
        ("3 3", "x", "Write a whole number, or leave it empty for any number."),
    ],
)
def test_a_wrong_board_gets_one_sentence(modules, heaps, most, error):
    errors = modules("([heaps, most]) => game.readBoard(heaps, most, true).errors", [heaps, most])
    assert [text for text in errors.values() if text] == [error]


def test_your_own_board(visit):
    page = visit()
    page.locator("#open-boards").click()
    page.get_by_label("Heaps").fill("1 x")
    page.get_by_role("button", name="Play this board").click()
    expect(page.locator("#e-heaps")).to_contain_text("“x” is not a number")
    expect(page.get_by_label("Heaps")).to_be_focused()
    page.get_by_label("Heaps").fill("2,4 6")
    page.get_by_label("Most blocks").fill("2")
    page.get_by_text("wins normal").click()
    page.get_by_role("button", name="Play this board").click()
    expect(page.locator("#board-name")).to_have_text("2-4-6")
    assert heaps_of(page) == [2, 4, 6]
    expect(page.locator("#how")).to_contain_text("wins. Click one of the top 2 blocks.")


@pytest.mark.parametrize(
    "link",
    ["heaps=9-x", "heaps=99", "heaps=3-4&take=0", "last=maybe", "moves=A2", "moves=Z1", "vs=nobody", "first=me"],
)
def test_a_broken_link_opens_the_first_board(visit, link):
    page = visit(link)
    expect(page.locator("#toast")).to_contain_text("This link is broken.")
    assert heaps_of(page) == [1, 3, 5, 7]
    click(page, 3, 1)
    expect(page.locator("#say")).to_contain_text("Opponent took")


def test_a_link_opens_the_position_again(visit):
    page = visit("heaps=2-4&last=wins&take=3&vs=perfect&first=opponent&moves=B2.A1")
    expect(page.locator("#say")).to_contain_text("Opponent took")
    heaps, link = heaps_of(page), page.url.partition("#")[2]
    again = visit(link)
    assert heaps_of(again) == heaps
    assert again.url == page.url
    again.evaluate("location.hash = 'heaps=2-2&vs=friend&moves=A1'")
    expect(again.locator(".heap b")).to_have_text(["1", "2"])


# --- What it looks like -----------------------------------------------------------------------------

IN_EVERY_PANEL = """async (faultsNow) => {
  const found = {};
  for (const panel of ["moves", "teach", "learn", "none"]) {
    document.querySelector(`[data-value=${panel === "none" ? "learn" : panel}]`).click();
    for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
    found[panel] = faultsNow();
  }
  return found;
}"""
FAULTS = """() => {
  const faults = [], root = document.documentElement;
  const board = document.querySelector("#board").getBoundingClientRect();
  if (root.scrollWidth > innerWidth || root.scrollHeight > innerHeight) faults.push("the page scrolls");
  for (const block of document.querySelectorAll(".block")) {
    const box = block.getBoundingClientRect();
    const isCut = box.top < board.top - 3 || box.bottom > board.bottom
      || box.left < board.left - 1 || box.right > board.right + 1;
    if (isCut) faults.push("a block is cut");
    if (box.width < 4 || box.height < 10) faults.push(`a block of ${box.width} x ${box.height}`);
  }
  const controls = "header button, #status, #status button, #actions button, #replay button, #rail button";
  for (const node of document.querySelectorAll(controls)) {
    const box = node.getBoundingClientRect();
    if (!node.checkVisibility()) continue;
    const isOff = box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight;
    if (isOff) faults.push(`${node.id} is off`);
    if (node.scrollWidth > node.clientWidth + 1) faults.push(`the text of ${node.id || node.textContent} is cut`);
  }
  const targets = "button, select, input:not([type=radio], [type=checkbox]), .segments label, .switch";
  for (const node of document.querySelectorAll(targets)) {
    const box = node.getBoundingClientRect();
    if (node.checkVisibility() && (box.width < 43.9 || box.height < 43.9)) {
      faults.push(`${node.id || node.textContent.trim()} is ${box.width} x ${box.height}`);
    }
  }
  return [...new Set(faults)];
}"""


@pytest.mark.parametrize(
    "link", [CLASSIC, f"{CLASSIC}&moves=D2.B1.C3.D4.C2.B2.A1.D1", "heaps=21&take=3&last=wins"]
)
def test_nothing_scrolls_and_nothing_is_cut(visit, link):
    page = visit(link)
    faults = {}
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for panel, found in page.evaluate(f"({IN_EVERY_PANEL})({FAULTS})").items():
            if found:
                faults[width, height, panel] = found
    assert faults == {}


@pytest.mark.parametrize("link", ["heaps=" + "-".join(["50"] * 15), "heaps=3-31-12-25-7-18-29-5-22-14-27-10"])
def test_large_boards_fit(visit, link):
    page = visit(link)
    faults = {}
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => new Promise(requestAnimationFrame)")
        if found := [fault for fault in page.evaluate(FAULTS) if "a block of" not in fault]:
            faults[width, height] = found
    assert faults == {}


def test_axe_finds_no_violation_in_light_and_dark(visit):
    page = visit(f"{CLASSIC}&moves=D2.B1")
    page.add_script_tag(path=AXE)

    def check(state):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            only = "{}" if scheme == "light" else "{ runOnly: ['color-contrast'] }"  # the rest is the same in dark
            violations = page.evaluate(f"axe.run({only})")["violations"]
            found = [(each["id"], [node["html"][:100] for node in each["nodes"]][:3]) for each in violations]
            assert found == [], (state, scheme)

    page.locator("[data-value=teach]").click()
    block(page, 2, 2).hover()
    check("a chosen move")
    page.locator("[data-value=learn]").click()
    check("values")
    for dialog in ("boards", "menu"):
        page.locator(f"[data-do={dialog}]").locator("visible=true").click()
        check(dialog)
        page.keyboard.press("Escape")
    page.evaluate(f"location.hash = '{CLASSIC}&moves=D2.B1.C3.D4.C2.B2.A1.D1'")
    expect(page.locator("#status")).to_have_class("p0 over")
    page.locator("[data-value=moves]").click()
    check("the end")
    page.locator(".move").nth(5).click()
    check("a mistake")


def test_the_theme_is_that_of_the_documentation(visit):
    page = visit(color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(250, 248, 243)"
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.reload()
    assert page.evaluate(background) == "rgb(20, 22, 28)"
    page.locator("[data-do=menu]").locator("visible=true").click()
    page.locator("#menu [data-do=theme]").click()
    assert page.evaluate(background) == "rgb(250, 248, 243)"
    assert page.evaluate("localStorage.getItem('theme')") == "light"


@pytest.mark.parametrize("reduced_motion", ["reduce", "no-preference"])
def test_motion(visit, reduced_motion):
    page = visit(reduced_motion=reduced_motion)
    page.evaluate(
        """() => { window.motions = 0;
                   addEventListener("animationstart", () => motions++);
                   addEventListener("transitionstart", () => motions++); }"""
    )
    click(page, 3, 2)
    expect(page.locator("#say")).to_contain_text("Opponent took")
    assert (page.evaluate("motions") == 0) == (reduced_motion == "reduce")


def test_forced_colors_show_the_choice(visit):
    page = visit(forced_colors="active")
    block(page, 3, 2).hover()
    chosen, other = (
        page.evaluate("(node) => getComputedStyle(node).backgroundColor", node.element_handle())
        for node in (page.locator(".chosen").first, page.locator(".block:not(.chosen)").first)
    )
    assert chosen != other
