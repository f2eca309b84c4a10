"""The page of play_in_browser.py in a headless Chromium: the system's, or else Playwright's own."""

import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("axe_playwright_python", reason='needs pip install -e ".[dev]"')
pytest.importorskip("playwright", reason='needs pip install -e ".[dev]"')

import axe_playwright_python
from play_in_browser import PAGE, tabulate
from playwright.sync_api import Error, expect

import agents
from nim_env import ExpertPolicy, NimRules, theory

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}
FAST = """for (const name of ["setTimeout", "setInterval"])
  window[name] = ((wait) => (act, time = 0) => wait(act, time / 20))(window[name]);"""
CLASSIC = "heaps=1-3-5-7&last=loses"
TWENTY_ONE = "heaps=21&last=wins&take=3"
AFTER_TAKE_3 = "stage=20000~take-3~0.2~0.2"
LOST = f"{CLASSIC}&vs=random&moves=D2.B1.C3.D4.C2.B1.A1.B1.D1"  # by the third move, your second
USERS = NimRules((2, 3))  # the board of the user's player


@pytest.fixture(scope="module")
def address(serve):
    """The address of a server."""
    with serve([tabulate("expert", USERS)]) as address:
        yield address


@pytest.fixture
def visit(browser, address):
    """Opens the page; no error may occur there, and no other site may be asked."""
    contexts, wrong = [], []

    def visit(link=CLASSIC, **options):
        contexts.append(browser.new_context(reduced_motion="reduce", **options))
        contexts[-1].add_init_script(FAST)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(address) or wrong.append(asked.url))
        page.goto(f"{address}#{link}")
        expect(page.locator(".heap")).not_to_have_count(0)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def heaps_of(page):
    count = "heap => heap.querySelectorAll('.block:not(.ghost)').length"
    return page.locator(".heap").evaluate_all(f"heaps => heaps.map({count})")


def block(page, heap, count):
    blocks = page.locator(f'[data-heap="{heap}"] .block:not(.ghost)')
    return blocks.nth(blocks.count() - count)


def wait_for_training(page):
    # wait_for_function would take the promise itself for the answer
    while not page.evaluate("import('/state.js').then(({ trainee }) => trainee().isTrained)"):
        page.wait_for_timeout(50)


def press(page, name):
    page.get_by_role("button", name=name).click()


def go(page, link):
    page.evaluate("link => { location.hash = link; }", link)


def click(page, heap, count):
    block(page, heap, count).click()


def tap(page, heap, count):
    block(page, heap, count).tap()
    expect(page.locator(".chosen")).to_have_count(count)
    page.locator("#take").tap()


def press_keys(page, heap, count):
    for key in ("ArrowRight", "ABC"[heap], "Home", *["ArrowDown"] * (count - 1)):  # an arrow from anywhere
        page.keyboard.press(key)
    expect(page.locator(".chosen")).to_have_count(count)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("take", [click, tap, press_keys])
def test_a_whole_game(visit, take):
    page = visit("heaps=2-4&last=wins&vs=random", **(PHONE if take is tap else {}))
    rules, say = NimRules((2, 4), misere=False), page.locator("#say")
    while any(heaps := heaps_of(page)):
        take(page, *rules.moves[theory.winning_action_mask(rules, heaps).argmax()])
        expect(say).to_have_text(re.compile("took.*Your turn|You win!"))
    expect(say).to_have_text("You win!")
    expect(page.locator("#how")).to_contain_text("You made no mistake.")
    expect(page.locator("#score")).to_contain_text("You 1, Random 0")
    again = page.get_by_role("button", name="Play again")
    {click: again.click, tap: again.tap, press_keys: lambda: page.keyboard.press("Enter")}[take]()
    expect(say).to_have_text("Your turn")


def test_replay_undo_and_another_try(visit):
    page = visit(LOST)
    expect(page.locator("#how")).to_contain_text("Your move 2 gave the win away.")
    press(page, "Show my mistake")
    expect(page.locator("#say")).to_have_text("Your move 2: 3 from C")
    expect(page.locator(".winning")).to_have_count(1)
    expect(page.locator("[data-heap='2'] .mistake")).to_have_count(3)  # the move that was made
    page.locator("[data-value=moves]").click()
    page.locator(".move").nth(2).click()
    assert heaps_of(page) == [1, 2, 2, 5]
    page.keyboard.press("ArrowLeft")
    press(page, "Try again from here")
    click(page, 3, 2)
    expect(page.locator("#say")).to_contain_text("took")
    press(page, "Undo")
    assert heaps_of(page) == [1, 2, 5, 5]


def test_a_win_after_another_try(visit):
    page = visit("heaps=1-2&last=wins&vs=random&moves=B2.A1")  # which leaves one legal move each time
    press(page, "Show my mistake")
    press(page, "Try again from here")
    click(page, 1, 1)
    expect(page.locator("#say")).to_contain_text("Your turn")
    click(page, heaps_of(page).index(1), 1)
    expect(page.locator("#say")).to_have_text("You win!")
    expect(page.locator("#how")).to_have_text("You made no mistake in the end.")


def test_every_better_move_is_drawn(visit):
    rules = NimRules((2, 2, 3), misere=False)
    page = visit("heaps=2-2-3&last=wins&vs=random&moves=C1.A2.B2.C2&view=0&panel=moves")
    better = [rules.moves[action] for action in np.flatnonzero(theory.winning_action_mask(rules, rules.heaps))]
    for heap in range(3):
        count = sum(count for each, count in better if each == heap)
        expect(page.locator(f"[data-heap='{heap}'] .winning")).to_have_count(count)
    expect(page.locator(".block.mistake")).to_have_count(1)


