"""Every form of every page with a wrong value in each field: a refusal changes nothing, and nothing typed is lost.

Generated from the forms on the pages: a new form or field is included.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import urljoin

import pytest
from django.db import transaction
from django.test import Client

from accounts.models import LoginCounter, User
from tests.browser import every_page, worlds
from tests.browser.worlds import World
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import hang_up
from tests.sampling import Some
from tests.security.populated_service import read_rows
from tests.security.shown_forms import Form, forms_of

pytestmark = [pytest.mark.django_db, pytest.mark.one_database, pytest.mark.timeout(7200)]

TYPED, PASTED = "Typed by hand 4711", "4711:AApasted-and-well-formed"
"""What fills in a text, and what fills in a credential: the token of a bot, and a wrong password."""
WRONG = ("", "x" * 5000, "-1", "[[[", "\u202eabc", "1e400", "a@b")
ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHOWN = {"text", "textarea", "email", "number", "url"}
"""The kinds of fields whose text a browser shows. Passwords are never repeated."""


@pytest.fixture
def world(engine: MemoryEngine, settings: Any) -> World:
    settings.BERTH_SENDS_MAIL, settings.BERTH_SIGNUP, settings.BERTH_GATEWAY = True, "open", True
    return worlds.make_full(engine)


def rows() -> dict[str, list[Any]]:
    """All rows, without the counts of attempts at a password."""
    return {label: found for label, found in read_rows().items() if label != LoginCounter._meta.label}


def find_forms(world: World, *, of_admin: bool) -> Iterator[tuple[Client, str, Form]]:
    """Yields each form once, with a client of its visitor and the address to which it is sent."""
    seen, clients = set(), dict[User | None, Client]()
    for address, visitor in every_page.find_pages(world, has_admin=of_admin):
        client = clients.setdefault(visitor, browser_of(visitor, raise_request_exception=False))
        page: Any = client.get(address) if address.startswith("/admin/") == of_admin else None
        if page is not None and page.streaming:
            hang_up(page)
        content = b"" if page is None or page.streaming else page.content
        for form in forms_of(content.decode("utf-8", "replace")):
            target = urljoin(address, form.action)
            names = tuple(each.name for each in form.fields)
            if (mark := (ID.sub("", target), visitor, names)) not in seen:
                seen.add(mark)
                yield client, target, form


def cases(form: Form) -> Iterator[dict[str, Any]]:
    """Yields what is sent: all fields filled in, and one of them wrongly, by each button."""
    filled = form.values(text=TYPED)
    filled |= {each.name: [PASTED] for each in form.fields if each.kind == "password"}
    filled |= {each.name: [f"https://tools.example/ {PASTED}"] for each in form.fields if each.holds_credentials}
    for each in form.fields:
        for wrong in () if each.kind in {"submit", "hidden"} else WRONG:
            for button in form.buttons:
                yield {**filled, **button, each.name: [wrong]}


def find_lost(form: Form, sent: dict[str, Any], target: str, page: str) -> list[str]:
    """Returns the names of fields whose text is neither there again nor said to be lost."""
    again = [each for each in forms_of(page) if urljoin(target, each.action) == target]
    there = {each.name: each.value for shown in again for each in shown.fields}
    summary = unescape(page.partition("Paste again:")[2].partition("</p>")[0])
    return [
        each.name
        for each in form.fields
        if each.kind in SHOWN and sent[each.name] != [there.get(each.name)] and each.label not in summary
    ]


def examine(client: Client, target: str, form: Form, sent: dict[str, Any]) -> str:
    """Returns what is wrong with a refusal; empty if nothing is, or if the form was accepted."""
    before = rows()
    with transaction.atomic():
        answer: Any = client.post(target, sent, headers={"Sec-Fetch-Site": "same-origin"})
        if answer.streaming:
            hang_up(answer)
        page = "" if answer.streaming else answer.content.decode()
        is_refused = "errorlist" in page
        changed = [label for label, found in rows().items() if found != before[label]] if is_refused else []
        transaction.set_rollback(True)
    lost = find_lost(form, sent, target, page) if is_refused else []
    return f"{target} {answer.status_code}: changed {changed}, lost {lost}" if changed or lost else ""


@pytest.mark.parametrize("of_admin", [False, True])
def test_a_refused_form_changes_nothing_and_loses_nothing(world: World, some: Some, of_admin: bool) -> None:
    wrong, forms = set(), 0
    for number, (client, target, form) in enumerate(find_forms(world, of_admin=of_admin)):
        forms += 1
        for sent in some(cases(form), one_in=31, first=number * 7):
            wrong.add(examine(client, target, form, sent))
    assert wrong - {""} == set()
    assert forms > 10
