"""A key is rotated on the settings page, which warns before a key ends."""

from datetime import timedelta
from uuid import uuid4

from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, User
from tests.clients import browser_of
from tests.factories import ApiKeyFactory

CONFIRM = "works for at most another day"


def test_a_rotated_key_is_shown_once_and_the_old_one_ends_within_a_day(alice: User) -> None:
    client, old = browser_of(alice), ApiKeyFactory.create(user=alice)
    address = f"/settings/keys/{old.pk}/rotate"
    assert CONFIRM in client.get(address).content.decode()
    assert ApiKey.objects.count() == 1
    page = client.post(address, {"id": str(uuid4())})
    new = ApiKey.objects.exclude(pk=old.pk).get()
    assert (new.name, new.scope) == (old.name, old.scope)
    assert "berth_" in page.context["new_key"]
    old.refresh_from_db()
    assert old.expires_at is not None
    assert old.expires_at <= timezone.now() + timedelta(days=1)
    assert "Expires soon" not in page.content.decode()


def test_a_stranger_s_or_expired_key_cannot_be_rotated(alice: User, bob: User, client: Client) -> None:
    key = ApiKeyFactory.create(user=alice)
    address = f"/settings/keys/{key.pk}/rotate"
    assert browser_of(bob).post(address, {"id": str(uuid4())}).status_code == 404
    assert client.post(address).headers["Location"].startswith("/sign-in")
    ApiKey.objects.update(revoked_at=timezone.now())
    assert browser_of(alice).post(address, {"id": str(uuid4())}).status_code == 404
    assert ApiKey.objects.count() == 1


def test_a_form_sent_twice_creates_one_key(alice: User) -> None:
    client, old = browser_of(alice), ApiKeyFactory.create(user=alice)
    address = f"/settings/keys/{old.pk}/rotate"
    shown = client.get(address)
    sent = {"id": str(shown.context["form"]["id"].value())}
    assert client.post(address, sent).status_code == 200
    assert client.post(address, sent).headers["Location"] == "/settings"
    assert ApiKey.objects.count() == 2
    assert client.post(address).status_code == 400
    assert client.post(address, {"id": "x"}).status_code == 400
    assert ApiKey.objects.count() == 2


def test_rotation_is_suggested_only_for_expiring_keys_without_a_successor(alice: User) -> None:
    client, in_an_hour = browser_of(alice), timezone.now() + timedelta(hours=1)
    old = ApiKeyFactory.create(user=alice, expires_at=in_an_hour)
    ApiKeyFactory.create(user=alice, expires_at=in_an_hour)
    assert client.get("/settings").content.decode().count("Expires soon") == 2
    page = client.post(f"/settings/keys/{old.pk}/rotate", {"id": str(uuid4())}).content.decode()
    assert page.count("Expires soon") == 1
    assert page.count('/rotate"') == 2  # of the other one, and of the new
    assert f"/settings/keys/{old.pk}/revoke" in page
