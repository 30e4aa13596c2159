"""Projects under /api: validate, call one service, serialize."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.http import Http404, HttpResponse
from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse
from rest_framework.response import Response

from accounts.api.etags import IF_NONE_MATCH, UNCHANGED, answer_with_etag
from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.http import AuthenticatedRequest
from projects.api.fast_json import render_detail
from projects.api.idempotency import answer_once
from projects.api.lists.conditional_lists import PolledList
from projects.api.lists.filtered_lists import PARAMETERS, answer_query, is_queried
from projects.api.lists.pagination import CURSOR, LIMIT, LinkPagination
from projects.api.parameters import IDEMPOTENCY_KEY, REPLAYED, RESTART, WAIT
from projects.api.serializers.control import ControlSerializer
from projects.api.serializers.project import ListedProjectSerializer, ProjectDetailSerializer, ValidationSerializer
from projects.api.serializers.project_requests import NewProjectSerializer, ProjectChangeSerializer
from projects.api.viewsets.own_projects import OwnProjectsViewSet, answer_detail, find_actor, show_detail
from projects.models.rows.project import OwnRows, ProjectRow, own_rows, read_own_project
from projects.models.rows.snapshot import Snapshot, take_snapshot
from projects.rules.status.lifecycle import Action
from projects.rules.status.statuses import Status
from projects.rules.status.traits import Condition
from projects.services import change_project, check_creation, control_project, create_project, delete_project
from projects.services.observation import refresh


class ProjectViewSet(OwnProjectsViewSet):
    @property
    def throttle_scope(self) -> str:
        """The limit. Creating and validating count as deploys, because both ask Telegram and the provider."""
        return "deploys" if self.action in {"create", "validate"} else "commands"

    @describe(
        operation_id="list_projects",
        tags=["projects"],
        parameters=[*PARAMETERS, IF_NONE_MATCH],
        responses={200: ListedProjectSerializer(many=True), **UNCHANGED, **problems(400, 401, 404, 429)},
    )
    def list(self, request: AuthenticatedRequest) -> HttpResponse:
        """List your projects, newest first, optionally filtered, sorted and in pages."""
        if is_queried(self.values):
            return answer_query(request, self.values)
        return PolledList(request).answer(partial(self._read_rows, request))

    @describe(
        operation_id="create_project",
        tags=["projects"],
        request=NewProjectSerializer,
        parameters=[WAIT, IDEMPOTENCY_KEY, REPLAYED],
        responses={201: ProjectDetailSerializer, **problems(400, 401, 403, 404, 409, 413, 415, 422, 429, 502, 503)},
    )
    def create(self, request: AuthenticatedRequest) -> HttpResponse:
        """Deploy an agent."""
        wait, key = self.values[WAIT], self.values[IDEMPOTENCY_KEY]
        serializer = NewProjectSerializer(data=request.data, context={"owner": request.user})
        serializer.is_valid(raise_exception=True)

        def deploy(project_id: UUID) -> Snapshot:
            project = self.get_queryset().filter(id=project_id).first() if key is not None else None  # created earlier
            if project is None:
                wanted = serializer.build(project_id, is_first=key is None)
                project = create_project(owner=request.user, wanted=wanted, actor=find_actor(request))
            else:
                refresh([project])  # an earlier request created it and was interrupted
            return self.settle(project, wait)

        if key is None:
            made = deploy(uuid4())
            return answer_detail(made, status=201, headers={"Location": reverse("project", args=[made.project.pk])})
        answer = answer_once(owner=request.user, key=key, body=request.data, make=lambda pk: show_detail(deploy(pk)))
        headers = {"Location": reverse("project", args=[answer.body["id"]])}
        if answer.is_replay:
            headers[REPLAYED.name] = "true"
            answer.body.update(self._now(UUID(answer.body["id"]), wait))
        return Response(answer.body, status=201, headers=headers)

    @describe(
        operation_id="validate_project",
        tags=["projects"],
        request=NewProjectSerializer,
        responses={200: ValidationSerializer, **problems(400, 401, 403, 409, 413, 415, 429, 502, 503)},
    )
    def validate(self, request: AuthenticatedRequest) -> Response:
        """Check everything that a creation would check, without deploying."""
        serializer = NewProjectSerializer(data=request.data, context={"owner": request.user})
        serializer.is_valid(raise_exception=True)
        check = check_creation(owner=request.user, wanted=serializer.build(uuid4()))
        answer = {"valid": True, "bot": check.bot, "provider": check.provider, "warnings": check.warnings}
        return Response(ValidationSerializer(answer).data)

    @describe(
        operation_id="show_project",
        tags=["projects"],
        parameters=[IF_NONE_MATCH],
        responses={200: ProjectDetailSerializer, **UNCHANGED, **problems(401, 404, 429)},
    )
    def retrieve(self, request: AuthenticatedRequest, id: str) -> HttpResponse:
        """Show one project."""
        project = read_own_project(request.user, self.get_id())
        if project is None:
            raise Http404
        refresh([project])
        return answer_with_etag(request, render_detail(take_snapshot(project)), of=request.user.pk.bytes)

    @describe(
        operation_id="change_project",
        tags=["projects"],
        request=ProjectChangeSerializer,
        parameters=[RESTART],
        responses={200: ProjectDetailSerializer, **problems(400, 401, 403, 404, 409, 413, 415, 429, 502, 503)},
    )
    def partial_update(self, request: AuthenticatedRequest, id: str) -> HttpResponse:
        """Change a project. The change reaches the agent at its next start, or now with `?restart=true`.

        Behind the gateway, a new token, key or budget is in force at once. An agent that crashed because of its
        credential is started again.
        """
        project, restart = self.get_object(), self.values[RESTART]
        serializer = ProjectChangeSerializer(project, data=request.data)
        serializer.is_valid(raise_exception=True)
        change = serializer.build()
        project = change_project(project=project, change=change, actor=find_actor(request), restart=restart)
        refresh([project])
        return answer_detail(take_snapshot(project))

    @describe(
        operation_id="delete_project",
        tags=["projects"],
        responses={
            202: OpenApiResponse(
                ProjectDetailSerializer, description="It is `deleting`: the engine is silent or the agent still ends."
            ),
            204: OpenApiResponse(description="The container, its state and its secrets are gone."),
            **problems(401, 403, 404, 409, 429, 502),
        },
    )
    def destroy(self, request: AuthenticatedRequest, id: str) -> HttpResponse:
        """Delete a project with its container and memory. A suspended project stays until staff lift the suspension."""
        project = self.get_object()
        if delete_project(project=project, actor=find_actor(request)):
            return Response(status=204)
        return answer_detail(take_snapshot(project), status=202)

    @describe(
        operation_id="control_project",
        tags=["projects"],
        request=ControlSerializer,
        parameters=[WAIT],
        responses={
            200: ProjectDetailSerializer,
            202: OpenApiResponse(
                ProjectDetailSerializer,
                description="It is `stopping`, or `unknown` if the engine does not answer, and will be stopped.",
            ),
            **problems(400, 401, 403, 404, 409, 413, 415, 429, 502, 503),
        },
    )
    def control(self, request: AuthenticatedRequest, id: str) -> HttpResponse:
        """Start, stop or restart the agent. The response comes when the engine has carried it out."""
        project, wait = self.get_object(), self.values[WAIT]
        serializer = ControlSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        action = Action(serializer.validated_data["action"])
        project = control_project(project=project, action=action, actor=find_actor(request))
        snapshot = take_snapshot(project)
        if action == Action.STOP and snapshot.status.traits.condition != Condition.DOWN:
            return answer_detail(snapshot, status=202)
        return answer_detail(self.settle(project, wait) if wait else snapshot)

    def _now(self, project_id: UUID, wait: int) -> dict[str, Any]:
        """Returns the fields of a replayed response that must be current: status, reason, and bot with its link."""
        project = self.get_queryset().filter(id=project_id).first()
        if project is None:
            return {"status": Status.DELETING, "status_reason": None}  # it has just been deleted
        refresh([project])
        detail = show_detail(self.settle(project, wait))
        return {name: detail[name] for name in ("status", "status_reason", "bot")}

    def _read_rows(self, request: AuthenticatedRequest) -> tuple[Sequence[ProjectRow], dict[str, str]]:
        """Returns the caller's projects, or those of the requested page, and the page's headers."""
        if self.values[LIMIT] is None and self.values[CURSOR] is None:
            return OwnRows(request.user.pk)[:], {}
        pages = LinkPagination()
        source: Any = OwnRows(request.user.pk) if self.values[CURSOR] is None else own_rows(request.user.pk)
        page: Sequence[Any] = pages.paginate_queryset(source, request, view=self) or []
        return [ProjectRow._make(row) for row in page], pages.get_headers()
