"""The link that staff hand to people without a password."""

import re
import threading
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.test import Client
from django.utils import timezone

from accounts.dashboard.forms import NewPasswordForm
from accounts.errors import InvalidCredentialsError
from accounts.models import User
from accounts.services import sign_in
from accounts.services.sign_in import authenticate, change_password
from tests.accounts.rights import opens, set_password_path
from tests.canaries import CANARY_PASSWORD
from tests.chaos.racing import at_once
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


# -- once -------------------------------------------------------------------------------------------------------------

AT_ONCE = 6


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the requests go on only when all have found their link and their form valid."""
    together = threading.Barrier(AT_ONCE)
    is_valid = NewPasswordForm.is_valid

    def wait_for_the_others(form: NewPasswordForm) -> bool:
        valid = is_valid(form)
        if form.is_bound:
            together.wait(30)
        return valid

    monkeypatch.setattr(NewPasswordForm, "is_valid", wait_for_the_others)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("links", [1, AT_ONCE])
@pytest.mark.usefixtures("meeting")
def test_of_many_at_once_one_sets_the_password(links: int) -> None:
    """With one link, and with a link for each."""
    user = UserFactory.create(email="newcomer@example.com", password=None)
    paths = [set_password_path(user) for _ in range(links)] * (AT_ONCE // links)

    def use(number: int) -> tuple[str, bool]:
        client, password = Client(), f"a passphrase of visitor {number}"
        form = client.get(paths[number], follow=True).request["PATH_INFO"]
        answer = client.post(form, {"new_password1": password, "new_password2": password})
        return password, answer.status_code == 302

    outcomes = at_once(AT_ONCE, use)
    winners = [password for password, won in outcomes if won]
    assert len(winners) == 1
    assert User.objects.get().check_password(winners[0])
    assert not opens(paths[0])


@pytest.mark.django_db(transaction=True)
def test_of_many_who_change_their_password_at_once_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    user = UserFactory.create()
    together = threading.Barrier(AT_ONCE)

    def authenticate_together(**given: Any) -> User:
        checked = authenticate(**given)
        together.wait(30)
        return checked

    monkeypatch.setattr(sign_in, "authenticate", authenticate_together)

    def change(number: int) -> str | None:
        new = f"a passphrase of visitor {number}"
        try:
            change_password(user=user, current=CANARY_PASSWORD, new=new, address=None)
        except InvalidCredentialsError:
            return None
        return new

    winners = [password for password in at_once(AT_ONCE, change) if password]
    assert len(winners) == 1
    assert User.objects.get().check_password(winners[0])


@pytest.mark.parametrize(
    "change", [{"is_superuser": True, "is_staff": True}, {"is_active": False}, {"email": "x@y.org"}]
)
def test_a_change_between_check_and_use_is_noticed(
    newcomer: User, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    client, path = Client(), set_password_path(newcomer)
    form = client.get(path, follow=True).request["PATH_INFO"]
    is_valid = NewPasswordForm.is_valid

    def change_after_check(form: NewPasswordForm) -> bool:
        valid = is_valid(form)
        User.objects.filter(pk=newcomer.pk).update(**change)
        return valid

    monkeypatch.setattr(NewPasswordForm, "is_valid", change_after_check)
    assert "no longer valid" in client.post(form, NEW).content.decode()
    assert not User.objects.get(pk=newcomer.pk).has_usable_password()


# -- for whom ---------------------------------------------------------------------------------------------------------


def test_there_is_no_link_for_an_inactive_user(sam: User, newcomer: User) -> None:
    User.objects.filter(pk=newcomer.pk).update(is_active=False)
    staff = Client()
    staff.force_login(sam)
    page = staff.post(f"/admin/accounts/user/{newcomer.pk}/set-password-link/", follow=True).content.decode()
    assert "This user is not active, so no link would work." in page
    assert "/set-password/" not in page


def test_a_link_is_no_link_of_another_user(newcomer: User, alice: User) -> None:
    """Nor does an opened one open the page of another."""
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
    monkeypatch.setattr("accounts.dashboard.expiring_values.timezone.now", lambda: later)
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
