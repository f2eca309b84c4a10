"""The page on which visitors try their own programs, in a headless Chromium with Python as WebAssembly."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("axe_playwright_python", reason='needs pip install -e ".[dev]"')
pytest.importorskip("playwright", reason='needs pip install -e ".[dev]"')

import axe_playwright_python
from play_in_browser import PAGE
from playwright.sync_api import expect

from nim_env import NimRules, TabularPolicy, evaluation
from nim_env.check.examination import examine
from nim_env.check.options import parse

sys.path.insert(0, str(PAGE))
import get_python

DATA = Path(__file__).parents[1] / "data"
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
COURSE = "heaps=1-3-5-7&last=loses"
SMALL = "heaps=2-3-4&last=loses"
LISTEN = "addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective))"
FAST = "const wait = setTimeout; window.setTimeout = (act, time) => wait(act, time / 20);"
MAX_SECONDS = 300  # on a busy machine


@pytest.fixture(scope="module")
def address(serve):
    """The address of a server whose page has Python."""
    if not shutil.which("npm"):
        pytest.skip("needs npm, to get Python for the browser")
    get_python.main()
    with serve([]) as address:
        yield address


@pytest.fixture
def visit(browser, address):
    """Opens a page; no error may occur there, the policy must hold, and no other site may be asked."""
    contexts, wrong = [], []

    def visit(link, script="", page="program.html"):
        contexts.append(browser.new_context(reduced_motion="reduce"))
        contexts[-1].add_init_script(LISTEN + "\n" + script)
        opened = contexts[-1].new_page()
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        opened.on("request", lambda asked: asked.url.startswith((address, "blob:")) or wrong.append(asked.url))
        opened.goto(f"{address}{page}#{link}")
        return opened

    visit.wrong = wrong
    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def try_program(page, code, name="mine.py"):
    page.locator("#files").set_input_files({"name": name, "mimeType": "", "buffer": code.encode()})


def expect_result(page, verdict):
    expect(page.locator("#verdict")).to_contain_text(verdict, timeout=MAX_SECONDS * 1000)


def expect_error(page, *words):
    for word in words:
        expect(page.locator("#progress.bad")).to_contain_text(word, timeout=MAX_SECONDS * 1000)


def kept(page):
    return json.loads(page.evaluate("sessionStorage.getItem('nim-program')"))


PROGRAMS = [
    *[("programs", path.stem, (1, 3, 5, 7)) for path in sorted((DATA / "programs").glob("*.py"))],
    *[
        ("players", name, (2, 3, 4))
        for name in ("maximum_from_zero", "nim_sum", "opponents_reward", "q_dictionary")
    ],
    *[("players", name, (2, 3, 4)) for name in ("loop_variable", "other_keys", "random_ties")],
]


@pytest.mark.parametrize(("folder", "name", "heaps"), PROGRAMS)
def test_the_figures_are_those_of_the_command(visit, folder, name, heaps):
    path = DATA / folder / f"{name}.py"
    entry = examine(str(path), parse(["check", str(path), "--heaps", *map(str, heaps)])).to_json()
    page = visit(f"heaps={'-'.join(map(str, heaps))}&last=loses")
    needed = {"base", "q_dictionary"} & {*re.findall(r"\w+", path.read_text(encoding="utf-8"))} - {name}
    page.locator("#files").set_input_files([path, *(path.with_name(f"{module}.py") for module in sorted(needed))])
    functions = [bug for bug in entry["bugs_in"] if bug in ("best_future_reward", "choose_action")]
    expect_result(page, f"{name}.py: Bug in {functions[0]}" if functions else f"{name}.py plays ")
    rules = NimRules(heaps)
    table = np.reshape(kept(page)[0]["probabilities"], (rules.n_positions, rules.n_actions))
    mastery = evaluation.mastery(rules, TabularPolicy(rules, table))
    assert mastery.expert == entry["expert"]
    assert len(mastery.mistake_indices) == entry["mistakes"]
    said = page.locator("#mistakes li").all_inner_texts()
    said = [
        re.sub(r"^At (.*)\. Taking (.*) would win\. Play it$", r"at \1; \2 wins", sentence) for sentence in said
    ]
    assert said == entry["first_mistakes"]
    mistakes = f"a mistake in {entry['mistakes']} of" if entry["mistakes"] else "no mistake in any of"
    expect(page.locator("#figures")).to_contain_text(f"{mistakes} {entry['won_positions']}")
    expect(page.locator("#map i")).to_have_count(entry["won_positions"])


BAD = {
    "a syntax error": ("def f(:\n  pass", "mine.py, line 1: SyntaxError: "),
    "a web page": ("<html>", "mine.py, line 1: SyntaxError: "),
    "input": ("\n\nname = input('Your name: ')", "line 3: it asks for input"),
    "a package": ("import numpy", "line 1", "No module named 'numpy'", "installed command"),
    "a neighbor": ("from helpers import moves", "No module named 'helpers'", "choose both files together"),
    "no player": ("print('hello')", "needs train(n)"),
    "nothing trained": ("def train(n): pass", "must return an object with choose_action"),
    "an old idiom": (
        "import random\ndef choose_action(heaps):\n  return random.choice({(i, 1) for i in range(3) if heaps[i]})",
        "line 3",
        "random.choice(list(moves))",
    ),
    "an exit": ("import sys\nsys.exit(1)", "line 2", "SystemExit"),
    "two players": (
        "class P:\n  def choose_action(self, heaps): pass\none, two = P(), P()",
        "the players one, two; keep one of them",
    ),
    "deep recursion": ("def train(n): return train(n)", "RecursionError"),
    "memory": ("def train(n): return [0] * 10**9", "MemoryError"),
    "output and an error": (
        "for i in range(2_100_000): print(i % 10)\n1 / 0",
        "ZeroDivisionError",
        "4 million char",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_program_that_fails_is_answered_in_one_line(visit, kind):
    code, *words = BAD[kind]
    page = visit(SMALL)
    try_program(page, code)
    expect_error(page, *words)
    assert "\n" not in page.locator("#progress").inner_text()
    expect(page.locator("#result")).to_be_hidden()


def test_files_that_are_no_programs_are_refused_without_python(visit):
    page = visit(SMALL)
    try_program(page, "x", name="photo.png")
    expect_error(page, "photo.png is not a Python file")
    try_program(page, "\0\1", name="photo.py")
    expect_error(page, "photo.py is not a Python file")
    try_program(page, "#" * 1_000_001)
    expect_error(page, "mine.py has 1,000,001 bytes")
    page.locator("#try").click()
    page.locator("#code").fill("  ")
    page.locator("#try").click()
    expect_error(page, "paste a program")
    page = visit("heaps=15-15-15-15-15&last=loses")
    try_program(page, "x = 1")
    expect_error(page, "too many positions")


def test_illegal_moves_are_counted(visit):
    page = visit(SMALL)
    page.locator("#code").fill("def choose_action(heaps):\n  print('x' * 1_000_000)\n  return 0, heaps[0]")
    page.locator("#try").click()
    expect_result(page, "Bug in the choice")
    remarks = page.locator("#remarks")
    expect(remarks).to_contain_text("no legal move in 19 positions, the first 0-0-1, where it answers (0, 0)")
    expect(remarks).to_contain_text("It printed 118 million characters")
    table = np.reshape(kept(page)[0]["probabilities"], (60, 9))
    np.testing.assert_allclose(table[1:].sum(axis=1), 1)  # against a person it plays any move there


ENDLESS = "def train(n):\n  print('Game 1 of', n)\n  while True: pass"


def test_a_training_shows_what_it_prints_and_can_be_stopped(visit):
    page = visit(SMALL)
    try_program(page, ENDLESS)
    expect(page.locator("#progress")).to_have_text("Training … Game 1 of 10000", timeout=MAX_SECONDS * 1000)
    page.locator("#stop").click()
    expect_error(page, "Stopped.")
    expect(page.locator("iframe")).to_have_count(1)  # which waits for the next program
    expect(page.locator("#stop")).to_be_hidden()
    try_program(page, ENDLESS)
    try_program(page, "def move(heaps):\n  heap = heaps.index(max(heaps))\n  return heap, 1")  # ends the first
    expect_result(page, "mine.py plays")


def test_a_training_that_never_ends_is_stopped(visit):
    page = visit(SMALL, FAST)
    try_program(page, ENDLESS)
    expect_error(page, "longer than 120 seconds")


def test_the_program_becomes_an_opponent_for_the_visit(visit):
    page = visit(SMALL)
    try_program(page, "def move(heaps):\n  heap = heaps.index(max(heaps))\n  return heap, 1")
    expect_result(page, "mine.py plays")
    mistake = page.locator("#mistakes li").first
    expect(mistake).to_have_text("At 0-0-3 it takes 1 from C. Taking 2 from C would win. Play it")
    mistake.get_by_role("link").click()
    expect(page.locator("#say")).to_have_text("mine.py took 1 from C. Your turn.", timeout=10_000)
    expect(page.locator("#how")).to_have_text("That was its mistake: now you can win.")
    expect(page.locator("#levels [aria-pressed=true]")).to_contain_text("mine.py")
    page.get_by_role("button", name="Beginner").click()
    page.reload()
    expect(page.locator(".block").first).to_be_visible()
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="More opponents").click()
    page.locator("#players").get_by_role("button", name="mine.py").click()
    expect(page.locator("#opponent")).to_have_text("mine.py")
    page.go_back()
    page.wait_for_url(re.compile("program.html"))


def test_the_report_is_there_again_after_a_game(visit):
    page = visit(SMALL)
    try_program(page, "def move(heaps):\n  heap = heaps.index(max(heaps))\n  return heap, 1")
    expect_result(page, "mine.py plays")
    report = page.locator("#result").inner_text()
    page.locator("#mistakes").get_by_role("link").first.click()
    expect(page.locator("#how")).to_have_text("That was its mistake: now you can win.", timeout=10_000)
    page.go_back()
    expect(page.locator("#result")).to_have_text(report, use_inner_text=True)
    page.locator("#play").click()
    expect(page.locator(".block").first).to_be_visible()  # once it is drawn, its buttons work
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Your own program").click()
    expect(page.locator("#result")).to_have_text(report, use_inner_text=True)
    page.goto(page.url.replace("2-3-4", "1-2"))
    page.reload()
    expect(page.locator("#board-name")).to_have_text("1-2")
    expect(page.locator("#result")).to_be_hidden()


def test_functions_with_other_names_are_named_below_the_heading(visit):
    page = visit(COURSE)
    try_program(page, (DATA / "programs" / "base.py").read_text(encoding="utf-8"))
    tested = page.locator("#tested")
    expect(tested).to_contain_text(
        "No bug was found in get_q_value and choose_action.", timeout=MAX_SECONDS * 1000
    )
    expect(tested).to_contain_text(
        "too if they were called best_future_reward(state) and update_q_value(state, action"
    )


def test_a_mistake_is_played_from_the_map(visit):
    page = visit(SMALL)
    try_program(page, "def move(heaps):\n  heap = heaps.index(max(heaps))\n  return heap, 1")
    expect_result(page, "mine.py plays")
    page.locator("#map .minus").first.click()
    expect(page.locator("#how")).to_have_text("That was its mistake: now you can win.", timeout=10_000)


def test_the_menu_leads_to_the_program_page_with_the_board_only_if_python_is_there(visit):
    page = visit("heaps=3-4-5&last=wins&take=3", page="index.html")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Your own program").click()
    expect(page.locator("#board-name")).to_have_text("3-4-5")
    page.locator("#back").click()
    expect(page.locator("#board-name")).to_have_text("3-4-5")
    page.route("**/python/version.txt", lambda route: route.fulfill(status=404))
    page.get_by_role("button", name="Menu").click()
    page.wait_for_load_state("networkidle")
    expect(page.locator("#program")).to_be_hidden()
    visit.wrong.clear()  # the missing file is an error of the console


ATTEMPTS = """
import js

