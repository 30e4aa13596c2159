"""Pages and forms with the ids of another user's rows: each answer is that for an id that never existed.

Generated from the routes, from the names that pages read in their addresses, and from the forms on the pages.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin
from uuid import UUID, uuid4

import pytest

from accounts.models import OpenSession
from config.http.methods import FOR_PROGRAMS
from tests.clients import api_of, browser_of, make_person
from tests.deploying import deploy_project
from tests.factories import ApiKeyFactory
from tests.projects.api.following import hang_up
from tests.projects.played_back import played_back
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes
from tests.security.shown_forms import forms_of
from tests.security.test_hostile_page_values import parameters

pytestmark = [pytest.mark.one_database, pytest.mark.timeout(3600)]

ROUTES = [route for route in page_routes() if not route.startswith("/admin/") and route not in FOR_PROGRAMS]
KINDS = ("project", "key", "session", "user")
ID = "{id}"
ONCE = re.compile(
    r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|berth_\w+(…\w+)?|value=\"\w{64}\"|(?<=<time)[^>]*>[^<]*"
    r"|(?<=checked\.)\w{12}"
)
"""What differs from one answer to the next: ids, keys, tokens of forms, moments."""

Request = tuple[str, str, dict[str, Any]]
"""The method, the address, and what is sent. `ID` stands for the id."""


@pytest.fixture
def others(service: PopulatedService) -> dict[str, UUID]:
    """The ids of Bob's rows, one of each kind that a page may name."""
    bob = make_person("bob")
    project = deploy_project(api_of(bob), name="Of Bob", telegramToken="5:another")
    session = OpenSession.objects.create(user=bob, kind="api", ends_at=project.created_at, session_version=1)
    rows = (project, ApiKeyFactory.create(user=bob), session, bob)
    return dict(zip(KINDS, (row.pk for row in rows), strict=True))


def ask(service: PopulatedService, request: Request, found: UUID) -> tuple[int, str, str]:
    """Returns the answer, comparable to others. Nothing of the request remains."""
    method, path, sent = request
    values = {name: str(found) if value == ID else value for name, value in sent.items()}
    client = browser_of(service.alice, raise_request_exception=False)
    with played_back(service.engine):
        answer: Any = getattr(client, method)(path.replace(ID, str(found)), values)
        if answer.streaming:
            hang_up(answer)
        content = "" if answer.streaming else answer.content.decode("utf-8", "replace")
    return answer.status_code, ONCE.sub("", answer.get("Location", "")), ONCE.sub("", content)


def requests_of_routes() -> Iterator[Request]:
    for route in ROUTES:
        for method in ("get", "post") if "<" in route else ():
            yield method, re.sub("<[^>]+>", ID, route), {}


def requests_of_names(service: PopulatedService) -> Iterator[Request]:
    for route in ROUTES:
        for name in parameters():
            yield "get", address_of(route, service.route_parameters), {name: ID}


def requests_of_forms(service: PopulatedService) -> Iterator[Request]:
    """Each field of each form once, with the others filled in as somebody would."""
    seen = set()
    for route in ROUTES:
        path = address_of(route, service.route_parameters)
        page: Any = browser_of(service.alice).get(path)
        if page.streaming:
            hang_up(page)
        for form in () if page.streaming else forms_of(page.content.decode("utf-8", "replace")):
            for name in sorted({each.name for each in form.fields}):
                target = urljoin(path, form.action)
                if (target, name) not in seen:
                    seen.add((target, name))
                    yield "post", target, {**form.values(text="a text"), **form.buttons[0], name: ID}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_another_s_id_is_answered_like_an_unknown_one(
    service: PopulatedService, others: dict[str, UUID], some: Some, kind: str
) -> None:
    first = KINDS.index(kind)
    never = UUID(f"{others[kind].hex[:8]}{uuid4().hex[8:]}")  # a setting may ask for a letter at the beginning
    asked = [
        *some(requests_of_routes(), one_in=2, first=first),
        *some(requests_of_names(service), one_in=41, first=first * 10),
        *some(requests_of_forms(service), one_in=4, first=first),
    ]
    wrong = [each for each in asked if ask(service, each, others[kind]) != ask(service, each, never)]
    assert wrong == []
    assert len(asked) > 50


def test_the_names_of_fields_and_what_they_hold_are_found(service: PopulatedService) -> None:
    sent = {path: values for _, path, values in requests_of_forms(service)}
    assert {"id", "name", "scope", "lifetime"} <= set(sent["/settings/keys"])
    assert sent[f"/projects/{service.project.pk}/budget"].keys() >= {"day_tokens", "month_money"}


@pytest.mark.parametrize("path", ["/settings/keys", "/settings/keys/{}/rotate"])
def test_a_form_with_the_id_of_another_s_key_makes_a_key(
    service: PopulatedService, others: dict[str, UUID], path: str
) -> None:
    """An answer that it exists already would tell that somebody has it."""
    held = service.alice.api_keys.count()
    form = {"name": "mine", "scope": "read", "lifetime": "30", "id": str(others["key"])}
    assert browser_of(service.alice).post(path.format(service.key.pk), form).status_code == 200
    assert service.alice.api_keys.count() == held + 1
