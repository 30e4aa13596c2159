"""What would keep this version from serving, asked before anything is changed for it."""

from django.db.utils import Error as DatabaseError

from config.backup.marker import require_no_restore
from config.database.versions import refuse_newer_database
from config.serving.port import require_port_of_role


def require_that_it_may_serve() -> None:
    """Raises `CommandError`. Of a database that does not answer `serve --prepare` says what to do."""
    require_no_restore()
    require_port_of_role()
    try:
        refuse_newer_database()
    except DatabaseError:
        return
