"""Staff see who has a second factor, and reset that of a user who has lost it. They never see the secret."""

import pytest
from django.test import Client

from accounts.models import RecoveryCode, SecondFactor, User
from tests.accounts.conftest import Said
from tests.accounts.phone import Phone
from tests.factories import UserFactory


def _reset(user: User) -> str:
    return f"/admin/accounts/user/{user.pk}/reset-second-factor/"


def test_staff_reset_a_user_s_second_factor(client: Client, sam: User, alice: User, phone: Phone, said: Said) -> None:
    phone.enrol(alice)
    client.force_login(sam)
    assert client.get(_reset(alice)).status_code == 200
    assert SecondFactor.objects.exists()
    assert client.post(_reset(alice), {"confirm": "bob@example.com"}).status_code == 200
    assert SecondFactor.objects.exists()
    answer = client.post(_reset(alice), {"confirm": alice.email}, follow=True)

    assert "The second factor of alice@example.com is reset." in answer.content.decode()
    assert not SecondFactor.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert f"second_factor_reset user={alice.pk} by={sam.pk}" in said()
    assert client.post(_reset(alice)).status_code == 404


def test_staff_do_not_reset_second_factors_of_staff_and_admins(client: Client, sam: User, ada: User) -> None:
    colleague = UserFactory.create(staff=True)
    client.force_login(sam)
    for user in (colleague, ada, sam):
        Phone().enrol(user)
        client.force_login(sam)
        assert client.get(_reset(user)).status_code == 403
        assert client.post(_reset(user)).status_code == 403
    assert SecondFactor.objects.count() == 3


def test_admins_reset_every_second_factor_but_their_own(client: Client, ada: User, sam: User, phone: Phone) -> None:
    phone.enrol(sam)
    phone.enrol(ada)
    client.force_login(ada)

    assert client.post(_reset(sam), {"confirm": sam.email}).status_code == 302
    assert client.post(_reset(ada)).status_code == 403
    assert SecondFactor.objects.get().user == ada


def test_users_and_visitors_reset_nothing(client: Client, alice: User, bob: User, phone: Phone) -> None:
    phone.enrol(bob)
    assert client.post(_reset(bob)).status_code == 302
    client.force_login(alice)
    client.post(_reset(bob))

    assert SecondFactor.objects.exists()


@pytest.mark.parametrize("path", ["/admin/accounts/user/", "/admin/accounts/user/{user}/change/"])
def test_the_admin_shows_who_has_a_second_factor_and_no_more(
    client: Client, ada: User, alice: User, phone: Phone, path: str
) -> None:
    client.force_login(ada)
    before = client.get(path.format(user=alice.pk)).content.decode()
    phone.enrol(alice)
    after = client.get(path.format(user=alice.pk)).content.decode()

    assert before.count("icon-yes") + 1 == after.count("icon-yes")
    for secret in (phone.secret, SecondFactor.objects.get().secret_ciphertext, *phone.recovery_codes):
        assert secret not in after


def test_the_button_is_shown_only_if_it_works(client: Client, ada: User, alice: User, bob: User, phone: Phone) -> None:
    phone.enrol(alice)
    phone.enrol(ada)
    client.force_login(ada)
    offered = [
        _reset(user) in client.get(f"/admin/accounts/user/{user.pk}/change/").content.decode()
        for user in (alice, bob, ada)
    ]

    assert offered == [True, False, False]
