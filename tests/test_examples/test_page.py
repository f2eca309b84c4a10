"""The page of play_in_browser.py in a headless Chromium: the system's, or else Playwright's own."""

import json
import re
import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason='needs pip install -e ".[dev]"')
pytest.importorskip("axe_playwright_python", reason='needs pip install -e ".[dev]"')
pytest.importorskip("playwright", reason='needs pip install -e ".[dev]"')

import axe_playwright_python
import torch
from play_in_browser import PAGE, make_server, tabulate
from playwright.sync_api import expect, sync_playwright

import agents
from nim_env import NimRules, evaluation, theory
from nim_env.policies import TabularPolicy

from learn_the_rule.network import DigitNetwork, predict

BOARDS = [
    NimRules((1, 3, 5, 7)),
    NimRules((3, 4, 5), max_take=3, misere=False),
    NimRules((21,), max_take=3),
    NimRules((4, 4, 4, 4), max_take=1),
    NimRules((2, 9), misere=False),
]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
DESK, PHONE = {"width": 1280, "height": 720}, {"width": 375, "height": 667}
FAST = """for (const name of ["setTimeout", "setInterval"]) {
  const wait = window[name];
  window[name] = (act, time = 0) => wait(act, time / 20);
}"""
CLASSIC = "heaps=1-3-5-7&last=loses"
LOST = f"{CLASSIC}&vs=random&moves=D2.B1.C3.D4.C2.B1.A1.B1.D1"  # by the third move, your second


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        installed = shutil.which("chromium") or playwright.chromium.executable_path
        if not Path(installed).exists():
            pytest.skip("needs playwright install --with-deps chromium")
        chromium = playwright.chromium.launch(executable_path=installed, args=["--disable-gpu"])
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

    def visit(link=CLASSIC, size=DESK, **options):
        context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
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

    visit.wrong = wrong
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
        names = ("rules", "learner", "network", "words")
        imports = " ".join(f'const {name} = await import("/{name}.js");' for name in names)
        return page.evaluate(f"async (argument) => {{ {imports} return ({function})(argument); }}", argument)

    yield call
    page.close()


def in_page(rules):
    return {"heaps": list(rules.heaps), "max": rules.max_take, "misere": rules.misere}


# --- What the modules compute -----------------------------------------------------------------------


@pytest.mark.parametrize("rules", BOARDS, ids=str)
def test_rules_theory_and_lessons_in_every_position(modules, rules):
    positions = rules.all_positions()
    answers = modules(
        """({ board, positions }) => positions.map((heaps) => {
             const lesson = rules.lessonOf(heaps, board), { move, isWon } = lesson;
             const texts = [words.lessonText(heaps, board, lesson), words.hintText(heaps, board, lesson)];
             const pair = (m) => m && [m.heap, m.count];
             return [rules.isWinning(heaps, board), rules.legalMoves(heaps, board).map(pair),
                     rules.winningMoves(heaps, board).map(pair), isWon, pair(move) ?? null, texts];
           })""",
        {"board": in_page(rules), "positions": positions.tolist()},
    )
    for heaps, (won, legal, wins, lesson_won, move, texts) in zip(positions, answers, strict=True):
        winning = theory.winning_action_mask(rules, heaps)
        assert won == theory.is_winning(rules, heaps)
        assert legal == [list(pair) for pair in rules.legal_moves(heaps)]
        assert wins == [list(rules.moves[action]) for action in np.flatnonzero(winning)]
        assert lesson_won == bool(wins)
        assert move in (wins or [None])
        for text in texts:
            assert text.startswith("In binary,") or not re.search("binary|column|undefined|NaN|null", text)


