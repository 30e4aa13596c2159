"""Finds the signed-in owner's projects for pages, and names the owner as the actor."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse

from accounts.http import SignedInRequest, client_address
from projects.models import Actor, Project
from projects.services.observation import refresh

LONG = 10
"""The number of digits from which a number cannot be that of a run."""


def own_projects(request: SignedInRequest) -> Any:
    return (
        Project.objects.owned_by(request.user)
        .with_heartbeat()
        .select_related("owner", "plan", "agent_type", "spending")
    )


def find_project(request: SignedInRequest, project_id: UUID) -> Project:
    """Returns the project as its row says. Raises `Http404`, also for another user's project."""
    project: Project = get_object_or_404(own_projects(request), pk=project_id)
    return project


def own_project(request: SignedInRequest, project_id: UUID) -> Project:
    """Returns the project as of this moment. Raises `Http404`, also for another user's project."""
    project = find_project(request, project_id)
    refresh([project])
    return project


def redirects_once_gone(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Decorates views that scripts poll: once the project is gone, the response redirects to the list.

    Browsers log a 404 as an error of the page. They mark requests by scripts with a header.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Http404:
            if request.headers.get("Sec-Fetch-Dest") != "empty":
                raise
            return HttpResponse(status=204, headers={"HX-Redirect": reverse("projects:list")})

    return answer


def actor(request: SignedInRequest) -> Actor:
    return Actor(label=request.user.email, source="dashboard", address=client_address(request))


def read_run_number(request: HttpRequest) -> int | None:
    """Returns the number of the run in the address, or None."""
    sent = request.GET.get("run", "")
    return int(sent) if sent.isascii() and sent.isdecimal() and len(sent) < LONG else None
