"""No matter where the database fails a request, the answer is a 503 that says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import InterfaceError, InternalError, OperationalError, connection
from django.db.utils import Error
from django.test import Client
from django.urls import reverse

from tests.canaries import CANARY_PASSWORD
from tests.clients import api_of, browser_of
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.people import email_of
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, every_route

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

MOST_QUERIES = 60
"""More queries than any request makes."""


@contextmanager
def failing(error: Error, *, after: int = 0) -> Iterator[list[str]]:
    """Every query after this many fails. Yields the failed ones."""
    failed: list[str] = []
    passed = 0

    def refuse(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal passed
        if passed < after:
            passed += 1
            return execute(sql, params, many, context)
        failed.append(sql)
        raise error

    with connection.execute_wrapper(refuse):
        yield failed


@pytest.fixture
def service(db: None, engine: MemoryEngine) -> PopulatedService:
    return PopulatedService.make(engine)


def assert_tells_of_the_database(answer: Any, address: str) -> None:
    assert answer.status_code == 503, (address, answer.status_code)
    if address == "/readyz":
        assert answer.json()["engine"] == "ok"
        return
    assert int(answer["Retry-After"]) >= 1, address
    if address.startswith("/api/"):
        assert answer["Content-Type"] == "application/problem+json", address
        assert answer.json()["code"] == "database_unavailable", address
    else:
        assert "The database does not answer." in answer.content.decode(), address


@pytest.mark.rare(2)
def test_every_route_of_a_database_that_is_away(service: PopulatedService) -> None:
    visitors: list[Any] = [api_of(service.alice), browser_of(service.admin)]
    for visitor in visitors:
        visitor.raise_request_exception = False
    parameters = service.route_parameters
    for route in every_route():
        address = address_of(route, parameters)
        for visitor in visitors:
            for method in ("get", "post", "patch", "delete"):
                with failing(OperationalError("connection refused")) as failed:
                    answer = getattr(visitor, method)(address)
                assert answer.status_code != 500, (method, address)
                if address == "/metrics":
                    assert not failed or b"berth_database_up 0.0" in answer.content
                    continue
                needed = [
                    each for each in failed if "accounts_notice" not in str(each)
                ]  # pages can do without a notice
                assert not needed or answer.status_code == 503, (method, address, needed)
                if needed:
                    assert_tells_of_the_database(answer, address)


def commands(service: PopulatedService) -> dict[str, Any]:
    """Requests by name. Each is sent once for every query that it makes."""
    api, browser = api_of(service.alice), browser_of(service.alice)
    admin = browser_of(service.admin)
    for client in (api, browser, admin):
        client.raise_request_exception = False
    path = f"/api/projects/{service.project.pk}"
    login = {"email": email_of("alice"), "password": CANARY_PASSWORD}
    return {
        "list": lambda: api.get("/api/projects"),
        "detail": lambda: api.get(path),
        "create": lambda: api.post("/api/projects", PROJECT | {"telegramToken": "987654:AA-another"}),
        "create once": lambda: api.post(
            "/api/projects", PROJECT | {"telegramToken": "987655:AA-another"}, headers={"Idempotency-Key": "once"}
        ),
        "start": lambda: api.post(f"{path}/control", {"action": "start"}),
        "stop": lambda: api.post(f"{path}/control", {"action": "stop"}),
        "restart": lambda: api.post(f"{path}/control", {"action": "restart"}),
        "patch": lambda: api.patch(path, {"name": "Renamed", "plan": "free", "settings": {"instructions": "x"}}),
        "events": lambda: api.get(f"{path}/events"),
        "logs": lambda: api.get(f"{path}/logs"),
        "login": lambda: Client(raise_request_exception=False).post(
            "/api/auth/login", login, content_type="application/json"
        ),
        "page": lambda: browser.get("/"),
        "project page": lambda: browser.get(f"/projects/{service.project.pk}"),
        "sign-in form": lambda: Client(raise_request_exception=False).post(
            reverse("accounts:sign-in"), {"username": login["email"], "password": CANARY_PASSWORD}
        ),
        "admin": lambda: admin.get("/admin/projects/project/"),
        "nothing": lambda: browser.get("/nothing"),
        "delete": lambda: api.delete(path),
    }


@pytest.mark.rare(1)
@pytest.mark.parametrize(
    "error",
    [OperationalError("gone"), InterfaceError("connection already closed"), InternalError("read-only")],
    ids=lambda error: type(error).__name__,
)
def test_a_request_that_loses_the_database_at_any_query_is_a_503(service: PopulatedService, error: Error) -> None:
    for name, send in commands(service).items():
        for after in range(MOST_QUERIES):
            with failing(error, after=after) as failed:
                answer = send()
            if not failed:
                break
            text = b"".join(answer.streaming_content) if answer.streaming else answer.content
            assert answer.status_code < 500 or answer.status_code == 503, (name, failed[0], text)
            assert b"engine" not in text or answer.status_code < 400, (name, failed[0], text)
            if answer.status_code == 503 and answer["Content-Type"] == "application/problem+json":
                assert answer.json()["code"] == "database_unavailable", (name, failed[0])
        else:
            raise AssertionError(f"{name} makes more than {MOST_QUERIES} queries")
