"""Finds the faults of the database, with what is known about this thread's request."""

from accounts.database.faults import Fault
from accounts.database.faults import find_fault as find_fault_of
from config.database.limits import has_failed

__all__ = ["Fault", "InUseError", "find_fault"]


class InUseError(Exception):
    """Another process uses the database that a restore should replace."""


def find_fault(error: BaseException | None) -> Fault | None:
    """Like `accounts.database.faults.find_fault`, also for what follows an earlier fault in the same request."""
    return find_fault_of(error, has_failed=has_failed())
