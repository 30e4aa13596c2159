"""A process that migrates an empty database to a release (`<app>.<migration> …`), and on a line of input to this tree.

It writes `ready` and `done` to its output.
"""

import os
import sys

import django
from django.core.management import call_command


def main(leaves: list[str]) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    for leaf in leaves:
        call_command("migrate", *leaf.split("."), verbosity=0)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    call_command("migrate", verbosity=0)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(sys.argv[1:])
