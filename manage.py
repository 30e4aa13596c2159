#!/usr/bin/env python
"""Django's command line for Berth."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from config.version import read_version


def main() -> int:
    """Exit code 2 and one sentence, without a traceback, for configuration that cannot be used."""
    if sys.argv[1:] in (["version"], ["--version"]):  # Django answers with its own
        sys.stdout.write(f"Berth {read_version()}\n")
        return 0
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
