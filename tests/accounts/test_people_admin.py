"""Staff see of users how much they have and when they came, keep notes, and invite many at once."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, User
from accounts.services.invitations import MOST
from tests.factories import ApiKeyFactory

USERS = "/admin/accounts/user/"
INVITE = f"{USERS}invite/"


@pytest.fixture
def office(client: Client, sam: User) -> Client:
    client.force_login(sam)
    return client


def test_each_address_gets_a_link_that_works_or_a_reason(office: Client, alice: User) -> None:
    emails = f"New@Example.com\n\n {alice.email}\nnonsense\nnew@example.com\nother@example.com"
    page = office.post(INVITE, {"emails": emails}).content.decode()
    links = re.findall(r"([\w.]+@example\.com) https?://[^/]+(/set-password/\S+)", page)
    assert [email for email, _ in links] == ["new@example.com", "other@example.com"]
    assert page.count("This email has an account.") == 2
    assert "nonsense" in page
    assert Client().get(links[0][1], follow=True).status_code == 200
    made = User.objects.get(email="new@example.com")
    assert not made.has_usable_password()
    assert not made.is_staff


def test_too_many_at_once_make_none(office: Client) -> None:
    before = User.objects.count()
    page = office.post(INVITE, {"emails": "\n".join(f"u{number}@example.com" for number in range(MOST + 1))})
    assert "Invite at most" in page.content.decode()
    assert User.objects.count() == before


def test_only_staff_invite(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.post(INVITE, {"emails": "x@example.com"}, follow=True).status_code == 403
    assert not User.objects.filter(email="x@example.com").exists()


def test_a_form_without_its_token_invites_nobody(sam: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(sam)
    assert client.post(INVITE, {"emails": "x@example.com"}).status_code == 403


def test_notes_are_kept_and_found_and_a_key_counts_as_being_seen(office: Client, alice: User) -> None:
    form = {"email": alice.email, "is_active": "on", "notes": "Pays by invoice"}
    assert office.post(f"{USERS}{alice.pk}/change/", form).status_code == 302
    ApiKeyFactory.create(user=alice)
    ApiKey.objects.update(last_used_at=timezone.now().replace(year=2031, month=5, day=4))
    page = office.get(f"{USERS}?q=invoice").content.decode()
    assert "Pays by invoice" in page
    assert "May 4, 2031" in page
