"""A new key, which no address shows again, on every screen. All other pages of an account: `test_every_page.py`."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from accounts.models import User


@pytest.mark.rare(1)
def test_a_new_key_fits_its_screen(
    page: Page, alice: User, sign_in: Callable[[User], None], look: Callable[[str], None]
) -> None:
    sign_in(alice)
    page.locator("#id_name").fill("new one")
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("button", name="Copy").click()
    look("new-key")
