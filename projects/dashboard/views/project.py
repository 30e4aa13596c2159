"""The pages of one project."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from accounts.http import SignedInRequest
from accounts.qr_code import draw_qr_code
from projects.dashboard.content.project_page import describe_project
from projects.dashboard.content.steps import describe_steps
from projects.dashboard.forms.project import ChangeProjectForm, ControlForm, DeleteProjectForm
from projects.dashboard.own_projects import (
    actor,
    find_project,
    own_project,
    read_run_number,
    redirects_once_gone,
)
from projects.dashboard.refusals import REFUSALS, act_on_form, refused
from projects.errors import UnknownRunError
from projects.models import Project
from projects.models.rows.snapshot import take_snapshot
from projects.rules.status.lifecycle import Action
from projects.rules.status.traits import Condition
from projects.services import control_project, delete_project, update_project
from projects.services.commands.deletion import check_may_be_deleted
from projects.services.commands.update import check_may_be_changed
from projects.services.operations import command_deadline

pages_and_forms = require_http_methods(["GET", "HEAD", "POST"])
DONE = {Action.START: "is started", Action.STOP: "is stopped", Action.RESTART: "is restarted"}


@login_required
@require_safe
def show_project(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = find_project(request, project_id)
    event, span = request.GET.get("event", ""), request.GET.get("span", "")
    try:
        page = describe_project(project, run=read_run_number(request), event=event, span=span)
    except UnknownRunError as error:
        raise Http404(str(error)) from None
    return render(request, "projects/show.html", page)


@login_required
@require_safe
@redirects_once_gone
def show_steps(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Shows the progress of the first deploy, as a part of the page. Without htmx, redirects to the page."""
    if not request.htmx:
        return redirect("projects:show", project_id)
    snapshot = take_snapshot(own_project(request, project_id))
    return render(
        request, "projects/first_steps.html", {"project": snapshot.project, "steps": describe_steps(snapshot)}
    )


@login_required
@require_safe
def draw_link(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Draws the address of the bot as a QR code."""
    bot = find_project(request, project_id).bot
    if not (bot and bot["url"]):
        raise Http404("Its bot has no address.")
    return HttpResponse(draw_qr_code(bot["url"]), content_type="image/svg+xml")


@login_required
@pages_and_forms
def control(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Carries out a button's command. A GET, for example after signing in again, redirects to the page."""
    project = own_project(request, project_id)
    if request.method != "POST":
        return redirect("projects:show", project_id)
    form = ControlForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose start, stop or restart.")
        return render(request, "projects/show.html", describe_project(project), status=400)
    action = Action(form.cleaned_data["action"])
    try:
        project = control_project(project=project, action=action, actor=actor(request))
    except REFUSALS as error:
        messages.error(request, str(error))
        return refused(request, "projects/show.html", describe_project(find_project(request, project_id)), error)
    if action == Action.STOP and project.status.traits.condition != Condition.DOWN:
        messages.warning(request, f"“{project.name}” is being stopped. It may take a while.")
    else:
        messages.success(request, f"“{project.name}” {DONE[action]}.")
    return redirect("projects:show", project_id)


@login_required
@pages_and_forms
@sensitive_post_parameters()
def change_project(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = own_project(request, project_id)
    form = ChangeProjectForm(project, request.POST if request.method == "POST" else None)

    def change() -> HttpResponse:
        with command_deadline():
            changed = project
            if form.changes_something:
                changed = update_project(project=project, change=form.build(), actor=actor(request))
            return _after_change(request, changed, form)

    return act_on_form(request, "projects/change.html", project, form, check=check_may_be_changed, act=change)


@login_required
@pages_and_forms
def remove_project(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = own_project(request, project_id)
    form = DeleteProjectForm(project, request.POST if request.method == "POST" else None)

    def delete() -> HttpResponse:
        if delete_project(project=project, actor=actor(request)):
            messages.success(request, f"“{project.name}” is deleted.")
        else:
            sentence = f"“{project.name}” is being deleted. It is gone when the engine has confirmed it."
            messages.warning(request, sentence)
        return redirect("projects:list")

    return act_on_form(request, "projects/delete.html", project, form, check=check_may_be_deleted, act=delete)


def _after_change(request: SignedInRequest, project: Project, form: ChangeProjectForm) -> HttpResponse:
    """Restarts the agent if the form says so. The change is already saved, and stays if the restart is refused."""
    saved = "The change is saved." if form.changes_something else "Nothing was changed."
    if form.cleaned_data["restart"]:
        try:
            control_project(project=project, action=Action.RESTART, actor=actor(request))
        except REFUSALS as error:
            messages.error(request, f"{saved} The restart was refused: {error}")
            page = {"project": project, "form": ChangeProjectForm(project)}
            return refused(request, "projects/change.html", page, error)
        saved = f"{saved} “{project.name}” is restarted."
    messages.success(request, saved)
    return redirect("projects:show", project.pk)
