"""Every route that a browser visits with its cookie, by its form and by its address.
Generated: a new one is included."""

import re
from itertools import product
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from tests.canaries import CANARY_PASSWORD
from tests.clients import api_of, browser_of
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, every_route, page_routes

pytestmark = pytest.mark.one_database

UNSAFE = ("POST", "PUT", "PATCH", "DELETE")

FOR_PROGRAMS = {"/cli", "/healthz", "/metrics", "/readyz", "/readyz/server"}
"""These accept no form, and are for programs: 405 in any case."""


def everything(service: PopulatedService) -> tuple[Any, Any]:
    return service.state(), service.engine_changes()


def several(routes: list[str]) -> list[list[str]]:
    """Routes after which all rows are read, which takes as long as a few requests."""
    return [routes[begin : begin + 8] for begin in range(0, len(routes), 8)]


def test_a_form_without_its_token_is_refused_and_changes_nothing(service: PopulatedService, some: Some) -> None:
    """A run tries one route with two of the methods, and the next one with the others."""
    client = browser_of(service.admin, enforce_csrf_checks=True)
    before, wrong = everything(service), []
    for routes in several(page_routes()):
        asked = [(route, way) for number, route in enumerate(routes) for way in some(UNSAFE, one_in=2, first=number)]
        for route, method in asked:
            answer = client.generic(
                method, address_of(route, service.route_parameters), "name=x", "application/x-www-form-urlencoded"
            )
            if route in FOR_PROGRAMS:
                is_refused = answer.status_code == 405
            else:
                is_refused = answer.status_code == 403 and b"The form has expired." in answer.content
            if not is_refused:
                wrong.append(f"{method} {route}: {answer.status_code}")
        if (now := everything(service)) != before:
            wrong.append(f"One of {routes} changed something")
            before = now
    assert wrong == []
    assert client.get("/settings").status_code == 200, "Somebody signed the visitor out meanwhile."


def test_a_form_with_its_token_is_accepted(db: None) -> None:
    """This shows that the forms above are refused because their token is missing."""
    client = Client(enforce_csrf_checks=True)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get("/sign-in").content.decode())
    assert token
    form = {"email": "x@example.org", "password": "x", "csrfmiddlewaretoken": token[1]}
    assert client.post("/sign-in", form).status_code == 200


@pytest.mark.rare(2)
def test_reading_changes_no_row_and_calls_no_engine(service: PopulatedService, some: Some) -> None:
    """A run requests each route by GET, for two of the visitors, and by HEAD or OPTIONS for the others."""
    visitors = [browser_of(user) for user in (None, service.alice, service.staff, service.admin)]
    before, wrong = everything(service), []
    for routes in several(every_route()):
        for number, route in enumerate(routes):
            readers, others = (some(visitors, one_in=2, first=number + which) for which in range(2))
            ways = some(("HEAD", "OPTIONS"), one_in=2, first=number // 2)
            for visitor, method in [*product(readers, ["GET"]), *product(others, ways)]:
                answer = visitor.generic(method, address_of(route, service.route_parameters))
                if answer.status_code >= 500:
                    wrong.append(f"{method} {route}: {answer.status_code}")
                if answer.streaming:
                    hang_up(answer)  # a client that leaves returns the lease of its stream
        if (now := everything(service)) != before:
            wrong.append(f"One of {routes} changed something")
            before = now
    assert wrong == []
    for visitor in visitors[1:]:
        assert visitor.get("/settings").status_code == 200, "Somebody signed a visitor out meanwhile."


def test_a_change_by_reading_would_be_noticed(service: PopulatedService) -> None:
    before = everything(service)
    stopped = api_of(service.alice).post(f"/api/projects/{service.project.pk}/control", {"action": "stop"})
    assert stopped.status_code == 200
    assert service.state() != before[0]
    assert service.engine_changes() != before[1]


BEHIND_SIGN_IN = [route for route in page_routes() if re.match(r"/admin/(?!login/|logout/)", route)]


def test_the_admin_is_for_staff_only(service: PopulatedService) -> None:
    let_in = []
    for visitor in (browser_of(None), browser_of(service.alice)):
        for route in BEHIND_SIGN_IN:
            for method in ("GET", "POST"):
                answer = visitor.generic(method, address_of(route, service.route_parameters))
                away = answer.status_code == 302 and answer["Location"].startswith(("/sign-in", "/admin/login"))
                is_told = service.project.name.encode() in answer.content
                if is_told or not (away or answer.status_code in {403, 405}):
                    let_in.append((method, route, answer.status_code))
    assert let_in == []
    assert len(BEHIND_SIGN_IN) > 20


def test_every_cookie_is_bound_to_the_host_and_out_of_reach(service: PopulatedService, some: Some) -> None:
    client = Client()
    found: dict[str, Any] = {}
    for user in (None, service.alice, service.admin):
        if user:
            client.post("/sign-in", {"email": user.email, "password": CANARY_PASSWORD})
        for route in some(every_route(), one_in=3):
            answer = client.get(address_of(route, service.route_parameters))
            found |= {name: morsel for name, morsel in answer.cookies.items() if morsel.value}
            if answer.streaming:
                hang_up(answer)
        found |= client.cookies
    assert set(found) == {"__Host-berth-session", "__Host-berth-csrf"}
    for name, cookie in found.items():
        facts = [cookie[part] for part in ("secure", "httponly", "samesite", "path", "domain")]
        assert facts == [True, True, "Lax", "/", ""], name


def test_a_new_installation_has_no_account(db: None) -> None:
    assert not User.objects.exists()
