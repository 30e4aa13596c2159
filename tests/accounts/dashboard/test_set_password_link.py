"""The link that staff hand to people without a password."""

import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.test import Client
from django.utils import timezone

from accounts.models import User
from tests.factories import UserFactory

NEW = {"new_password1": "a passphrase, entirely new", "new_password2": "a passphrase, entirely new"}


@pytest.fixture
def newcomer(db: None) -> User:
    return UserFactory.create(email="newcomer@example.com", password=None)


def _link(staff: User, user: User) -> str:
    client = Client()
    client.force_login(staff)
    page = client.post(f"/admin/accounts/user/{user.pk}/set-password-link/").content.decode()
    found = re.search(r'id="set-password-link">([^<]+)<', page)
    assert found is not None
    return urlsplit(found[1]).path


def test_it_sets_the_password_once(client: Client, sam: User, newcomer: User) -> None:
    link = _link(sam, newcomer)
    form = client.get(link, follow=True)
    assert client.post(form.request["PATH_INFO"], NEW).headers["Location"] == "/sign-in"

    body = {"email": newcomer.email, "password": NEW["new_password1"]}
    assert client.post("/api/auth/login", body, content_type="application/json").status_code == 200
    assert "no longer valid" in Client().get(link, follow=True).content.decode()


def test_the_page_that_shows_the_form_has_no_token_in_its_address(client: Client, sam: User, newcomer: User) -> None:
    link = _link(sam, newcomer)
    form = client.get(link, follow=True)

    assert link.rpartition("/")[2] not in form.request["PATH_INFO"]
    assert link.rpartition("/")[2] not in form.content.decode()


def test_it_is_void_after_three_days(
    client: Client, sam: User, newcomer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = _link(sam, newcomer)
    later = timezone.now().replace(tzinfo=None) + timedelta(days=3, minutes=1)
    monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda _: later)

    assert "no longer valid" in client.get(link, follow=True).content.decode()


def test_a_weak_password_is_refused_there_too(client: Client, sam: User, newcomer: User) -> None:
    form = client.get(_link(sam, newcomer), follow=True)
    page = client.post(form.request["PATH_INFO"], {"new_password1": "short", "new_password2": "short"})

    assert "too short" in page.content.decode()
    assert "too short" in page.context["form"].errors["new_password1"][0]
    newcomer.refresh_from_db()
    assert not newcomer.has_usable_password()


def test_without_a_password_nobody_signs_in(client: Client, newcomer: User) -> None:
    for password in ("x", newcomer.password):
        body = {"email": newcomer.email, "password": password}
        assert client.post("/api/auth/login", body, content_type="application/json").status_code == 401


@pytest.mark.parametrize("path", ["/set-password/x/y", "/set-password/MQ/set-password", "/set-password/%00/x-y"])
def test_made_up_links_are_told_so(client: Client, db: None, path: str) -> None:
    assert "no longer valid" in client.get(path, follow=True).content.decode()


def test_staff_get_no_link_for_staff_and_admins(client: Client, sam: User, ada: User) -> None:
    colleague = UserFactory.create(staff=True)
    client.force_login(sam)

    for user in (ada, colleague, sam):
        assert client.post(f"/admin/accounts/user/{user.pk}/set-password-link/").status_code == 403
    client.force_login(ada)
    assert client.post(f"/admin/accounts/user/{colleague.pk}/set-password-link/").status_code == 200


def test_a_link_takes_a_post(client: Client, sam: User, newcomer: User) -> None:
    client.force_login(sam)

    assert client.get(f"/admin/accounts/user/{newcomer.pk}/set-password-link/").status_code == 405
