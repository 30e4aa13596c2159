"""Distinguishes faults of the database, which may be over in a moment, from mistakes of ours."""

from enum import Enum

from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, NotSupportedError, OperationalError
from django.db.utils import Error, InternalError, ProgrammingError


class Fault(Enum):
    """A sentence about the fault for people, and the seconds after which another attempt makes sense."""

    SILENT = ("The database does not answer. Try again in a few seconds.", 5)
    BUSY = (
        "The database is busy: a row is locked, or a query takes too long. Try again in a few seconds.",
        5,
    )
    READ_ONLY = ("The database accepts no changes at the moment. Try again later, or tell the staff.", 30)
    FULL = ("The database has no space left. Tell the staff of this installation.", 60)
    REPLACED = ("The database has had its file replaced or removed. Tell the staff of this installation.", 60)
    OUTDATED = ("The database does not match this version of Berth. Tell the staff of this installation.", 60)

    def __init__(self, sentence: str, retry_after: int) -> None:
        self.sentence = sentence
        self.retry_after = retry_after

    @property
    def summary(self) -> str:
        """Returns the first sentence, which does not say what to do."""
        return self.sentence.partition(". ")[0] + "."


# https://www.postgresql.org/docs/current/errcodes-appendix.html
_POSTGRESQL = {
    "55P03": Fault.BUSY,  # lock_not_available
    "57014": Fault.BUSY,  # query_canceled, by a time limit
    "40001": Fault.BUSY,  # serialization_failure
    "40P01": Fault.BUSY,  # deadlock_detected
    "25006": Fault.READ_ONLY,  # read_only_sql_transaction
    "53100": Fault.FULL,  # disk_full
    "42P01": Fault.OUTDATED,  # undefined_table
    "42703": Fault.OUTDATED,  # undefined_column
    "3F000": Fault.OUTDATED,  # invalid_schema_name
    "42501": Fault.OUTDATED,  # insufficient_privilege
}
# https://www.sqlite.org/rescode.html
_SQLITE = {
    "SQLITE_BUSY": Fault.BUSY,
    "SQLITE_LOCKED": Fault.BUSY,
    "SQLITE_INTERRUPT": Fault.BUSY,  # by a time limit
    "SQLITE_READONLY": Fault.READ_ONLY,
    "SQLITE_FULL": Fault.FULL,
    "SQLITE_READONLY_DBMOVED": Fault.REPLACED,
}
_ABORTED = "25P02"
"""in_failed_sql_transaction: follows an earlier error, and says nothing about it."""

_MISTAKES = (IntegrityError, DataError, NotSupportedError)


def find_fault(error: BaseException | None, *, has_failed: bool = False) -> Fault | None:
    """Returns the fault that caused the error. Returns None for a mistake of ours, and for an error of another kind.

    `has_failed` says that the database has failed the same work before.
    """
    if not isinstance(error, Error) or isinstance(error, _MISTAKES):
        return None
    cause = error.__cause__
    state, name = getattr(cause, "sqlstate", None) or "", getattr(cause, "sqlite_errorname", "")
    if found := _POSTGRESQL.get(state) or _SQLITE.get(name) or _SQLITE.get("_".join(name.split("_")[:2])):
        return found
    if "no such table" in str(error) or "no such column" in str(error):
        return Fault.OUTDATED
    if has_failed:
        return Fault.SILENT  # a consequence of the earlier fault: the connection was closed in mid-transaction
    return Fault.SILENT if _is_of_the_server(error, state, name) else None


def _is_of_the_server(error: Error, state: str, name: str) -> bool:
    if isinstance(error, ProgrammingError) or state == _ABORTED or name == "SQLITE_ERROR":
        return False
    # SQLite reports a damaged file as a plain DatabaseError.
    return isinstance(error, OperationalError | InternalError | InterfaceError) or type(error) is DatabaseError
