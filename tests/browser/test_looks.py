"""What the pages look like: no side-scrolling on a telephone, and pictures of each for people who want to look.

The pictures go to BERTH_TEST_PICTURES, or to pytest's temporary directory.
"""

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import User
from tests.factories import ApiKeyFactory

PAGES = ["/sign-in", "/settings", "/nowhere"]


def test_every_page_fits_its_screen(
    page: Page, alice: User, sign_in: Callable[[User], None], look: Callable[[str], None]
) -> None:
    ago = timezone.now() - timedelta(hours=3)
    ApiKeyFactory.create(
        user=alice, name="deploy script", last_used_at=ago, last_used_ip="2001:db8:85a3::8a2e:370:7334"
    )
    ApiKeyFactory.create(user=alice, name="x" * 64, scope="read", expires_at=None)
    old = ApiKeyFactory.create(user=alice, name="last year's", expired=True)

    page.goto("/sign-in")
    look("sign-in")
    page.get_by_label("Email").fill("nobody@example.com")
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    look("sign-in-refused")
    sign_in(alice)
    look("settings")
    page.get_by_label("Name").fill("new one")
    page.get_by_role("button", name="Make key").click()
    page.get_by_role("button", name="Copy").click()
    look("new-key")
    page.goto(f"/settings/keys/{old.pk}/revoke")
    look("revoke")
    page.goto("/nowhere")
    look("not-found")
