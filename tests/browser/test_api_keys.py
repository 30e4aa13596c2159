"""Sign in, make a key, see it once, use it, revoke it: what the settings page is for."""

import json
import urllib.request
from collections.abc import Callable
from urllib.error import HTTPError

from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey, User
from tests.canaries import CANARY_PASSWORD

SignIn = Callable[[User], None]


def test_a_key_is_created_used_and_revoked(page: Page, live_server: LiveServer, alice: User, sign_in: SignIn) -> None:
    sign_in(alice)
    page.locator("#id_name").fill("deploy script")
    page.get_by_label("Scope").select_option("write")
    page.get_by_label("Expires").select_option("never")
    page.get_by_role("button", name="Create key").click()

    key = page.locator("#new-key").inner_text()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == key
    assert _session(live_server, key) == {"authenticated": True, "user": {"id": str(alice.pk), "role": "user"}}

    page.reload()  # sends the form again
    expect(page.get_by_text("already exists")).to_be_visible()
    assert key not in page.content()
    assert ApiKey.objects.count() == 1
    page.goto("/settings")
    assert key not in page.content()
    expect(page.get_by_text("from 127.0.0.1")).to_be_visible()

    page.get_by_role("link", name="Revoke deploy script").click()
    page.get_by_role("button", name="Revoke key").click()
    expect(page.get_by_text("You have no keys yet.")).to_be_visible()
    assert _session(live_server, key)["authenticated"] is False
    assert _status(live_server, "/api/auth/keys", key) == 401


def test_everything_but_the_copy_button_works_without_scripts(
    browser: Browser, live_server: LiveServer, alice: User
) -> None:
    page = browser.new_page(base_url=live_server.url, java_script_enabled=False)
    page.goto("/settings")
    page.get_by_label("Email").fill(alice.email)
    page.get_by_label("Password").fill(CANARY_PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator("#id_name").fill("by hand")
    page.get_by_role("button", name="Create key").click()

    assert _session(live_server, page.locator("#new-key").inner_text())["authenticated"] is True
    expect(page.get_by_role("button", name="Copy")).to_be_hidden()
    page.get_by_role("link", name="Revoke by hand").click()
    page.get_by_role("button", name="Revoke key").click()
    expect(page.get_by_text("You have no keys yet.")).to_be_visible()
    page.close()


def test_the_keyboard_is_enough(page: Page, alice: User, sign_in: SignIn) -> None:
    sign_in(alice)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#id_name")).to_be_focused()
    page.keyboard.type("typed")
    page.keyboard.press("Enter")

    expect(page.locator("#new-key")).to_be_focused()


def _session(server: LiveServer, key: str) -> dict[str, object]:
    with urllib.request.urlopen(_request(server, "/api/auth/session", key)) as answer:
        session: dict[str, object] = json.load(answer)
    return session


def _status(server: LiveServer, path: str, key: str) -> int:
    try:
        with urllib.request.urlopen(_request(server, path, key)) as answer:
            return int(answer.status)
    except HTTPError as refusal:
        with refusal:
            return refusal.code


def _request(server: LiveServer, path: str, key: str) -> urllib.request.Request:
    return urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {key}"})
