"""`build_images` of the containers, which in `make run` first asks what would keep this version from serving.

To build replaces images, from which the agents of a service that runs are started.
"""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.db.utils import Error as DatabaseError

from config.backup.marker import require_no_restore
from config.database.versions import refuse_newer_database
from config.serving.port import require_free_port
from containers.management.commands import build_images


class Command(build_images.Command):
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--before-serving", action="store_true", help="build nothing where this version could not serve after it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["before_serving"]:
            _require_that_it_may_serve()
        super().handle(*args, **options)


def _require_that_it_may_serve() -> None:
    """Raises `CommandError`. Of a database that does not answer `serve --prepare` says what to do."""
    require_no_restore()
    require_free_port(settings.BERTH_HOST, settings.BERTH_PORT)
    try:
        refuse_newer_database()
    except DatabaseError:
        return
