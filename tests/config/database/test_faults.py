"""Faults of the database are distinguished from our own mistakes."""

import sqlite3
from typing import Any

import psycopg
import psycopg.errors
import pytest
from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, NotSupportedError, OperationalError
from django.db.utils import InternalError, ProgrammingError
from psycopg_pool import PoolTimeout, TooManyRequests

from config.database.faults import Fault, find_fault
from config.database.limits import note_fault, request_limits
from config.database.postgresql.connection import HangingError


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def of_postgresql(error: Exception, name: str) -> Exception:
    return caused(error, getattr(psycopg.errors, name)())


def of_sqlite(name: str, *, kind: type[Exception] = OperationalError, text: str = "") -> Exception:
    cause = sqlite3.OperationalError(text)
    cause.sqlite_errorname = name
    return caused(kind(text), cause)


FAULTS: list[tuple[Exception, Fault]] = [
    (of_postgresql(OperationalError(), "LockNotAvailable"), Fault.BUSY),
    (of_postgresql(OperationalError(), "QueryCanceled"), Fault.BUSY),
    (of_postgresql(OperationalError(), "DeadlockDetected"), Fault.BUSY),
    (of_postgresql(InternalError(), "ReadOnlySqlTransaction"), Fault.READ_ONLY),
    (of_postgresql(OperationalError(), "DiskFull"), Fault.FULL),
    (of_postgresql(OperationalError(), "AdminShutdown"), Fault.SILENT),
    (of_postgresql(OperationalError(), "CannotConnectNow"), Fault.SILENT),
    (of_postgresql(OperationalError(), "TooManyConnections"), Fault.SILENT),
    (of_postgresql(OperationalError(), "InvalidPassword"), Fault.SILENT),
    (of_postgresql(InternalError(), "DataCorrupted"), Fault.SILENT),
    (of_postgresql(ProgrammingError(), "UndefinedTable"), Fault.OUTDATED),
    (of_postgresql(ProgrammingError(), "InsufficientPrivilege"), Fault.OUTDATED),
    (caused(OperationalError(), PoolTimeout("couldn't get a connection after 4.00 sec")), Fault.SILENT),
    (caused(OperationalError(), TooManyRequests("the pool has already 3 requests waiting")), Fault.SILENT),
    (caused(OperationalError(), HangingError("The database did not answer in time.")), Fault.SILENT),
    (InterfaceError("connection already closed"), Fault.SILENT),
    (of_sqlite("SQLITE_BUSY"), Fault.BUSY),
    (of_sqlite("SQLITE_BUSY_SNAPSHOT"), Fault.BUSY),
    (of_sqlite("SQLITE_LOCKED_SHAREDCACHE"), Fault.BUSY),
    (of_sqlite("SQLITE_READONLY"), Fault.READ_ONLY),
    (of_sqlite("SQLITE_READONLY_DIRECTORY"), Fault.READ_ONLY),
    (of_sqlite("SQLITE_READONLY_DBMOVED"), Fault.REPLACED),
    (of_sqlite("SQLITE_FULL"), Fault.FULL),
    (of_sqlite("SQLITE_IOERR_WRITE"), Fault.SILENT),
    (of_sqlite("SQLITE_CANTOPEN"), Fault.SILENT),
    (of_sqlite("SQLITE_NOTADB", kind=DatabaseError), Fault.SILENT),
    (of_sqlite("SQLITE_ERROR", text="no such table: accounts_user"), Fault.OUTDATED),
]
MISTAKES: list[BaseException | None] = [
    IntegrityError("UNIQUE constraint failed"),
    DataError("value out of range"),
    NotSupportedError(),
    of_postgresql(ProgrammingError(), "SyntaxError"),
    of_postgresql(InternalError(), "InFailedSqlTransaction"),
    of_sqlite("SQLITE_ERROR", text='near "SELEC": syntax error'),
    ProgrammingError("Cannot open a new connection in an atomic block."),
    ValueError("no error of a database"),
    None,
]


def name(case: Any) -> str:
    return f"{type(case).__name__} {type(getattr(case, '__cause__', None)).__name__} {case}"[:60]


@pytest.mark.parametrize(("error", "fault"), FAULTS, ids=name)
def test_a_fault_is_named(error: Exception, fault: Fault) -> None:
    assert find_fault(error) is fault
    assert fault.sentence.startswith("The database ")
    assert fault.retry_after > 0


@pytest.mark.parametrize("error", MISTAKES, ids=name)
def test_a_programming_error_is_no_database_fault(error: BaseException | None) -> None:
    assert find_fault(error) is None


def test_a_consequence_of_a_database_fault_is_one_too() -> None:
    """If a connection breaks within a transaction, Django and psycopg report the next step as a mistake."""
    error = ProgrammingError("Cannot open a new connection in an atomic block.")
    with request_limits(10):
        assert find_fault(error) is None
        note_fault()
        assert find_fault(error) is Fault.SILENT
        assert find_fault(IntegrityError()) is None
    assert find_fault(error) is None
