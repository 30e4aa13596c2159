"""The page that asks for confirmation before it clears an agent's memory."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from accounts.http import SignedInRequest
from projects.dashboard.forms.project import DeleteProjectForm
from projects.dashboard.own_projects import actor, own_project
from projects.dashboard.refusals import act_on_form
from projects.services import clear_memory
from projects.services.commands.update import check_may_be_changed


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def clear_project_memory(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = own_project(request, project_id)
    form = DeleteProjectForm(project, request.POST if request.method == "POST" else None)

    def clear() -> HttpResponse:
        clear_memory(project=project, actor=actor(request))
        messages.success(request, f"“{project.name}” no longer remembers anything.")
        return redirect("projects:show", project_id)

    return act_on_form(request, "projects/clear_memory.html", project, form, check=check_may_be_changed, act=clear)
