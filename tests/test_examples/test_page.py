"""The page of play_in_browser.py in a headless Chromium: the system's, or else Playwright's own."""

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason='needs pip install -e ".[examples,browser]"')
pytest.importorskip("playwright", reason='needs pip install -e ".[dev]"')

from page_server import serve
from play_in_browser import Args
from playwright.sync_api import expect, sync_playwright

from nim_env import NimRules, theory

DESK, PHONE = {"width": 1200, "height": 900}, {"width": 375, "height": 760}
BLOCK = ".block:enabled"


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
        chromium = playwright.chromium.launch(executable_path=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser):
    """Opens the page of a new server; no error may occur there, and no other site may be asked."""
    wrong = []
    with serve(Args(heaps=(3, 4, 5), misere=False, seed=0)) as address:

        def visit(opponent="random", size=DESK, reduced_motion="reduce", **options):
            context = browser.new_context(viewport=size, reduced_motion=reduced_motion, **options)
            context.set_default_timeout(10_000)
            page = context.new_page()
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("request", lambda asked: asked.url.startswith(address) or wrong.append(asked.url))
            settings = {"heaps": "3 4 5", "max_take": None, "misere": False, "opponent": opponent, "first": "you"}
            assert page.request.post(f"{address}/new", data=settings).ok
            page.goto(address)
            expect(page.locator(".heap")).to_have_count(3)
            return page

        yield visit
        for context in browser.contexts:
            context.close()
    assert wrong == []


def left(page):
    """The heaps as they are drawn and written."""
    drawn = [heap.locator(BLOCK).count() for heap in page.locator(".heap").all()]
    assert [int(text) for text in page.locator(".heap b").all_inner_texts()] == drawn
    return drawn


def best_move(page):
    rules = NimRules((3, 4, 5), misere=False)
    return rules.moves[theory.winning_action_mask(rules, left(page)).argmax()]


def block(page, heap, count):
    return page.locator(f'{BLOCK}[data-heap="{heap}"][data-count="{count}"]')


def click(page, heap, count):
    block(page, heap, count).click()


def press_keys(page, heap, count):
    """Goes by Tab and arrow keys to a block and takes it by Enter."""
    if not page.locator(".block:focus").count():
        page.keyboard.press("Tab")
    focused = page.locator(".block:focus")
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    while int(focused.get_attribute("data-heap")) != heap:
        page.keyboard.press("ArrowRight")
    while (now := int(focused.get_attribute("data-count"))) != count:
        page.keyboard.press("ArrowDown" if now < count else "ArrowUp")
    expect(page.locator(".picked")).to_have_count(count)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("take", [click, press_keys])
