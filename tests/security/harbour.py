"""A service with something of everything: people, keys, a project whose agent runs, events."""

import copy
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.sessions.models import Session

from accounts.models import ApiKey, UsageCounter, User
from projects.models import Project
from tests.clients import api_of, make_person
from tests.deploying import deploy_project
from tests.factories import ApiKeyFactory
from tests.fakes.engine import MemoryEngine

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
        alice = make_person("alice")
        return cls(
            alice=alice,
            staff=make_person("sam"),
            admin=make_person("ada"),
            project=deploy_project(api_of(alice)),
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
