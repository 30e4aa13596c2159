"""An agent's memory under /api."""

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from accounts.api.openapi import problems
from accounts.http import AuthenticatedRequest
from projects.api.own_projects import OwnProjectsViewSet, find_actor, show_detail
from projects.api.parameters import WAIT, read_wait
from projects.api.serializers import ProjectDetailSerializer
from projects.services import clear_memory


class ProjectMemoryViewSet(OwnProjectsViewSet):
    @extend_schema(
        operation_id="clear_project_memory",
        tags=["projects"],
        parameters=[WAIT],
        responses={200: ProjectDetailSerializer, **problems(400, 401, 403, 404, 409, 429, 502, 503)},
    )
    def destroy(self, request: AuthenticatedRequest, id: str) -> Response:
        """Delete what the agent remembers, for good. It begins anew, or stays stopped where it was."""
        project, wait = self.get_object(), read_wait(request)
        project = clear_memory(project=project, actor=find_actor(request))
        return Response(show_detail(self.settle(project, wait)))
