"""Each page as the one to follow the sign-in: nobody gets into a circle, to an error or to a dead end."""

from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from django.test import Client

from accounts.models import User
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD
from tests.clients import browser_of
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

TAKES_NEXT = ("/sign-in", "/sign-in/code", "/admin/login/")
BACK = ("/sign-in", "/sign-in/code", "/sign-out", "/admin/login/", "/admin/logout/")
SPELLINGS = (
    *("#x", "?", "?next=/", ".", "./", "", " ", "sign-in", "code", "../sign-in", "#unsent", "/sign-in#unsent"),
    *(
        "/sign-in?next=/sign-in",
        "/sign-in?next=%23x",
        "/%73ign-in",
        "/x/../sign-in",
        "/x/%2e%2e/sign-in",
        "/./sign-out",
    ),
    *("http://testserver/sign-in", "http://testserver", "//testserver/sign-out", "/\\sign-in", "/sign-in\x00", "/" * 9),
    *("http://[", "https://elsewhere.example/", "javascript:alert(1)", "/" + "x" * 3000, "/?" + "\u202e" * 700),
)
MOST = 5
"""Redirects: admin's sign-in, sign-in, a page for staff, the rule of the second factor, and one more."""


@pytest.fixture
def service(engine: Any) -> PopulatedService:
    return PopulatedService.make(engine)


def follow(client: Client, path: str) -> tuple[Any, str]:
    """Returns the last status, or the whole way if it is too long, and the address where it ended."""
    way = [path]
    while len(way) <= MOST + 1:
        answer = client.get(way[-1].partition("#")[0])
        if answer.streaming:
            hang_up(answer)
        if answer.status_code not in {301, 302}:
            return answer.status_code, way[-1]
        way.append(urljoin(way[-1], answer["Location"]))
    return way, way[-1]


def is_dead_end(status: Any) -> bool:
    """A page that the visitor may not see, or that is not there, is said to be so in words; a method is not."""
    return status not in {200, 401, 403, 404, 409}


def is_elsewhere(address: str) -> bool:
    return urlsplit(address).path in BACK[:3] or urlsplit(address).netloc not in {"", "testserver"}


def targets(service: PopulatedService) -> list[str]:
    return [*(address_of(route, service.route_parameters) for route in page_routes()), *SPELLINGS]


@pytest.mark.parametrize("entry", TAKES_NEXT)
@pytest.mark.parametrize("who", ["alice", "admin"])
def test_someone_who_is_signed_in_is_led_somewhere(service: PopulatedService, some: Some, who: str, entry: str) -> None:
    wrong = []
    for target in {*some(targets(service), one_in=12), *BACK, "#x", "?"}:
        client = browser_of(getattr(service, who), raise_request_exception=False)
        status, where = follow(client, f"{entry}?{urlencode({'next': target})}")
        wrong += [(target, status)] if is_dead_end(status) or is_elsewhere(where) else []
    assert wrong == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("entry", TAKES_NEXT)
@pytest.mark.parametrize("has_code", [False, True])
def test_someone_who_signs_in_is_led_somewhere(
    service: PopulatedService, phone: Phone, some: Some, entry: str, has_code: bool
) -> None:
    user, wrong = service.admin, []
    if has_code:
        phone.enrol(user)
    for target in {*some(targets(service), one_in=12), *BACK, "#x", "?"}:
        client = Client(raise_request_exception=False)
        status, where = follow(client, f"{entry}?{urlencode({'next': target})}")
        assert (status, where.partition("?")[0]) == (200, "/sign-in")
        status, where = sign_in(client, user, where, phone if has_code else None)
        wrong += [(target, status)] if is_dead_end(status) or is_elsewhere(where) else []
    assert wrong == []


def sign_in(client: Client, user: User, address: str, phone: Phone | None) -> tuple[Any, str]:
    answer = client.post(address, {"email": user.email, "password": CANARY_PASSWORD})
    address = urljoin(address, answer["Location"])
    if phone:
        assert address.partition("?")[0] == "/sign-in/code"
        answer = client.post(address, {"code": phone.next_code()})
        address = urljoin(address, answer["Location"])
    return follow(client, address)


@pytest.mark.parametrize("target", [*BACK, "#x", "?"])
def test_the_rule_of_the_second_factor_makes_no_circle(service: PopulatedService, settings: Any, target: str) -> None:
    settings.BERTH_REQUIRE_STAFF_MFA = True
    client = browser_of(service.admin, raise_request_exception=False)
    for entry in TAKES_NEXT:
        assert follow(client, f"{entry}?{urlencode({'next': target})}") == (200, "/settings/second-factor")


@pytest.mark.parametrize(
    "target", ["/settings/keys", "/projects/new?type=assistant", "/admin/", "http://testserver/settings"]
)
def test_other_pages_follow_the_sign_in(service: PopulatedService, target: str) -> None:
    client = browser_of(service.admin)
    assert client.get(f"/sign-in?{urlencode({'next': target})}")["Location"] == target
