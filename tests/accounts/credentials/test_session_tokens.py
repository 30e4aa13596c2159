"""Session tokens that we did not issue, that were changed, or that are too old: all are the same 401."""

import base64
import hmac
import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.conf import settings
from django.db.models import F
from django.utils import timezone

from accounts import clock
from accounts.credentials.session_tokens import issue_session, read_session, revoke_session
from accounts.models import User
from tests.clients import Call

Claims = dict[str, Any]
KEY = settings.BERTH_TOKEN_KEY


def _claims(user: User, **changes: Any) -> Claims:
    claims: Claims = jwt.decode(issue_session(user), KEY, algorithms=["HS256"], audience="berth-api")
    return {name: value for name, value in {**claims, **changes}.items() if value is not ...}


def _sign(claims: Claims, key: Any = KEY, algorithm: str = "HS256", **headers: Any) -> str:
    return jwt.encode(claims, key, algorithm=algorithm, headers=headers or None)


def _unsigned(user: User) -> str:
    return _sign(_claims(user), key=None, algorithm="none")


def _by_public_key(user: User) -> str:
    """A classic attack: the HMAC key is the public half of an RSA key."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    content = _sign(_claims(user)).rpartition(".")[0]  # PyJWT refuses to sign with such a key
    return f"{content}.{_base64(hmac.digest(public, content.encode(), 'sha256'))}"


def _by_rsa(user: User) -> str:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return _sign(_claims(user), key=pem, algorithm="RS256")


def _swapped_payload(user: User) -> str:
    header, _, signature = issue_session(user).split(".")
    return f"{header}.{_base64(json.dumps(_claims(user, ver=2)).encode())}.{signature}"


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _flipped_signature(user: User) -> str:
    token = issue_session(user)
    return token[:-10] + ("A" if token[-10] != "A" else "B") + token[-9:]


def _changed(**changes: Any) -> Callable[[User], str]:
    return lambda user: _sign(_claims(user, **changes))


def _hour(hours: int) -> int:
    return int((timezone.now() + timedelta(hours=hours)).timestamp())


TAMPERINGS: dict[str, Callable[[User], str]] = {
    "alg none": _unsigned,
    "alg HS384": lambda user: _sign(_claims(user), algorithm="HS384"),
    "alg HS512": lambda user: _sign(_claims(user), algorithm="HS512"),
    "alg RS256": _by_rsa,
    "signed with a public key": _by_public_key,
    "signed with another key": lambda user: _sign(_claims(user), key="another key, just as long as ours is, or longer"),
    "signed with Django's key": lambda user: _sign(_claims(user), key=settings.SECRET_KEY),
    "wrong audience": _changed(aud="berth-admin"),
    "our audience among others": _changed(aud=["berth-api", "another"]),
    "no audience": _changed(aud=...),
    "wrong issuer": _changed(iss="elsewhere"),
    "no issuer": _changed(iss=...),
    "wrong type": _changed(token_type="refresh"),
    "no type": _changed(token_type=...),
    "expired": _changed(exp=_hour(-1)),
    "no expiry": _changed(exp=...),
    "expiry no number": _changed(exp="tomorrow"),
    "issued in the future": _changed(iat=_hour(1)),
    "not valid yet": _changed(nbf=_hour(1)),
    "no id": _changed(jti=...),
    "an id of another shape": _changed(jti="1"),
    "no user": _changed(sub=...),
    "a user that never was": _changed(sub=str(uuid.uuid4())),
    "a user of another shape": _changed(sub="1"),
    "an earlier version": _changed(ver=0),
    "a later version": _changed(ver=99),
    "a version that is a string": _changed(ver="1"),
    "a version that is true": _changed(ver=True),
    "no version": _changed(ver=...),
    "an unknown critical header": lambda user: _sign(_claims(user), crit=["x"], x=1),
    "another payload": _swapped_payload,
    "one character of the signature": _flipped_signature,
    "truncated": lambda user: issue_session(user)[:-8],
    "without signature": lambda user: issue_session(user).rpartition(".")[0] + ".",
    "twice": lambda user: issue_session(user) * 2,
    "a part too many": lambda user: issue_session(user) + ".x",
    "padded beyond reason": lambda user: _sign(_claims(user, padding="x" * 4000)),
}


def test_an_unchanged_token_is_accepted(call: Call, alice: User) -> None:
    assert call("GET", "/api/auth/keys", by=_sign(_claims(alice))).status_code == 200


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_a_tampered_token_is_refused(call: Call, alice: User, tampering: str) -> None:
    answer = call("GET", "/api/auth/keys", by=TAMPERINGS[tampering](alice))

    assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")


def _expire(token: str, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    later = timezone.now() + timedelta(hours=12, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)


def _revoke(token: str, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = read_session(token)
    revoke_session(jti=claims.jti, expires_at=claims.expires_at)


def _change(**values: Any) -> Callable[[str, User, pytest.MonkeyPatch], None]:
    def change(token: str, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
        User.objects.filter(pk=user.pk).update(**values)

    return change


def _delete(token: str, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.filter(pk=user.pk).delete()


ENDINGS = {
    "expired": _expire,
    "revoked": _revoke,
    "signed out everywhere": _change(session_version=F("session_version") + 1),
    "deactivated": _change(is_active=False),
    "deleted": _delete,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_token_that_was_accepted_is_refused_as_soon_as_it_has_ended(
    call: Call, alice: User, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the process remembers what it says."""
    token = issue_session(alice)
    assert [call("GET", "/api/auth/keys", by=token).status_code for _ in range(2)] == [200, 200]
    ENDINGS[ending](token, alice, monkeypatch)
    assert [call("GET", "/api/auth/keys", by=token).status_code for _ in range(2)] == [401, 401]
    assert call("GET", "/api/auth/keys", by=f"{token[:-4]}AAAA").status_code == 401


def test_all_refusals_read_alike(call: Call, alice: User) -> None:
    answers = {
        call("GET", "/api/auth/keys", by=tamper(alice), **{"X-Request-ID": "same"}).content
        for tamper in TAMPERINGS.values()
    }

    assert len(answers) == 1


def test_a_token_holds_no_email_and_lives_twelve_hours(alice: User) -> None:
    claims = _claims(alice)

    assert claims["exp"] - claims["iat"] == 12 * 3600
    assert claims.keys() == {"token_type", "exp", "iat", "jti", "sub", "ver", "aud", "iss"}
    assert alice.email not in str(claims)
