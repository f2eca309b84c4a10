"""One line instead of a traceback if a package is missing: what to install, from the script's own docstring.

A script imports this module before the packages that may be missing.
"""

import re
import sys
from pathlib import Path
from types import TracebackType


def show_error(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Shows an error that nothing has handled."""
    install = re.search(r"^Install: .*$", sys.modules["__main__"].__doc__ or "", re.MULTILINE)
    if isinstance(error, ModuleNotFoundError) and install:
        print(f"{Path(sys.argv[0]).name}: {error}. {install[0]}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = show_error