def test_the_first_minute_and_another_board(visit):
    page = visit("", **PHONE)
    status = page.locator("#status")
    assert heaps_of(page) == [1, 3, 5, 7]
    expect(status).to_contain_text("Take as many blocks as you like, from one heap.")
    expect(status).to_contain_text("Whoever takes the last block loses.")
    press(page, "Last block loses")
    expect(status).to_contain_text("Whoever takes the last block wins.")
    click(page, 0, 1)
    page.locator("#new").click()
    press(page, "Let Beginner start")  # since you cannot win by force
    expect(status).to_contain_text("Beginner took")
    page.locator("[data-do=boards]").click()
    page.get_by_label("Heaps").fill("1 x")
    press(page, "Play this board")
    expect(page.locator("#e-heaps")).to_contain_text("“x”")
    page.get_by_label("Heaps").fill("2,4 6")
    page.get_by_label("Most blocks").fill("2")
    press(page, "Play this board")
    expect(page.locator("#board-name")).to_have_text("2-4-6")
    expect(page).to_have_url(re.compile("heaps=2-4-6&last=wins&take=2"))
    go(page, "heaps=2&last=wins&vs=friend")
    for player in ("Player 2’s turn", "Player 2 wins!"):
        click(page, 0, 1)
        expect(page.locator("#say")).to_have_text(player)


def test_training_and_teaching(visit):
    page = visit(f"{CLASSIC}&panel=learn")
    games = page.locator("#n-games")
    wait_for_training(page)
    page.locator("#games").press("End")
    expect(games).to_have_text("20,000")
    expect(page.locator("#n-mastery")).to_have_text("100%")
    assert heaps_of(page) == [1, 3, 5, 4]  # since the start is lost
    expect(page.locator("#status")).to_contain_text("3 from B wins. Starting 1-3-5-7 loses.")
    expect(page.locator(".minus")).to_have_count(12)  # one move wins
    page.locator("#new").click()  # from the start
    expect(page.locator("#learn-hint")).to_contain_text("No move wins from here")
    expect(page.locator(".minus")).to_have_count(16)
    page.locator("#games").press("Home")
    expect(page.locator(".valued .value")).to_have_text(["?"] * 16)
    press(page, "Train")
    expect(page.locator("#train")).to_have_text("Pause")
    expect(games).to_have_text("20,000", timeout=60_000)
    go(page, "heaps=1-2&vs=0&panel=learn&stage=0")
    press(page, "Teach it")
    click(page, 1, 2)  # the last block is its
    expect(page.locator("#how")).to_have_text("It lost. It now trusts 1 from A less: 0.00 → −0.50.")
    expect(games).to_have_text("1")


def test_another_board_ends_the_training_that_is_shown(visit):
    page = visit()
    for heaps, rest in (("2-3", ""), ("3-4-5", "&vs=random&first=opponent")):
        go(page, f"{CLASSIC}&panel=learn")
        expect(page.locator(".heap")).to_have_count(4)
        wait_for_training(page)
        page.locator("#games").press("Home")
        press(page, "Train")
        expect(page.locator("#train")).to_have_text("Pause")
        go(page, f"heaps={heaps}{rest}&panel=learn")
        expect(page.locator(".heap")).to_have_count(len(heaps.split("-")))
        expect(page.locator("#say")).to_have_text(re.compile("^Your turn|took"))
        expect(page.locator("#train")).to_have_text("Train" if rest else "Continue")  # Beginner's 20 games


def test_a_fault_in_drawing_is_shown_and_the_page_goes_on(visit):
    page = visit("heaps=3-4-5&vs=random")
    page.evaluate("""() => {
      const { prototype } = CSSStyleDeclaration, { setProperty } = prototype;
      prototype.setProperty = () => { throw new Error("broken"); };
      addEventListener("unhandledrejection", (event) => {
        event.preventDefault(); // not an error of this test
        prototype.setProperty = setProperty;
      });
    }""")
    page.locator("#new").click()
    expect(page.locator("#toast")).to_contain_text("broken")
    click(page, 2, 1)
    expect(page.locator("#say")).to_contain_text("Random took")


def test_a_pointer_that_stays_in_a_block_draws_nothing(visit):
    page = visit(f"{CLASSIC}&panel=teach")
    block(page, 2, 2).hover()
    expect(page.locator(".chosen")).to_have_count(2)
    count = """async () => {
      let changes = 0;
      const observer = new MutationObserver((list) => { changes += list.length; });
      observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      await new Promise((moved) => document.addEventListener("pointermove", moved, { once: true }));
      await new Promise((done) => setTimeout(done));
      return changes;
    }"""
    box = block(page, 2, 2).bounding_box()
    page.evaluate(f"() => {{ window.changes = ({count})(); }}")
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    assert page.evaluate("changes") == 0


def test_an_opponent_keeps_its_table_whatever_is_shown(visit):
    page, rules = visit(f"{CLASSIC}&vs=master&panel=learn"), NimRules()
    wait_for_training(page)
    expect(page.locator("#key")).to_contain_text("Master: ")
    page.locator("#games").press("Home")
    page.locator("#new").click()  # from the start
    for _ in range(2):
        while max(heaps := heaps_of(page)) > 1:
            click(page, heaps.index(max(heaps)), 1)
            expect(page.locator("#say")).to_contain_text(re.compile("Your turn|You lose"))
            assert not theory.is_winning(rules, heaps_of(page))
        page.locator("#new").click()
    expect(page.locator("#levels [aria-pressed=true]")).to_have_text("Master10,000 games")
    go(page, f"{CLASSIC}&vs=100&moves=D1.C1&panel=learn")
    expect(page.locator("#n-games")).to_have_text("100")
    expect(page.locator("#key")).to_contain_text("Learner: ")
    page.locator("#games").press("End")
    expect(page.locator("#n-games")).to_have_text("20,000")
    expect(page.locator("#levels [aria-pressed=true]")).to_have_text("Learner100 games")  # in a running game
    page.locator("#play-it").click()
    expect(page.locator("#levels [aria-pressed=true]")).to_have_text("Learner20,000 games")
    page.locator("#games").press("Home")
    page.locator("#games").press("PageUp")
    games = page.locator("#n-games").inner_text()  # before the first move it is the opponent at once
    expect(page.locator("#levels [aria-pressed=true]")).to_have_text(f"Learner{games} games")
    expect(page.locator("#play-it")).to_be_hidden()
    go(page, "heaps=1&last=loses&panel=learn")  # no position can be won
    expect(page.locator("#n-mastery")).to_have_text("100%")


