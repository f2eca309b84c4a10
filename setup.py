"""What depends on the repository's address; everything else is in pyproject.toml."""

import os
import re
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def find_repository():
    """The address on GitHub, from its workflows, else from git's origin; None elsewhere."""
    name = os.environ.get("GITHUB_REPOSITORY")
    if not name:
        command = "git --git-dir=.git config remote.origin.url"  # without git, an empty answer
        origin = subprocess.run(command, shell=True, cwd=FOLDER, capture_output=True, text=True).stdout
        found = re.search(r"github\.com[:/]([^/]+/[^/]+?)(\.git)?/?$", origin.strip())
        name = found and found[1]
    return name and f"https://github.com/{name}"


def project_page(repository):
    """The README for the package index, which has no files: their links are absolute, or their text is left."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    if repository is None:
        readme = re.sub(r'<(img src|source [^>]*srcset)="(?!https?:)[^>]*>', "", readme)
        return re.sub(r"\[([^\]]*)\]\((?!https?:|#)[^)]*\)", r"\1", readme)
    # pictures, then pages
    readme = re.sub(r"(!\[[^\]]*\]\(|(?:<img src|srcset)=\")(?!https?:)", rf"\1{repository}/raw/main/", readme)
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{repository}/blob/main/", readme)


if __name__ == "__main__":
    from setuptools import setup

    address = find_repository()
    urls = {"Source": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
    setup(
        long_description=project_page(address),
        long_description_content_type="text/markdown",
        project_urls={name: address + path for name, path in urls.items()} if address else {},
    )
