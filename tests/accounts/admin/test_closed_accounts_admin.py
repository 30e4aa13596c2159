"""What staff can still do with an account that its user has closed."""

from typing import Any

import pytest
from django.test import Client

from accounts import clock
from accounts.admin.users import UserForm
from accounts.models import User


def save(client: Client, user: User, **fields: str) -> int:
    return client.post(f"/admin/accounts/user/{user.pk}/change/", {"email": user.email, **fields}).status_code


def test_a_closed_account_cannot_get_rights(client: Client, ada: User, alice: User) -> None:
    client.force_login(ada)
    row = User.objects.filter(pk=alice.pk)
    row.update(is_active=False, closed_at=clock.now())
    assert "Closed at" in client.get(f"/admin/accounts/user/{alice.pk}/change/").content.decode()
    assert save(client, alice, is_active="on", is_staff="on", is_superuser="on", notes="x") == 302
    assert row.filter(is_active=False, is_staff=False, is_superuser=False, notes="x").exists()


def test_an_account_closed_before_the_form_is_saved_gets_no_rights(
    client: Client, ada: User, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(ada)
    row, full_clean = User.objects.filter(pk=alice.pk), UserForm.full_clean

    def clean_and_close(form: Any) -> None:
        full_clean(form)
        row.update(is_active=False, closed_at=clock.now())

    monkeypatch.setattr(UserForm, "full_clean", clean_and_close)
    assert save(client, alice, is_active="on", is_staff="on") == 403
    assert not row.get().is_staff
