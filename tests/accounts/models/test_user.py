"""One account for each email address, no matter how it is spelled."""

import pytest
from django.db import IntegrityError

from accounts.models import User
from tests.canaries import CANARY_PASSWORD


@pytest.mark.parametrize("spelling", ["ALICE@EXAMPLE.COM", " alice@example.com\n", "\uff21lice@example.com"])
def test_spellings_of_one_email_are_one_account(alice: User, spelling: str) -> None:
    assert User.objects.get_by_natural_key(spelling) == alice
    with pytest.raises(IntegrityError):
        User.objects.create_user(spelling)


def test_the_database_refuses_what_bypasses_us(alice: User) -> None:
    with pytest.raises(IntegrityError):
        User.objects.bulk_create([User(email="Alice@Example.com")])


def test_a_user_needs_an_email(db: None) -> None:
    with pytest.raises(ValueError, match="email"):
        User.objects.create_user("")


def test_a_superuser_is_an_admin(db: None) -> None:
    assert User.objects.create_superuser("root@example.com", CANARY_PASSWORD).role == "admin"
