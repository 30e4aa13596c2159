"""No page breaks because of a strange value in its address or its form.

Generated: the names come from the sources and from the forms on the pages, so a new parameter or field is included.
"""

import re
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from tests.clients import browser_of
from tests.paths import ROOT
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.populated_service import PopulatedService
from tests.security.routes import address_of, page_routes

pytestmark = [pytest.mark.one_database("postgresql"), pytest.mark.timeout(7200)]
"""With `--whole` it sends tens of thousands of requests."""

VALUES = (
    *("\0", "-1", "9" * 30, "9" * 2000, "1e400", "NaN", "\u0663", "\u00b2", "\ud800", "{" * 2000, "[[1]]", "null"),
    *('{"\\u0000": "\\ud800"}', "\U0010ffff\u202e\u200b", "00000000-0000-0000-0000-000000000000", "0001-01-01"),
    *("9999-12-31T23:59:59", "%s%n{0}{{x}}", "urn:uuid:00000000000000000000000000000000"),
)
"""Each value has broken a program that converts, compares, stores or shows it."""

OF_ADMIN = ("_changelist_filters", "_facets", "_popup", "_to_field", "all", "e", "next", "o", "p", "q")
"""Names that Django's admin reads in its addresses."""

ENDS_SESSIONS = re.compile("sign-out|second-factor|change-password|delete")
"""Forms after which the visitor would be someone else."""

_ASKED = re.compile(r'request\.GET\.get(?:list)?\(\s*"([\w-]+)"|"([\w-]+)" (?:not )?in request\.GET')
_FIELD = re.compile(r'<(?:input|select|textarea|button)\b[^>]*\bname="([^"]+)"')


def parameters() -> list[str]:
    """The names that our pages read in their addresses."""
    found: set[str] = {"next"}
    for room in ("accounts", "projects", "config"):
        for file in (ROOT / room).rglob("*.py"):
            found.update(one or other for one, other in _ASKED.findall(file.read_text()))
    return sorted(found)


def ask(client: Client, method: str, path: str, values: dict[str, str]) -> int:
    """Returns the status. Undoes the changes of the request, so that the next one finds the same state."""
    encoded = {name: value.encode("utf-8", "surrogatepass") for name, value in values.items()}
    send: Callable[..., Any] = getattr(client, method)
    with transaction.atomic():
        answer = send(path, encoded)
        if answer.streaming:
            hang_up(answer)
        transaction.set_rollback(True)
    return int(answer.status_code)


def fields_of(client: Client, path: str) -> list[str]:
    """Returns the names of the fields in the forms of a page."""
    page = client.get(path)
    if page.streaming:
        hang_up(page)
        return []
    return sorted(set(_FIELD.findall(page.content.decode("utf-8", "replace"))) - {"csrfmiddlewaretoken"})


def visitor(service: PopulatedService, route: str) -> Client:
    user = service.admin if route.startswith("/admin/") else service.alice
    return browser_of(user, raise_request_exception=False)


def test_the_names_are_found() -> None:
    assert {"after", "event", "link", "next", "run", "seen", "span"} <= set(parameters())


def test_a_page_that_breaks_is_noticed(service: PopulatedService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.dashboard.views.sign_in.show_settings_page", int)  # it does not take a request
    assert ask(visitor(service, "/settings"), "get", "/settings", {"next": "\0"}) == 500


@pytest.mark.rare(2)
def test_no_value_in_an_address_breaks_a_page(service: PopulatedService, some: Some) -> None:
    names, wrong = parameters(), []
    for number, route in enumerate(page_routes()):
        client, path = visitor(service, route), address_of(route, service.route_parameters)
        asked = OF_ADMIN if route.startswith("/admin/") else names
        pairs = [(name, value) for name in asked for value in VALUES]
        for name, value in some(pairs, one_in=389, first=number * 7):
            if (status := ask(client, "get", path, {name: value})) >= 500:
                wrong.append((route, name, value[:20], status))
    assert wrong == []


@pytest.mark.rare(2)
def test_no_value_in_a_form_breaks_a_page(service: PopulatedService, some: Some) -> None:
    """Once in all fields, and once in one field of a form."""
    wrong = []
    for number, route in enumerate(each for each in page_routes() if not ENDS_SESSIONS.search(each)):
        client, path = visitor(service, route), address_of(route, service.route_parameters)
        fields = ["do", "action", *fields_of(client, path)]
        forms = [(names, value) for value in VALUES for names in (fields, *([name] for name in fields))]
        for names, value in some(forms, one_in=193, first=number * 7):
            if (status := ask(client, "post", path, dict(zip(names, cycle([value]), strict=False)))) >= 500:
                wrong.append((route, names, value[:20], status))
    assert wrong == []
