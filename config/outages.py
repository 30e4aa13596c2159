"""Answers while the database does not work, or the kernel gives this process no more resources."""

import logging
from dataclasses import dataclass

from config.database.faults import find_fault
from config.reserve import is_starvation

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outage:
    """`code` of the answer, `sentence` for people, and the seconds after which another try makes sense."""

    code: str
    sentence: str
    retry_after: int
    subject: str


OVERLOADED = Outage(
    "overloaded",
    "This server has no room for the request: its system gives it no more files, memory or threads. Try again in a"
    " few seconds.",
    5,
    "The system gave no more",
)


def find_outage(error: BaseException | None) -> Outage | None:
    """Returns the outage that the error indicates, or None for any other error.

    `error` is one that nothing else explains, or a fault of a part of the service.
    """
    if is_starvation(error):
        return OVERLOADED
    if fault := find_fault(error):
        return Outage("database_unavailable", fault.sentence, fault.retry_after, "The database failed")
    return None


def log_outage(outage: Outage, error: BaseException | None) -> None:
    """Returns the first line, which names the fault. Further lines may contain stored data."""
    line = next(iter(str(error).splitlines()), "") or type(error).__name__
    log.warning("%s: %s", outage.subject, line)
