"""The events of a project: those that its page shows, and all of them as a file."""

import csv
from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounts.http import SignedInRequest
from projects.dashboard.own_projects import find_project
from projects.models import Event, Project
from projects.rules.event_sentences import tell_event
from projects.services.reports.usage import FORMULAS

SHOWN = 50
MOST = 10_000
"""Of a file."""

COLUMNS = ("at", "sentence", "actor", "source", "address", "action", "outcome", "detail")


class ShownEvent(NamedTuple):
    event: Event
    sentence: str


class ShownEvents(NamedTuple):
    """The newest, all or those of one action, and the actions that there are."""

    newest: list[ShownEvent]
    actions: list[str]
    action: str


def read_events(project: Project, action: str) -> ShownEvents:
    rows = Event.objects.filter(project_id=project.pk)
    actions = sorted(rows.order_by().values_list("action", flat=True).distinct())
    action = action if action in actions else ""
    newest = _of_action(rows, action)[:SHOWN]
    told = [ShownEvent(event, tell_event(event.action, event.outcome, event.detail)) for event in newest]
    return ShownEvents(told, actions, action)


def _of_action(rows: "QuerySet[Event]", action: str) -> "QuerySet[Event]":
    return rows.filter(action=action) if action else rows


@login_required
@require_safe
def download_events(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """All events, or those of one action, newest first. What staff did is `staff`'s, without an address."""
    project = find_project(request, project_id)
    rows = _of_action(Event.objects.filter(project_id=project.pk), request.GET.get("event", "").replace("\0", ""))
    answer = HttpResponse("".join(_write(rows[:MOST])), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="events-{project.pk}.csv"'
    return answer


class _Echo:
    """A file for the writer of CSV that gives back each line."""

    def write(self, line: str) -> str:
        return line


def _write(events: "QuerySet[Event]") -> Iterator[str]:
    writer = csv.writer(_Echo(), lineterminator="\r\n")  # RFC 4180
    yield writer.writerow(COLUMNS)
    for event in events.iterator():
        cells = [
            f"{event.at:%Y-%m-%dT%H:%M:%SZ}",
            tell_event(event.action, event.outcome, event.detail),
            event.actor_for_owner,
            event.source,
            event.address_for_owner or "",
            event.action,
            event.outcome,
            event.detail,
        ]
        # A table calculation must not take what somebody has called their key for a formula.
        yield writer.writerow([f"'{cell}" if cell.startswith(FORMULAS) else cell for cell in cells])
