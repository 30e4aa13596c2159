"""`build_images` of the containers, which in `make run` first asks what would keep this version from serving.

To build replaces images, from which the agents of a service that runs are started.
"""

from argparse import ArgumentParser
from typing import Any

from config.management.before_serving import require_that_it_may_serve
from containers.management.commands import build_images


class Command(build_images.Command):
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--before-serving", action="store_true", help="build nothing where this version could not serve after it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["before_serving"]:
            require_that_it_may_serve()
        super().handle(*args, **options)
