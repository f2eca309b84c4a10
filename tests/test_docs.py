"""Tests the code, the links and the pictures in the README and the documentation."""

import collections
import csv
import doctest
import re
import runpy
from pathlib import Path

import pytest

from nim_env.check import examination, options, report

ROOT = Path(__file__).parent.parent
# other test files run the code of these pages
OTHERS = ("deep_rl.md", "diagnosis_study.md", "scaling_out.md", "test_suite.md")
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))

script = runpy.run_path(str(ROOT / "docs" / "scripts" / "generate.py"))
generate = script["generate"]


BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def code_blocks(page):
    """Returns the Python blocks of a page with the output below each. Generated parts are tested with the code."""
    text = re.sub(r"<!-- generated: .*?<!-- end -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return BLOCK.findall(text)


WITH_CODE = [page for page in PAGES if code_blocks(page) and page.name not in OTHERS]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs_from_top_to_bottom_and_prints_what_it_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    variables = {"__name__": "__main__"}
    for number, (code, output) in enumerate(code_blocks(page)):
        exec(compile(code, f"{page.name}, block {number}", "exec"), variables)
        printed = re.sub(r" +$", "", capsys.readouterr().out, flags=re.MULTILINE)
        if output and not doctest.OutputChecker().check_output(output, printed, doctest.ELLIPSIS):
            assert printed == output, f"block {number}"


@pytest.mark.parametrize("name", ["gym_env.NimEnv", "vector_env.NimVectorEnv", "aec_env"])
def test_the_example_of_an_environment_prints_what_its_docstring_says(name, capsys):
    ((code, output),) = BLOCK.findall(script["docstring"](f"nim_env.envs.{name}"))
    exec(code, {})
    assert capsys.readouterr().out == output


def test_the_output_in_the_readme_is_that_of_its_command(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "test_your_agent.md").read_text(encoding="utf-8")
    Path("nim.py").write_text(re.search(r"This is `nim.py`.*?```python\n(.*?)```", page, re.DOTALL)[1])
    said = report.full_report(examination.examine("nim.py", options.parse(["check", "nim.py"]))).split()
    shown = re.search(r"check nim.py\n```\n\n```text\n(.*?)```", text, re.DOTALL)[1].split()
    verdict = shown.index("verdict:")
    assert " ".join(shown[:verdict]) in " ".join(said)
    assert " ".join(shown[verdict:]) in " ".join(said)


def test_the_figures_of_the_readme_are_those_of_the_results():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    ratios = [
        float(re.findall(rf"^{re.escape(comparison)} +(.*)$", measured, re.M)[0].split()[column])
        for comparison, column in (
            ("PettingZoo, nim-v0 / PettingZoo, tictactoe-v3", 0),
            ("Gymnasium, Nim-v0 / Gymnasium, FrozenLake-v1", 0),
            ("vector, Nim-v0, random / vector, CartPole-v1", 3),  # 1,024 games
        )
    ]
    assert re.findall(r"([\d.]+) times as many", text) == [
        f"{ratios[0]:.0f}",
        *(f"{ratio:.1f}" for ratio in ratios[1:]),
    ]
    certificates = (ROOT / "examples" / "learn_the_rule" / "certificates").glob("[nm]*.npz")
    assert f"{len(list(certificates))} of 20 are" in text
    assert len((ROOT / "examples" / "quickstart.py").read_text(encoding="utf-8").splitlines()) == 60
    assert "in 60 lines" in text


def test_the_figures_of_the_public_programs_are_those_of_the_table():
    page = ROOT / "docs" / "experiments" / "public_programs.md"
    table = page.with_suffix(".csv")
    with table.open(encoding="utf-8") as file:
        running = [row for row in csv.DictReader(file) if row["runs"] == "1"]
    correct, faulty = ([row for row in running if row["truth"] == truth] for truth in ("correct", "faulty"))
    found = [row for row in faulty if row["result"] == "bug" and row["told_in"] == row["faults_in"]]
    counts = [len(running), len(faulty), len(found), len(correct)]
    study, readme = (" ".join(path.read_text(encoding="utf-8").split()) for path in (page, ROOT / "README.md"))
    said = re.search(
        r"Of the (\d+) solutions that run, (\d+) have .* finds (\d+) of these .* the (\d+) correct", study
    )
    assert [*map(int, said.groups())] == counts
    said = re.search(r"Of (\d+) public solutions .*?, (\d+) have a fault\. The command \[finds (\d+) of", readme)
    assert [*map(int, said.groups())] == counts[:3]
    results = collections.Counter((row["truth"], row["result"]) for row in running)
    shown = [*map(int, re.findall(r"\| (\d+) ", study.partition("## What is wrong")[0]))]
    assert "bug" not in {row["result"] for row in correct}
    assert shown == [
        *(0, len(found), 0, results["faulty", "bug"] - len(found)),
        *(
            results[truth, result]
            for result in ("no bug found", "undecided", "error")
            for truth in ("correct", "faulty")
        ),
    ]


def test_the_pictures_of_the_readme_show_what_its_text_says():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (described,) = re.findall(r'alt="(Two maps[^"]*)"', text)
    for name in ("maps.svg", "maps_narrow.svg"):
        shown = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
        *_, learner, program = re.findall(r">([\d.]+ %)</text><text[^>]*>(\d+)<", shown)
        for share, mistakes in (learner, program):
            assert re.search(rf"{share}[^;]* {mistakes} mistakes", described)
    assert f"{learner[0].replace(' ', '')} of 335" in text


@EVERY_PAGE
def test_the_package_is_imported_before_its_environments_are_made(page):
    code = "".join(block for block, _ in code_blocks(page))
    made = re.search(r"""(make|make_vec)\((\s*"aec",)?\s*"(Nim|NimOneHot|SimpleNim|nim|simple_nim)-v0""", code)
    assert made is None or "import nim_env\n" in code[: made.start()]


@EVERY_PAGE
def test_no_code_escapes_the_tests(page):
    fences = re.findall(r"^ *```+(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert {fence for fence in fences if not fence.startswith("{")} <= {"python", "sh", "text"}
    assert not any("code" in fence for fence in fences)


@EVERY_PAGE
def test_no_line_is_a_comment_by_accident(page):
    """The site leaves out a line that begins with a percent sign."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"^ *%.*", text, re.MULTILINE)


@EVERY_PAGE
def test_what_comes_from_the_code_is_what_the_code_says(page):
    """If this test fails, run python docs/scripts/generate.py."""
    text = page.read_text(encoding="utf-8")
    assert generate(text) == text


def test_pictures_are_what_their_script_draws(tmp_path):
    """If this test fails, run python docs/scripts/draw_pictures.py."""
    runpy.run_path(str(ROOT / "docs" / "scripts" / "draw_pictures.py"))["draw"](tmp_path)
    for path in (ROOT / "docs" / "pictures").glob("*.svg"):
        assert path.read_text(encoding="utf-8") == (tmp_path / path.name).read_text(encoding="utf-8"), path


@EVERY_PAGE
def test_files_pictures_and_sections_are_there(page):
    text = page.read_text(encoding="utf-8")
    sections = {
        re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)", text, re.M)
    }
    for target in re.findall(r"(?:\]\(|(?:<img src|srcset)=\")(?!https?:)([^)\"]+)", text):
        file, _, section = target.partition("#")
        if file:
            assert (page.parent / file).exists(), target
        else:
            assert section in sections


def test_every_script_has_its_picture_in_the_readme_of_the_examples():
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    scripts = [
        path.name for path in (ROOT / "examples").glob("*.py") if "\nif __name__ ==" in path.read_text("utf-8")
    ]
    for script in scripts:
        assert re.search(rf"^\*\*`{script}`\*\*", text, re.M), script
        if script in ("nim_inspect.py", "nim_ai.py", "play.py"):
            continue  # these scripts print text instead
        assert re.search(rf"\(pictures/{script.removesuffix('.py')}\.(svg|png|gif)\)", text), script


def test_every_picture_of_the_examples_is_on_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = set(re.findall(r"[(/]pictures/([\w.]+)", text))
    assert shown >= {path.name for path in (ROOT / "examples" / "pictures").iterdir()}
