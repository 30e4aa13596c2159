"""An unreadable secret of a second factor is reported as such everywhere, and never as a 500."""

import json
from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.contrib.sessions.backends.base import SessionBase
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from accounts.credentials.second_factor_secrets import decrypt_secret, encrypt_secret
from accounts.errors import SecondFactorUnreadableError
from accounts.models import SecondFactor, User
from tests.accounts.conftest import Said
from tests.accounts.credentials.malformed import encrypt_bytes, malformed_plaintexts
from tests.accounts.phone import Phone
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call

pytestmark = pytest.mark.one_database

LOGIN = "/api/auth/login"
BEGIN = "/settings/second-factor"
CONFIRM, PICTURE, CODES, OFF = (f"{BEGIN}/{name}" for name in ("confirm", "picture.svg", "codes", "off"))
PASSWORD = {"password": CANARY_PASSWORD}
SIGN_IN = {"email": "alice@example.com", **PASSWORD}
SENTENCE = "Your second factor cannot be read. Use a recovery code, or ask the staff to reset your second factor."

_NO_SECRETS = ["", "x", "not base32", "\ud800", "JBSWY3DP=", "12345678"]


def _plaintexts(user: User) -> list[bytes]:
    context = {"user": str(user.pk)}
    no_secrets = [json.dumps({**context, "value": value}).encode() for value in _NO_SECRETS]
    return [*malformed_plaintexts({**context, "value": "JBSWY3DPEHPK3PXP"}), *no_secrets]


CASES = range(len(_plaintexts(User())))
at_each_door = pytest.mark.sampled(4)
"""The first test has each case, and each entrance a part of them."""


@pytest.fixture(params=CASES)
def unreadable(request: pytest.FixtureRequest, alice: User, phone: Phone) -> str:
    """Alice has a second factor, and this ciphertext is its stored secret."""
    phone.enrol(alice)
    ciphertext = encrypt_bytes(_plaintexts(alice)[request.param])
    SecondFactor.objects.update(secret_ciphertext=ciphertext)
    return ciphertext


@pytest.fixture
def alices(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def test_no_malformed_secret_is_accepted(alice: User) -> None:
    for plaintext in _plaintexts(alice):
        with pytest.raises(SecondFactorUnreadableError):
            decrypt_secret(encrypt_bytes(plaintext), user_id=alice.pk)


@at_each_door
def test_the_api_explains_an_unreadable_second_factor(call: Call, unreadable: str, alice: User, said: Said) -> None:
    answer = call("POST", LOGIN, {**SIGN_IN, "code": "123456"})

    assert (answer.status_code, answer.json()["code"]) == (409, "second_factor_unreadable")
    assert answer.json()["detail"] == SENTENCE
    assert said()[-1] == f"second_factor_unreadable user={alice.pk} address=127.0.0.1"


@at_each_door
def test_the_code_page_explains_an_unreadable_second_factor(client: Client, unreadable: str) -> None:
    client.post("/sign-in", SIGN_IN)
    page = client.post("/sign-in/code", {"code": "123456"})

    assert (page.status_code, SENTENCE in page.content.decode()) == (200, True)
    assert client.get("/settings").status_code == 302


@at_each_door
def test_the_settings_explain_an_unreadable_second_factor(unreadable: str, alices: Client) -> None:
    assert alices.get("/settings").status_code == 200
    for path in (CODES, OFF):
        page = alices.post(path, {**PASSWORD, "code": "123456"})
        assert (page.status_code, SENTENCE in page.content.decode()) == (200, True)
    assert SecondFactor.objects.exists()


@at_each_door
def test_a_recovery_code_still_signs_in_and_turns_it_off(client: Client, unreadable: str, phone: Phone) -> None:
    client.post("/sign-in", SIGN_IN)
    client.post("/sign-in/code?recovery", {"code": phone.recovery_codes[0]})
    assert client.get("/settings").status_code == 200

    client.post(OFF, {**PASSWORD, "code": phone.recovery_codes[1]})
    assert not SecondFactor.objects.exists()


@at_each_door
def test_staff_reset_an_unreadable_second_factor(client: Client, unreadable: str, alice: User, ada: User) -> None:
    client.force_login(ada)
    client.post(f"/admin/accounts/user/{alice.pk}/reset-second-factor/", {"confirm": alice.email})

    assert not SecondFactor.objects.exists()


@at_each_door
def test_the_rotation_stops_with_a_sentence_for_the_operator(unreadable: str, alice: User) -> None:
    with pytest.raises(CommandError, match=f"The second factor of user {alice.pk} cannot be decrypted."):
        call_command("rotate_secrets", stdout=StringIO())
    assert SecondFactor.objects.get().secret_ciphertext == unreadable


@at_each_door
@pytest.mark.parametrize("case", CASES)
def test_an_unreadable_setup_restarts(alices: Client, alice: User, case: int) -> None:
    alices.post(BEGIN, PASSWORD)
    session: SessionBase = alices.session
    session["second_factor_setup"] = {
        **session["second_factor_setup"],
        "value": encrypt_bytes(_plaintexts(alice)[case]),
    }
    session.save()

    assert alices.get(CONFIRM).headers["Location"] == BEGIN
    assert alices.post(CONFIRM, {"code": "123456"}).headers["Location"] == BEGIN
    assert alices.get(PICTURE).status_code == 404


def test_a_secret_of_another_user_or_another_key_is_refused(alice: User, bob: User, settings: Settings) -> None:
    ciphertext = encrypt_secret("JBSWY3DPEHPK3PXP", user_id=alice.pk)
    with pytest.raises(SecondFactorUnreadableError):
        decrypt_secret(ciphertext, user_id=bob.pk)
    with pytest.raises(SecondFactorUnreadableError):
        decrypt_secret(ciphertext[:-10] + "AAAAAAAAAA", user_id=alice.pk)
    settings.BERTH_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(SecondFactorUnreadableError):
        decrypt_secret(ciphertext, user_id=alice.pk)
