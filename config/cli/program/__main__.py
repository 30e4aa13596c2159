"""What Python runs of the packed file. It is read by any Python, so that an old one says what is missing."""

import sys

if sys.version_info < (3, 9):  # noqa: UP036 - people run the file with the Python that they have
    sys.exit("berth: it needs Python 3.9 or newer.")

from berth_cli.main import run

sys.exit(run())
