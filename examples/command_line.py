"""The command line of the scripts: ``run`` reads the options, and errors of a user are one line.

A script imports this module before the packages that could be missing. If one is missing, the script then says
how to install it (``show_error`` below) instead of printing a traceback.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any


def run(main: Callable[[Any], Any], args_type: type) -> None:
    """Parses the command line into a dataclass and calls ``main`` with it.

    The docstrings of the dataclass are the help texts. A wrong value or file prints one line and exits with status
    2. Ctrl-C prints one word and exits with status 130.
    """
    import tyro  # not at the top: it could be missing

    words = [word for argument in sys.argv[1:] for word in split_numbers(argument)]
    try:
        main(tyro.cli(args_type, args=words, description=sys.modules[main.__module__].__doc__))
    except (ValueError, OSError) as error:
        # gym.make adds to the message how it was called, which the user of a script does not know
        message = str(error).split(" was raised from the environment creator")[0]
        print(f"{Path(sys.argv[0]).name}: {' '.join(message.split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        sys.exit(130)


def split_numbers(argument: str) -> list[str]:
    """Splits ``--heaps=4,4`` into ``--heaps 4 4``, the form that tyro reads. Other arguments stay unchanged."""
    is_numbers = re.fullmatch(r"(--[\w-]+=)?\d[\d,]*", argument)
    return [*filter(None, re.split("[=,]", argument))] if is_numbers else [argument]


def show_error(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Prints an uncaught error, or for a missing package the line "Install: ..." of the script's docstring."""
    install = re.search(r"^Install: .*$", sys.modules["__main__"].__doc__ or "", re.MULTILINE)
    if isinstance(error, ModuleNotFoundError) and install:
        print(f"{Path(sys.argv[0]).name}: {error}. {install[0]}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = show_error  # set here, because the imports of a script fail before it can call anything
