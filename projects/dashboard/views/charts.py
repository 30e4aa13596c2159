"""The charts of a project, without its page."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.http import SignedInRequest
from projects.dashboard.content.charts import describe_charts, read_span
from projects.dashboard.own_projects import find_project, redirects_once_gone


@login_required
@require_safe
@redirects_once_gone
def show_charts(request: SignedInRequest, project_id: UUID) -> HttpResponse:
    """Renders the charts that replace those on the page."""
    project = find_project(request, project_id)
    return render(request, "projects/charts.html", describe_charts(project, read_span(request.GET.get("span", ""))))
