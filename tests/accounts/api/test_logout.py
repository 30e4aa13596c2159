"""POST /api/auth/logout."""

from datetime import timedelta

from django.utils import timezone

from accounts.credentials.session_tokens import issue_session
from accounts.models import RevokedSession, User
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key

LOGOUT = "/api/auth/logout"


def test_the_token_is_refused_from_the_next_request_on(call: Call, alice: User) -> None:
    token = issue_session(alice)

    assert call("POST", LOGOUT, by=token).status_code == 204
    assert call("GET", "/api/auth/keys", by=token).json()["code"] == "invalid_token"
    assert call("POST", LOGOUT, by=token).status_code == 401


def test_other_sessions_continue(call: Call, alice: User, bob: User) -> None:
    leaving, staying, bobs = issue_session(alice), issue_session(alice), issue_session(bob)
    call("POST", LOGOUT, by=leaving)

    assert [call("GET", "/api/auth/keys", by=token).status_code for token in (staying, bobs)] == [200, 200]


def test_an_api_key_cannot_log_out(call: Call, alice: User) -> None:
    key = ApiKeyFactory.create(user=alice)

    assert call("POST", LOGOUT, by=plain_key(key)).status_code == 403
    assert call("GET", "/api/auth/session", by=plain_key(key)).json()["authenticated"] is True


def test_a_visitor_cannot_log_out(call: Call, db: None) -> None:
    assert call("POST", LOGOUT).status_code == 401


def test_only_the_id_of_the_token_is_kept_and_no_earlier_one_is_deleted(call: Call, alice: User) -> None:
    """The watcher deletes them by age, once it trusts the clock."""
    RevokedSession.objects.create(jti="0" * 32, expires_at=timezone.now() - timedelta(days=90))
    token = issue_session(alice)
    call("POST", LOGOUT, by=token)

    (kept,) = RevokedSession.objects.exclude(jti="0" * 32)
    assert kept.jti not in token
    assert timezone.now() < kept.expires_at <= timezone.now() + timedelta(hours=12)
    assert RevokedSession.objects.count() == 2
