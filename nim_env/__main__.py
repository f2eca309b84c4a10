"""The program that ``python -m nim_env`` starts: the command line of :mod:`nim_env.check`."""

import sys

from nim_env.check.command import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped")
