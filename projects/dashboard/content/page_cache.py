"""Remembers in each process what open pages of projects show.

Usually only the time of the last check is new. The parts of a page depend on these facts, and stay the same if they do:
- the versions of the project's row, its plan, type, spending, ended runs and newest events;
- the run whose log is shown, from the page's address;
- the present day in UTC, on which usage and the link to the bot depend;
- whether the status depends on the time (`Steadiness`), and whether there is a recent heartbeat (`ResponseBasis`);
- the owner, who is the user that asks.

A page is always read while an operation or an update is under way, while the steps of a new deploy are shown, while a
budget is reached, and if it shows its log or only the events of one action.
"""

import time
from collections.abc import Iterable, Set
from datetime import UTC, date, datetime
from typing import NamedTuple
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounts import clock
from projects.dashboard.content.list_cache import COMPARED_EVERY, Memory
from projects.dashboard.content.steps import SHOWN_FOR
from projects.dashboard.own_projects import read_run_number
from projects.models import Project
from projects.models.rows.change_marks import ResponseBasis
from projects.models.rows.page_versions import read_page_versions
from projects.models.rows.snapshot import Snapshot
from projects.models.rows.steadiness import find_steadiness
from projects.models.rows.versions import RowVersions
from projects.rules.status.lifecycle import Desired

Key = tuple[UUID, UUID, int | None]


class _Shown(NamedTuple):
    """What a page shows. `marks` are those of all parts except the time of the last check.

    `old_at` is when the project is no longer a new deploy.
    """

    basis: ResponseBasis
    marks: frozenset[str]
    observed_at: datetime | None
    old_at: datetime | None
    day: date
    until: float

    def holds(self, current: RowVersions, now: datetime) -> bool:
        """Returns whether reading everything now would give the same parts."""
        return (
            self.basis.holds(current, now)
            and (self.observed_at is None or self.observed_at <= now)
            and (self.old_at is None or self.old_at < now)
            and self.day == _day_of(now)
        )


_memory: Memory[Key, _Shown] = Memory()


class Question(NamedTuple):
    """The relevant part of a page's address. `seen` are the marks of the parts that the page shows."""

    run: int | None
    seen: frozenset[str]


def knows_quick_answers(request: HttpRequest) -> bool:
    """Returns whether the page reads the header `Checked-At`. A page opened before an upgrade may not."""
    return "quick" in request.GET


def read_question(request: HttpRequest) -> Question | None:
    """Returns the question, or None if it asks for the log or one kind of events, or knows no quick answers."""
    if not knows_quick_answers(request) or "log" in request.GET or request.GET.get("event"):
        return None
    return Question(read_run_number(request), frozenset(request.GET.getlist("seen")))


def answer_checked(at: datetime) -> HttpResponse:
    """Returns the response if only the time of the last check is new."""
    return HttpResponse(status=204, headers={"Checked-At": at.astimezone(UTC).isoformat()})


def find_checked(key: Key, current: RowVersions | None, now: datetime, seen: Set[str]) -> datetime | None:
    """Returns the time of the last check if, by its marks, the page is known to show everything else, or else None.

    `current` are the present versions. The key is the owner, the project and the number of the run, if there is one.
    """
    shown = _memory.get(key)
    if shown is None or current is None or time.monotonic() >= shown.until:
        return None
    if not (shown.marks <= seen and shown.holds(current, now)):
        return None
    return max(filter(None, (current.heartbeat_at, shown.observed_at)))


class PagePoll:
    """One poll of an open page. `run` is the number of the run whose log it shows, if its address names one."""

    def __init__(self, owner_id: UUID, project_id: UUID, run: int | None) -> None:
        self._key = (owner_id, project_id, run)
        # Everything is from before the rows are read, so that no change in between is missed.
        self._began = clock.now()
        self._versions = read_page_versions(owner_id, project_id)

    def find_checked(self, seen: Set[str]) -> datetime | None:
        """Returns the time of the last check like the function `find_checked`."""
        return find_checked(self._key, self._versions, self._began, seen)

    def remember(self, snapshot: Snapshot, marks: Iterable[str]) -> None:
        """Remembers a page. `marks` are those of the parts built from this snapshot, except the time of the check."""
        project, before = snapshot.project, self._versions
        steadiness = find_steadiness([project])
        if before is None or steadiness is None or project.update_step or project.desired == Desired.DELETED:
            return
        shown = _Shown(
            ResponseBasis(before, steadiness),
            frozenset(marks),
            project.observed_at,
            _old_at(project),
            _day_of(self._began),
            time.monotonic() + COMPARED_EVERY,
        )
        read = RowVersions(before.rows, project.heartbeat_at, project.watched_until)
        # At the beginning, when the status was derived, and now that everything is rendered.
        moments = ((before, self._began), (read, snapshot.facts.now), (before, clock.now()))
        if all(shown.holds(versions, at) for versions, at in moments):
            _memory.keep(self._key, shown)


def _old_at(project: Project) -> datetime | None:
    return project.created_at + SHOWN_FOR if project.generation == 1 else None


def _day_of(now: datetime) -> date:
    return now.astimezone(UTC).date()