def test_each_opponent_has_its_score(visit):
    page = visit("heaps=2&last=wins&vs=random")
    for player, name, score in (("random", "Random", 1), ("perfect", "Expert", 1), ("random", "Random", 2)):
        page.locator(f"#players [data-value={player}]").dispatch_event("click")
        expect(page.locator("#say")).not_to_have_text("You win!")
        click(page, 0, 2)
        expect(page.locator("#score-text")).to_have_text(f"Score: You {score}, {name} 0")


def test_a_dialog_closes_outside_it_alone(visit):
    page = visit()
    page.locator("[data-do=boards]").click()
    page.get_by_label("Heaps").fill("2 3")
    dialog = page.locator("#boards")
    dialog.click(position={"x": 5, "y": 5})
    expect(page.get_by_label("Heaps")).to_have_value("2 3")
    expect(dialog).to_be_visible()
    page.mouse.click(3, 3)
    expect(dialog).to_be_hidden()


def test_a_move_and_a_link_while_the_opponent_thinks(visit):
    page = visit("heaps=3-4-5&vs=random")
    page.add_init_script("setTimeout = ((wait) => (act, time = 0) => wait(act, 20 * time))(setTimeout)")
    page.reload()
    expect(page.locator(".heap")).to_have_count(3)
    click(page, 2, 1)
    expect(page.locator("#say")).to_have_text("Random is choosing …")
    expect(page).to_have_url(re.compile("moves=C1$"))
    go(page, "heaps=2-4&vs=random")
    expect(page.locator(".heap")).to_have_count(2)


def test_two_tabs_keep_the_lessons_of_both(visit):
    page = visit("heaps=2-2&panel=teach")
    page.evaluate("localStorage.setItem('nim-lessons', '3')")  # another tab
    page.locator("#lessons button").nth(1).click()
    rules = NimRules((2, 5), misere=False)
    while any(heaps := heaps_of(page)):
        click(page, *rules.moves[theory.winning_action_mask(rules, heaps).argmax()])
        expect(page.locator("#say")).to_contain_text(re.compile("Your turn|You win"))
    expect(page.locator("#lessons button", has_text="✓")).to_have_count(2)
    assert sorted(page.evaluate("localStorage.getItem('nim-lessons')").split(",")) == ["1", "3"]


def test_no_one_waits_for_the_end_of_the_training(visit):
    page = visit("heaps=1-3-5-7-9&last=loses&vs=beginner&first=opponent")
    is_training = """name => new Promise((found) => new MutationObserver(async (_, observer) => {
      if (!document.querySelector("#say").textContent.includes(`${name} took`)) return;
      observer.disconnect();
      found(!(await import("/state.js")).state.learner.isTrained);
    }).observe(document.querySelector("#say"), { childList: true }))"""
    expect(page.locator("#say")).to_contain_text("Beginner took")
    for name, link in (("Student", "1-3-5-7-9&vs=student"), ("Expert", "1-3-5-7-8&vs=master")):
        page.evaluate(f"name => {{ window.found = ({is_training})(name); }}", name)
        go(page, f"heaps={link}&last=loses&first=opponent")
        if name == "Expert":  # which is chosen while Master waits for the end
            expect(page.locator("#say")).to_have_text("Master is choosing …")
            page.locator("#levels [data-value=perfect]").click()
        assert page.evaluate("found")


def test_big_boards_come_with_a_network(visit):
    page = visit("heaps=1-3-5-7-9&last=loses&vs=master&panel=learn")
    page.route("**/network_*.json", lambda route: route.abort())
    page.locator("[data-do=boards]").click()
    press(page, "Big")
    expect(page.locator("#toast")).to_contain_text("The expert plays instead of Master")
    press(page, "Let the network play")
    click(page, 0, 1)
    expect(page.locator("#say")).to_have_text("The network could not be loaded.")
    page.unroute_all()
    press(page, "Try again")
    expect(page.locator("#say")).to_contain_text("Network took")


def test_a_player_of_the_user(visit):
    page = visit("heaps=2-3&last=loses&vs=expert&first=opponent&panel=learn")
    expect(page.locator("#say")).to_contain_text("took")
    heaps = np.array(heaps_of(page))
    assert heaps.tolist() == [2, 2]  # the only winning move
    expect(page.locator("#learn-hint")).not_to_contain_text("No move wins")  # it speaks of the learner
    expected = ExpertPolicy(USERS).action_probabilities(heaps, USERS.action_mask(heaps))
    shown = [float(text) for text in page.locator(".valued .value").all_inner_texts()]
    assert sorted(shown) == pytest.approx(sorted(expected[USERS.action_mask(heaps) == 1]), abs=0.006)


def test_only_a_file_asks_for_a_server(browser, address):
    page = browser.new_page()
    page.route("**/page.js", lambda _: None)  # never answered
    page.goto(address, wait_until="commit")
    expect(page.locator("#how")).to_have_text(re.compile("Loading"), use_inner_text=True)
    expect(page.get_by_text("play_in_browser.py")).to_be_hidden()
    page.goto((PAGE / "index.html").as_uri(), wait_until="commit")
    expect(page.get_by_text("play_in_browser.py")).to_be_visible()
    expect(page.get_by_text("Loading")).to_be_hidden()
    page.close()


def test_links(visit):
    page = visit(f"{CLASSIC}&vs=0&first=you&moves=D2.B1.C3.D4&view=2&panel=learn&stage=0")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#board")).to_be_focused()
    go(page, "board")  # names no game
    page.locator("[data-value=moves]").click()
    page.locator("[data-value=learn]").click()
    assert heaps_of(page) == [1, 2, 5, 5]
    assert page.url.endswith("&vs=0&first=you&moves=D2.B1.C3.D4&view=2&panel=learn&stage=0")
    page.evaluate("""() => { let told = 0; new MutationObserver(([{ target }]) => {
      if (target.matches(".on") && target.textContent.includes("This link is broken.")) document.title = ++told;
    }).observe(document.querySelector("#toast"), { attributes: true }); }""")
    broken = ("heaps=9-x", "heaps=99", "heaps=3-4&take=0", "last=maybe", "moves=A4", "view=x", "vs=nobody")
    broken = (*broken, "stage=7~me~1~1", "vs=7~take-3~1~7", "heap=3-4&last=wins")
    for number, link in enumerate(broken, 1):
        go(page, "heaps=2-4")
        expect(page.locator(".heap")).to_have_count(2)
        go(page, link)
        expect(page.locator(".heap")).to_have_count(4)
        expect(page).to_have_title(str(number))


