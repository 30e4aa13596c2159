"""The events of a project as a file."""

from collections.abc import Generator
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from accounts.http import SignedInRequest
from projects.dashboard.content.events import of_action
from projects.dashboard.downloads import send_download
from projects.dashboard.own_projects import find_project
from projects.errors import TooManyStreamsError
from projects.models import Event
from projects.rules.event_sentences import describe_event
from projects.services.reports.csv_files import CONTENT_TYPE, write_line

PIECE = 1000
"""Events that are read at a time."""

COLUMNS = ("at", "sentence", "actor", "source", "address", "action", "outcome", "detail")


@login_required
@require_safe
def download_events(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    """Returns all events, or those of one action, newest first. Actions of staff have the actor `staff`, no address."""
    project = find_project(request, project_id)
    rows = of_action(Event.objects.filter(project_id=project.pk), request.GET.get("event", "").replace("\0", ""))
    try:
        begin = partial(_write, rows)
        return send_download(request, begin, name=f"events-{project.pk}.csv", content_type=CONTENT_TYPE)
    except TooManyStreamsError as error:
        messages.error(request, str(error))
        return redirect("projects:show", project_id)


def _write(rows: "QuerySet[Event]") -> Generator[bytes, None, None]:
    yield write_line(COLUMNS).encode()
    piece = list(rows[:PIECE])
    while piece:
        yield "".join(map(_write_event, piece)).encode()
        last = piece[-1]
        piece = list(rows.filter(Q(at__lt=last.at) | Q(at=last.at, pk__lt=last.pk))[:PIECE])


def _write_event(event: Event) -> str:
    return write_line(
        (
            f"{event.at:%Y-%m-%dT%H:%M:%SZ}",
            describe_event(event.action, event.outcome, event.detail),
            event.actor_for_owner,
            event.source,
            event.address_for_owner or "",
            event.action,
            event.outcome,
            event.detail,
        )
    )
