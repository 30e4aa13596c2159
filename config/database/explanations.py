"""A database that fails is no defect of the program, so commands report it in a sentence and show no traceback."""

import logging
import os
import tempfile
from pathlib import Path

from django.db import DatabaseError, connection
from django.db.utils import Error

from config.database.faults import Fault, find_fault
from config.environment.ownership import advise

NO_CONNECTION = "couldn't get a connection"
"""How the pool's error begins, which does not say why."""

_ADVICE = {
    Fault.OUTDATED: "Run `make upgrade`, or `manage.py prepare`, then run this again.",
    Fault.BUSY: "Another program uses it. Run this again when that has finished.",
}
_FORBIDDEN = "The database does not let its user do this."


class PoolNotes(logging.Filter):
    """Keeps what the pool of connections says about each of its attempts out of the output of a command, and remembers
    why the last one failed.
    """

    reason = ""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg.startswith("error connecting") and isinstance(record.args, tuple):
            self.reason = " ".join(str(record.args[-1]).split())
        return record.levelno > logging.WARNING


_notes = PoolNotes()


def take_notes() -> None:
    """For commands that end with the sentence of `explain_fault`. Servers log what the pool says."""
    logging.getLogger("psycopg.pool").addFilter(_notes)


def explain_fault(error: Error) -> str:
    """Returns the sentences for an operator; empty for a mistake of ours, whose traceback is needed."""
    fault = find_fault(error)
    if fault is None:
        return ""
    reason = next(iter(str(error).splitlines()), "")
    if reason.startswith(NO_CONNECTION) and _notes.reason:
        reason = _notes.reason
    if type(error) is DatabaseError:  # of SQLite only
        return f"The file of the database is damaged ({reason}). Keep a copy of it, then restore a backup."
    if fault is Fault.FULL:
        return "The disk of the database is full. Make room, then run this again."
    if fault is Fault.REPLACED:
        return f"{fault.summary} Nothing more is written to the former one. Run this again."
    if connection.vendor == "sqlite":
        path = Path(str(connection.settings_dict["NAME"]))
        return f"The database {path} cannot be used ({reason}). {_advise(path, fault)}"
    return f"{_FORBIDDEN if _is_forbidden(error) else fault.summary} ({reason}) {_advise_about_server(error, fault)}"


def _is_forbidden(error: Error) -> bool:
    return getattr(error.__cause__, "sqlstate", None) == "42501"  # insufficient_privilege


def _advise_about_server(error: Error, fault: Fault) -> str:
    """Returns a sentence that says what to do about a server that refuses or fails."""
    if _is_forbidden(error):
        return "Make the user of DATABASE_URL the owner of the database and of Berth's tables, then run this again."
    if fault in _ADVICE:
        return _ADVICE[fault]
    if fault is Fault.READ_ONLY:
        return "Name the primary server in DATABASE_URL, or run this again when this one accepts changes."
    return "Check DATABASE_URL, and that the database server is running."


def _advise(path: Path, fault: Fault) -> str:
    """Returns a sentence that says what to do about a file that SQLite cannot use, which does not say why."""
    if not path.is_file() and (path.exists() or path.is_symlink()):
        return "It is no file. Put the database back, or correct DATABASE_URL or BERTH_DATA_DIR."
    if fault in _ADVICE:
        return _ADVICE[fault]
    for beside in (Path(f"{path}{ending}") for ending in ("-wal", "-shm", "-journal")):
        if not beside.is_file() and (beside.exists() or beside.is_symlink()):
            return f"{beside} is no file. Move it away, then run this again."
    try:
        _try_to_write(path.parent)
    except OSError as error:
        return advise(error)
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        return "Run this as the user who runs Berth."
    return "Check its disk, then run this again."


def _try_to_write(folder: Path) -> None:
    """Does what SQLite does in the folder, also to read: it keeps its log there. Raises `OSError`."""
    with tempfile.TemporaryFile(dir=folder) as trial:
        trial.write(b"x" * 4096)
        trial.flush()