def test_commands_that_replace_a_game(visit):
    page = visit("heaps=3-4-5&vs=random")
    block(page, 2, 1).hover()
    waiting = ("#take", "#levels [data-value=perfect]", "#new")  # the last one counts, after the opponent's move
    page.evaluate("names => names.forEach((name) => document.querySelector(name).click())", waiting)
    press(page, "Back to the last game")
    expect(page.locator("#say")).to_contain_text("Random took")


LESSONS = ["Copy", "Make equal", "Pairs", "Make pairs", "Last loses", "Multiples of 4"]


def rules_of(page):
    """The rules of a lesson, on a board on which all its moves are legal."""
    n = len(heaps_of(page))
    misere = "loses" in page.locator("#rule").inner_text()
    return NimRules((21,), 3, misere) if n == 1 else NimRules((7,) * n, misere=misere)


def test_teach_me(visit):
    page = visit("", **PHONE)
    lessons, rule, say = page.locator("#lessons button"), page.locator("#rule"), page.locator("#say")
    for board in ("Lesson 1", "1-3-5-7", "Lesson 1"):
        page.locator("[data-value=teach]").click()
        expect(page.locator("#board-name")).to_have_text(board)
    for lesson, name in enumerate(LESSONS):
        expect(page.locator("#lessons [aria-pressed=true]")).to_have_text(f"{lesson + 1} {name}")
        expect(say).to_contain_text("Your turn")
        expect(rule).to_be_in_viewport(ratio=1)
        assert block(page, -1 % len(heaps_of(page)), 1).bounding_box()["height"] >= 35
        rules = rules_of(page)
        while any(heaps := heaps_of(page)):
            press_keys(page, *rules.moves[theory.winning_action_mask(rules, heaps).argmax()])
            expect(say).to_contain_text(re.compile("Your turn|You win"))
        expect(lessons.nth(lesson)).to_have_text(f"✓ {name}")
        expect(page.locator("#verdict")).to_have_text("✓ Lesson done.")
        page.keyboard.press("Enter")  # the next lesson, or a whole game
    page.reload()  # the progress stays in the browser
    expect(page.locator("#lessons", has_text=re.compile("(✓.*){6}"))).to_have_count(1)
    go(page, "heaps=3-4-5&panel=teach")
    expect(page.locator("#live")).to_contain_text("You can win from here.")
    expect(page.locator(".winning")).to_have_count(0)
    page.get_by_text("Show how").click()
    expect(page.locator(".winning")).to_have_count(2)
    block(page, 2, 5).hover()
    expect(page.locator("#live")).to_have_text("✗ This move gives the win away.")
    lessons.nth(1).click()
    expect(page.locator("#shows-move")).not_to_be_checked()
    page.get_by_text("Show how").click()
    expect(page.locator("#lesson")).to_have_text("Take 3 from B. Then the heaps are equal.")


@pytest.mark.parametrize(("lesson", "board"), [(4, "1-3-5-7"), (6, "21")])
def test_watch_it_learn_leaves_a_lesson_for_its_board_or_yours(visit, lesson, board):
    page = visit("")
    page.locator("[data-value=teach]").click()
    page.locator("#lessons button").nth(lesson - 1).click()
    expect(page.locator("#board-name")).to_have_text(f"Lesson {lesson}")
    page.locator("[data-value=learn]").click()
    expect(page.locator("#board-name")).to_have_text(board)
    expect(page.locator("#score")).to_be_visible()


def test_the_header_of_a_lesson_fits_into_one_row(visit):
    page = visit("lesson=1&panel=teach", viewport={"width": 320, "height": 640})
    expect(page.locator("#board-name")).to_have_text("Lesson 1")
    tops = page.locator("header > button:visible").evaluate_all("all => all.map((each) => each.offsetTop)")
    assert len(tops) == 3
    assert len(set(tops)) == 1


def after(heaps, heap, count):
    return [size - count * (i == heap) for i, size in enumerate(heaps)]


def test_a_lesson_answers_a_wrong_move(visit):
    page = visit("heaps=2-2&panel=teach")
    for lesson in range(6):
        page.locator("#lessons button").nth(lesson).click()
        expect(page.locator("#board-name")).to_have_text(f"Lesson {lesson + 1}")
        expect(page.locator("#say")).to_contain_text("Your turn")
        heaps = heaps_of(page)
        rules = rules_of(page)
        wrong = next(move for move in rules.legal_moves(heaps) if theory.is_winning(rules, after(heaps, *move)))
        block(page, *wrong).hover()
        expect(page.locator(".chosen")).to_have_count(wrong[1])
        expect(page.locator("#verdict")).to_have_text("✓ You can win from here.")  # not yet of the move
        click(page, *wrong)
        expect(page.locator("#say")).to_contain_text("gives the win away")
        assert heaps_of(page) == after(heaps, *wrong)
        press(page, "Take it back")
        expect(page.locator("#say")).to_contain_text("Your turn")
        assert heaps_of(page) == heaps


