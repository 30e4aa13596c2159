"""An agent's image under /api."""

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiResponse

from accounts.api.openapi import problems
from accounts.api.parameters import describe
from accounts.http import AuthenticatedRequest
from projects.api.serializers.project import ProjectDetailSerializer
from projects.api.viewsets.own_projects import OwnProjectsViewSet, answer_detail, find_actor
from projects.models.rows.snapshot import take_snapshot
from projects.services.images.update import request_update
from projects.services.observation import refresh


class ProjectImageViewSet(OwnProjectsViewSet):
    @describe(
        operation_id="update_project_image",
        tags=["projects"],
        request=None,
        responses={
            200: OpenApiResponse(ProjectDetailSerializer, description="It already runs the newest image."),
            202: OpenApiResponse(
                ProjectDetailSerializer,
                description="The watcher will give it the newest image. Follow `image.updating` and the events.",
            ),
            **problems(400, 401, 403, 404, 409, 413, 415, 429, 502, 503),
        },
    )
    def update_image(self, request: AuthenticatedRequest, id: str) -> HttpResponse:
        """Update the agent to the newest image of its type. The agent's memory is copied first. If the new image does
        not become ready in time, the old one runs again with the copy, and an event says why. While an update is under
        way, this is a 409.
        """
        project = self.get_object()
        refresh([project])
        is_wanted = request_update(project=project, actor=find_actor(request))
        refresh([project])
        return answer_detail(take_snapshot(project), status=202 if is_wanted else 200)
