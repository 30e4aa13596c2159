"""Checks whether this version can serve, before anything is changed for it."""

from django.core.management.base import CommandError
from django.db.utils import Error as DatabaseError

from config.backup.marker import require_no_restore
from config.database.versions import refuse_newer_database
from config.serving.port import require_port_of_role
from projects.services.credentials.shared_keys import UnsharedKeyError, check_shared_keys


def require_shared_keys() -> None:
    """Raises `CommandError` if another machine serves this database with other keys."""
    try:
        check_shared_keys()
    except UnsharedKeyError as error:
        raise CommandError(str(error)) from None


def require_that_it_may_serve() -> None:
    """Raises `CommandError`. Ignores a database that does not answer, because `serve --prepare` reports it."""
    require_no_restore()
    require_port_of_role()
    try:
        refuse_newer_database()
    except DatabaseError:
        return
