"""The events of all projects of the caller, as pages and as a stream."""

from django.http import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from accounts.api.openapi import problems
from accounts.api.parameters import Parameter, ParameterError, describe
from accounts.api.revalidation import RevalidatedView
from accounts.http import AuthenticatedRequest
from projects.api.lists.event_pages import CURSOR, LIMIT, SINCE, link_to_next, read_event_id, read_page
from projects.api.parameters import flag, refuse_parameter
from projects.api.serializers.reports import OwnEventSerializer
from projects.api.streams.logs import AnyAccept, EventStream, send_stream
from projects.api.streams.statuses import stream_changes
from projects.models import Event

FOLLOW = flag("follow", description="Follow as server-sent events: first your projects as they are, then all changes.")
NO_SUCH_EVENT = "There is no such event. Follow without the header."


def _read_last_event_id(text: str) -> int:
    try:
        return read_event_id(text)
    except ParameterError:
        raise ParameterError(NO_SUCH_EVENT) from None


LAST_EVENT_ID: Parameter[int | None] = Parameter(
    name="Last-Event-ID",
    schema={"type": "string", "format": "uuid"},
    location=OpenApiParameter.HEADER,
    read=_read_last_event_id,
    default=None,
    description=(
        "With `follow=true`: the id of the last event that you have. Later ones come first, with those of the ten "
        "seconds before it, because one of them may have been written late. Leave out ids that you have."
    ),
)
STREAM = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["status", "gone", "event", "error"]},
        "id": {"type": "string", "format": "uuid"},
        "data": {"type": "string", "description": "JSON: of `status` a row of the list of projects, of `gone` its id."},
    },
}


class EventsView(RevalidatedView, ViewSet):
    content_negotiation_class = AnyAccept
    throttle_scope = "commands"

    @describe(
        operation_id="list_events",
        tags=["projects"],
        parameters=[LIMIT, CURSOR, SINCE, FOLLOW, LAST_EVENT_ID],
        responses={
            (200, "application/json"): OwnEventSerializer(many=True),
            (200, "text/event-stream"): OpenApiResponse(
                STREAM,
                description="With `follow=true`: each project as it is, then each change of a status and each event.",
            ),
            **problems(400, 401, 429),
        },
    )
    def list(self, request: AuthenticatedRequest) -> HttpResponseBase:
        """List the events of all your projects, newest first; or follow them."""
        if self.values[FOLLOW]:
            return self._follow(request)
        events = Event.objects.filter(owner_id=request.user.pk)
        limit, cursor, since = self.values[LIMIT], self.values[CURSOR], self.values[SINCE]
        page, more = read_page(events, limit=limit, cursor=cursor, since=since)
        headers = link_to_next(request, page, more=more)
        return Response(OwnEventSerializer(page, many=True).data, headers=headers)

    def _follow(self, request: AuthenticatedRequest) -> HttpResponseBase:
        if self.revalidation is None:
            raise TypeError("The view has no revalidation.")
        number, after = self.values[LAST_EVENT_ID], None
        if number is not None:
            after = Event.objects.filter(owner_id=request.user.pk, pk=number).first()
            if after is None:
                refuse_parameter("Last-Event-ID", NO_SUCH_EVENT)
        blocks = stream_changes(request.user, after=after)
        return send_stream(EventStream(request.user, blocks, revalidation=self.revalidation, write=_write))


def _write(block: str) -> bytes:
    return f"{block}\n\n".encode()
