"""A service with something of everything: people, keys, a project whose agent runs, events."""

import copy
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.sessions.models import Session
from django.test import Client
from rest_framework.test import APIClient

from accounts.credentials.session_tokens import issue_session
from accounts.models import ApiKey, UsageCounter, User
from projects.models import Project
from tests.canaries import CANARY_API_KEY, CANARY_TELEGRAM_TOKEN
from tests.factories import ApiKeyFactory, UserFactory
from tests.fakes.engine import MemoryEngine

PROJECT = {
    "name": "Harbour pilot",
    "type": "assistant",
    "plan": "pro",
    "telegramToken": CANARY_TELEGRAM_TOKEN,
    "apiKey": CANARY_API_KEY,
}
ACTS = {"deploy", "start", "stop", "remove"}
"""The engine's verbs that change something."""


@dataclass
class Harbour:
    alice: User
    staff: User
    admin: User
    project: Project
    key: ApiKey
    engine: MemoryEngine

    @classmethod
    def make(cls, engine: MemoryEngine) -> "Harbour":
        alice = UserFactory.create(email="alice@example.org")
        answer = api_of(alice).post("/api/projects", PROJECT)
        assert answer.status_code == 201, answer.content
        return cls(
            alice=alice,
            staff=UserFactory.create(email="sam@example.org", staff=True),
            admin=UserFactory.create(email="ada@example.org", admin=True),
            project=Project.objects.get(pk=answer.json()["id"]),
            key=ApiKeyFactory.create(user=alice),
            engine=engine,
        )

    @property
    def known(self) -> dict[str, Any]:
        """Values for the parameters of routes."""
        return {
            "project_id": self.project.pk, "id": self.project.pk, "key_id": self.key.pk, "pk": self.key.pk,
            "user_id": self.alice.pk, "app_label": "projects",
        }  # fmt: skip

    def everything(self) -> list[Any]:
        """All rows but those that say who was here: sessions, and counts of requests."""
        models = [model for model in apps.get_models() if model not in {Session, UsageCounter}]
        rows = [(model.__name__, list(model._default_manager.order_by("pk").values())) for model in models]
        return copy.deepcopy([rows, sorted(self.engine.containers), sorted(self.engine.volumes)])

    def acts(self) -> list[tuple[str, str]]:
        """What the engine was told to change."""
        return [call for call in self.engine.calls if call[0] in ACTS]


def api_of(user: User) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_session(user)}")
    return client


def browser_of(user: User | None, **options: Any) -> Client:
    client = Client(**options)
    if user is not None:
        client.force_login(user)
    return client
