"""Gets Python for the browser, so the page can run your own program: Pyodide, which is CPython as WebAssembly.

The files go into page/python/, which git ignores: 13 MB, or 6 MB compressed. Without them, the page has no entry
"Your own program". The script needs npm, which comes with Node.js, and the network once.

    python examples/page/get_python.py
"""

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

VERSION = "314.0.7"
SHA512 = (
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="  # base64, as npm
)
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PAGE = Path(__file__).resolve().parent
CHECK = PAGE.parents[1] / "nim_env" / "check"


def main(folder: Path = PAGE / "python") -> None:
    """Downloads Pyodide unless the folder has this version, and copies two modules of the package each time."""
    mark = folder / "version.txt"
    if not mark.exists() or mark.read_text(encoding="utf-8") != VERSION:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            unpack(download(Path(temporary)), folder)
        mark.write_text(VERSION, encoding="utf-8")  # last, so an interrupted download is repeated
    for module in ("programs.py", "specification.py"):
        shutil.copy(CHECK / module, folder)
    print(f"Pyodide {VERSION} is in {folder}")


def download(folder: Path) -> Path:
    """Downloads the package and returns its path. Raises ValueError if it is not the pinned one."""
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm was not found; install Node.js, which contains it")
    subprocess.run(
        [npm, "pack", "--silent", f"pyodide@{VERSION}"], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    (package,) = folder.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode()
    if digest != SHA512:
        raise ValueError(f"pyodide@{VERSION} has the SHA-512 {digest}, not {SHA512}; do not use it")
    return package


def unpack(package: Path, folder: Path) -> None:
    """Copies the files that the page needs out of the package."""
    with tarfile.open(package) as archive:
        for name in FILES:
            member = archive.extractfile(f"package/{name}")
            assert member is not None
            with member, (folder / name).open("wb") as file:
                shutil.copyfileobj(member, file)


if __name__ == "__main__":
    main()
