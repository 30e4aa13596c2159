"""The entry point of the packed file. Even an old Python can read it, and says which version is needed."""

import sys

if sys.version_info < (3, 9):  # noqa: UP036 - people run the file with the Python that they have
    sys.exit("berth: it needs Python 3.9 or newer.")

from berth_cli.main import run

sys.exit(run())
