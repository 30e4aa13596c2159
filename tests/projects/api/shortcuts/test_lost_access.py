"""What is remembered is told to nobody whose token is not good any more."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.credentials.session_tokens import issue_session, read_session, revoke_session
from accounts.models import ApiKey, User
from projects.models import Project
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
def test_what_is_remembered_is_told_to_nobody_whose_token_is_not_good_any_more(
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
