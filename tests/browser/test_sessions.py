"""Cookies, passwords and sessions as a browser sees them."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.browser.following import follow
from tests.canaries import CANARY_PASSWORD

SignIn = Callable[[User], None]
NEW_PASSWORD = "a passphrase, entirely new"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_host_cookies_are_kept_over_plain_http_on_this_machine(
    browser: Browser, live_server: LiveServer, alice: User, host: str
) -> None:
    context = browser.new_context(base_url=live_server.url.replace("localhost", host).replace("127.0.0.1", host))
    page = context.new_page()
    page.goto("/sign-in")
    _fill_in(page, alice, CANARY_PASSWORD)
    page.wait_for_url(re.compile("/$"))

    cookies = context.cookies()
    assert {cookie["name"] for cookie in cookies} == {"__Host-berth-session", "__Host-berth-csrf"}
    for cookie in cookies:
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Lax")
    context.close()


def test_signing_out_ends_the_session_on_the_server_too(page: Page, alice: User, sign_in: SignIn) -> None:
    sign_in(alice)
    kept = page.context.cookies()
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_url("**/sign-in")

    page.context.add_cookies([cookie for cookie in kept if "session" in cookie["name"]])  # type: ignore[misc]  # playwright gives one type and takes another
    page.goto("/settings")
    expect(page).to_have_url(f"{page.url.split('/sign-in')[0]}/sign-in?next=/settings")


def test_changing_the_password_keeps_this_session_and_ends_the_others(
    page: Page, browser: Browser, live_server: LiveServer, alice: User, sign_in: SignIn
) -> None:
    elsewhere = browser.new_context(base_url=live_server.url)
    other = elsewhere.new_page()
    other.goto("/sign-in")
    _fill_in(other, alice, CANARY_PASSWORD)
    other.wait_for_url(re.compile("/$"))
    sign_in(alice)

    page.get_by_label("Current password").fill(CANARY_PASSWORD)
    page.get_by_label("New password").fill(NEW_PASSWORD)
    page.get_by_label("The same again").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("Your password is changed.")).to_be_visible()

    other.goto("/settings")
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto("/settings")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    elsewhere.close()


def test_signing_out_everywhere_includes_here(page: Page, alice: User, sign_in: SignIn) -> None:
    sign_in(alice)
    page.get_by_role("button", name="Sign out everywhere").click()

    expect(page.get_by_text("All your sessions are signed out.")).to_be_visible()
    page.goto("/settings")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_staff_add_somebody_and_hand_them_a_link(
    page: Page, context: BrowserContext, sam: User, sign_in: SignIn
) -> None:
    sign_in(sam)
    follow(page.get_by_role("link", name="Admin"))
    page.goto("/admin/accounts/user/add/")
    page.get_by_label("Email").fill("Newcomer@Example.com")
    page.get_by_role("button", name="Save", exact=True).click()
    link = page.locator("#set-password-link").inner_text()

    context.clear_cookies()
    page.goto(link)
    assert link.rpartition("/")[2] not in page.url
    page.get_by_label("New password").fill(NEW_PASSWORD)
    page.get_by_label("The same again").fill(NEW_PASSWORD)
    follow(page.get_by_role("button", name="Set password"))
    _fill_in(page, User.objects.get(email="newcomer@example.com"), NEW_PASSWORD)
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()

    context.clear_cookies()
    page.goto(link)
    expect(page.get_by_text("This link is no longer valid")).to_be_visible()


def _fill_in(page: Page, user: User, password: str) -> None:
    page.get_by_label("Email").fill(user.email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
