"""play_in_browser.py in a real browser: whole games by mouse and keyboard, on a desk and on a phone.

Screenshots are kept in results/browser. The browser is the system's Chromium, or else Playwright's own (which
``playwright install chromium`` brings).
"""

import contextlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright
from scripts import ENVIRONMENT, EXAMPLES, check_refused, run, run_without

import agents
from nim_env import NimRules, theory
from nim_env.gym_env import NimEnv

expect.set_options(timeout=20_000)

PICTURES = EXAMPLES.parent / "results" / "browser"
DESK, PHONE = {"width": 1200, "height": 900}, {"width": 375, "height": 760}
MINE = NimRules((2, 3, 4), max_take=3)


def start(*arguments, folder):
    """The server of the page on a free port, and its address."""
    server = subprocess.Popen(
        [sys.executable, EXAMPLES / "play_in_browser.py", "--no-browser", *map(str, arguments)],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    line = server.stdout.readline()
    found = re.search(r"Nim is at (http://127\.0\.0\.1:(\d+)) \(Ctrl-C stops it\)", line)
    assert found, line + server.communicate(timeout=30)[0]
    for _ in range(300):  # the address is printed before the server accepts connections
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", int(found[2]))):
            break
        time.sleep(0.1)
    return server, found[1]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The file of a trained agent."""
    env = NimEnv(MINE.heaps, MINE.max_take, opponent=None)
    agent = agents.QLearningAgent(env.observation_space, env.action_space, seed=0)
    agents.train(agent, env, 500, seed=0)
    path = tmp_path_factory.mktemp("saved") / "my.agent"
    agent.save(path)
    return path


@pytest.fixture(scope="module")
def address(saved):
    """Where the page is; the server must stop at Ctrl-C in one line, and have said nothing else."""
    server, address = start("--port", 0, "--seed", 0, "--agents", saved, folder=saved.parent)
    yield address
    server.send_signal(signal.SIGINT)
    said, _ = server.communicate(timeout=30)
    assert said == "\nstopped\n"
    assert server.returncode == 130
    assert [path.name for path in saved.parent.iterdir()] == ["my.agent"]  # nothing is left behind


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome")
        )
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, address):
    """Opens the page in a browser of its own; nothing may go wrong there, nor be asked for elsewhere."""
    contexts, wrong = [], []

    def visit(size=DESK, *, cookies=()):
        context = browser.new_context(viewport=size)
        context.add_cookies([{"url": address, **cookie} for cookie in cookies])
        contexts.append(context)
        return open_page(context)

    def open_page(context):
        page = context.new_page()
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if is_local(request.url) else wrong.append(request.url))
        page.goto(address)
        expect(status(page)).to_contain_text("Your turn.")
        return page

    def is_local(url):
        return url.startswith((f"{address}/", "data:", "blob:", address.replace("http", "ws")))

    visit.another = open_page
    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def status(page):
    return page.get_by_role("status")


def heaps(page):
    """The heap sizes as they are drawn, which must be those that are written."""
    drawn = page.eval_on_selector_all(
        ".nim-heap",
        """heaps => heaps.map(heap => [heap.querySelectorAll("[data-state=there]").length,
                                       Number(heap.querySelector(".nim-number").innerText),
                                       heap.querySelectorAll("button:not([inert])").length])""",
    )
    assert all(len(set(numbers)) == 1 for numbers in drawn)
    return [numbers[0] for numbers in drawn]


def item(page, heap, count):
    return page.get_by_role("button", name=re.compile(rf"^take {count} from heap {heap}\b"))


def click(page, heap, count):
    item(page, heap, count).click()


def type_keys(page, heap, count):
    """Goes to an object by Tab and arrow keys, and takes it by Enter."""
    tab_to(page, r"^take 1 from heap \d+")
    focused = name_of_focus(page)
    here = int(re.search(r"heap (\d+)", focused)[1])
    there = [number for number, left in enumerate(heaps(page)) if left]
    steps = there.index(heap) - there.index(here)
    for _ in range(abs(steps)):
        page.keyboard.press("ArrowRight" if steps > 0 else "ArrowLeft")
    for _ in range(count - 1):
        page.keyboard.press("ArrowDown")
    assert name_of_focus(page).startswith(f"take {count} from heap {heap}")
    page.keyboard.press("Enter")


def name_of_focus(page):
    return page.evaluate(
        """() => { const focused = document.activeElement;
                   return focused.ariaLabel || focused.innerText || ""; }"""
    )


def tab_to(page, pattern):
    """Presses Tab until something of that name has the focus."""
    for _ in range(60):
        if re.search(pattern, name_of_focus(page), re.IGNORECASE):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no Tab leads to {pattern}")


def pick(page, *, game=None, fields=None, opponent=None, first=None, switch=None):
    """Fills in the next game and begins it, by mouse."""
    if game:
        page.get_by_role("button", name=game, exact=True).click()
    for label, text in (fields or {}).items():
        page.get_by_label(label).fill(text)
    if switch is not None:
        toggle = page.get_by_role("switch", name="Whoever takes the last object loses")
        if (toggle.get_attribute("aria-checked") == "true") is not switch:
            toggle.click()
    for label, choice in (("Opponent", opponent), ("Who starts", first)):
        if choice:
            page.get_by_label(label).click()
            page.get_by_role("option", name=choice).click()
    page.get_by_role("button", name="New game").click()


def pick_by_keys(page, opponent):
    """Picks three heaps, an opponent, and the person to start, with the keyboard alone."""
    tab_to(page, "^Three heaps$")
    page.keyboard.press("Space")
    for label, choice in (("Opponent", opponent), ("Who starts", "^you$")):
        tab_to(page, label)
        page.keyboard.press("Space")
        options = page.get_by_role("option")
        expect(options.first).to_be_visible()
        names = [name.strip() for name in options.all_inner_texts()]
        here = next(n for n, option in enumerate(options.all()) if option.get_attribute("aria-selected") == "true")
        there = next(n for n, name in enumerate(names) if re.search(choice, name))
        for _ in range(abs(there - here)):
            page.keyboard.press("ArrowDown" if there > here else "ArrowUp")
        page.keyboard.press("Enter")
        expect(options.first).to_be_hidden()
    page.keyboard.press("Escape")
    tab_to(page, "^New game$")
    page.keyboard.press("Enter")


def keep(page, name):
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.locator(".nim-page").screenshot(path=PICTURES / f"{name}.png")


# --- Whole games ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("take", [click, type_keys], ids=["mouse", "keyboard"])
@pytest.mark.parametrize(("opponent", "wins"), [("random play", True), ("the expert", False)])
def test_a_whole_game(visit, size, take, opponent, wins):
    """3-4-5 is won for whoever starts and plays well, and lost to the expert by a first move of 1."""
    page, rules = visit(size), NimRules((3, 4, 5), misere=False)
    if take is click:
        pick(page, game="Three heaps", opponent=opponent, first=re.compile("^you$"))
    else:
        pick_by_keys(page, opponent)
    expect(page.locator(".nim-heap")).to_have_count(3)
    expect(status(page)).to_have_text("Your turn.")
    name = f"{'won' if wins else 'lost'}_{take.__name__}_{size['width']}"
    left = heaps(page)
    assert left == [3, 4, 5]
    for ply in range(12):
        winning = np.flatnonzero(theory.winning_action_mask(rules, left))
        moves = rules.legal_moves(left)
        heap, count = rules.moves[winning[0]] if wins else (0, 1) if ply == 0 else moves[0]
        board = page.locator(".nim-board")
        stamp = board.get_attribute("data-stamp")
        take(page, heap, count)
        expect(board).not_to_have_attribute("data-stamp", stamp)
        expect(status(page)).to_contain_text(f"You took {count} from heap {heap}.")
        if "Your turn." not in status(page).inner_text():
            break
        if ply == 0:
            keep(page, name)
            page.wait_for_timeout(500)  # for a menu that is still closing, which must not take the focus
        expect(page.locator(".nim-object:focus")).to_have_attribute("data-count", "1")
        replied = re.search(r"took (\d+) from heap (\d+)\. Your turn\.$", status(page).inner_text())
        after = rules.apply(left, rules.action(heap, count))
        after = rules.apply(after, rules.action(int(replied[2]), int(replied[1])))
        left = heaps(page)
        assert left == after.tolist()
        ghosts = [page.locator(f"[data-state={whose}]").count() for whose in ("mine", "theirs")]
        assert ghosts == [count, int(replied[1])]
    assert heaps(page) == [0, 0, 0]
    expect(status(page)).to_contain_text("You have won!" if wins else "You have lost.")
    expect(page.get_by_role("button", name="New game")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    keep(page, f"{name}_end")
    page.keyboard.press("Enter")  # a new game at one key, or click
    expect(status(page)).to_have_text("Your turn.")
    assert heaps(page) == [3, 4, 5]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_largest_board_fits(visit, size):
    page = visit(size)
    pick(page, fields={"Heaps, such": " ".join(["50"] * 15)}, opponent="random play", first=re.compile("^you$"))
    expect(page.locator(".nim-heap")).to_have_count(15)
    click(page, 14, 50)
    expect(status(page)).to_contain_text("You took 50 from heap 14. Random play took")
    assert sum(heaps(page)) < 700
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    boxes = [heap.bounding_box() for heap in page.locator(".nim-heap").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= size["width"] for box in boxes)
    keep(page, f"largest_{size['width']}")


# --- Opponents and overlays -----------------------------------------------------------------------


def switch(page, name):
    page.get_by_role("switch", name=name).click()


def says(page):
    """What stands on the objects, and which are marked to win, by heap and count."""
    found = page.eval_on_selector_all(
        ".nim-object:not([inert])",
        "all => all.map(({dataset: d, ariaLabel}) => [d.heap, d.count, d.says || '', d.wins, ariaLabel])",
    )
    return {(int(heap), int(count)): (says, wins == "true", label) for heap, count, says, wins, label in found}


def test_overlays_show_the_agents_values_and_the_truth(visit, saved):
    page, agent = visit(), agents.load(saved)
    pick(page, opponent="my.agent", first=re.compile("^you$"))  # which brings its board
    expect(page.locator(".nim-heap")).to_have_count(3)
    told = "Take 1 to 3 objects from one heap. Whoever takes the last object of all loses."
    expect(page.get_by_text(told)).to_be_visible()
    assert heaps(page) == [2, 3, 4]
    assert {text[:2] for text in says(page).values()} == {("", False)}
    switch(page, "What your opponent thinks of each move")
    expect(page.get_by_text("what it expects, from -1 (lost) to 1 (won)")).to_be_visible()
    switch(page, "Which moves truly win")
    expect(page.get_by_text("wins against perfect play")).to_be_visible()
    keep(page, "overlays")
    for _ in range(2):
        left = heaps(page)
        values = agent.q_values(left)
        wins = theory.winning_action_mask(MINE, left)
        shown = says(page)
        assert sorted(move for move in shown if move[1] <= 3) == MINE.legal_moves(left)
        for (heap, count), (said, is_winning, label) in shown.items():
            if count > 3:
                assert (said, is_winning) == ("", False)
                continue
            action = MINE.action(heap, count)
            assert said == f"{values[action]:+.2f}"
            assert is_winning == wins[action]
            assert label == f"take {count} from heap {heap}, value {said}{', wins' * is_winning}"
        heap, count = MINE.legal_moves(left)[0]
        click(page, heap, count)
        expect(status(page)).to_contain_text(f"You took {count} from heap {heap}. my.agent took")
    switch(page, "What your opponent thinks of each move")
    expect(page.get_by_text("what it expects")).to_be_hidden()
    assert all(not said for said, *_ in says(page).values())


def test_policies_show_how_probable_they_are(visit):
    page = visit()
    pick(page, game="Simple Nim", opponent="the expert", first=re.compile("^you$"))
    expect(page.locator(".nim-heap")).to_have_count(1)
    switch(page, "What your opponent thinks of each move")
    switch(page, "Which moves truly win")
    expect(page.get_by_text("how probably it would make it")).to_be_visible()
    expect(page.locator("[data-wins=true]")).to_have_count(1)
    shown = says(page)
    assert [shown[0, count][:2] for count in (1, 2, 3)] == [("1.00", True), ("0.00", False), ("0.00", False)]
    click(page, 0, 1)
    expect(status(page)).to_contain_text("The expert took")
    click(page, 0, 4 - (20 - heaps(page)[0]))  # to 16, where no move of the expert wins, so it has to draw
    expect(page.locator("[data-wins=true]")).to_have_count(1)


@pytest.mark.parametrize("learner", ["Q-learning", "minimax-Q", "win counting"])
def test_learners_are_trained_under_a_progress_bar(visit, learner):
    page = visit()
    pick(page, opponent=f"{learner}, trained now", fields={"Heaps, such": "2 2"})
    expect(page.locator(".nim-heap")).to_have_count(2)
    page.get_by_label("Training games").fill("1000000")
    page.get_by_role("button", name="New game").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^[\d,]+ of 1,000,000 games$"))).to_be_visible()
    expect(page.get_by_role("progressbar")).not_to_have_attribute("aria-valuenow", "0")
    expect(page.get_by_role("button", name="New game")).to_be_disabled()
    expect(page.locator(".nim-heap").first).to_be_hidden()
    keep(page, f"training_{learner}")
    page.get_by_role("button", name="Stop and play").click()
    expect(page.get_by_role("progressbar")).to_be_hidden()
    expect(status(page)).to_contain_text("Your turn.")
    click(page, 0, 1)
    expect(status(page)).to_contain_text("You took 1 from heap 0. The")


def test_an_agent_is_loaded_from_a_file_of_the_person(visit, saved, tmp_path):
    page = visit()
    other = tmp_path / "other.npz"
    shutil.copy(saved, other)
    page.locator("input[type=file]").set_input_files(other)
    expect(page.get_by_label("Heaps, such")).to_have_value("2 3 4")
    expect(page.get_by_label("Take at most")).to_have_value("3")
    page.get_by_role("button", name="New game").click()
    expect(page.locator(".nim-heap")).to_have_count(3)
    click(page, 2, 1)
    expect(status(page)).to_contain_text("other.npz took")
    broken = tmp_path / "broken.npz"
    broken.write_bytes(saved.read_bytes()[:100])
    page.locator("input[type=file]").set_input_files(broken)
    expect(page.get_by_text("broken.npz is damaged or no saved agent.")).to_be_visible()
    long = tmp_path / f"{'x' * 200}.npz"
    shutil.copy(saved, long)
    page.locator("input[type=file]").set_input_files(long)
    expect(page.get_by_text("broken.npz is damaged")).to_be_hidden()
    expect(page.get_by_label("Opponent")).to_have_value("x" * 36 + ".npz")
    with page.expect_file_chooser():
        page.get_by_role("button", name="Load a saved agent").click()
    page.get_by_label("Opponent").click()
    page.get_by_role("option", name="other.npz").click()
    pick(page, game="Nim")  # whose board it does not know
    expect(
        page.get_by_text("other.npz holds an agent of another game than 1-3-5-7, take any number")
    ).to_be_visible()
    expect(page.locator(".nim-heap")).to_have_count(3)  # the game before goes on


# --- What is refused, and what never corrupts a game ----------------------------------------------


def test_an_illegal_click_is_refused_at_the_heap(visit):
    page = visit()
    pick(page, game="Simple Nim", opponent="random play", first=re.compile("^you$"))
    expect(page.locator(".nim-heap")).to_have_count(1)
    click(page, 0, 4)
    expect(page.locator(".nim-heap").get_by_role("alert")).to_have_text("From heap 0 take 1 to 3.")
    keep(page, "refused")
    assert heaps(page) == [21]
    click(page, 0, 4)
    expect(page.locator(".nim-heap").get_by_role("alert")).to_have_text("From heap 0 take 1 to 3. ")
    click(page, 0, 3)
    expect(status(page)).to_contain_text("You took 3 from heap 0. Random play took")
    expect(page.locator(".nim-heap").get_by_role("alert")).to_have_text("")
    replied = 18 - heaps(page)[0]
    states = page.eval_on_selector_all(".nim-object", "all => all.map(object => object.dataset.state)")
    assert states == ["mine"] * 3 + ["theirs"] * replied + ["there"] * (18 - replied)
    pick(page, fields={"Heaps, such": "5, 5,5,", "Take at most": "2"})
    expect(page.locator(".nim-heap")).to_have_count(3)
    click(page, 1, 3)
    alerts = page.locator(".nim-heap").get_by_role("alert")
    expect(alerts.nth(1)).to_have_text("From heap 1 take 1 to 2.")
    assert [alerts.nth(heap).inner_text() for heap in (0, 2)] == ["", ""]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"Heaps, such": "1 x"}, "Heaps are whole numbers, such as 1 3 5 7."),
        ({"Heaps, such": ""}, "Heaps are whole numbers, such as 1 3 5 7."),
        ({"Heaps, such": "1 -2"}, "Heaps are whole numbers, such as 1 3 5 7."),
        ({"Heaps, such": "1_0"}, "Heaps are whole numbers, such as 1 3 5 7."),
        ({"Heaps, such": "9" * 5000}, "Heaps are whole numbers, such as 1 3 5 7."),
        ({"Take at most": "-3"}, "Take at most: a whole number from 1 to 50."),
        ({"Take at most": "1e30"}, "Take at most: a whole number from 1 to 50."),
        ({"Take at most": "1.5"}, "Take at most: a whole number from 1 to 50."),
        ({"Heaps, such": "0 0"}, "heaps must hold"),
        ({"Heaps, such": "51"}, "A page has room for 15 heaps of up to 50 objects."),
        ({"Heaps, such": " ".join("1" * 16)}, "A page has room for 15 heaps of up to 50 objects."),
    ],
)
def test_a_game_that_does_not_exist_is_refused_in_words(visit, fields, words):
    page = visit()
    left = heaps(page)
    pick(page, fields=fields)
    expect(page.get_by_text(words)).to_be_visible()
    assert heaps(page) == left
    pick(page, game="Nim")
    expect(page.get_by_text(words)).to_be_hidden()


def test_a_reloaded_page_goes_on_and_pages_of_one_browser_agree(visit):
    page = visit()
    pick(page, opponent="random play", first=re.compile("^you$"))
    expect(status(page)).to_have_text("Your turn.")
    click(page, 3, 2)
    expect(status(page)).to_contain_text("You took 2 from heap 3. Random play took")
    told, left = status(page).inner_text(), heaps(page)
    page.reload()
    expect(status(page)).to_have_text(told)
    assert heaps(page) == left
    second = visit.another(page.context)
    expect(status(second)).to_have_text(told)
    heap = next(heap for heap, size in enumerate(left) if size)
    click(second, heap, 1)
    expect(status(second)).to_contain_text(f"You took 1 from heap {heap}.")
    expect(status(page)).to_have_text(status(second).inner_text())
    assert heaps(page) == heaps(second)


def test_two_browsers_play_two_games(visit):
    first, second = visit(), visit(PHONE)
    pick(first, game="Simple Nim", first=re.compile("^you$"))
    pick(second, game="Three heaps", first=re.compile("^you$"))
    expect(first.locator(".nim-heap")).to_have_count(1)
    expect(second.locator(".nim-heap")).to_have_count(3)
    click(first, 0, 2)
    expect(status(first)).to_contain_text("You took 2")
    assert heaps(second) == [3, 4, 5]
    click(second, 1, 2)
    expect(status(second)).to_contain_text("You took 2 from heap 1")
    assert heaps(first)[0] in (16, 17, 18)


@pytest.mark.parametrize("cookie", ["nonsense", "e30.bad.signature", ""])
def test_an_unknown_session_starts_afresh(visit, address, cookie):
    page = visit(cookies=[{"name": f"nim-{address.rpartition(':')[2]}", "value": cookie}])
    assert sum(heaps(page)) > 8
    click(page, 3, 1)
    expect(status(page)).to_contain_text("You took 1 from heap 3.")


def test_enter_in_a_field_begins_the_game_and_what_is_typed_in_a_training_stays(visit):
    page = visit()
    page.get_by_label("Heaps, such").fill("2-2")
    page.get_by_label("Heaps, such").press("Enter")
    expect(page.locator(".nim-heap")).to_have_count(2)
    board = page.locator(".nim-board")
    stamp = board.get_attribute("data-stamp")
    pick(page, opponent="Q-learning, trained now")
    expect(board).not_to_have_attribute("data-stamp", stamp)  # when the opponent is trained
    page.get_by_label("Training games").fill("")
    page.get_by_role("button", name="New game").click()
    expect(page.get_by_text("Training games: a whole number from 1 to 1,000,000.")).to_be_visible()
    page.get_by_label("Training games").fill("1000000")
    page.get_by_label("Training games").press("Enter")
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_label("Heaps, such").fill("4 4")
    page.get_by_role("button", name="Stop and play").click()
    expect(page.get_by_role("progressbar")).to_be_hidden()
    expect(page.get_by_label("Heaps, such")).to_have_value("4 4")
    expect(page.locator(".nim-heap")).to_have_count(2)


def test_two_moves_at_once_are_one(visit):
    page = visit()
    pick(page, opponent="random play", first=re.compile("^you$"))
    expect(status(page)).to_have_text("Your turn.")
    page.evaluate(
        """() => { const heaps = [...document.querySelectorAll(".nim-heap")];
                   for (const number of [3, 2, 3]) heaps[number].querySelector("button").click(); }"""
    )
    expect(page.get_by_text("That came too late: the board had changed. Nothing was taken.")).to_be_visible()
    replied = int(re.search(r"You took 1 from heap 3\. Random play took (\d+)", status(page).inner_text())[1])
    assert sum(heaps(page)) == 15 - replied


@pytest.mark.parametrize(
    "forged",
    [("99", "1", ""), ("-1", "1", ""), ("0", "-1", ""), ("0", "0", ""), ("x", "1", ""), ("3", "1", "7")],
)
def test_messages_that_no_page_sends_change_nothing(visit, forged):
    page = visit()
    pick(page, opponent="random play", first=re.compile("^you$"))
    expect(status(page)).to_have_text("Your turn.")
    page.evaluate(
        """([heap, count, stamp]) => { const board = document.querySelector(".nim-board");
            const button = board.querySelector("button"), real = board.dataset.stamp;
            const before = {...button.dataset};
            Object.assign(button.dataset, {heap, count}); board.dataset.stamp = stamp || real;
            button.click();
            Object.assign(button.dataset, before); board.dataset.stamp = real; }""",
        forged,
    )
    click(page, 3, 1)
    expect(status(page)).to_contain_text("You took 1 from heap 3.")


# --- The command line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "--port must be 0 to 65535; got 70000"),
        (["--port", "eighty"], "--port.*'eighty'"),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 --port 8080 cannot be served: "),
        (["--host", "no such host"], "--host no such host --port 8080 cannot be served: "),
        (["--host", " "], "cannot be served: "),
        (["--agents", "nowhere.agent"], "--agents nowhere.agent is no file or folder"),
        (["--agents", "broken.agent"], "broken.agent is damaged or is not a saved agent"),
        (["--seed", "-1"], "--seed must be 0 or more; got -1"),
        (["--color", "red"], "--color"),
    ],
)
def test_mistakes_are_one_line(arguments, message, tmp_path):
    (tmp_path / "broken.agent").write_text("no agent")
    check_refused(run("play_in_browser.py", "--no-browser", *arguments, folder=tmp_path), message)


def test_a_port_in_use_is_said_so(address, tmp_path):
    port = address.rpartition(":")[2]
    done = run("play_in_browser.py", "--no-browser", "--port", port, folder=tmp_path)
    check_refused(done, f"--port {port} is in use on 127.0.0.1; give another, or 0 for any that is free")


def test_a_missing_library_is_named(tmp_path):
    done = run_without(["nicegui"], "play_in_browser.py", folder=tmp_path)
    check_refused(done, r'nicegui is missing; run pip install -e "\.\[examples,browser\]" in the project folder')


def test_a_library_missing_for_a_model_is_named_at_the_start(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as file:
        file.writestr("policy.pth", "no network")
    arguments = ("--agents", "model.zip", "--no-browser")
    done = run_without(["stable_baselines3"], "play_in_browser.py", *arguments, folder=tmp_path)
    check_refused(done, r'(torch|stable_baselines3) is missing; run pip install -e "\.\[examples,sb3\]"')


def test_ctrl_c_in_a_training_stops_at_once(browser, tmp_path):
    server, address = start("--port", 0, folder=tmp_path)
    page = browser.new_page()
    page.goto(address)
    expect(status(page)).to_contain_text("Your turn.")
    pick(page, opponent="Q-learning, trained now", fields={"Heaps, such": "2 2"})
    expect(page.locator(".nim-heap")).to_have_count(2)
    page.get_by_label("Training games").fill("1000000")
    page.get_by_role("button", name="New game").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    server.send_signal(signal.SIGINT)
    said, _ = server.communicate(timeout=30)
    page.close()
    assert said == "\nstopped\n"
    assert server.returncode == 130
    assert not list(tmp_path.iterdir())
