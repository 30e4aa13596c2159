"""Reports about a project under /api: its log, its runs, its resource use, and its events."""

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiResponse
from rest_framework.response import Response

from accounts import clock
from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.http import AuthenticatedRequest
from projects.api.lists import event_pages
from projects.api.lists.event_pages import CURSOR, LIMIT, link_to_next, read_page
from projects.api.parameters import FOLLOW, RUN, SINCE, TAIL, moment
from projects.api.serializers.reports import EventSerializer, RunSerializer
from projects.api.serializers.stats import STATS, SeriesSerializer, UsageSerializer
from projects.api.streams.logs import AnyAccept, follow
from projects.api.streams.revalidation import Revalidation
from projects.api.viewsets.own_projects import OwnProjectsViewSet
from projects.models import Event
from projects.services.observation import refresh
from projects.services.reports.logs import read_logs
from projects.services.reports.runs import current_number, list_runs, read_run
from projects.services.reports.stats import read_series, read_usage

STATS_SINCE = moment(
    "since",
    description="Return samples since then instead: a time, or how long ago (`5m`, `2h`, `7d`). Samples cover a minute "
    "each for up to 24 hours, and 15 minutes beyond that. They are kept for 8 days.",
)
LOG_EVENT = {
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string"}, "event": {"enum": ["end", "error"]}},
}


class ProjectReportsViewSet(OwnProjectsViewSet):
    @describe(
        operation_id="show_project_stats",
        tags=["projects"],
        parameters=[STATS_SINCE],
        responses={200: STATS, **problems(400, 401, 404, 429, 502, 503)},
    )
    def stats(self, request: AuthenticatedRequest, id: str) -> Response:
        """Show what the agent uses now (all null if it does not run), or what it has used since a time.

        On a Swarm without gateways this is only known for agents on the manager's own node. For others this is a 502.
        """
        project, since = self.get_object(), self.values[STATS_SINCE]
        if since is not None:
            return Response(SeriesSerializer(read_series(project, since=since, now=clock.now())).data)
        usage = read_usage(project)
        return Response(UsageSerializer(usage or dict.fromkeys(UsageSerializer().fields)).data)

    @describe(
        operation_id="list_project_events",
        tags=["projects"],
        parameters=[LIMIT, CURSOR, event_pages.SINCE],
        responses={200: EventSerializer(many=True), **problems(400, 401, 404, 429)},
    )
    def events(self, request: AuthenticatedRequest, id: str) -> Response:
        """List who did what to the project, when and from where, newest first."""
        events = Event.objects.filter(project_id=self.get_object().id)
        limit, cursor, since = self.values[LIMIT], self.values[CURSOR], self.values[event_pages.SINCE]
        page, more = read_page(events, limit=limit, cursor=cursor, since=since)
        headers = link_to_next(request, page, more=more)
        return Response(EventSerializer(page, many=True).data, headers=headers)

    @describe(
        operation_id="list_project_runs",
        tags=["projects"],
        responses={200: RunSerializer(many=True), **problems(401, 404, 429)},
    )
    def runs(self, request: AuthenticatedRequest, id: str) -> Response:
        """List the runs whose logs can be read, newest first: the current one and the last ten before it."""
        project = self.get_object()
        refresh([project])
        return Response(RunSerializer(list_runs(project), many=True).data)


class ProjectLogsView(OwnProjectsViewSet):
    content_negotiation_class = AnyAccept

    @describe(
        operation_id="read_project_logs",
        tags=["projects"],
        parameters=[TAIL, SINCE, FOLLOW, RUN],
        responses={
            (200, "text/plain"): OpenApiResponse({"type": "string"}, description="One line each, with its time."),
            (200, "text/event-stream"): OpenApiResponse(LOG_EVENT, description="With `follow=true`: one event each."),
            **problems(400, 401, 404, 429, 502, 503),
        },
    )
    def logs(self, request: AuthenticatedRequest, id: str) -> HttpResponseBase:
        """Read the agent's log, without its credentials: at most 1 MB. With `follow` it continues with new lines."""
        project, tail, since = self.get_object(), self.values[TAIL], self.values[SINCE]
        follows, run = self.values[FOLLOW], self.values[RUN]
        if run is None or run == current_number(project):
            lines = read_logs(project=project, tail=tail, since=since, follow=follows)
        else:
            lines = read_run(project=project, number=run, tail=tail, since=since)
        if follows:
            return follow(project, lines, revalidation=self.revalidation or Revalidation(request))
        return HttpResponse("".join(f"{line}\n" for line in lines), content_type="text/plain; charset=utf-8")
