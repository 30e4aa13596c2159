"""Remembered responses are never sent for a token that is no longer valid."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.api import shortcuts
from accounts.credentials.session_tokens import issue_session, read_session, revoke_session
from accounts.models import ApiKey, User
from accounts.services import still_signed_in
from accounts.throttling import rate_limits
from projects.models import Project
from projects.models.rows.versions import are_numbered
from tests.clients import Call
from tests.factories import ApiKeyFactory, plain_key
from tests.shortcuts import LONG_AGO, PATHS, put, told, without_shortcuts


def ways_to_lose(alice: User, key: ApiKey, session: str) -> Any:
    claims = read_session(session)
    users, keys = User.objects.filter(pk=alice.pk), ApiKey.objects.filter(pk=key.pk)
    past = timezone.now() - timedelta(days=1)
    return {
        "revoked": (True, lambda: keys.update(revoked_at=past)),
        "expired": (True, lambda: keys.update(created_at=past - LONG_AGO, expires_at=past)),
        "deleted": (True, keys.delete),
        "inactive": (True, lambda: users.update(is_active=False)),
        "signed out": (False, lambda: revoke_session(jti=claims.jti, expires_at=claims.expires_at)),
        "ended": (False, lambda: users.update(session_version=claims.version + 1)),
        "inactive too": (False, lambda: users.update(is_active=False)),
    }


@pytest.mark.parametrize("way", ["revoked", "expired", "deleted", "inactive", "signed out", "ended", "inactive too"])
def test_a_remembered_answer_is_not_given_for_an_invalid_token(
    call: Call, project: Project, alice: User, now: datetime, way: str
) -> None:
    put(project, now)
    key, session = ApiKeyFactory.create(user=alice), issue_session(alice)
    is_of_key, lose = ways_to_lose(alice, key, session)[way]
    token = plain_key(key) if is_of_key else session
    addresses = [path.format(id=project.pk) for path in PATHS]
    for address in 2 * addresses:
        assert call("GET", address, by=token).status_code == 200
    lose()
    for address in addresses:
        answer = call("GET", address, by=token)
        with without_shortcuts():
            assert told(answer) == told(call("GET", address, by=token))
        if "session" in address:
            assert not answer.json()["authenticated"]
        else:
            assert (answer.status_code, answer.json()["code"]) == (401, "invalid_token")


def test_a_slow_answer_is_withheld_after_the_loss_of_access(
    call: Call, project: Project, alice: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, now)
    key = ApiKeyFactory.create(user=alice)
    addresses = [f"/api/projects/{project.pk}", *(["/api/projects"] if are_numbered() else [])]
    for address in 2 * addresses:  # from now on the list is remembered
        assert call("GET", address, by=plain_key(key)).status_code == 200
    count = rate_limits.count_request

    def revoked_meanwhile(*arguments: Any, **options: Any) -> Any:
        ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())
        return count(*arguments, **options)

    for address in addresses:
        ApiKey.objects.filter(pk=key.pk).update(revoked_at=None)
        monkeypatch.setattr(shortcuts, "count_request", revoked_meanwhile)
        monkeypatch.setattr(still_signed_in, "ASK_AGAIN_AFTER", 0.0)
        assert call("GET", address, by=plain_key(key)).status_code == 401
