"""The button that gives an agent the newest image of its type."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from accounts.http import SignedInRequest
from projects.dashboard.content.project_page import describe_project
from projects.dashboard.own_projects import actor, find_project, own_project
from projects.dashboard.refusals import REFUSALS, refused
from projects.services.images.update import request_update


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def update_image(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Requests the update. A GET, for example after signing in again, redirects to the page."""
    project = own_project(request, project_id)
    if request.method != "POST":
        return redirect("projects:show", project_id)
    try:
        is_wanted = request_update(project=project, actor=actor(request))
    except REFUSALS as error:
        messages.error(request, str(error))
        return refused(request, "projects/show.html", describe_project(find_project(request, project_id)), error)
    if is_wanted:
        sentence = "gets the newest image of its type. The old one runs again if that does not get ready."
        messages.success(request, f"“{project.name}” {sentence}")
    else:
        messages.success(request, f"“{project.name}” has the newest image.")
    return redirect("projects:show", project_id)
