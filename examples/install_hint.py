"""If a package is missing, prints what to install instead of a traceback.

The command is the line "Install: ..." in the docstring of the script. A script imports this module before the
packages that could be missing.
"""

import re
import sys
from pathlib import Path
from types import TracebackType


def show_error(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Prints an uncaught error. It replaces ``sys.excepthook``."""
    install = re.search(r"^Install: .*$", sys.modules["__main__"].__doc__ or "", re.MULTILINE)
    if isinstance(error, ModuleNotFoundError) and install:
        print(f"{Path(sys.argv[0]).name}: {error}. {install[0]}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = show_error
