"""Projects under /api: validate, call one service, serialize."""

from typing import Any
from uuid import UUID, uuid4

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet, ViewSet

from accounts.api.openapi import problems
from accounts.http import AuthenticatedRequest, client_address
from projects.api.idempotency import answer_once
from projects.api.log_stream import AnyAccept, follow, text_of
from projects.api.pagination import LinkPagination
from projects.api.parameters import (
    FOLLOW,
    IDEMPOTENCY_KEY,
    RESTART,
    SINCE,
    TAIL,
    WAIT,
    read_flag,
    read_idempotency_key,
    read_since,
    read_tail,
    read_wait,
)
from projects.api.serializers import (
    AgentTypeSerializer,
    ControlSerializer,
    EventSerializer,
    NewProjectSerializer,
    PlanSerializer,
    ProjectChangeSerializer,
    ProjectDetailSerializer,
    ProjectSerializer,
    UsageSerializer,
    ValidationSerializer,
)
from projects.api.wait import wait_until_settled
from projects.models import Actor, AgentType, Event, Plan, Project
from projects.models.snapshot import Snapshot, take_snapshot
from projects.rules.lifecycle import Action
from projects.rules.statuses import Condition
from projects.services import check_creation, control_project, create_project, delete_project, update_project
from projects.services.observation import refresh
from projects.services.stats import read_usage

LOG_EVENT = {
    "type": "object",
    "required": ["data"],
    "properties": {"data": {"type": "string"}, "event": {"enum": ["end", "error"]}},
}


class ProjectViewSet(GenericViewSet[Project]):
    """The caller's own projects, and nobody else's: what is not in `get_queryset` does not exist."""

    serializer_class = ProjectDetailSerializer  # type: ignore[assignment]  # for OPTIONS; it describes a snapshot
    pagination_class = LinkPagination
    lookup_field = "id"
    request: AuthenticatedRequest

    @property
    def throttle_scope(self) -> str:
        """Both of these ask Telegram and the provider about a new agent."""
        return "deploys" if self.action in {"create", "validate"} else "commands"

    def get_queryset(self) -> QuerySet[Project]:
        if getattr(self, "swagger_fake_view", False):
            return Project.objects.none()
        rows = Project.objects.owned_by(self.request.user).with_heartbeat()
        found: QuerySet[Project] = rows.select_related("owner", "plan", "agent_type")
        return found

    def get_object(self) -> Project:
        text = self.kwargs["id"]
        try:
            project = self.get_queryset().filter(id=UUID(text)).first()
        except ValueError:
            project = None
        if project is None or str(project.id) != text.lower():
            raise Http404
        return project

    @extend_schema(
        operation_id="list_projects",
        tags=["projects"],
        responses={200: ProjectSerializer(many=True), **problems(400, 401, 404, 429)},
    )
    def list(self, request: AuthenticatedRequest) -> Response:
        """List your projects, newest first."""
        page = self.paginate_queryset(self.get_queryset())
        projects = page if page is not None else list(self.get_queryset())
        refresh(projects)
        row, now = ProjectSerializer(), timezone.now()
        data = [row.to_representation(take_snapshot(project, now=now)) for project in projects]
        return Response(data) if page is None else self.get_paginated_response(data)

    @extend_schema(
        operation_id="create_project",
        tags=["projects"],
        request=NewProjectSerializer,
        parameters=[WAIT, IDEMPOTENCY_KEY],
        responses={201: ProjectDetailSerializer, **problems(400, 401, 403, 409, 413, 415, 422, 429, 502, 503)},
    )
    def create(self, request: AuthenticatedRequest) -> Response:
        """Deploy an agent."""
        wait, key = read_wait(request), read_idempotency_key(request)
        form = NewProjectSerializer(data=request.data)
        form.is_valid(raise_exception=True)

        def deploy(project_id: UUID) -> dict[str, Any]:
            project = self.get_queryset().filter(id=project_id).first()
            if project is None:
                wanted = form.verify_and_build(project_id)
                project = create_project(owner=request.user, wanted=wanted, actor=_actor(request))
            return _detail(_settle(project, wait))

        if key is None:
            body = deploy(uuid4())
        else:
            body = answer_once(owner=request.user, key=key, body=request.data, make=deploy)
        return Response(body, status=201, headers={"Location": reverse("project", args=[body["id"]])})

    @extend_schema(
        operation_id="validate_project",
        tags=["projects"],
        request=NewProjectSerializer,
        responses={200: ValidationSerializer, **problems(400, 401, 403, 409, 413, 415, 429, 502, 503)},
    )
    def validate(self, request: AuthenticatedRequest) -> Response:
        """Check what a creation would check, and deploy nothing."""
        form = NewProjectSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        wanted = form.verify_and_build(uuid4())
        check_creation(owner=request.user, wanted=wanted)
        check = wanted.check
        answer = {"valid": True, "bot": check.bot, "provider": check.provider, "warnings": check.warnings}
        return Response(ValidationSerializer(answer).data)

    @extend_schema(
        operation_id="show_project",
        tags=["projects"],
        responses={200: ProjectDetailSerializer, **problems(401, 404, 429)},
    )
    def retrieve(self, request: AuthenticatedRequest, id: str) -> Response:
        """Show one project."""
        project = self.get_object()
        refresh([project])
        return Response(_detail(take_snapshot(project)))

    @extend_schema(
        operation_id="change_project",
        tags=["projects"],
        request=ProjectChangeSerializer,
        parameters=[RESTART],
        responses={200: ProjectDetailSerializer, **problems(400, 401, 403, 404, 409, 413, 415, 429, 502, 503)},
    )
    def partial_update(self, request: AuthenticatedRequest, id: str) -> Response:
        """Change a project. It reaches the agent at its next start, or now with `?restart=true`."""
        project, restart = self.get_object(), read_flag(request, "restart")
        form = ProjectChangeSerializer(project, data=request.data)
        form.is_valid(raise_exception=True)
        project = update_project(project=project, change=form.verify_and_build(), actor=_actor(request))
        if restart:
            control_project(project=project, action=Action.RESTART, actor=_actor(request))
        refresh([project])
        return Response(_detail(take_snapshot(project)))

    @extend_schema(
        operation_id="delete_project",
        tags=["projects"],
        responses={
            202: OpenApiResponse(ProjectDetailSerializer, description="The engine is silent: it goes when it answers."),
            204: OpenApiResponse(description="The container, its state and its secrets are gone."),
            **problems(401, 403, 404, 429, 502),
        },
    )
    def destroy(self, request: AuthenticatedRequest, id: str) -> Response:
        """Delete a project, its container and its state."""
        project = self.get_object()
        if delete_project(project=project, actor=_actor(request)):
            return Response(status=204)
        return Response(_detail(take_snapshot(project)), status=202)

    @extend_schema(
        operation_id="control_project",
        tags=["projects"],
        request=ControlSerializer,
        parameters=[WAIT],
        responses={
            200: ProjectDetailSerializer,
            202: OpenApiResponse(
                ProjectDetailSerializer, description="The engine is silent: it stops when the engine answers."
            ),
            **problems(400, 401, 403, 404, 409, 413, 415, 429, 502, 503),
        },
    )
    def control(self, request: AuthenticatedRequest, id: str) -> Response:
        """Start, stop or restart the agent. The answer comes when the engine has carried it out."""
        project, wait = self.get_object(), read_wait(request)
        form = ControlSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        action = Action(form.validated_data["action"])
        project = control_project(project=project, action=action, actor=_actor(request))
        snapshot = take_snapshot(project)
        if action == Action.STOP and snapshot.status.traits.condition != Condition.DOWN:
            return Response(_detail(snapshot), status=202)
        return Response(_detail(_settle(project, wait) if wait else snapshot))

    @extend_schema(
        operation_id="show_project_stats",
        tags=["projects"],
        responses={200: UsageSerializer, **problems(401, 404, 429, 502, 503)},
    )
    def stats(self, request: AuthenticatedRequest, id: str) -> Response:
        """Tell what the agent uses at this moment; all null while it does not run."""
        usage = read_usage(self.get_object())
        return Response(UsageSerializer(usage or dict.fromkeys(UsageSerializer().fields)).data)

    @extend_schema(
        operation_id="list_project_events",
        tags=["projects"],
        responses={200: EventSerializer(many=True), **problems(401, 404, 429)},
    )
    def events(self, request: AuthenticatedRequest, id: str) -> Response:
        """Tell who did what to the project, when and from where: the newest 200."""
        events = Event.objects.filter(project_id=self.get_object().id)[:200]
        return Response(EventSerializer(events, many=True).data)


