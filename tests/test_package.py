"""The address of the repository, what the package index shows, and the version in the citation."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

import nim_env

ROOT = Path(__file__).parent.parent
project_page = runpy.run_path(str(ROOT / "setup.py"))["project_page"]


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://github.com/someone/nim-env.git", "https://github.com/someone/nim-env"),
        ("git@github.com:someone/nim.env", "https://github.com/someone/nim.env"),
        ("/home/someone/nim-env", None),
        (None, None),
    ],
)
def test_the_address_is_that_of_the_workflow_or_of_origin(origin, address, tmp_path, monkeypatch):
    shutil.copy(ROOT / "setup.py", tmp_path)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    if origin:
        subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", origin], check=True)
    find_repository = runpy.run_path(str(tmp_path / "setup.py"))["find_repository"]
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert find_repository() == address
    monkeypatch.setenv("GITHUB_REPOSITORY", "other/name")
    assert find_repository() == "https://github.com/other/name"


@pytest.mark.parametrize("repository", ["https://github.com/someone/nim-env", None])
def test_the_page_of_the_package_has_no_link_to_a_file_that_it_lacks(repository):
    targets = re.findall(r"(?:\]\(|src=\"|srcset=\")([^)\"]+)", project_page(repository))
    assert all(target.startswith("https://") for target in targets)
    assert bool(targets) == (repository is not None)


def test_the_citation_has_the_version_and_its_date_once_it_is_released():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {nim_env.__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(rf"^## {re.escape(nim_env.__version__)} \((.*)\)", changes, re.MULTILINE)[1]
    date = re.search(r"^date-released: (.*)$", citation, re.MULTILINE)
    assert released == (date[1] if date else "unreleased")


def test_pull_requests_are_checked_with_an_exact_version_of_every_dependency():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    dependencies = re.findall(r'"([a-z0-9_-]+)(?:\[[a-z,]+\])?[>=]=', text.replace("_", "-"))
    exact = re.findall(r"^([a-z0-9-]+)==", (ROOT / ".ci" / "versions.txt").read_text("utf-8"), re.MULTILINE)
    assert set(dependencies) - set(exact) == {"jupyterlab", "pyarrow", "ray", "setuptools"}  # not in these checks
