"""Every form of every page: sent once by the browser, and its errors are shown where they are noticed."""

import re
from typing import Any

import pytest

from accounts.models import User
from tests.browser import every_page, worlds
from tests.browser.worlds import World
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.api.following import hang_up

pytestmark = pytest.mark.django_db

ONCE = re.compile(rb'<script src="[^"]*/berth/once[^"]*[.]js" defer>')
SUMMARY = b'<div class="message error summary" role="alert" tabindex="-1" autofocus'


@pytest.fixture
def world(engine: MemoryEngine, settings: Any) -> World:
    settings.BERTH_SENDS_MAIL, settings.BERTH_SIGNUP = True, "open"
    return worlds.make_full(engine)


def test_each_page_with_a_form_sends_it_once(world: World) -> None:
    unprotected, forms = [], 0
    for address, visitor in every_page.find_pages(world, has_admin=True):
        answer = browser_of(visitor).get(address)
        if answer.streaming:
            hang_up(answer)
        elif b"<html" in answer.content and b'method="post"' in answer.content:
            forms += 1
            unprotected += [] if ONCE.search(answer.content) else [address]
    assert forms > 50
    assert unprotected == []


def test_each_form_with_errors_says_so_in_its_title_and_in_a_summary_with_the_focus(world: World) -> None:
    pages = [page for page in every_page.find_pages(world, has_admin=False) if every_page.ask(world, *page)]
    answers = [answer for page in pages for answer in every_page.send_forms_empty(world, *page)]
    refused = [each for each in answers if b"errorlist" in each.sent]
    assert {"/settings/password", "/settings/keys", "/sign-in"} <= {each.address for each in refused}
    assert [each.name for each in refused if not tells(each.sent)] == []


@pytest.mark.parametrize(
    ("address", "sent"),
    [
        ("/settings/alerts/webhook", {"do": "save", "webhook-url": "x"}),
        ("/settings/alerts/telegram", {"do": "save"}),
        ("/settings/alerts/mail", {"do": "save", "mail-kinds": "x"}),
        ("/settings/profile", {"name": "x" * 65}),
        ("/settings/password", {"current": "wrong", "new": "a long new password", "again": "a long new password"}),
    ],
)
def test_the_settings_and_the_alerts_say_what_is_wrong_at_their_top(alice: User, address: str, sent: Any) -> None:
    page = browser_of(alice).post(address, sent).content
    assert tells(page)
    assert page.count(b'id="what-is-wrong"') == 1
    assert page.index(SUMMARY) < page.index(b'<section class="card"')


def tells(page: bytes) -> bool:
    return SUMMARY in page and b"<title>Error: " in page
