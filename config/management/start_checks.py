"""Checks whether this version can serve, before anything is changed for it."""

from django.conf import settings
from django.core.management.base import CommandError
from django.db.utils import Error as DatabaseError

from config.backup.marker import require_no_restore
from config.database.versions import refuse_newer_database
from config.serving.port import require_port_of_role
from projects.models import Project
from projects.services.credentials.shared_keys import UnsharedKeyError, check_shared_keys


def require_shared_keys() -> None:
    """Raises `CommandError` if another machine serves this database with other keys."""
    try:
        check_shared_keys()
    except UnsharedKeyError as error:
        raise CommandError(str(error)) from None


def require_own_instance() -> None:
    """Raises `CommandError` if the database has projects of other instances and none of this one.

    The names of their containers begin with the instance, so under another one all of them seem to be gone, and each
    agent would be started a second time. Ignores a database that does not answer or has no tables yet.
    """
    projects = Project.objects.live()
    try:
        if projects.filter(instance=settings.BERTH_INSTANCE).exists():
            return
        other = projects.values_list("instance", flat=True).first()
    except DatabaseError:
        return
    if other is not None:
        raise CommandError(
            f"The projects of this database are of the instance {other}, and this is {settings.BERTH_INSTANCE}: their "
            f"agents would run twice. Nothing was changed. Set BERTH_INSTANCE={other}."
        )


def require_that_it_may_serve() -> None:
    """Raises `CommandError`. Ignores a database that does not answer, because `serve --prepare` reports it."""
    require_no_restore()
    require_own_instance()
    require_port_of_role()
    try:
        refuse_newer_database()
    except DatabaseError:
        return
