"""What depends on the repository's address; everything else is in pyproject.toml."""

import re
from pathlib import Path

from setuptools import setup

# PLACEHOLDER: the address of the repository, once it is known. The files below .github need no address.
REPOSITORY = "https://github.com/OWNER/nim-env"

# The package index shows the README without the repository's files, so its links must be absolute.
readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
# pictures, then pages
readme = re.sub(r"(!\[[^\]]*\]\(|(?:<img src|srcset)=\")(?!https?:)", rf"\1{REPOSITORY}/raw/main/", readme)
readme = re.sub(r"(\]\()(?!https?:|#)", rf"\1{REPOSITORY}/blob/main/", readme)
setup(
    long_description=readme,
    long_description_content_type="text/markdown",
    project_urls={
        "Source": REPOSITORY,
        "Issues": f"{REPOSITORY}/issues",
        "Changelog": f"{REPOSITORY}/blob/main/CHANGELOG.md",
    },
)
