"""An agent's memory under /api."""

from django.http import HttpResponse

from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.http import AuthenticatedRequest
from projects.api.parameters import WAIT
from projects.api.serializers.project import ProjectDetailSerializer
from projects.api.viewsets.own_projects import OwnProjectsViewSet, answer_detail, find_actor
from projects.services import clear_memory


class ProjectMemoryViewSet(OwnProjectsViewSet):
    @describe(
        operation_id="clear_project_memory",
        tags=["projects"],
        parameters=[WAIT],
        responses={200: ProjectDetailSerializer, **problems(400, 401, 403, 404, 409, 429, 502, 503)},
    )
    def destroy(self, request: AuthenticatedRequest, id: str) -> HttpResponse:
        """Delete the agent's memory permanently. The agent starts again with an empty one, or stays stopped."""
        project = clear_memory(project=self.get_object(), actor=find_actor(request))
        return answer_detail(self.settle(project, self.values[WAIT]))
