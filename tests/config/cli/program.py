"""The command line's modules, as Python finds them in the packed file."""

import sys

from config.cli.pack import PROGRAM

sys.path.append(str(PROGRAM))
