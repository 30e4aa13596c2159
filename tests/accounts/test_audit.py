"""The log says who signed in, who failed to, and which keys exist, without a credential or an email."""

import json

import pytest
from django.test import Client

from accounts.models import ApiKey, User
from config.logs.formatting import JsonFormatter
from tests.accounts.conftest import Said
from tests.canaries import CANARY_PASSWORD
from tests.clients import Call
from tests.factories import ApiKeyFactory


def test_signing_in_and_failing_to(call: Call, alice: User, said: Said) -> None:
    call("POST", "/api/auth/login", {"email": alice.email, "password": "wrong"})
    call("POST", "/api/auth/login", {"email": alice.email, "password": CANARY_PASSWORD})

    failed, signed_in = said()
    assert failed.startswith("sign_in_failed account=")
    assert failed.endswith("address=127.0.0.1")
    assert signed_in == f"signed_in user={alice.pk} to=api address=127.0.0.1"


def test_the_life_of_a_key(call: Call, alice: User, said: Said) -> None:
    key = call("POST", "/api/auth/keys", {"name": "x\u2009y", "scope": "read"}, by=alice).json()
    for _ in range(2):
        call("GET", "/api/auth/session", by=key["key"])
    call("DELETE", f"/api/auth/keys/{key['id']}", by=alice)

    assert said() == [
        f"key_issued user={alice.pk} key={key['id']} scope=read days=90",
        f"key_first_used user={alice.pk} key={key['id']} address=127.0.0.1",
        f"key_revoked key={key['id']} by={alice.pk}",
    ]


def test_a_rotated_key_names_the_new_one(call: Call, alice: User, said: Said) -> None:
    old = ApiKeyFactory.create(user=alice)
    new = call("POST", f"/api/auth/keys/{old.pk}/rotate", by=alice).json()

    assert said()[-1] == f"key_rotated user={alice.pk} key={old.pk} by_key={new['id']}"


def test_signing_out_of_the_api_the_dashboard_and_everywhere(
    call: Call, client: Client, alice: User, said: Said
) -> None:
    call("POST", "/api/auth/logout", by=alice)
    client.force_login(alice)
    client.post("/sign-out")
    client.post("/sign-out")
    client.force_login(alice)
    client.post("/settings/sign-out-everywhere")

    assert said() == [f"signed_out user={alice.pk} of={what}" for what in ("api", "dashboard", "everywhere")]


def test_a_changed_password(client: Client, alice: User, said: Said) -> None:
    client.force_login(alice)
    new = "a passphrase, entirely new"
    client.post("/settings/password", {"current": CANARY_PASSWORD, "new": new, "again": new})

    assert said() == [f"password_set user={alice.pk}"]


def test_actions_in_the_admin_are_audited(client: Client, ada: User, alice: User, said: Said) -> None:
    client.force_login(ada)
    client.post("/admin/accounts/user/add/", {"email": "new@example.com"})
    new = User.objects.get(email="new@example.com")
    client.post(f"/admin/accounts/user/{alice.pk}/change/", {"email": "a@example.com", "is_staff": "on"})
    client.post(f"/admin/accounts/user/{new.pk}/delete/", {"post": "yes"})

    assert said() == [
        f"admin_added by={ada.pk} what=user id={new.pk}",
        f"set_password_link_made user={new.pk} by={ada.pk}",
        f"admin_changed by={ada.pk} what=user id={alice.pk} fields=Email,Active,Staff",
        f"admin_deleted by={ada.pk} what=user id={new.pk}",
    ]


def test_bulk_invitations_are_audited(client: Client, ada: User, alice: User, said: Said) -> None:
    client.force_login(ada)
    client.post("/admin/accounts/user/invite/", {"emails": f"one@example.com\n{alice.email}\ntwo@example.com"})

    made = User.objects.filter(email__in=["one@example.com", "two@example.com"])
    lines = [f"admin_added by={ada.pk} what=user id={new.pk}" for new in made]
    assert sorted(line for line in said() if line.startswith("admin_added")) == sorted(lines)


def test_each_line_has_machine_readable_facts(
    call: Call, alice: User, said: Said, caplog: pytest.LogCaptureFixture
) -> None:
    call("POST", "/api/auth/logout", by=alice)

    (line,) = [json.loads(JsonFormatter().format(record)) for record in caplog.records if record.name == "berth.audit"]
    assert (line["event"], line["facts"]) == ("signed_out", {"user": str(alice.pk), "of": "api"})


def test_no_audit_line_has_a_credential(call: Call, client: Client, alice: User, sam: User, said: Said) -> None:
    token = call("POST", "/api/auth/login", {"email": alice.email, "password": CANARY_PASSWORD}).json()["token"]
    key = call("POST", "/api/auth/keys", {"name": "x", "scope": "read"}, by=token).json()["key"]
    call("GET", "/api/auth/session", by=key)
    call("POST", "/api/auth/logout", by=token)
    client.force_login(sam)
    link = client.post(f"/admin/accounts/user/{alice.pk}/set-password-link/").content.decode()

    log = "\n".join(said())
    for secret in (token, key, CANARY_PASSWORD, alice.email, ApiKey.objects.get().digest):
        assert secret not in log
    assert "set_password_link_made" in log
    assert link.partition("/set-password/")[2].partition("<")[0] not in log