def test_watch_it_learn_against_someone(visit):
    page = visit(f"{TWENTY_ONE}&panel=learn")
    squares = page.locator("#map i.minus")
    wrong = {}
    for rival in ("itself", "random", "take-3", "expert"):
        page.locator("#rival").select_option(rival)
        expect(page.locator("#n-games")).to_have_text("0")
        wait_for_training(page)
        page.locator("#games").press("End")
        expect(page.locator("#finding")).to_contain_text(
            "against the expert" if rival == "expert" else "the expert"
        )
        wrong[rival] = squares.count()
        line = page.locator("#python").text_content()
        opponent = None if rival == "itself" else rival
        env = gym.make("Nim-v0", heaps=(21,), max_take=3, misere=False, opponent=opponent)
        learner = agents.MinimaxQAgent if rival == "itself" else agents.QLearningAgent
        agent = learner(env.observation_space, env.action_space, learning_rate=0.2, epsilon=0.2)
        exec(line.replace("20000", "20"), {"agent": agent, "agents": agents, "gym": gym})
        assert len(agents.train(agent, env, 1).returns) == 1
    assert wrong["itself"] == wrong["random"] == wrong["expert"] == 0
    assert wrong["take-3"] >= 4
    page.locator("#rival").select_option("take-3")
    page.locator("#games").press("End")
    assert finding_of(page).startswith("It beats take-3 every time. It loses 99.")
    for _ in range(2):
        expect(page.locator("#levels [aria-pressed=true]")).to_have_text("Learner20,000 games, take-3")
        expect(page.locator("#rival")).to_have_value("take-3")
        page.reload()
    page.locator("#rate").select_option("1")
    expect(page.locator("#settings-hint")).to_contain_text("A value moves 100% of the way")
    expect(page.locator("#n-games")).to_have_text("0")
    expect(page.locator("#levels [aria-pressed=true]")).to_have_text("Learner20,000 games, take-3")


def finding_of(page):
    return page.locator("#finding").inner_text()


def test_a_step_shows_an_update_until_the_next_command(visit):
    page = visit(f"{CLASSIC}&vs=beginner&moves=D1.C1&panel=learn&stage=0~take-3~0.2~0.2")
    wait_for_training(page)
    say, how, games = (page.locator(name) for name in ("#say", "#how", "#n-games"))
    for end in (False, True):
        if end:
            page.locator("#games").press("End")
        expect(games).to_have_text("20,000" if end else "0")
        page.get_by_role("button", name="Step", exact=True).click()
        for _ in range(8):
            expect(say).to_have_text(re.compile("^Game [0-9,]+: it takes"))
            game, count, heap = re.fullmatch("Game ([0-9,]+): it takes (.) from (.)", say.inner_text()).groups()
            expect(games).to_have_text(game)
            if end:
                assert int(game.replace(",", "")) > 20_000  # the training goes on
            outlined = page.locator(".block.learning")
            expect(outlined).to_have_count(int(count))
            expect(page.locator(f"[data-heap='{'ABCD'.index(heap)}'] .learning")).to_have_count(int(count))
            text = how.inner_text()
            before, now = (number.replace("−", "-") for number in re.findall(r"(?:expected|now) (\S+\d)", text))
            assert abs(float(now) - float(before)) >= 0.01
            arrow = page.locator(".block.learning .value", has_text="→")
            assert [part.strip().replace("−", "-") for part in arrow.inner_text().split("→")] == [before, now]
            if reply := re.search("reply, (.) from (.),", text):
                expect(page.locator(f"[data-heap='{'ABCD'.index(reply[2])}'] .answering")).to_have_count(
                    int(reply[1])
                )
            text = page.locator("#status").inner_text()
            press(page, "Next step")
            expect(page.locator("#status")).not_to_have_text(text, use_inner_text=True)
        press(page, "Back to the game")
        expect(say).to_contain_text("Your turn")
        assert heaps_of(page) == [1, 3, 4, 6]


def test_a_step_tells_if_no_value_changes(visit):
    page = visit("heaps=1-1&last=loses&panel=learn&stage=20000")
    expect(page.locator("#n-games")).to_have_text("20,000", timeout=60_000)
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator("#toast.on")).to_have_text("No value changes any more.")
    expect(page.locator(".learning")).to_have_count(0)


def test_the_panel_opens_on_a_won_position(visit):
    page = visit("")
    page.locator("[data-value=learn]").click()
    assert heaps_of(page) == [1, 3, 5, 4]
    expect(page.locator("#say")).to_have_text("You can win from 1-3-5-4.")
    expect(page.locator("#toast.on")).to_have_count(0)  # it would lie over the map
    expect(page.locator("#n-games")).to_have_text("0")
    expect(page.locator(".valued .value")).to_have_text(["?"] * 13)
    page.locator("[data-value=learn]").click()
    assert heaps_of(page) == [1, 3, 5, 7]
    page.reload()
    click(page, 3, 2)
    expect(page.locator("#say")).to_contain_text("Your turn")
    heaps = heaps_of(page)
    page.locator("[data-value=learn]").click()
    assert heaps_of(page) == heaps  # a game that has begun stays


def test_a_slider_that_is_held_keeps_its_stage(visit):
    page = visit(f"{CLASSIC}&panel=learn&stage=0")
    wait_for_training(page)
    page.evaluate("() => { const wait = setTimeout; setTimeout = (act, time = 0) => wait(act, 20 * time); }")
    press(page, "Train")
    expect(page.locator("#train")).to_have_text("Pause")
    box = page.locator("#games").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 80)
    page.mouse.down()
    games = page.locator("#n-games").inner_text()
    expect(page.locator("#train")).to_have_text("Continue")
    page.wait_for_timeout(300)
    expect(page.locator("#n-games")).to_have_text(games)
    page.mouse.up()


def test_teach_me_keeps_the_game(visit):
    page = visit(f"{TWENTY_ONE}&vs=perfect")
    board, verdict = page.locator("#board-name"), page.locator("#verdict")
    page.locator("[data-value=teach]").click()
    expect(board).to_have_text("21")
    expect(page.locator("#lesson")).to_have_text("Which move leaves a multiple of 4?")
    expect(page.locator("#why")).to_contain_text("Leave a multiple of 4.")
    expect(page.locator("#levels")).to_be_visible()
    go(page, LOST)
    expect(page.locator("#say")).to_have_text("You lose.")
    page.locator("[data-value=teach]").click()
    expect(board).to_have_text("1-3-5-7")
    press(page, "Show my mistake")
    expect(verdict).to_have_text("✓ You can win from here.")
    page.evaluate("""() => { window.verdicts = []; new MutationObserver(([{ target }]) => {
      verdicts.push(target.textContent);
    }).observe(document.querySelector("#verdict"), { childList: true }); }""")
    page.locator("#lessons button").first.click()
    for name in ("#levels", "#pick-opponent", "#score"):
        expect(page.locator(name)).to_be_hidden()
    expect(page.locator("#say")).to_contain_text("Your turn")
    verdicts = page.evaluate("verdicts")
    assert "You win if you copy." in verdicts
    assert not any("Expert" in text for text in verdicts)
    go(page, "heaps=3-4-5&last=wins&panel=teach")
    expect(page.locator(".heap")).to_have_count(3)
    press(page, "3 Pairs")
    page.reload()
    expect(board).to_have_text("Lesson 3")
    page.locator("[data-value=teach]").click()
    expect(board).to_have_text("3-4-5")  # the board before the lessons


