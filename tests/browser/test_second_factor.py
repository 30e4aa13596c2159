"""The second factor as somebody with a telephone sees it: set up, used, lost, turned off.

The pictures go to BERTH_TEST_PICTURES, where that is set.
"""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.accounts.phone import Phone
from tests.browser.following import follow
from tests.canaries import CANARY_PASSWORD

SignIn = Callable[[User], None]


def _type_password(page: Page, user: User) -> None:
    page.goto("/sign-in")
    page.get_by_label("Email").fill(user.email)
    page.get_by_label("Password").fill(CANARY_PASSWORD)
    follow(page.get_by_role("button", name="Sign in"))


def _set_up(page: Page, phone: Phone) -> list[str]:
    """From the settings to the recovery codes."""
    page.get_by_role("link", name="Set up").click()
    page.get_by_label("Your password").fill(CANARY_PASSWORD)
    page.get_by_role("button", name="Continue").click()
    phone.scan(page.locator("#second-factor-key").inner_text())
    page.get_by_label("Code").fill(phone.code())
    page.get_by_role("button", name="Turn on").click()
    return page.locator("#recovery-codes").inner_text().split()


@pytest.mark.rare(1)
def test_from_setting_up_to_turning_off(
    page: Page, context: BrowserContext, alice: User, sign_in: SignIn, phone: Phone
) -> None:
    sign_in(alice)
    page.goto("/settings")
    codes = _set_up(page, phone)
    assert len(codes) == 10
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").split() == codes
    page.get_by_role("link", name="I have saved them").click()
    expect(page.get_by_role("heading", name="Second factor On")).to_be_visible()

    follow(page.get_by_role("button", name="Sign out", exact=True))
    _type_password(page, alice)
    expect(page.get_by_label("Code")).to_be_focused()
    page.keyboard.type(phone.wrong_code())
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This code is wrong")
    page.get_by_label("Code").fill(phone.next_code())
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out", exact=True)).to_be_visible()

    follow(page.get_by_role("button", name="Sign out", exact=True))
    _type_password(page, alice)
    page.get_by_role("link", name="Use a recovery code").click()
    page.get_by_label("Recovery code").fill(codes[0])
    page.keyboard.press("Enter")
    expect(page.get_by_text("Recovery codes left: 9.")).to_be_visible()

    page.goto("/settings")
    page.get_by_role("link", name="Turn off").click()
    page.get_by_label("Your password").fill(CANARY_PASSWORD)
    page.get_by_label("Code").fill(phone.next_code())
    page.get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("heading", name="Second factor Off")).to_be_visible()


def test_the_picture_is_shown(page: Page, alice: User, sign_in: SignIn) -> None:
    sign_in(alice)
    page.goto("/settings/second-factor")
    page.get_by_label("Your password").fill(CANARY_PASSWORD)
    page.get_by_role("button", name="Continue").click()

    picture = page.locator("img.scan")
    expect(picture).to_be_visible()
    page.wait_for_load_state()
    assert picture.evaluate("image => image.naturalWidth") == 4 * (49 + 2 * 4)


def test_it_works_without_scripts(browser: Browser, live_server: LiveServer, alice: User, phone: Phone) -> None:
    page = browser.new_page(base_url=live_server.url, java_script_enabled=False)
    _type_password(page, alice)
    page.goto("/settings")
    assert len(_set_up(page, phone)) == 10
    expect(page.get_by_role("button", name="Copy")).to_be_hidden()
    page.close()


def test_the_admin_asks_for_it_too(page: Page, ada: User, phone: Phone) -> None:
    phone.enrol(ada)
    page.goto("/admin/accounts/user/")
    page.get_by_label("Email").fill(ada.email)
    page.get_by_label("Password").fill(CANARY_PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_label("Code").fill(phone.next_code())
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/admin/accounts/user/$"))


@pytest.mark.rare(1)
def test_every_page_fits_its_screen(
    page: Page, alice: User, sign_in: SignIn, phone: Phone, look: Callable[[str], None]
) -> None:
    sign_in(alice)
    page.goto("/settings/second-factor")
    look("second-factor-begin")
    page.get_by_label("Your password").fill(CANARY_PASSWORD)
    page.get_by_role("button", name="Continue").click()
    phone.scan(page.locator("#second-factor-key").inner_text())
    page.wait_for_load_state()
    look("second-factor-confirm")
    page.get_by_label("Code").fill(phone.code())
    page.get_by_role("button", name="Turn on").click()
    page.get_by_role("button", name="Copy").wait_for()
    look("recovery-codes")
    page.goto("/settings")
    look("settings-with-second-factor")
    for name in ("codes", "off"):
        page.goto(f"/settings/second-factor/{name}")
        look(f"second-factor-{name}")
    page.context.clear_cookies()
    _type_password(page, alice)
    page.get_by_label("Code").fill(phone.wrong_code())
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This code is wrong")
    look("sign-in-code")
    follow(page.get_by_role("link", name="Use a recovery code"))
    look("sign-in-recovery-code")


def test_what_staff_do_for_others_fits_its_screen(
    page: Page, alice: User, sam: User, sign_in: SignIn, phone: Phone, look: Callable[[str], None]
) -> None:
    phone.enrol(alice)

    sign_in(sam)
    page.goto("/admin/accounts/user/")
    look("admin-users")
    page.goto(f"/admin/accounts/user/{alice.pk}/change/")
    look("admin-user")
    follow(page.get_by_role("link", name="Reset second factor"))
    look("admin-reset")
    page.get_by_role("button", name="Reset second factor").click()
    page.get_by_role("button", name="Set-password link").click()
    link = page.locator("#set-password-link").inner_text()
    look("admin-set-password-link")
    page.context.clear_cookies()
    page.goto(link)
    page.get_by_label("New password").fill("too short")
    page.get_by_label("The same again").fill("too short")
    follow(page.get_by_role("button", name="Set password"))
    look("set-password")
    page.goto("/set-password/x/y")
    look("set-password-void")
