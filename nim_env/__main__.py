"""Runs the command of :mod:`nim_env.check` for ``python -m nim_env``."""

import sys

from nim_env.check.command import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped")
