"""Every page of the accounts and their admin keeps to the content security policy; the fixture `page` listens."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from accounts.models import User
from tests.factories import ApiKeyFactory

SignIn = Callable[[User], None]


@pytest.mark.parametrize("path", ["/sign-in", "/set-password/x/y", "/nowhere"])
def test_pages_for_visitors_keep_the_policy(page: Page, alice: User, path: str) -> None:
    page.goto(path)

    assert page.get_by_role("heading", level=1).is_visible()


@pytest.mark.parametrize(
    "path",
    [
        "/settings",
        "/settings/keys/{key}/revoke",
        "/admin/",
        "/admin/accounts/user/",
        "/admin/accounts/user/add/",
        "/admin/accounts/user/{user}/change/",
        "/admin/accounts/user/{user}/history/",
        "/admin/accounts/user/{user}/delete/",
        "/admin/accounts/apikey/",
        "/admin/accounts/apikey/{key}/change/",
    ],
)
def test_pages_for_an_admin_keep_the_policy(page: Page, alice: User, ada: User, sign_in: SignIn, path: str) -> None:
    key = ApiKeyFactory.create(user=ada)
    sign_in(ada)
    answer = page.goto(path.format(key=key.pk, user=alice.pk))

    assert answer is not None
    assert answer.status == 200
    page.wait_for_load_state("networkidle")


def test_the_listener_detects_a_violation(page: Page, alice: User, complaints: list[str]) -> None:
    page.goto("/sign-in")
    page.evaluate("""
        const image = document.createElement("img");
        image.src = "http://127.0.0.1:1/outside.png";
        document.body.append(image);
        new Promise(done => setTimeout(done, 200));
    """)

    assert any("CSP: img-src" in text for text in complaints)
    complaints.clear()
