"""The address of the repository, what the package index shows, and the version in the citation."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nim_env

try:
    import tomllib
except ImportError:  # Python 3.10; pytest needs it there
    import tomli as tomllib

ROOT = Path(__file__).parent.parent


def project(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_build_takes_no_address_from_where_it_runs():
    assert not (ROOT / "setup.py").exists()  # nothing runs at a build
    assert project(ROOT)["dynamic"] == ["version"]
    assert "urls" not in project(ROOT)


def test_a_release_has_the_address_in_its_metadata_and_its_page_links_to_its_own_files(tmp_path):
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    address = "https://github.com/someone/nim.env"
    program = ROOT / ".ci" / "write_addresses.py"
    subprocess.run([sys.executable, program, address, "v1.2.3"], cwd=tmp_path, check=True)
    released = project(tmp_path)
    assert released.pop("urls") == {
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/v1.2.3/CHANGELOG.md",
    }
    assert released == project(ROOT)
    pages = [(folder / released["readme"]).read_text(encoding="utf-8") for folder in (ROOT, tmp_path)]
    before, after = (re.findall(r"(?:\]\(|src=\"|srcset=\")([^)\"]+)", page) for page in pages)
    for old, new in zip(before, after, strict=True):
        kind = "raw" if re.search(r"\.(svg|png|gif)$", old) else "blob"
        assert new == (old if old.startswith("https://") else f"{address}/{kind}/v1.2.3/{old}")


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
