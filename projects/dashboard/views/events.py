"""The events of a project as a file."""

import csv
from collections.abc import Iterator
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounts.http import SignedInRequest
from projects.dashboard.content.events import of_action
from projects.dashboard.own_projects import find_project
from projects.models import Event
from projects.rules.event_sentences import describe_event
from projects.services.reports.usage import FORMULAS

MOST = 10_000
"""The maximum number of events in a file."""

COLUMNS = ("at", "sentence", "actor", "source", "address", "action", "outcome", "detail")


@login_required
@require_safe
def download_events(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Returns all events, or those of one action, newest first. Actions of staff have the actor `staff`, no address."""
    project = find_project(request, project_id)
    rows = of_action(Event.objects.filter(project_id=project.pk), request.GET.get("event", "").replace("\0", ""))
    answer = HttpResponse("".join(_write(rows[:MOST])), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="events-{project.pk}.csv"'
    return answer


class _Echo:
    """A file for the CSV writer that returns each line."""

    def write(self, line: str) -> str:
        return line


def _write(events: "QuerySet[Event]") -> Iterator[str]:
    writer = csv.writer(_Echo(), lineterminator="\r\n")  # RFC 4180
    yield writer.writerow(COLUMNS)
    for event in events.iterator():
        cells = [
            f"{event.at:%Y-%m-%dT%H:%M:%SZ}",
            describe_event(event.action, event.outcome, event.detail),
            event.actor_for_owner,
            event.source,
            event.address_for_owner or "",
            event.action,
            event.outcome,
            event.detail,
        ]
        # A spreadsheet must not take the name of a key for a formula.
        yield writer.writerow([f"'{cell}" if cell.startswith(FORMULAS) else cell for cell in cells])
