"""`build_images` of the containers app, which in `make run` first checks whether this version can serve.

Building replaces images, from which a running service starts agents.
"""

from argparse import ArgumentParser
from typing import Any

from config.management.start_checks import require_that_it_may_serve
from containers.management.commands import build_images


class Command(build_images.Command):
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--before-serving", action="store_true", help="build nothing if this version could not serve afterwards"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["before_serving"]:
            require_that_it_may_serve()
        super().handle(*args, **options)