def request():
    asked = js.XMLHttpRequest.new()
    asked.open("GET", "ADDRESSrules.js", False)
    asked.send()

said = []
for attempt in (request, lambda: js.importScripts("ADDRESSrules.js"), lambda: js.indexedDB.open("x")):
    try:
        attempt()
        said.append("reached")
    except BaseException as error:
        said.append(str(error)[:13])
raise ValueError(str(said))
"""


def test_what_a_program_cannot_reach(visit, address):
    page = visit(SMALL)
    try_program(page, ATTEMPTS.replace("ADDRESS", address))
    expect_error(page, "['NetworkError:', 'NetworkError:', 'SecurityError']")
    visit.wrong.clear()  # the browser reports what it has blocked


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(visit, scheme):
    page = visit(SMALL)
    page.emulate_media(color_scheme=scheme)
    try_program(page, "def choose_action(heaps): return 0, heaps[0]")
    expect_result(page, "Bug in the choice")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []


def test_another_package_is_refused(monkeypatch, tmp_path, refused):
    def packed(_command, cwd, **_options):
        (cwd / "pyodide.tgz").write_bytes(b"other")

    monkeypatch.setattr(get_python.shutil, "which", lambda name: name)
    monkeypatch.setattr(get_python.subprocess, "run", packed)
    with refused("pyodide", get_python.SHA512):
        get_python.main(tmp_path / "python")
    assert not (tmp_path / "python" / "version.txt").exists()