@pytest.mark.parametrize("rules", [BOARDS[0], BOARDS[2]], ids=str)
def test_the_learner_is_that_of_agents(modules, rules):
    games = 500
    draws = np.random.default_rng(0).random(games * 2 * sum(rules.heaps)).tolist()
    table, mastery = modules(
        """({ board, draws, games }) => {
             const learn = new learner.Learner(board, () => draws[used++]); let used = 0;
             learn.prepare();
             for (let game = 0; game < games; game++) learn.playGame(game);
             return [Array.from(learn.table), learn.expertMastery(learn.table)];
           }""",
        {"board": in_page(rules), "draws": draws, "games": games},
    )
    options = {"heaps": rules.heaps, "max_take": rules.max_take, "misere": rules.misere}
    env = gym.make("nim_env:Nim-v0", opponent=None, **options)
    agent = agents.MinimaxQAgent(env.observation_space, env.action_space, learning_rate=0.5, epsilon=0.5)
    agent.generator = SimpleNamespace(random=iter(draws).__next__)
    agents.train(agent, env, games, seed=0)
    values = agent.q_values(rules.all_positions())
    assert table == values.ravel().tolist()
    legal = np.where(rules.action_mask(rules.all_positions()) == 1, values, -np.inf)
    best = legal == legal.max(axis=1, keepdims=True)  # of several best moves the page draws one
    policy = TabularPolicy(rules, best / best.sum(axis=1, keepdims=True))
    assert mastery == pytest.approx(evaluation.mastery(rules, policy).expert, abs=1e-12)


@pytest.mark.parametrize("name", ["misere", "normal"])
def test_the_network_is_that_of_pytorch_and_plays_perfectly(modules, name):
    weights = json.loads((PAGE / "data" / f"network_{name}.json").read_text())
    network = DigitNetwork()
    network.load_state_dict({key: torch.tensor(value) for key, value in weights.items()})
    rules = NimRules((9, 12, 7, 5, 3, 14), misere=name == "misere")
    positions = np.random.default_rng(1).integers(0, np.add(rules.heaps, 1), (60, 6))
    positions = positions[theory.is_winning(rules, positions) & positions.any(axis=1)]
    values, moves = modules(
        """async ({ board, positions }) => {
             const weights = await network.loadNetwork(board.misere);
             return [positions.map((heaps) => network.networkValue(weights, heaps)),
                     positions.map((heaps) => network.networkMove(weights, heaps, board))];
           }""",
        {"board": in_page(rules), "positions": positions.tolist()},
    )
    assert values == pytest.approx(predict(network, positions), abs=1e-5)
    actions = [rules.action(move["heap"], move["count"]) for move in moves]
    assert theory.winning_action_mask(rules, positions)[np.arange(len(actions)), actions].all()


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


def press(page, name):
    page.get_by_role("button", name=name).click()


def go(page, link):
    page.evaluate("link => { location.hash = link; }", link)


def click(page, heap, count):
    block(page, heap, count).hover()
    expect(page.locator(".chosen")).to_have_count(count)
    block(page, heap, count).click()


def tap(page, heap, count):
    block(page, heap, count).tap()
    expect(page.locator(".chosen")).to_have_count(count)
    page.locator("#take").tap()


def press_keys(page, heap, count):
    page.keyboard.press("ABC"[heap])  # from anywhere
    page.keyboard.press("Home")
    for _ in range(count - 1):
        page.keyboard.press("ArrowDown")
    expect(page.locator(".chosen")).to_have_count(count)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("take", [click, tap, press_keys])
def test_a_whole_game(visit, take):
    options = {"size": PHONE, "has_touch": True, "is_mobile": True} if take is tap else {}
    page = visit("heaps=2-4&last=wins&vs=random", **options)
    rules, heaps = NimRules((2, 4), misere=False), [2, 4]
    while any(heaps):
        move = rules.moves[theory.winning_action_mask(rules, heaps).argmax()]
        take(page, *move)
        is_last = sum(heaps) == move[1]
        expect(page.locator("#say")).to_contain_text("You win!" if is_last else "Your turn")
        heaps = [] if is_last else heaps_of(page)
    expect(page.locator("#how")).to_contain_text("You made no mistake.")
    expect(page.locator("#score")).to_contain_text("You 1, Random 0")
    again = page.get_by_role("button", name="Play again")
    expect(again).to_be_focused()
    {click: again.click, tap: again.tap, press_keys: lambda: page.keyboard.press("Enter")}[take]()
    expect(page.locator("#say")).to_have_text("Your turn")
    assert heaps_of(page) == [2, 4]


