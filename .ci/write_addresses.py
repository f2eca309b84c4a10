"""Writes the repository's address into the checkout of a release, before it is built.

    write_addresses.py ADDRESS TAG

The package index has no files, so the links in README.md become absolute. They lead to the files of the release's
TAG, which stay as they are when `main` changes. pyproject.toml gets the project's addresses.
"""

import re
import sys
from pathlib import Path

address, tag = sys.argv[1:]
readme = Path("README.md")
text = readme.read_text(encoding="utf-8")
# pictures, then pages
text = re.sub(r"(!\[[^\]]*\]\(|(?:<img src|srcset)=\")(?!https?:)", rf"\1{address}/raw/{tag}/", text)
text = re.sub(r"(\]\()(?!https?:|#)", rf"\1{address}/blob/{tag}/", text)
readme.write_text(text, encoding="utf-8")
with Path("pyproject.toml").open("a", encoding="utf-8") as file:
    file.write(
        f'\n[project.urls]\nSource = "{address}"\nIssues = "{address}/issues"\n'
        f'Changelog = "{address}/blob/{tag}/CHANGELOG.md"\n'
    )
