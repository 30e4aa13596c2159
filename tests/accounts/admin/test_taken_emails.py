"""Emails that another user has, in the forms of the admin."""

from django.test import Client

from accounts.models import User
from tests.factories import UserFactory

USERS = "/admin/accounts/user/"


def test_an_email_is_accepted_in_any_spelling(client: Client, sam: User, alice: User) -> None:
    client.force_login(sam)
    bob = UserFactory.create()
    for path in ("add", f"{bob.pk}/change"):
        page = client.post(f"{USERS}{path}/", {"email": "ALICE@example.com", "is_active": "on"}).content.decode()
        assert page.count("This email is taken.") == 1
        assert "onstraint" not in page


def test_an_email_of_former_rules_is_taken_as_well(client: Client, sam: User, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="Alice@example.com")
    client.force_login(sam)
    page = client.post(f"{USERS}add/", {"email": "alice@example.com"}).content.decode()
    assert page.count("This email is taken.") == 1
    assert "onstraint" not in page
