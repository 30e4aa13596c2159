"""Turning the second factor off requires the password and a code."""

from django.test import Client

from accounts.models import RecoveryCode, SecondFactor, User
from tests.accounts.conftest import Said
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD

OFF = "/settings/second-factor/off"
PASSWORD = {"password": CANARY_PASSWORD}


def test_turning_it_off_requires_password_and_code(alices: Client, alice: User, phone: Phone, said: Said) -> None:
    phone.enrol(alice)
    alices.force_login(alice)
    phone.now += 30
    refused = [
        {"password": "wrong", "code": phone.code()},
        {"password": CANARY_PASSWORD, "code": phone.wrong_code()},
        {"password": "wrong", "code": phone.recovery_codes[0]},
        {},
    ]
    for form in refused:
        assert alices.post(OFF, form).status_code == 200
    assert SecondFactor.objects.exists()
    assert RecoveryCode.objects.count() == 10  # none is used up by a wrong password

    assert alices.post(OFF, {**PASSWORD, "code": phone.code()}).headers["Location"] == "/settings"
    assert not SecondFactor.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert said()[-1] == f"second_factor_turned_off user={alice.pk}"


def test_it_can_be_turned_off_with_a_recovery_code(alices: Client, alice: User, phone: Phone) -> None:
    phone.enrol(alice)
    alices.force_login(alice)
    alices.post(OFF, {**PASSWORD, "code": phone.recovery_codes[0]})

    assert not SecondFactor.objects.exists()
