"""The base of all views under /api/projects, which finds the caller's own projects."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.viewsets import GenericViewSet

from accounts.api.ids import read_uuid
from accounts.api.revalidation import RevalidatedView
from accounts.http import AuthenticatedRequest, client_address
from projects.api.caller_query import find_with_caller
from projects.api.fast_json import render_detail
from projects.api.serializers.project import ProjectDetailSerializer
from projects.api.streams.revalidation import Revalidation
from projects.api.streams.wait import wait_until_settled
from projects.models import Actor, Project
from projects.models.rows.snapshot import Snapshot, take_snapshot


class OwnProjectsViewSet(RevalidatedView, GenericViewSet[Project]):
    """The caller's own projects. Projects of others do not exist for these views."""

    serializer_class = ProjectDetailSerializer  # type: ignore[assignment]  # it serializes a snapshot
    pagination_class = None  # the only list with pages reads them itself
    lookup_field = "id"
    works_in_maintenance = ("validate",)  # it changes nothing
    request: AuthenticatedRequest
    revalidation: Revalidation | None = None  # set by `make_revalidation`
    found: Project | None = None  # by `perform_authentication`, for the first use

    def make_revalidation(self, request: AuthenticatedRequest) -> Revalidation:
        return Revalidation(request)

    @property
    def throttle_scope(self) -> str:
        """The limit that unsafe methods count against."""
        return "commands"

    def get_queryset(self) -> QuerySet[Project]:
        if getattr(self, "swagger_fake_view", False):
            return Project.objects.none()
        rows = Project.objects.owned_by(self.request.user).with_heartbeat()
        found: QuerySet[Project] = rows.select_related("owner", "plan", "agent_type", "spending")
        return found

    def perform_authentication(self, request: Request) -> None:
        """Finds the caller and the project that the request changes in one query, because a command waits for each."""
        if self.lookup_field in self.kwargs and request.method not in SAFE_METHODS:
            with suppress(Http404):  # only once the caller is known
                self.found = find_with_caller(request, self.get_id())
        super().perform_authentication(request)

    def get_object(self) -> Project:
        found, self.found = self.found, None  # a second look must see what has changed
        project = found or Project.find_own(self.request.user.pk, self.get_id())
        if project is None:
            raise Http404
        return project

    def check_object_exists(self) -> None:
        if self.lookup_field in self.kwargs:
            self.get_object()

    def get_id(self) -> UUID:
        return read_id(self.kwargs["id"])

    def settle(self, project: Project, wait: int) -> Snapshot:
        """Returns the project as it is now, or once its status has settled, at most `wait` seconds later."""
        if not wait:
            return take_snapshot(project)
        revalidation = self.revalidation or Revalidation(self.request)
        return take_snapshot(wait_until_settled(project, seconds=wait, revalidation=revalidation))


def read_id(text: str) -> UUID:
    """Returns the id in the path. Raises Http404 if it is not an id or has another spelling than ours."""
    project_id = read_uuid(text)
    if project_id is None:
        raise Http404
    return project_id


def answer_detail(snapshot: Snapshot, *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """Returns the response with the project's detail, which `ProjectDetailSerializer` describes."""
    return HttpResponse(render_detail(snapshot), status=status, content_type="application/json", headers=headers)


def show_detail(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the project's detail as a JSON object, like `ProjectDetailSerializer`."""
    shown: dict[str, Any] = json.loads(render_detail(snapshot))
    return shown


def find_actor(request: AuthenticatedRequest) -> Actor:
    credential = request.auth
    source = credential.label if credential.is_session else f"key {credential.label}"
    return Actor(label=request.user.email, source=source, address=client_address(request))
