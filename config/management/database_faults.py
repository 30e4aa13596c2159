"""A database that fails is no defect of the program, so commands report it in a sentence and show no traceback."""

from django.db import DatabaseError
from django.db.utils import Error

from config.database.faults import Fault, find_fault


def explain_fault(error: Error) -> str:
    """Returns the sentences for an operator; empty for a mistake of ours, whose traceback is needed."""
    fault = find_fault(error)
    if fault is None:
        return ""
    reason = next(iter(str(error).splitlines()), "")
    if type(error) is DatabaseError:  # of SQLite only
        return f"The file of the database is damaged ({reason}). Keep a copy of it, then restore a backup."
    if fault is Fault.FULL:
        return "The disk of the database is full. Make room, then run this again."
    if fault is Fault.REPLACED:
        return f"{fault.summary} Nothing more is written to the former one. Run this again."
    return f"{fault.summary} ({reason}) Check DATABASE_URL, and that the database server is running."
