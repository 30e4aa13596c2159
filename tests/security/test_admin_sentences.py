"""Each field of each form of the admin with wrong values: one sentence for a fault, and no page that breaks.

Generated from the forms on the pages: a new form or field is included.
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from tests.clients import browser_of
from tests.sampling import Some
from tests.security.admin_columns import admins, list_address
from tests.security.populated_service import PopulatedService
from tests.security.shown_forms import Form, forms_of

pytestmark = [pytest.mark.one_database("postgresql"), pytest.mark.timeout(1200)]

HTML = "<script>alert(1)</script>"
WRONG = (
    "",
    "\0",
    "x",
    "x" * 5000,
    "9" * 30,
    "1E+999999",
    "-1",
    "a\x07b",
    "\u202eabc",
    "[[[",
    "<script>alert(1)</script>",
)
REQUIRED = "This field is required."
LISTED = re.compile(r'<ul class="errorlist[^>]*>(.*?)</ul>', re.DOTALL)
ENTRY = re.compile(r"<li>(.*?)</li>", re.DOTALL)
OURS = ("/admin/accounts/user/invite/", "/admin/projects/agenttype/assistant/settings/edit/")


def addresses() -> Iterator[str]:
    for each in admins():
        yield f"{list_address(each.model)}add/"
        yield f"{list_address(each.model)}{each.model._default_manager.all()[0].pk}/change/"
    yield from OURS


def find_forms(client: Client) -> Iterator[tuple[str, Form]]:
    for address in addresses():
        page: Any = client.get(address)
        forms = forms_of(page.content.decode()) if page.status_code == 200 else ()
        yield from ((address, form) for form in forms if form.fields and not form.action)


def cases(client: Client) -> Iterator[tuple[str, dict[str, Any]]]:
    for address, form in find_forms(client):
        for field in form.fields:
            for wrong in () if field.kind in {"submit", "hidden"} else WRONG:
                yield address, {**form.values(), field.name: [wrong]}


def find_faults(client: Client, address: str, sent: dict[str, Any]) -> list[str]:
    with transaction.atomic():
        answer: Any = client.post(address, sent)
        transaction.set_rollback(True)
    page = answer.content.decode()
    wrong = [f"{address}: {answer.status_code}"] if answer.status_code >= 500 or HTML in page else []
    for listed in LISTED.findall(page):
        told = [unescape(sentence) for sentence in ENTRY.findall(listed)]
        if len(told) > len(set(told)) or (REQUIRED in told and len(told) > 1):
            wrong.append(f"{address}: {told}")
    return wrong


def test_each_fault_is_told_once(service: PopulatedService, monkeypatch: pytest.MonkeyPatch, some: Some) -> None:
    monkeypatch.setattr("projects.admin.providers.check_address", lambda *_, **__: None)
    client = browser_of(service.admin, raise_request_exception=False)
    every = list(cases(client))
    assert len(every) > 400
    found = {fault for address, sent in some(every, one_in=17) for fault in find_faults(client, address, sent)}
    assert found == set()


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("/admin/accounts/user/add/", {"email": "x"}),
        ("/admin/projects/provider/add/", {"slug": "a", "title": "A", "base_url": "", "default_model": "m"}),
    ],
)
def test_a_model_repeats_no_fault_of_a_field(service: PopulatedService, address: str, sent: dict[str, Any]) -> None:
    assert find_faults(browser_of(service.admin), address, sent) == []


@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_a_limit_that_is_too_large_is_told_of_the_limit(service: PopulatedService, name: str) -> None:
    sent = {"name": "tone", "shape": "number", name: "1E+999999"}
    page: Any = browser_of(service.admin).post(OURS[1], sent)
    assert page.status_code == 400
    assert set(page.context["form"].errors) == {name}
