"""Every kind of caller of the API, by the credential that it sends."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_framework.test import APIClient

from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, Scope, User
from accounts.services.api_keys import issue_api_key, revoke_api_key
from tests.clients import make_person
from tests.factories import UserFactory

UNKNOWN = ("nobody", "revoked key", "expired key", "inactive user", "signed-out session")
"""Callers without a valid credential."""

OTHERS = ("stranger session", "stranger key", "staff", "admin")
"""Callers who are admitted, and own nothing of Alice's."""

OWNER = ("owner session", "owner write key", "owner read key")
EVERYBODY = (*UNKNOWN, *OTHERS, *OWNER)


class Callers:
    """Alice and the others, with a client for each kind of caller."""

    def __init__(self) -> None:
        self.alice, self.bob = make_person("alice"), make_person("bob")
        carol = UserFactory.create(is_active=False)
        clients: dict[str, Callable[[], str]] = {
            "nobody": str,
            "revoked key": lambda: self._dead_key(lambda row: revoke_api_key(key_id=row.pk, by=self.alice)),
            "expired key": lambda: self._dead_key(_expire),
            "inactive user": lambda: issue_session(carol),
            "signed-out session": self._signed_out,
            "stranger session": lambda: issue_session(self.bob),
            "stranger key": lambda: _key(self.bob, Scope.WRITE),
            "staff": lambda: issue_session(make_person("sam")),
            "admin": lambda: issue_session(make_person("ada")),
            "owner session": lambda: issue_session(self.alice),
            "owner write key": lambda: _key(self.alice, Scope.WRITE),
            "owner read key": lambda: _key(self.alice, Scope.READ),
        }
        self._tokens = {name: make() for name, make in clients.items()}

    def client(self, name: str) -> APIClient:
        client = APIClient()
        if token := self._tokens[name]:
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
        return client

    def _dead_key(self, kill: Callable[[ApiKey], Any]) -> str:
        row, key = issue_api_key(user=self.alice, session=None, name="dead", scope=Scope.WRITE, lifetime_days=30)
        kill(row)
        return key

    def _signed_out(self) -> str:
        token = issue_session(self.alice)
        answer = APIClient().post("/api/auth/logout", HTTP_AUTHORIZATION=f"Bearer {token}")
        assert answer.status_code == 204
        return token


def _key(user: User, scope: Scope) -> str:
    return issue_api_key(user=user, session=None, name=f"{scope} key", scope=scope, lifetime_days=30)[1]


def _expire(row: ApiKey) -> None:
    ago = timezone.now() - timedelta(days=31)
    ApiKey.objects.filter(pk=row.pk).update(created_at=ago, expires_at=ago + timedelta(days=30))
