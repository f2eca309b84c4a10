"""What the README shows is run as it stands there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.splitlines()[0])
def test_code(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_files_pictures_and_sections_are_there(page):
    text = page.read_text(encoding="utf-8")
    sections = {
        re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in re.findall(r"^#+ (.*)", text, re.M)
    }
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in sections
        else:
            assert (page.parent / target).exists(), target


def test_every_script_has_its_picture_in_the_readme_of_the_examples():
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    scripts = [path.name for path in (ROOT / "examples").glob("*.py") if "__main__" in path.read_text("utf-8")]
    for script in scripts:
        assert re.search(rf"^\*\*`{script}`\*\*", text, re.M), script
        assert re.search(rf"\(pictures/{script.removesuffix('.py')}\.(png|gif)\)", text), script
    shown = set(re.findall(r"\(pictures/([^)]+)\)", text))
    assert shown == {path.name for path in (ROOT / "examples" / "pictures").iterdir()}
