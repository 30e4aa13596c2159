"""The command line's own modules, as Python finds them in its packed file."""

import sys

from config.cli.pack import PROGRAM

sys.path.append(str(PROGRAM))
