"""Every address with every method: what is refused is said in words, and `Allow` names what there is."""

import json
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from accounts.models import User
from config.http.methods import FOR_PROGRAMS
from config.http.middleware import is_api_path
from tests.clients import browser_of
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, every_route

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get")


@pytest.fixture
def service(engine: Any) -> PopulatedService:
    return PopulatedService.make(engine)


def ask(user: User | None, method: str, path: str) -> Any:
    """Returns the answer. Undoes the changes of the request, so that the next one finds the same state."""
    with transaction.atomic():
        answer = browser_of(user, raise_request_exception=False).generic(method, path)
        if answer.streaming:
            hang_up(answer)
        transaction.set_rollback(True)
    return answer


def is_told(path: str, method: str, answer: Any) -> bool:
    """Whether the answer says in words why the request was refused."""
    if method == "HEAD":
        return True
    if is_api_path(path):
        return bool(json.loads(answer.content)["detail"])
    kind = "text/plain" if path in FOR_PROGRAMS else "text/html"
    is_page = kind == "text/plain" or (b"<h1>" in answer.content and b"</html>" in answer.content)
    return answer["Content-Type"].startswith(kind) and is_page and len(answer.content) > 40


@pytest.mark.parametrize("who", [None, "alice", "admin"])
@pytest.mark.parametrize("method", METHODS)
def test_no_address_answers_with_a_blank_page(service: PopulatedService, some: Some, who: str, method: str) -> None:
    user, wrong = getattr(service, who) if who else None, []
    for route in some(every_route(), one_in=6, first=METHODS.index(method)):
        path = address_of(route, service.route_parameters)
        answer = ask(user, method, path)
        if answer.status_code < 400:
            continue
        is_named = answer.status_code != 405 or (answer["Allow"] and method not in answer["Allow"].split(", "))
        if answer.status_code >= 500 or answer.streaming or not is_named or not is_told(path, method, answer):
            wrong.append((route, answer.status_code, answer.get("Allow")))
    assert wrong == []


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed", "words"),
    [
        ("GET", "/sign-out", 405, "POST", "use the button there"),
        ("POST", "/projects/changes", 405, "GET, HEAD", "This address takes no form"),
        ("PUT", "/settings", 405, "GET, HEAD, POST", "This address takes no form"),
        ("PUT", "/admin/projects/project/growth/", 405, "GET, HEAD", "This address takes no form"),
        ("GET", "/api/auth/login", 405, "POST, OPTIONS", "Send another method"),
        ("POST", "/healthz", 405, "GET, HEAD", "Send another method"),
        ("POST", "/cli", 405, "GET, HEAD", "Send another method"),
    ],
)
def test_what_is_refused(ada: User, method: str, path: str, status: int, allowed: str, words: str) -> None:
    answer = ask(ada, method, path)
    assert (answer.status_code, answer["Allow"]) == (status, allowed)
    assert words in answer.content.decode()
    assert answer["Cache-Control"] == "no-store"


def test_a_refusal_shows_who_is_signed_in(ada: User) -> None:
    assert ada.email in ask(ada, "GET", "/sign-out").content.decode()
    assert ada.email not in Client().get("/sign-out").content.decode()