class ProjectLogsView(ProjectViewSet):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="read_project_logs",
        tags=["projects"],
        parameters=[TAIL, SINCE, FOLLOW],
        responses={
            (200, "text/plain"): OpenApiResponse({"type": "string"}, description="One line each, with its time."),
            (200, "text/event-stream"): OpenApiResponse(LOG_EVENT, description="With `follow=true`: one event each."),
            **problems(400, 401, 404, 429, 502, 503),
        },
    )
    def logs(self, request: AuthenticatedRequest, id: str) -> HttpResponseBase:
        """Read what the agent printed, without its credentials: at most 1 MB. With `follow` it goes on."""
        project, tail, since = self.get_object(), read_tail(request), read_since(request)
        if read_flag(request, "follow"):
            return follow(project, tail=tail, since=since)
        return HttpResponse(text_of(project, tail=tail, since=since), content_type="text/plain; charset=utf-8")


class PlanViewSet(ViewSet):
    throttle_scope = "commands"

    @extend_schema(
        operation_id="list_plans", tags=["catalogue"], responses={200: PlanSerializer(many=True), **problems(401)}
    )
    def list(self, request: AuthenticatedRequest) -> Response:
        """List the plans."""
        return Response(PlanSerializer(Plan.objects.filter(available=True), many=True).data)


class AgentTypeViewSet(ViewSet):
    throttle_scope = "commands"

    @extend_schema(
        operation_id="list_types", tags=["catalogue"], responses={200: AgentTypeSerializer(many=True), **problems(401)}
    )
    def list(self, request: AuthenticatedRequest) -> Response:
        """List the kinds of agent."""
        return Response(AgentTypeSerializer(AgentType.objects.filter(available=True), many=True).data)


def _settle(project: Project, wait: int) -> Snapshot:
    """The project as it is now, or when its status has settled, at most `wait` seconds later."""
    return take_snapshot(wait_until_settled(project, seconds=wait) if wait else project)


def _detail(snapshot: Snapshot) -> dict[str, Any]:
    return dict(ProjectDetailSerializer(snapshot).data)


def _actor(request: AuthenticatedRequest) -> Actor:
    credential = request.auth
    source = credential.label if credential.is_session else f"key {credential.label}"
    return Actor(label=request.user.email, source=source, address=client_address(request))
