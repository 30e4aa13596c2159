"""Who came in, who did not, and which keys there are: in the log, without a credential or an email."""

import logging
from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import ApiKey, User
from tests.accounts.conftest import Call
from tests.canaries import CANARY_PASSWORD

Said = Callable[[], list[str]]


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    caplog.set_level(logging.INFO, logger="berth.audit")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "berth.audit"]


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


def test_nothing_in_it_lets_anybody_in(call: Call, client: Client, alice: User, sam: User, said: Said) -> None:
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