def test_one_ring_and_a_legend(visit):
    page = visit("heaps=1-1-1&last=wins&panel=teach")
    expect(page.locator(".block em.odd")).to_have_count(1)
    expect(page.locator("#legend")).to_contain_text("A ring marks one without a partner.")
    page.locator("#lessons button").first.click()
    expect(page.locator("#legend")).to_be_hidden()
    go(page, f"{LOST}&panel=teach")
    expect(page.locator("#verdict")).to_contain_text("The game is over")
    expect(page.locator("#legend")).to_be_hidden()  # of no blocks


@pytest.mark.parametrize("size", [(375, 667), (390, 844), (320, 568)])
def test_the_winning_move_can_be_asked_for_on_phones(visit, size):
    page = visit("heaps=3-4-5&panel=teach", viewport=dict(zip(("width", "height"), size, strict=True)))
    for lesson in (None, *range(6)):
        if lesson is not None:
            page.locator("#lessons button").nth(lesson).click()
            expect(page.locator("#board-name")).to_have_text(f"Lesson {lesson + 1}")
        expect(page.locator("#say")).to_contain_text(re.compile("Take as|Your turn"))
        rail = page.locator("#rail").bounding_box()
        switch = page.locator(".switch").bounding_box()
        assert switch["y"] + 30 <= rail["y"], lesson


def test_the_first_move_moves_nothing(visit):
    page = visit(f"{CLASSIC}&vs=perfect")
    page.evaluate("""() => { window.said = new Set(); new MutationObserver(() => {
      said.add(document.querySelector("#say").textContent);
      if (!document.querySelector("#status-actions").hidden) said.add("a button");
    }).observe(document.querySelector("main"), { childList: true, subtree: true, attributes: true }); }""")
    click(page, 3, 2)
    expect(page.locator("#say")).to_contain_text("Expert took")
    assert not {"Your turn", "a button"} & set(page.evaluate("[...said]"))


@pytest.mark.parametrize("size", [(1440, 900), (768, 1024), (390, 844), (320, 568), (568, 320)])
@pytest.mark.parametrize("panel", ["", "&panel=moves", "&panel=teach", "&panel=learn&stage=0"])
def test_the_board_stays_in_place(visit, size, panel):
    link = f"heaps=2-4&last=wins&vs=perfect{panel}"
    page = visit(link, viewport=dict(zip(("width", "height"), size, strict=True)))
    page.evaluate("""() => {
      const note = () => {
        const { x, y, width, height } = document.querySelector("#board").getBoundingClientRect();
        boxes.add([x, y, width, height].join());
      };
      window.boxes = new Set();
      const changes = { subtree: true, childList: true, attributes: true, characterData: true };
      new MutationObserver(note).observe(document.body, changes);
      note();
    }""")
    click(page, 1, 4)  # a mistake: the expert takes the rest
    expect(page.locator("#say")).to_have_text("You lose.")
    press(page, "Show my mistake")
    page.locator("#next").click()
    press(page, "Show better")
    press(page, "Try again from here")
    expect(page.locator("#say")).to_have_text(re.compile("Your turn|Take as many"))
    click(page, 1, 2)
    expect(page.locator("#say")).to_contain_text("Your turn")
    assert len(page.evaluate("[...boxes]")) == 1


@pytest.mark.parametrize("size", [(375, 667), (390, 844), (320, 568)])
def test_values_and_the_finding_can_be_read_on_phones(visit, size):
    page = visit(f"{CLASSIC}&panel=learn", viewport=dict(zip(("width", "height"), size, strict=True)))
    page.locator("#rival").select_option("take-3")
    expect(page.locator("#curve .rest")).not_to_have_attribute("d", re.compile("L"))  # the future
    press(page, "Train")
    expect(page.locator("#finding")).to_contain_text("It beats take-3", timeout=60_000)
    values = page.locator(".valued .value")
    expect(values).to_have_count(13)
    sizes = values.evaluate_all("values => values.map((value) => parseFloat(getComputedStyle(value).fontSize))")
    assert min(sizes) >= 12
    rail = page.locator("#rail").bounding_box()
    finding = page.locator("#finding").bounding_box()
    assert finding["y"] + finding["height"] <= rail["y"]


def test_no_move_is_marked_where_the_learner_has_no_values(visit):
    link = "heaps=21&last=loses&take=3&panel=learn"
    page = visit(f"{link}&stage=0")
    key = page.locator("#key")
    expect(key).to_have_text("It has no values yet. Press Train.")
    expect(page.locator(".its-move")).to_have_count(0)
    go(page, f"{link}&{AFTER_TAKE_3}")
    expect(page.locator("#n-games")).to_have_text("20,000", timeout=60_000)
    assert heaps_of(page) == [18]  # which its learner meets after an opening of take-3
    expect(page.locator(".valued:not(.untried)")).to_have_count(3)
    expect(page.locator(".its-move")).not_to_have_count(0)
    go(page, f"{link}&{AFTER_TAKE_3}&from=19")
    expect(key).to_have_text("It never had to move here: no values.")
    expect(page.locator(".its-move")).to_have_count(0)


def test_a_lesson_is_marked_while_the_opponent_moves(visit):
    page = visit("heaps=3-4-5&vs=random&panel=teach")
    page.add_init_script("setTimeout = ((wait) => (act, time = 0) => wait(act, 20 * time))(setTimeout)")
    page.reload()
    click(page, 2, 1)
    expect(page.locator("#say")).to_have_text("Random is choosing …")
    page.locator("#lessons button").nth(1).click()
    page.wait_for_timeout(100)
    assert page.locator("#lessons [aria-pressed=true]").inner_text() == "2 Make equal"


