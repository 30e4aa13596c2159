"""The page of a form that was refused: the same form once more, and the sentence that says why."""

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
"""What a service may say no with. Everything else is a fault of ours."""


class RefusableForm(Protocol):
    """A form that can show why a service has refused what it asks for."""

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
    """The answer of `act` to a valid form. Otherwise, and where a service refuses, the form once more."""
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
    """The form, empty or with what is wrong, or the sentence that says why nobody may fill it in now."""
    try:
        check(page["project"])
    except ProjectSuspendedError as error:
        return refused(request, template, page, error)
    return render(request, template, dict(page), status=400 if page["form"].is_bound else 200)


def status_of(error: Exception) -> int:
    """The HTTP status that the API has for this error. Raises the error where it has none."""
    answer = APIView().get_exception_handler()(error, {})
    if answer is None:
        raise error
    return int(answer.status_code)


def refused(request: SignedInRequest, template: str, page: Mapping[str, Any], error: Exception) -> HttpResponse:
    """The page once more, with the HTTP status that the API has for this error."""
    answer = APIView().get_exception_handler()(error, {})
    if answer is None:
        raise error
    if isinstance(error, ProjectSuspendedError) and "form" in page:
        template = "projects/suspended.html"  # every such form is refused, however it is filled in
    response = render(request, template, {**page, "error": error}, status=answer.status_code)
    if "Retry-After" in answer.headers:
        response["Retry-After"] = answer.headers["Retry-After"]
    return response
