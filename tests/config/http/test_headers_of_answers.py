"""Every address with every kind of request: each answer has the headers for the safety of browsers, refused or not."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.test import Client

from accounts.models import User
from tests.clients import browser_of
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, every_route

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Permissions-Policy": "camera=()",
    "X-Request-ID": "",
}
"""What each value contains."""

WAYS: dict[str, Callable[[Client, str], Any]] = {
    "read": lambda client, path: client.get(path),
    "sent": lambda client, path: client.post(path),
    "traced": lambda client, path: client.generic("TRACE", path),
    "at another host": lambda client, path: client.get(path, headers={"host": "evil.example"}),
    "with a slash": lambda client, path: client.get(f"{path}/"),
    "with a large body": lambda client, path: client.post(path, b"x" * 70_000, "text/plain"),
    "without its token": lambda client, path: Client(enforce_csrf_checks=True).post(path),
}


@pytest.fixture
def service(engine: Any) -> PopulatedService:
    return PopulatedService.make(engine)


def find_missing(user: User | None, way: str, path: str) -> list[str]:
    """Undoes the changes of the request, so that the next one finds the same state."""
    with transaction.atomic():
        answer = WAYS[way](browser_of(user, raise_request_exception=False), path)
        if answer.streaming:
            hang_up(answer)
        transaction.set_rollback(True)
    return [name for name, value in HEADERS.items() if value not in answer.get(name, "missing")]


@pytest.mark.parametrize("who", [None, "alice", "admin"])
@pytest.mark.parametrize("way", WAYS)
def test_no_answer_lacks_a_header(service: PopulatedService, some: Some, who: str | None, way: str) -> None:
    user, wrong = getattr(service, who) if who else None, dict[str, list[str]]()
    for route in some(["/static/nothing", *every_route()], one_in=8, first=list(WAYS).index(way)):
        if missing := find_missing(user, way, address_of(route, service.route_parameters)):
            wrong[route] = missing
    assert wrong == {}


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/me", "/static/nothing", "/nowhere"])
def test_no_answer_while_the_database_fails_lacks_a_header(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", _fail)
    answer = Client(raise_request_exception=False).get(path, headers={"cookie": "__Host-berth-session=x"})
    assert [name for name, value in HEADERS.items() if value not in answer.get(name, "missing")] == []


def _fail(*_arguments: Any) -> None:
    raise OperationalError("the server closed the connection")
