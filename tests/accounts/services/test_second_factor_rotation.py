"""`rotate_secrets` encrypts the secrets of second factors with the new key."""

from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from pytest_django import Settings

from accounts.models import User
from accounts.services.second_factor import check_second_factor
from tests.accounts.phone import Phone


def test_secrets_move_to_a_new_key(alice: User, phone: Phone, settings: Settings) -> None:
    phone.enrol(alice)
    new = Fernet.generate_key().decode()
    settings.BERTH_ENCRYPTION_KEYS = [new, *settings.BERTH_ENCRYPTION_KEYS]
    said = StringIO()
    call_command("rotate_secrets", stdout=said)
    assert "1 second factors" in said.getvalue()
    settings.BERTH_ENCRYPTION_KEYS = [new]

    check_second_factor(user=alice, code=phone.next_code(), address=None)


def test_a_secret_of_an_unknown_key_stops_the_rotation_with_a_sentence(
    alice: User, phone: Phone, settings: Settings
) -> None:
    phone.enrol(alice)
    settings.BERTH_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

    with pytest.raises(CommandError, match=f"The second factor of user {alice.pk} cannot be decrypted."):
        call_command("rotate_secrets", stdout=StringIO())