def test_a_whole_game(visit, take):
    page = visit()
    ply = 0
    while ply == 0 or not page.locator("#status.you").count():
        take(page, *best_move(page))
        expect(page.locator("#moves li")).not_to_have_count(ply)
        assert page.locator("#moves li").count() - ply == 2 or sum(left(page)) == 0
        ply = page.locator("#moves li").count()
    expect(page.get_by_role("status")).to_contain_text("You win!")
    expect(page.locator("#your-score")).to_have_text("1")
    expect(page.get_by_role("button", name="New game")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#moves li")).not_to_have_count(ply)
    expect(page.locator("#your-score")).to_have_text("1")


def test_undo_and_reload(visit):
    page = visit()
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    click(page, 2, 5)
    expect(page.locator("#moves li")).to_have_count(2)
    taken = page.locator("[data-taken]")
    assert taken.count() == 12 - sum(left(page))
    heaps = left(page)
    page.reload()
    expect(page.locator("#moves li")).to_have_count(2)
    assert left(page) == heaps
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#moves li")).to_have_count(0)
    assert left(page) == [3, 4, 5]


def test_hints_until_after_the_end(visit):
    page = visit(opponent="expert")
    assert page.locator(".block.wins").count() == 0
    page.get_by_role("switch", name="Winning moves").check()
    page.get_by_role("switch", name="Opponent’s values").check()
    expect(page.locator(".block.wins")).to_have_text("100\u00a0% ✓")
    expect(page.get_by_text("wins against perfect play")).to_be_visible()
    while not page.locator("#status.opponent").count():
        ply = page.locator("#moves li").count()
        page.locator(BLOCK).first.click()
        expect(page.locator("#moves li")).not_to_have_count(ply)
    expect(page.get_by_role("status")).to_contain_text("You lose.")
    expect(page.locator(".block[data-taken]")).to_have_count(12)
    expect(page.locator(".block", has_text="%")).not_to_have_count(0)
    expect(page.locator("#moves .mark", has_text="✗")).to_have_count(1)


def test_settings_apply_to_the_next_game(visit):
    page = visit()
    click(page, 0, 1)
    expect(page.locator("#moves li")).to_have_count(2)
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Heaps").fill("1 2 x")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("alert")).to_contain_text("1 2 x")
    page.keyboard.press("Escape")
    expect(page.locator("#moves li")).to_have_count(2)  # the game continues
    page.get_by_role("button", name="Settings").click()
    expect(dialog.get_by_label("Heaps")).to_have_value("3 4 5")
    dialog.get_by_role("button", name="21").click()
    expect(dialog.get_by_label("Training episodes")).to_be_hidden()
    dialog.locator("[name=opponent]").select_option("Q-learning")
    dialog.get_by_label("Training episodes").fill("200")
    dialog.get_by_role("button", name="Start").click()
    expect(page.locator(".heap")).to_have_count(1)
    expect(dialog).to_be_hidden()
    expect(page.locator("#score")).to_contain_text("Q-learning")
    click(page, 0, 4)
    expect(page.get_by_role("status")).to_contain_text("at most 3")
    assert left(page) == [21]


def test_the_opponents_move_is_animated(visit):
    page = visit(reduced_motion="no-preference")
    click(page, 2, 5)
    expect(page.locator(".marked").first).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("Random takes")
    heap, count = page.locator(".marked").first.get_attribute("data-heap"), page.locator(".marked").count()
    page.wait_for_function("document.getAnimations().length > 0")
    expect(page.get_by_role("status")).to_contain_text("Your turn")
    expect(page.locator("#moves li").last).to_contain_text(f"Random: {count} from {'ABC'[int(heap)]}")
    expect(page.locator(f'[data-taken="opponent"][data-heap="{heap}"]')).to_have_count(count)


def test_reduced_motion_has_no_animation(visit):
    page = visit()
    page.evaluate(
        """() => { window.animations = 0;
                   addEventListener("animationstart", () => { window.animations += 1; }); }"""
    )
    click(page, 2, 5)
    expect(page.get_by_role("status")).to_contain_text("Your turn")
    expect(page.locator("#moves li")).to_have_count(2)
    assert page.evaluate("window.animations + document.getAnimations().length") == 0


def test_light_and_dark(visit):
    colors = []
    for scheme in ("light", "dark"):
        page = visit(color_scheme=scheme)
        colors.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    light, dark = (sum(map(int, re.findall(r"\d+", color))) for color in colors)
    assert light > 2 * 255
    assert dark < 255


@pytest.mark.parametrize("heaps", ["1 3 5 7", "21", "50 " * 15])
@pytest.mark.parametrize("phone", [True, False])
def test_every_board_fits(visit, heaps, phone):
    page = visit(size=PHONE, has_touch=True, is_mobile=True) if phone else visit()
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Heaps").fill(heaps)
    page.get_by_label("Who moves first").select_option("you")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".heap")).to_have_count(len(heaps.split()))
    page.get_by_role("switch", name="Winning moves").check()
    size = page.viewport_size
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    if phone or heaps != "50 " * 15:
        buttons = f"button, input:visible, label:has([role=switch]), {BLOCK}"
        small = page.locator(buttons).evaluate_all(
            """all => all.filter((each) => !each.closest("dialog, label") && each.checkVisibility())
                         .map((each) => each.getBoundingClientRect())
                         .filter((box) => Math.min(box.width, box.height) < 44).length"""
        )
        assert small == 0
    if not phone:
        assert page.evaluate("document.documentElement.scrollHeight") == size["height"]
        boxes = page.locator(".heap").evaluate_all("all => all.map((each) => each.getBoundingClientRect().bottom)")
        assert max(boxes) <= page.locator("#new-game").bounding_box()["y"]
    assert page.locator(".keys").is_visible() is not phone
    page.locator(BLOCK).last.click()
    expect(page.locator("#moves li")).not_to_have_count(0)
