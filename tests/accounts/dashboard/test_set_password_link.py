"""The link that staff give to users without a password."""

from datetime import timedelta

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.test import Client
from django.utils import timezone

from accounts.models import User
from tests.accounts.dashboard.links import NEW, link_of
from tests.accounts.rights import opens, set_password_path
from tests.factories import UserFactory


def test_a_link_sets_the_password_once(client: Client, sam: User, newcomer: User) -> None:
    link = link_of(sam, newcomer)
    form = client.get(link, follow=True)
    assert client.post(form.request["PATH_INFO"], NEW).headers["Location"] == "/sign-in"

    body = {"email": newcomer.email, "password": NEW["new_password1"]}
    assert client.post("/api/auth/login", body, content_type="application/json").status_code == 200
    assert "no longer valid" in Client().get(link, follow=True).content.decode()


@pytest.mark.parametrize("visitor", ["a stranger", "somebody else"])
def test_the_next_page_says_whose_password_is_set(
    client: Client, sam: User, alice: User, newcomer: User, visitor: str
) -> None:
    if visitor == "somebody else":
        client.force_login(alice)
    link = link_of(sam, newcomer)
    page = client.post(client.get(link, follow=True).request["PATH_INFO"], NEW, follow=True).content.decode()
    if visitor == "somebody else":
        assert f"The password of {newcomer.email} is set. You are still signed in as {alice.email}." in page
    else:
        assert "Your password is set. Sign in with it." in page


def test_the_page_that_shows_the_form_has_no_token_in_its_address(client: Client, sam: User, newcomer: User) -> None:
    link = link_of(sam, newcomer)
    form = client.get(link, follow=True)

    assert link.rpartition("/")[2] not in form.request["PATH_INFO"]
    assert link.rpartition("/")[2] not in form.content.decode()


def test_a_link_is_void_after_three_days(
    client: Client, sam: User, newcomer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = link_of(sam, newcomer)
    later = timezone.now().replace(tzinfo=None) + timedelta(days=3, minutes=1)
    monkeypatch.setattr(PasswordResetTokenGenerator, "_now", lambda _: later)

    assert "no longer valid" in client.get(link, follow=True).content.decode()


def test_a_weak_password_is_refused_there_too(client: Client, sam: User, newcomer: User) -> None:
    form = client.get(link_of(sam, newcomer), follow=True)
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
def test_forged_links_are_refused_with_an_explanation(client: Client, db: None, path: str) -> None:
    assert "no longer valid" in client.get(path, follow=True).content.decode()


def test_staff_get_no_link_for_staff_and_admins(client: Client, sam: User, ada: User) -> None:
    colleague = UserFactory.create(staff=True)
    client.force_login(sam)

    for user in (ada, colleague, sam):
        assert client.post(f"/admin/accounts/user/{user.pk}/set-password-link/").status_code == 403
    client.force_login(ada)
    assert client.post(f"/admin/accounts/user/{colleague.pk}/set-password-link/").status_code == 200


def test_a_link_requires_a_post(client: Client, sam: User, newcomer: User) -> None:
    client.force_login(sam)

    row = f"/admin/accounts/user/{newcomer.pk}"
    assert client.get(f"{row}/set-password-link/")["Location"] == f"{row}/change/"
    assert client.put(f"{row}/set-password-link/").status_code == 405
    assert "set-password/" not in client.get(f"{row}/set-password-link/", follow=True).content.decode()


def test_there_is_no_link_for_an_inactive_user(sam: User, newcomer: User) -> None:
    User.objects.filter(pk=newcomer.pk).update(is_active=False)
    staff = Client()
    staff.force_login(sam)
    page = staff.post(f"/admin/accounts/user/{newcomer.pk}/set-password-link/", follow=True).content.decode()
    assert "This user is not active, so no link would work." in page
    assert "/set-password/" not in page


def test_a_link_does_not_work_for_another_user(newcomer: User, alice: User) -> None:
    """A session that has opened a link cannot open another user's page either."""
    hers, its = set_password_path(alice), set_password_path(newcomer)
    mixed = "/".join([*hers.split("/")[:3], its.split("/")[3]])
    assert not opens(mixed)
    client = Client()
    assert opens(its, in_browser=client)
    assert not opens(hers.rpartition("/")[0] + "/set-password", in_browser=client)


def test_an_opened_page_is_open_for_an_hour(newcomer: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client, path = Client(), set_password_path(newcomer)
    form = client.get(path, follow=True).request["PATH_INFO"]
    later = timezone.now() + timedelta(minutes=61)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    assert not opens(form, in_browser=client)
    assert opens(path, in_browser=client)


def test_a_page_that_was_used_is_closed(newcomer: User) -> None:
    client, path = Client(), set_password_path(newcomer)
    form = client.get(path, follow=True).request["PATH_INFO"]
    assert client.post(form, NEW).status_code == 302
    assert client.post(form, NEW).status_code == 200
    assert not opens(form, in_browser=client)


def test_opening_a_link_gives_a_new_session_key(newcomer: User) -> None:
    client, path = Client(), set_password_path(newcomer)
    client.get(path)
    before = client.cookies["__Host-berth-session"].value
    client.get(path)
    assert client.cookies["__Host-berth-session"].value != before
