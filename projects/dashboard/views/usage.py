"""The pages of an agent's usage and budget."""

from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts import clock
from accounts.http import SignedInRequest
from projects.dashboard.content.usage_in_words import describe_lines, describe_usage
from projects.dashboard.downloads import send_download
from projects.dashboard.forms.budget import BudgetForm
from projects.dashboard.own_projects import actor, find_project, own_project
from projects.dashboard.refusals import act_on_form
from projects.errors import TooManyStreamsError
from projects.rules.periods import Period, begin_of
from projects.services import ProjectChange, update_project
from projects.services.commands.update import check_may_be_changed
from projects.services.reports.csv_files import CONTENT_TYPE
from projects.services.reports.usage import list_usage, write_hours

SHOWN = timedelta(days=30)

SHOWN_LINES = 1000
"""The newest lines, which the page shows. The file has them all."""


@login_required
@require_safe
def show_usage(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = find_project(request, project_id)
    lines = list_usage(project=project, **_last_days(), by="day", most=SHOWN_LINES, newest_first=True)
    page = {
        "project": project,
        "lines": describe_lines(lines[:SHOWN_LINES]),
        "days": SHOWN.days,
        "shown": SHOWN_LINES if len(lines) > SHOWN_LINES else None,
        **describe_usage(project),
    }
    return render(request, "projects/usage.html", page)


@login_required
@require_safe
def download_usage(request: SignedInRequest, project_id: UUID) -> HttpResponseBase:
    project = find_project(request, project_id)
    try:
        begin = partial(write_hours, project=project, **_last_days())
        return send_download(request, begin, name=f"usage-{project.pk}.csv", content_type=CONTENT_TYPE)
    except TooManyStreamsError as error:
        messages.error(request, str(error))
        return redirect("projects:usage", project_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change_budget(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    project = own_project(request, project_id)
    form = BudgetForm(project, request.POST if request.method == "POST" else None)

    def change() -> HttpResponse:
        update_project(project=project, change=ProjectChange(budget=form.changed), actor=actor(request))
        messages.success(request, f"The budget of “{project.name}” is changed. It is in force already.")
        return redirect("projects:usage", project_id)

    return act_on_form(request, "projects/budget.html", project, form, check=check_may_be_changed, act=change)


def _last_days() -> dict[str, datetime]:
    now = clock.now()
    return {"since": begin_of(Period.DAY, now) - SHOWN + timedelta(days=1), "until": now}
