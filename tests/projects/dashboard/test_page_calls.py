"""The API request that a page shows does the same as the page."""

import html
import json
import re
import shlex
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from accounts.models import User
from config.templatetags.api_call import CALLS, MANY, MOST_AT_ONCE, MOST_CHOSEN, OF_A_SESSION, PUBLIC, SORTS
from projects.api.viewsets import bulk_control
from projects.dashboard.content.list_query import Order
from projects.dashboard.forms import bulk
from projects.models import Project
from tests.clients import browser_of
from tests.factories import ApiKeyFactory
from tests.projects.dashboard.many import make_projects, watch_well
from tests.projects.dashboard.pages import text_of

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("still_clock")]

ASKS_FOR_YOUR_OWN = {"accounts:sign-in": 401}
"""If the reader must insert a password: the response to the request with the example's password."""


def call_of(page: Any) -> tuple[str, str, Any]:
    """Returns method, address and body of the request that the page shows, as a shell reads it."""
    shown = re.search(r'<pre data-copyable="this request"[^>]*>(.*?)</pre>', page.content.decode(), re.DOTALL)
    assert shown, text_of(page)
    words = shlex.split(html.unescape(shown[1]))
    assert words[:2] == ["curl", "-s"]
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    address = next(word for word in words if word.startswith(settings.BERTH_PUBLIC_URL))
    body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
    assert ("Authorization: Bearer $BERTH_TOKEN" in words) == ("BERTH_TOKEN" in text_of(page))
    return method, address, body


def send(api: APIClient, page: Any) -> Any:
    method, address, body = call_of(page)
    parts = urlsplit(address)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    sent = "" if body is None else json.dumps(body)
    return api.generic(method, path, sent, content_type="application/json" if sent else "")


@pytest.mark.parametrize("name", CALLS)
def test_each_page_shows_a_request_that_is_carried_out(
    name: str, api: APIClient, alice: User, ada: User, deploy: Callable[..., Project]
) -> None:
    known = {}
    if "{project_id}" in CALLS[name][1]:
        known["project_id"] = deploy().pk
    if "{key_id}" in CALLS[name][1]:
        known["key_id"] = ApiKeyFactory.create(user=alice).pk
    visitor = None if name in PUBLIC else ada if name.startswith("admin:") else alice
    path = reverse("accounts:settings") if name == "accounts:make-key" else reverse(name, kwargs=known)
    page = browser_of(visitor).get(path)
    if name == "accounts:make-key":  # whose page is the answer to a form
        page = browser_of(visitor).post(reverse(name), {})
    answer = send(api, page)
    assert answer.status_code == ASKS_FOR_YOUR_OWN.get(name, answer.status_code)
    assert name in ASKS_FOR_YOUR_OWN or answer.status_code < 300, answer.content
    assert ("is a session token" in text_of(page)) == (name in OF_A_SESSION)


@pytest.mark.parametrize("action", ["stop", "restart", "delete"])
@pytest.mark.parametrize("count", [1, 2])
def test_the_sample_bulk_request_names_the_chosen_projects(
    alice: User, api: APIClient, deploy: Callable[..., Project], action: str, count: int
) -> None:
    chosen = [str(deploy(telegramToken=f"{number}:token").pk) for number in range(1, count + 1)]
    page = browser_of(alice).post(reverse(MANY), {"action": action, "project": chosen})
    method, address, body = call_of(page)
    if action == "delete":
        together = chosen[0] if count == 1 else f"{{{','.join(chosen)}}}"
        assert (method, body) == ("DELETE", None)
        assert address.endswith(f"/api/projects/{together}")
        assert all(api.delete(f"/api/projects/{each}").status_code in {202, 204} for each in chosen)
        return
    assert (method, body) == ("POST", {"ids": chosen, "action": action})
    assert send(api, page).status_code == 200


def test_the_page_says_if_the_sample_bulk_request_is_shortened(
    alice: User, api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projects.dashboard.content.bulk.BATCH_SECONDS", 0)  # the page continues with the others
    assert (MOST_AT_ONCE, MOST_CHOSEN) == (bulk_control.MOST, bulk.MOST)
    ids = [str(each.pk) for each in make_projects(alice, MOST_AT_ONCE + 11, desired="stopped")]
    watch_well()
    for chosen, remark in ((ids, "the first 50 of the 61 that you chose"), (ids[:MOST_AT_ONCE], "")):
        page = browser_of(alice).post(reverse(MANY), {"action": "stop", "project": [*chosen, chosen[0]]})
        assert call_of(page)[2] == {"ids": ids[:MOST_AT_ONCE], "action": "stop"}
        assert remark in text_of(page)
        assert ("at most 50 projects" in text_of(page)) is bool(remark)
    page = browser_of(alice).post(reverse(MANY), {"action": "delete", "project": ids})
    assert call_of(page)[1].endswith(f"/api/projects/{{{','.join(ids)}}}")
    assert "at most 50 projects" not in text_of(page)


@pytest.mark.parametrize("order", Order)
def test_a_list_that_is_narrowed_down_shows_the_request_for_just_that(
    order: Order, alice: User, api: APIClient
) -> None:
    """The part that replaces a list shows it, too."""
    assert set(SORTS) == set(Order.values)
    names = ("Bär & Co 1", "Bär & Co 2", "Else")
    for name in names:
        make_projects(alice, 1, name=name)
    make_projects(alice, 1, name="Bär & Co 3", desired="stopped", container_state="exited")
    watch_well()
    asked: dict[str, str | int] = {"status": "running", "q": "bär & c", "sort": order.value, "page": 1}
    page = browser_of(alice).get("/", asked)
    found = [row["name"] for row in send(api, page).json()]
    assert sorted(found) == list(names[:2])
    shown = re.findall(r"Bär &amp; Co \d", re.sub(r"<(?:input|svg).*?>", "", page.content.decode()))
    listed = list(dict.fromkeys(html.unescape(each) for each in shown))
    if order is Order.TROUBLE:  # the API then sorts by status, and those of one status by their ids
        found.sort()
        listed.sort()
    assert found == listed
    part = browser_of(alice).get("/", asked, headers={"HX-Request": "true"})
    renewed = re.findall(r'<div hx-swap-oob="innerHTML:#api-call">(.*?)</div>', part.content.decode(), re.DOTALL)
    assert [shlex.split(html.unescape(each))[2] for each in renewed] == [call_of(page)[1]]


def test_an_invalid_form_has_no_sample_request(alice: User) -> None:
    """Pages that are answered with an error page, which looks like any other."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    for sent in ({"project": "none", "action": "stop"}, {"project": str(uuid4()), "action": "<b>"}, {}):
        answer = browser.post(reverse(MANY), sent)
        assert answer.status_code == 403
        assert "api/projects" not in answer.content.decode()