def test_replay_undo_and_another_try(visit):
    page = visit(LOST)
    expect(page.locator("#how")).to_contain_text("Your move 2 gave the win away.")
    expect(page.locator("#score")).to_contain_text("You 0, Random 0")  # it was not played here
    press(page, "Show my mistake")
    expect(page.locator("#say")).to_have_text("Your move 2: 3 from C")
    expect(page.locator(".winning")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#say")).to_have_text("You took 3 from C")
    page.keyboard.press("ArrowLeft")
    page.locator("#ply").press("Home")
    expect(page.locator("#say")).to_contain_text("Start")
    page.locator("[data-value=moves]").click()
    page.locator(".move", has_text="2 You").click()
    expect(page.locator("#aim")).to_have_text("It gave the win away.")
    assert heaps_of(page) == [1, 2, 2, 5]
    press(page, "Show better")
    press(page, "Try again from here")
    click(page, 3, 2)
    expect(page.locator("#say")).to_contain_text("took")
    press(page, "Undo")
    assert heaps_of(page) == [1, 2, 5, 5]


def test_the_first_minute_and_the_menu_of_boards(visit):
    page = visit("", size=PHONE)
    status = page.locator("#status")
    assert heaps_of(page) == [1, 3, 5, 7]
    expect(status).to_contain_text("Take as many blocks as you like, from one heap.")
    expect(status).to_contain_text("Whoever takes the last block loses.")
    press(page, "Rule: last loses")
    expect(status).to_contain_text("Whoever takes the last block wins.")
    click(page, 0, 1)
    expect(status).to_contain_text("took")
    page.locator("#new").click()
    press(page, "Let it start")  # since you cannot win by force
    expect(status).to_contain_text("Beginner took")
    page.locator("[data-do=boards]").click()
    expect(page.get_by_label("Heaps")).to_have_value("1 3 5 7")  # the board in play
    expect(page.locator("[name=last]:checked")).to_have_value("wins")
    page.get_by_label("Heaps").fill("1 x")
    press(page, "Play this board")
    expect(page.locator("#e-heaps")).to_contain_text("“x”")
    expect(page.get_by_label("Heaps")).to_be_focused()
    page.get_by_label("Heaps").fill("2,4 6")
    page.get_by_label("Most blocks").fill("2")
    page.get_by_text("loses misère").click()
    press(page, "Play this board")
    expect(page.locator("#board-name")).to_have_text("2-4-6")
    assert heaps_of(page) == [2, 4, 6]
    assert "take=2" in page.url
    go(page, "heaps=2&last=wins&vs=friend")
    for player in ("Player 2’s turn", "Player 2 wins!"):
        click(page, 0, 1)
        expect(page.locator("#say")).to_have_text(player)


def test_training_and_teaching(visit):
    page = visit(f"{CLASSIC}&panel=learn")
    expect(page.locator("#levels button")).to_have_count(6)
    expect(page.locator("#games")).to_have_attribute("max", "41")  # all stages are there
    page.locator("#games").press("End")
    expect(page.locator("#n-games")).to_have_text("20,000")
    expect(page.locator("#n-mastery")).to_have_text("100 %")
    page.locator("#play-it").click()
    expect(page.locator("#levels [aria-pressed=true]")).to_contain_text("Learner")
    page.locator("#games").press("Home")
    expect(page.locator(".valued .value")).to_have_text(["?"] * 16)
    page.locator("#play-learning").click()
    expect(page.locator("#n-games")).to_have_text("20,000", timeout=30_000)
    expect(page.locator(".value", has_text="?")).to_have_count(0)
    go(page, "heaps=1-2&vs=0&panel=learn&stage=0")
    press(page, "Teach it")
    click(page, 1, 2)  # the last block is its
    expect(page.locator("#learn-intro")).to_have_text("It lost. It now trusts 1 from A less: 0.00 → −0.50.")
    expect(page.locator("#n-games")).to_have_text("0 + 1")
    press(page, "+1 game")
    expect(page.locator("#n-games")).to_have_text("0 + 2")
    press(page, "New seed")
    expect(page.locator("#n-games")).to_have_text("0")


def test_big_boards_come_with_a_network(visit):
    page = visit("heaps=1-3-5-7-9&last=loses&vs=master")
    page.route("**/network_*.json", lambda route: route.abort())
    page.locator("[data-do=boards]").click()
    press(page, "Big")
    expect(page.locator("#levels button:disabled")).to_have_count(3)
    expect(page.locator("#toast")).to_contain_text("Perfect plays instead of Master")
    page.locator("[data-value=learn]").click()
    press(page, "Let the network play")
    click(page, 0, 1)
    expect(page.locator("#say")).to_have_text("The network could not be loaded.")
    page.unroute_all()
    press(page, "Try again")
    expect(page.locator("#say")).to_contain_text("Network took")
    rules = NimRules((3, 31, 12, 25, 7, 18, 29, 5, 22, 14, 27, 10))
    assert not theory.is_winning(rules, heaps_of(page))
    visit.wrong.clear()


def test_a_player_of_the_user(visit, agent):
    page = visit("heaps=2-3&last=loses&vs=my.agent&first=opponent&panel=learn")
    expect(page.locator("#levels [aria-pressed=true]")).to_contain_text("my.agent")
    expect(page.locator("#say")).to_contain_text("took")
    rules = NimRules((2, 3))
    move = agent.act(np.array([2, 3]), rules.action_mask((2, 3)))
    heaps = heaps_of(page)
    assert heaps == rules.apply((2, 3), move).tolist()
    values = agent.q_values(np.array(heaps))[rules.action_mask(heaps) == 1]
    shown = [float(text.replace("−", "-")) for text in page.locator(".valued .value").all_inner_texts()]
    assert sorted(shown) == pytest.approx(sorted(values), abs=0.006)
    expect(page.locator("#learn-figures")).to_be_hidden()  # they are those of the page's learner


def test_links(visit):
    page = visit(f"{CLASSIC}&vs=0&first=you&moves=D2.B1.C3.D4&view=2&panel=learn&stage=0")
    expect(page.locator("#n-games")).to_have_text("0")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#board")).to_be_focused()
    go(page, "board")  # names no game
    page.locator("[data-value=moves]").click()
    page.locator("[data-value=learn]").click()
    assert heaps_of(page) == [1, 2, 5, 5]
    assert page.url.endswith("&vs=0&first=you&moves=D2.B1.C3.D4&view=2&panel=learn&stage=0")
    for link in ("heaps=9-x", "heaps=99", "heaps=3-4&take=0", "last=maybe", "moves=A4", "view=x", "vs=nobody"):
        go(page, "heaps=2-4")
        expect(page.locator(".heap")).to_have_count(2)
        go(page, link)
        expect(page.locator(".heap")).to_have_count(4)
        expect(page.locator("#toast")).to_contain_text("This link is broken.")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(page, "Menu")
    press(page, "Copy link")
    expect(page.locator("#toast")).to_contain_text("Link copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_commands_that_replace_a_game(visit):
    page = visit("heaps=3-4-5&vs=random")
    block(page, 2, 1).hover()
    waiting = ("#take", "#levels [data-value=perfect]", "#new")  # the last one counts, after the opponent's move
    page.evaluate("names => names.forEach((name) => document.querySelector(name).click())", waiting)
    expect(page.locator("#toast")).to_contain_text("New game against Random.")
    assert heaps_of(page) == [3, 4, 5]
    page.locator("#toast-undo").dispatch_event("click")  # the notice may be gone on a busy machine
    expect(page.locator("#say")).to_contain_text("Random took")
    assert sum(heaps_of(page)) < 11
    go(page, f"{CLASSIC}&moves=D2.B1")
    page.locator("#levels [data-value=beginner]").focus()
    page.keyboard.press("ArrowRight")
    assert heaps_of(page) == [1, 2, 5, 5]
    page.locator("#levels [data-value=master]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_contain_text("New game against Master.")
    page.locator("#toast-undo").dispatch_event("click")
    assert heaps_of(page) == [1, 2, 5, 5]
    page.locator("#levels [data-value=master]").click()
    for board, name in (("Big", "Perfect"), ("1-3-5-7", "Master")):
        page.locator("[data-do=boards]").click()
        page.locator("#presets button", has_text=board).first.click()
        expect(page.locator("#levels [aria-pressed=true]")).to_contain_text(name)


def test_in_a_frame_and_without_javascript(visit, browser, address):
    page = visit()
    page.evaluate("document.body.append(document.createElement('iframe'))")
    page.locator("iframe").evaluate("(frame, address) => { frame.src = address; }", address)
    heap = page.frame_locator("iframe").locator(".heap").first
    expect(heap).to_have_css("touch-action", "pan-y")  # a swipe scrolls the site
    page = browser.new_page(java_script_enabled=False)
    page.goto(address)
    assert page.locator("#panel").is_hidden()
    assert "<noscript>This page needs JavaScript.</noscript>" in page.content()
    page.close()


def test_teach_me(visit):
    page = visit("", size=PHONE)
    lessons, rule, say = page.locator("#lessons button"), page.locator("#rule"), page.locator("#say")
    page.locator("[data-value=teach]").click()
    expect(page.locator("#board-name")).to_have_text("Lesson 1")
    page.locator("[data-value=teach]").click()
    expect(page.locator("#board-name")).to_have_text("1-3-5-7")
    page.locator("[data-value=teach]").click()
    for lesson, name in enumerate(["Copy", "Make equal", "Pairs", "The odd group", "Last loses"]):
        expect(lessons.nth(lesson)).to_have_text(f"{lesson + 1} {name}")
        expect(lessons.nth(lesson)).to_have_attribute("aria-pressed", "true")
        expect(say).to_contain_text("Your turn")
        expect(rule).to_be_in_viewport(ratio=1)
        assert block(page, 1, 1).bounding_box()["height"] >= 44
        rules = NimRules((7, 7, 7), misere="loses" in rule.inner_text())
        while any(heaps := heaps_of(page)):
            moves = NimRules((7,) * len(heaps), misere=rules.misere)
            press_keys(page, *moves.moves[theory.winning_action_mask(moves, heaps).argmax()])
            expect(say).to_contain_text(re.compile("Your turn|You win"))
        expect(lessons.nth(lesson)).to_have_text(f"✓ {name}")
        page.keyboard.press("Enter")  # the next lesson, or a whole game
    page.reload()  # the progress stays in the browser
    expect(page.locator("#board-name")).to_have_text("1-3-5-7")
    page.locator("[data-value=teach]").click()
    expect(page.locator("#lessons button", has_text="✓")).to_have_count(5)
    go(page, "heaps=3-4-5&panel=teach")
    expect(page.locator("#live")).to_contain_text("You can win from here.")
    expect(page.locator(".winning")).to_have_count(0)
    page.get_by_text("Show the winning move").click()
    expect(page.locator(".winning")).to_have_count(2)
    block(page, 2, 5).hover()
    expect(page.locator("#live")).to_have_text("✗ This move gives the win away.")


# --- What it looks like -----------------------------------------------------------------------------

FAULTS = """() => {
  const found = new Set(), boxOf = (node) => node.getBoundingClientRect(), all = (names) =>
    [...document.querySelectorAll(names)].filter((node) => node.checkVisibility() && !node.closest("svg, .sr"));
  const board = boxOf(document.querySelector("#board")), panel = boxOf(document.querySelector("#panel"));
  if (board.height < 80) found.add(`the board is ${board.height} px high`);
  for (const node of all("header *, main :not(.block, .block *), #panel, #panel *, #rail *")) {
    const box = boxOf(node), name = node.id || node.className || node.tagName, isIn = node.closest("#panel");
    const isBelow = !isIn && (box.top < -1 || box.bottom > innerHeight + 1);
    const isOff = isBelow || box.left < -1 || box.right > innerWidth + 1;
    if (isOff || (isIn && box.right > panel.right + 1)) found.add(`${name} is off`);
    const isFree = node.matches(".tick, input") || getComputedStyle(node).overflow !== "visible";
    if (!isFree && node.scrollWidth > node.clientWidth + 1 && node.clientWidth) found.add(`${name} overflows`);
  }
  for (const box of all(".block").map(boxOf)) {
    const isCut = box.top < board.top - 3 || box.bottom > board.bottom || box.left < board.left - 1;
    if (isCut || box.right > board.right + 1) found.add("a block is cut");
  }
  for (const node of all("button, .segments label, .switch")) {
    const box = boxOf(node), hasName = node.ariaLabel || node.innerText.trim();
    if (box.width < 43.9 || box.height < 43.9 || !hasName) found.add(`${node.outerHTML} is small or has no name`);
  }
  const notice = boxOf(document.querySelector("#toast"));
  for (const box of ["#board", "#rule", "#status"].map((name) => boxOf(document.querySelector(name)))) {
    const isBeside = box.right <= notice.left || box.left >= notice.right;
    if (!isBeside && box.bottom > notice.top && box.top < notice.bottom) found.add("the notice covers the game");
  }
  const curve = document.querySelector("#curve");
  if (innerWidth === 375 && curve.checkVisibility() && boxOf(curve).bottom > panel.bottom) found.add("the curve is cut");
  if (!document.querySelector("h1").innerText.includes("Nim")) found.add("no h1");
  return [...found];
}"""
LAYOUTS = [(375, 667), (667, 375), (640, 360), (568, 320), (768, 1024), (1280, 720), (1920, 1080), (320, 568)]
VIEWS = [
    *((CLASSIC, panel) for panel in ("", "moves", "teach", "learn")),
    (LOST, ""),
    (f"{LOST}&view=3", "moves"),
    ("heaps=21", "teach"),
    ("heaps=1-50-20-33", "learn"),
    *(("heaps=" + "-".join(["50"] * 15), panel) for panel in ("", "teach")),
]


def test_every_layout(visit):
    page = visit()
    page.evaluate("document.querySelector('#toast-text').textContent = 'New game against Beginner.'")
    found = []
    for link, panel in VIEWS:
        go(page, f"{link}&panel={panel}" if panel else link)
        page.wait_for_timeout(400)
        for width, height in LAYOUTS:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            found += [(width, height, link, panel, fault) for fault in page.evaluate(FAULTS)]
    assert found == []


def test_axe_finds_no_violation_in_light_and_dark(visit):
    page = visit(f"{CLASSIC}&moves=D2.B1&panel=learn")
    page.add_script_tag(path=AXE)

    def check(state, part="html"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            only = {} if scheme == "light" else {"runOnly": ["color-contrast"]}  # the rest is the same in dark
            violations = page.evaluate("([part, only]) => axe.run(part, only)", [part, only])["violations"]
            found = [(each["id"], [node["html"][:100] for node in each["nodes"]][:3]) for each in violations]
            assert found == [], (state, scheme)

    block(page, 2, 2).hover()
    check("learn")
    page.locator("[data-value=teach]").click()
    check("teach", "#panel")
    for dialog in ("boards", "opponents", "menu"):
        page.evaluate("name => document.getElementById(name).showModal()", dialog)
        check(dialog, f"#{dialog}")
        page.keyboard.press("Escape")
    go(page, f"{LOST}&view=3&panel=moves")
    expect(page.locator("#status")).to_have_class("p0 past flagged")
    check("a mistake")
    page.emulate_media(forced_colors="active")
    for chosen in page.locator("[aria-pressed=true] span:visible").all():
        colors = chosen.evaluate("node => [getComputedStyle(node).color, getComputedStyle(node.parentNode).backgroundColor]")
        assert colors[0] != colors[1]
