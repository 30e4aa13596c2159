"""Shows a refused form again, with the sentence that says why."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from django.http import HttpResponse
from django.shortcuts import render
from rest_framework.views import APIView

from accounts.http import SignedInRequest
from containers.errors import EngineError
from projects.credentials.encryption import SecretUnreadableError
from projects.errors import ProjectError, ProjectSuspendedError
from projects.models import Project

REFUSALS = (ProjectError, EngineError, SecretUnreadableError)
"""The errors with which a service refuses. Any other error is a bug."""


class RefusableForm(Protocol):
    """A form that can show why a service refused it."""

    def is_valid(self) -> bool: ...

    def refuse(self, error: Exception) -> None: ...


def act_on_form(
    request: SignedInRequest,
    template: str,
    project: Project,
    form: RefusableForm,
    *,
    check: Callable[[Project], None],
    act: Callable[[], HttpResponse],
) -> HttpResponse:
    """Returns the response of `act` to a valid form. If it is invalid or a service refuses, shows the form again."""
    page = {"project": project, "form": form}
    if not form.is_valid():
        return _ask(request, template, page, check)
    try:
        return act()
    except REFUSALS as error:
        form.refuse(error)
        return refused(request, template, page, error)


def _ask(
    request: SignedInRequest, template: str, page: Mapping[str, Any], check: Callable[[Project], None]
) -> HttpResponse:
    """Shows the form, empty or with its errors, or the sentence that says why it cannot be filled in now."""
    try:
        check(page["project"])
    except ProjectSuspendedError as error:
        return refused(request, template, page, error)
    return render(request, template, dict(page), status=400 if page["form"].is_bound else 200)


def status_of(error: Exception) -> int:
    """Returns the API's HTTP status for this error. Raises the error if there is none."""
    answer = APIView().get_exception_handler()(error, {})
    if answer is None:
        raise error
    return int(answer.status_code)


def refused(request: SignedInRequest, template: str, page: Mapping[str, Any], error: Exception) -> HttpResponse:
    """Shows the page again, with the API's HTTP status for this error. Raises the error if there is none."""
    answer = APIView().get_exception_handler()(error, {})
    if answer is None:
        raise error
    if isinstance(error, ProjectSuspendedError) and "form" in page:
        template = "projects/suspended.html"  # every such form is refused, no matter how it is filled in
    response = render(request, template, {**page, "error": error}, status=answer.status_code)
    if "Retry-After" in answer.headers:
        response["Retry-After"] = answer.headers["Retry-After"]
    return response
