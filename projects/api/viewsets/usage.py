"""An agent's usage under /api."""

from datetime import datetime, timedelta

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiResponse
from rest_framework.response import Response

from accounts import clock
from accounts.api.openapi import problems
from accounts.api.parameters import ParameterValues, describe
from accounts.http import AuthenticatedRequest
from projects.api.parameters import choice, moment, refuse_parameter
from projects.api.serializers.budget import UsageLineSerializer
from projects.api.streams.logs import AnyAccept
from projects.api.viewsets.own_projects import OwnProjectsViewSet
from projects.services.reports.csv_files import CONTENT_TYPE
from projects.services.reports.usage import LONGEST, MOST_LINES, list_usage, write_csv

SINCE = moment("since", description="From the hour or day on that contains this time. The default is 30 days ago.")
UNTIL = moment(
    "until", description="Only hours or days that begin before this, each of them whole. The default is now."
)
BY = choice("by", "day", "hour", description="UTC days.")
USUAL = timedelta(days=30)
"""The span if a request names no beginning."""

FORMAT = choice("format", "json", "csv")


class ProjectUsageView(OwnProjectsViewSet):
    content_negotiation_class = AnyAccept

    @describe(
        operation_id="list_project_usage",
        tags=["projects"],
        parameters=[SINCE, UNTIL, BY, FORMAT],
        responses={
            (200, "application/json"): UsageLineSerializer(many=True),
            (200, "text/csv"): OpenApiResponse({"type": "string"}, description="The same, with a header line."),
            **problems(400, 401, 404, 429),
        },
    )
    def usage(self, request: AuthenticatedRequest, id: str) -> HttpResponseBase:
        """List what the agent has used by model, oldest first."""
        project = self.get_object()
        by = self.values[BY]
        since, until = _read_span(self.values, LONGEST[by])
        lines = list_usage(project=project, since=since, until=until, by=by)
        if len(lines) > MOST_LINES:
            refuse_parameter("since", "This is more than one answer holds. Ask for a shorter time.")
        if self.values[FORMAT] == "csv":
            name = f'attachment; filename="usage-{project.pk}.csv"'
            return HttpResponse(write_csv(lines), content_type=CONTENT_TYPE, headers={"Content-Disposition": name})
        return Response(UsageLineSerializer(lines, many=True).data)


def _read_span(values: ParameterValues, longest: timedelta) -> tuple[datetime, datetime]:
    until = values[UNTIL] or clock.now()
    try:
        since = values[SINCE] or until - USUAL
    except OverflowError:  # before the year 1
        refuse_parameter("until", "There is no usage before that. Set a later time.")
    if until - since > longest:
        refuse_parameter("since", f"Ask for at most {longest.days} days at a time.")
    return since, until
