#!/usr/bin/env python
"""Django's command line for Berth. Until a command begins, Ctrl-C ends it without a word."""

import os
import signal
import sys


def main() -> int:
    """Returns what `config.management.command_line.run` does."""
    # With it, Python finds only what is installed, and neither this program nor those that it starts.
    if os.environ.pop("PYTHONSAFEPATH", "") or sys.flags.safe_path:
        sys.path.insert(0, __file__.rpartition("/")[0])
    from config.management.command_line import run  # noqa: PLC0415 - Ctrl-C would break the imports with a traceback

    return run()


# A background job of a script ignores it, and goes on doing so.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

if __name__ == "__main__":
    sys.exit(main())
