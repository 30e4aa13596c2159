"""Django's `migrate`, which waits for the database as long as it needs."""

from typing import Any

from django.core.management.commands import migrate
from django.db import connections

from config.database.limits import without_limits


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection: Any = connections[options["database"]]
        with without_limits(), connection.without_server_limits():
            super().handle(*args, **options)