def test_a_link_does_not_choose_who_starts(visit):
    page = visit(f"{CLASSIC}&first=opponent")
    starts = page.locator("[name=starts][value=opponent]")
    expect(starts).to_be_checked()
    go(page, "heaps=3-4-5")
    expect(page.locator(".heap")).to_have_count(3)
    expect(starts).to_be_checked()
    go(page, "heaps=3-4-5&first=you")
    expect(starts).not_to_be_checked()


def test_the_map_plays_its_positions(visit):
    rules, page = NimRules(), visit(f"{CLASSIC}&vs=perfect&panel=learn&stage=1000")
    expect(page.locator("#n-games")).to_have_text("1,000")
    squares = page.locator("#map i")
    expect(squares).to_have_count(335)
    wrong = squares.evaluate_all("squares => squares.filter(({ title }) => !title.endsWith('100%')).length")
    expect(page.locator("#map-hint")).to_contain_text(f"In {wrong} of 335")
    heaps = [int(size) for size in squares.nth(200).get_attribute("title").partition(":")[0].split("-")]
    squares.nth(200).dispatch_event("click")
    say, how = page.locator("#say"), page.locator("#how")
    for _ in range(2):
        expect(say).to_have_text("Which move wins?")
        expect(page.locator("#levels [aria-pressed=true]")).to_have_text("Learner1,000 games")
        assert f"from={'-'.join(map(str, heaps))}" in page.url
        assert heaps_of(page) == heaps
        page.reload()  # the link opens the same game
    press(page, "Play a position that it gets wrong")
    for is_right in (False, True):
        expect(how).to_have_text(
            re.compile("^(★, the learner’s move, is a mistake|The learner can go wrong here).$")
        )
        expect(page.locator(".valued")).to_have_count(sum(heaps := heaps_of(page)))
        wins = theory.winning_action_mask(rules, heaps) == 1
        if not is_right:
            legal = [move for move in rules.legal_moves(heaps) if sum(after(heaps, *move))]
            wrong_moves = [move for move in legal if not wins[rules.action(*move)]]
            click(page, *wrong_moves[0])
            expect(say).to_contain_text("gives the win away")
            expect(how).to_have_text("Which move wins?")  # the answer stays open
            expect(page.locator("#status-actions button")).to_have_text(["Take it back", "Next position"])
            press(page, "Take it back")
            expect(say).to_have_text("Which move wins?")
            click(page, *wrong_moves[0])
            press(page, "Next position")
            expect(say).to_have_text("Which move wins?")
            assert f"from={'-'.join(map(str, heaps))}&" not in page.url
    click(page, *rules.moves[wins.argmax()])
    expect(say).to_have_text(re.compile(r"✓ \d from [A-D] wins\.|You win!"))
    press(page, "Next position")
    expect(say).to_have_text("Which move wins?")
    go(page, "heaps=1-3-5-7-9&vs=perfect&panel=learn")  # 3,424 positions are too many
    expect(page.locator("#map")).to_be_hidden()
    expect(page.locator("#curve")).to_be_visible()


