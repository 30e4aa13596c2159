"""Of several simultaneous requests that set a password one succeeds, and changes in between are noticed."""

import threading
from typing import Any

import pytest
from django.test import Client

from accounts.dashboard.forms.account import NewPasswordForm
from accounts.errors import InvalidTokenError
from accounts.models import User
from accounts.services import sign_in
from accounts.services.sign_in import authenticate, change_password
from tests.accounts.dashboard.links import NEW
from tests.accounts.rights import opens, set_password_path
from tests.canaries import CANARY_PASSWORD
from tests.chaos.races.racing import at_once
from tests.factories import UserFactory

AT_ONCE = 6


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds the requests until all of them have found their link and their form valid."""
    together = threading.Barrier(AT_ONCE)
    is_valid = NewPasswordForm.is_valid

    def wait_for_the_others(form: NewPasswordForm) -> bool:
        valid = is_valid(form)
        if form.is_bound:
            together.wait(60)
        return valid

    monkeypatch.setattr(NewPasswordForm, "is_valid", wait_for_the_others)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("links", [1, AT_ONCE])
@pytest.mark.usefixtures("meeting")
def test_one_of_many_simultaneous_links_sets_the_password(links: int) -> None:
    """With one link for all, and with a link for each."""
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
def test_one_of_many_simultaneous_password_changes_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    user = UserFactory.create()
    together = threading.Barrier(AT_ONCE)

    def authenticate_together(**given: Any) -> User:
        checked = authenticate(**given)
        together.wait(60)
        return checked

    monkeypatch.setattr(sign_in, "authenticate", authenticate_together)

    def change(number: int) -> str | None:
        new = f"a passphrase of visitor {number}"
        mine = User.objects.get(pk=user.pk)
        try:
            change_password(user=mine, session=None, current=CANARY_PASSWORD, new=new, address=None)
        except InvalidTokenError:  # the first has ended the session of all others
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
