"""What an agent has used, under /api."""

from datetime import datetime, timedelta

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import clock
from accounts.api.openapi import problems
from accounts.http import AuthenticatedRequest
from projects.api.budget_serializers import UsageLineSerializer
from projects.api.log_stream import AnyAccept
from projects.api.own_projects import OwnProjectsViewSet
from projects.api.parameters import read_moment, refuse_parameter
from projects.services.usage import LONGEST, MOST_LINES, list_usage, write_csv

_MOMENT = {"type": "string", "format": "date-time"}
SINCE = OpenApiParameter("since", _MOMENT, description="From the hour or day on in which this lies. Else 30 days ago.")
UNTIL = OpenApiParameter("until", _MOMENT, description="Only what begins before this. Else now.")
BY = OpenApiParameter("by", {"type": "string", "enum": ["hour", "day"], "default": "day"}, description="UTC days.")
FORMAT = OpenApiParameter("format", {"type": "string", "enum": ["json", "csv"], "default": "json"})


class ProjectUsageView(OwnProjectsViewSet):
    content_negotiation_class = AnyAccept
    pagination_class = None  # type: ignore[assignment]  # the time that is asked for bounds it

    @extend_schema(
        operation_id="list_project_usage",
        tags=["projects"],
        parameters=[SINCE, UNTIL, BY, FORMAT],
        responses={
            (200, "application/json"): UsageLineSerializer(many=True),
            (200, "text/csv"): OpenApiResponse({"type": "string"}, description="The same, with a line of names."),
            **problems(400, 401, 404, 429),
        },
    )
    def usage(self, request: AuthenticatedRequest, id: str) -> HttpResponseBase:
        """List what the agent has used, by model: the oldest first."""
        project = self.get_object()
        by, wants_csv = _read_choice(request, "by", "day", "hour"), _read_choice(request, "format", "json", "csv")
        since, until = _read_span(request, LONGEST[by])
        lines = list_usage(project=project, since=since, until=until, by=by)
        if len(lines) > MOST_LINES:
            refuse_parameter("since", "This is more than one answer holds. Ask for a shorter time.")
        if wants_csv == "csv":
            name = f'attachment; filename="usage-{project.pk}.csv"'
            return HttpResponse(
                write_csv(lines), content_type="text/csv; charset=utf-8", headers={"Content-Disposition": name}
            )
        return Response(UsageLineSerializer(lines, many=True).data)


def _read_choice(request: Request, name: str, default: str, other: str) -> str:
    raw = request.query_params.get(name, default)
    if raw not in {default, other}:
        refuse_parameter(name, f"Set {name} to {default} or {other}.")
    return raw


def _read_span(request: Request, longest: timedelta) -> tuple[datetime, datetime]:
    until = read_moment(request, "until") or clock.now()
    since = read_moment(request, "since") or until - timedelta(days=30)
    if until - since > longest:
        refuse_parameter("since", f"Ask for at most {longest.days} days at a time.")
    return since, until