def test_keys_act_inside_the_board_alone(visit):
    page = visit("heaps=3-4-5&vs=random")
    for key in ("c", "u", "n", "?"):
        page.keyboard.press(key)
    expect(page.locator(".chosen")).to_have_count(0)
    page.keyboard.press("ArrowRight")  # without a focus
    expect(page.locator("[data-heap='0']")).to_be_focused()
    for key in ("c", "2"):
        page.keyboard.press(key)
    expect(page.locator("[data-heap='2']")).to_have_attribute("aria-valuetext", "take 2, leave 3")
    page.keyboard.press("Enter")
    expect(page.locator("#say")).to_contain_text("took")
    assert page.evaluate("document.activeElement.closest('#board') !== null")
    page.keyboard.press("h")
    expect(page.locator("#tab-teach")).to_be_visible()
    expect(page.locator("#shows-move")).to_be_checked()
    page.keyboard.press("u")
    expect(page.locator("#say")).not_to_contain_text("took")
    assert heaps_of(page) == [3, 4, 5]
    click(page, 1, 1)
    expect(page.locator("#say")).to_contain_text("took")
    page.keyboard.press("n")  # the focus has stayed in the board
    expect(page.get_by_role("button", name="Back to the last game")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#menu")).to_be_visible()
    page.keyboard.press("Escape")
    go(page, "heaps=2-3&last=loses&vs=expert&panel=learn")
    expect(page.locator(".valued")).to_have_count(5)
    page.keyboard.press("ArrowRight")
    heap = page.locator("[data-heap='0']")
    expect(heap).to_have_attribute("aria-valuetext", re.compile("take 1, leave 1, value "))


def test_a_page_at_four_times_its_size_scrolls(visit):
    page = visit(CLASSIC, viewport={"width": 320, "height": 256})
    for part in ("#board", "#rail"):
        page.locator(part).scroll_into_view_if_needed()
        expect(page.locator(part)).to_be_in_viewport()
    assert page.locator("#board").bounding_box()["height"] >= 100
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_running_game_comes_back_after_two_new_ones(visit):
    page = visit("heaps=3-4-5&vs=random")
    click(page, 2, 1)
    expect(page.locator("#say")).to_contain_text("took")
    heaps = heaps_of(page)
    for _ in range(2):
        press(page, "Last block")
    press(page, "Back to the last game")
    expect(page.locator("#say")).to_contain_text("took")
    assert heaps_of(page) == heaps


def test_too_many_blocks_are_told_until_the_move(visit):
    page = visit("heaps=21&last=wins&take=3&vs=random")
    for key in ("ArrowRight", "9"):
        page.keyboard.press(key)
    expect(page.locator("#say")).to_have_text("At most 3 in one move")
    page.keyboard.press("Enter")
    expect(page.locator("#live")).to_contain_text("Random took")


def test_the_address_has_the_stage_and_the_lesson(visit):
    page = visit("heaps=3-4-5&last=loses&vs=master&panel=learn")
    expect(page.locator("#teach-it")).to_be_visible()  # once the master is trained
    expect(page.locator("#play-it")).to_be_hidden()
    games = page.locator("#n-games").inner_text()
    page.reload()
    expect(page.locator("#n-games")).to_have_text(games)
    page.locator("#games").press("Home")
    page.reload()
    expect(page.locator("#n-games")).to_have_text("0")
    go(page, f"{CLASSIC}&vs=student&panel=teach")
    page.locator("#lessons button").nth(1).click()
    expect(page).to_have_url(re.compile("lesson=2"))
    page.reload()
    expect(page.locator("#board-name")).to_have_text("Lesson 2")
    click(page, 1, 1)
    press(page, "Take it back")
    page.locator("[data-value=teach]").click()
    expect(page.locator("#levels [aria-pressed=true]")).to_contain_text("Student")


def test_what_it_learned_is_taken_back_with_the_game(visit):
    page = visit("heaps=1-2&vs=0&panel=learn&stage=0")
    page.locator("#teach-it").click()
    for _ in range(2):
        click(page, 1, 2)
        expect(page.locator("#n-games")).to_have_text("1")
        page.locator("#board").press("u")
        expect(page.locator("#n-games")).to_have_text("0")


def test_a_learner_that_you_teach_leaves_with_its_board(visit):
    page = visit(f"{CLASSIC}&vs=0&panel=learn&stage=0")
    page.locator("#teach-it").click()
    expect(page.locator("#teach-it")).to_be_disabled()
    page.locator("[data-value=teach]").click()
    page.locator("#lessons button").nth(3).click()
    page.locator("[data-value=learn]").click()  # back to the board before the lesson
    said = page.locator("#say")
    expect(said).to_have_text("You can win from 1-3-5-4.")
    page.locator("#map i").last.click()
    expect(said).to_have_text("Which move wins?")
    go(page, "heaps=3-4-5&last=wins&vs=random")
    click(page, 2, 1)
    expect(page.locator("#say")).to_contain_text("took")


def test_the_focus_stays_where_something_can_be_done(visit):
    page = visit("heaps=3-4&vs=perfect")  # which takes one block where it cannot win
    for name in ("#take", "#undo"):
        if name == "#undo":  # the reply may take the block that is pointed at
            expect(page.locator("#say")).to_contain_text("Your turn")
        block(page, 1, 1).hover()
        page.locator(name).focus()
        page.keyboard.press("Enter")
        expect(page.locator(name)).to_be_disabled()
        assert page.evaluate("document.activeElement.closest('#board') !== null")


def test_no_text_becomes_code(visit):
    page = visit()
    with pytest.raises(Error, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>'")
    assert page.evaluate("fetch('https://example.org').then(() => 'sent', () => 'refused')") == "refused"


FAULTS = """() => {
  const found = new Set(), boxOf = (node) => node.getBoundingClientRect(), all = (names) =>
    [...document.querySelectorAll(names)].filter((node) => node.checkVisibility() && !node.closest("svg, .sr"));
  const [board, panel, notice] = ["#board", "#panel", "#toast"].map((name) => boxOf(document.querySelector(name)));
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
    if (box.width > 240.5) found.add("a block is too wide");
  }
  for (const node of all("button, .segments label, .switch")) {
    const box = boxOf(node), hasName = node.ariaLabel || node.innerText.trim();
    if (box.width < 43.9 || box.height < 43.9 || !hasName) found.add(`${node.outerHTML} is small or has no name`);
  }
  for (const box of all("#board, #rule, #levels, #pick-opponent, #status").map(boxOf)) {
    const isBeside = box.right <= notice.left || box.left >= notice.right;
    if (!isBeside && box.bottom > notice.top && box.top < notice.bottom) found.add("the notice covers the game");
  }
  return [...found];
}"""
LAYOUTS = [(375, 667), (667, 375), (640, 360), (568, 320), (768, 1024), (1280, 720), (1920, 1080), (320, 568)]
VIEWS = [
    CLASSIC,
    f"{CLASSIC}&panel=learn",
    f"{CLASSIC}&panel=teach",
    f"{LOST}&view=3&panel=moves",
    "heaps=1-50-20-33&panel=learn",
    f"heaps={'-'.join(['50'] * 15)}&panel=teach",
]


def test_every_layout(visit):
    page, found = visit(f"{CLASSIC}&moves=D2.B1"), []
    page.evaluate("document.querySelector('#toast').style.visibility = 'visible'")
    page.evaluate("document.querySelector('#toast').textContent = 'Copy the address of this page.'")
    for link in VIEWS:
        go(page, link)
        expect(page).to_have_url(re.compile("first="))  # the page has written its own link
        for width, height in LAYOUTS:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_function(f"innerWidth === {width}")
            page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            found += [(width, height, link, fault) for fault in page.evaluate(FAULTS)]
    assert found == [], "\n".join(map(str, found))


def test_axe_finds_no_violation_in_light_and_dark(visit):
    page = visit(f"{CLASSIC}&moves=D2.B1&panel=learn")
    page.evaluate(AXE.read_text(encoding="utf-8"))

    def check(part):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            only = {} if scheme == "light" else {"runOnly": ["color-contrast"]}  # the rest is the same in dark
            violations = page.evaluate("([part, only]) => axe.run(part, only)", [part, only])["violations"]
            found = [(each["id"], [node["html"][:100] for node in each["nodes"]][:3]) for each in violations]
            assert found == [], (part, scheme)

    block(page, 2, 2).hover()
    check("html")
    page.locator("[data-value=teach]").click()
    check("#panel")
    for dialog in ("boards", "opponents", "menu"):
        page.evaluate("name => document.getElementById(name).showModal()", dialog)
        check(f"#{dialog}")
        page.keyboard.press("Escape")
    go(page, f"{LOST}&view=3&panel=moves")
    expect(page.locator("#status")).to_have_class("p0 past flagged")
    check("body")
    page.emulate_media(forced_colors="active", color_scheme="light")
    chosen = page.locator("#levels [aria-pressed=true]")
    expect(chosen).not_to_have_css("background-color", chosen.evaluate("node => getComputedStyle(node).color"))
