"""The page that asks before an agent's memory is cleared."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from accounts.http import SignedInRequest
from projects.dashboard.forms import DeleteProjectForm
from projects.dashboard.own_projects import actor, own_project
from projects.dashboard.refusals import REFUSALS, ask, refused
from projects.services import clear_memory
from projects.services.update import check_may_be_changed


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def clear_project_memory(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = own_project(request, project_id)
    form = DeleteProjectForm(project, request.POST if request.method == "POST" else None)
    page = {"project": project, "form": form}
    if not form.is_valid():
        return ask(request, "projects/clear_memory.html", page, check_may_be_changed)
    try:
        clear_memory(project=project, actor=actor(request))
    except REFUSALS as error:
        form.refuse(error)
        return refused(request, "projects/clear_memory.html", page, error)
    messages.success(request, f"“{project.name}” remembers nothing any more.")
    return redirect("projects:show", project_id)
