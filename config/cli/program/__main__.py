"""The entry point of the packed file. Even an old Python can read it, and says which version is needed."""

import signal
import sys

if sys.version_info < (3, 9):  # noqa: UP036 - people run the file with the Python that they have
    sys.exit("berth: it needs Python 3.9 or newer.")

# Ctrl-C ends the program without a traceback while modules are read and while Python ends. If the shell has it ignored,
# it stays ignored.
HEARS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if HEARS:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from berth_cli.errors import INTERRUPTED  # noqa: E402 - only then
from berth_cli.main import run  # noqa: E402 - only then

try:
    if HEARS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = run()
    if HEARS:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
except KeyboardInterrupt:
    code = INTERRUPTED
sys.exit(code)
