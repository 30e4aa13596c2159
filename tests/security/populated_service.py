"""A service that has one of everything: people, an API key, a project with a running agent, events, an agent in
quarantine, a waiting mail, a batch that has not begun."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

from accounts.models import ApiKey, Notice, OpenSession, OutgoingMail, UsageCounter, User
from containers.identity import container_name, own_labels
from containers.vocabulary import ContainerState
from projects.models import Batch, ModelPrice, Project, Provider, Quarantined, Spending
from projects.services.staff.batches import begin_batch
from tests.clients import api_of, make_person
from tests.deploying import deploy_project
from tests.factories import ApiKeyFactory
from tests.fakes.engine import MemoryEngine

CHANGING_VERBS = {"deploy", "start", "stop", "remove", "quarantine"}
"""The engine's verbs that change something."""


def add_to_quarantine(engine: MemoryEngine, owner: User) -> Quarantined:
    """Adds the remains of an agent of this owner, which belongs to no project."""
    key = str(uuid4())
    labels = {**own_labels(), "berth.project": key, "berth.owner": str(owner.pk), "berth.quarantined": "2026-01-01"}
    kept = engine.foreign(container_name(key), labels=labels)
    kept.state = ContainerState.CREATED
    engine.volumes.add(f"{kept.name}-data")
    engine.volume_labels[f"{kept.name}-data"] = labels
    return Quarantined.objects.create(
        key=key, instance=settings.BERTH_INSTANCE, owner_key=str(owner.pk), container_name=kept.name, generation=1
    )


def read_rows() -> dict[str, list[Any]]:
    """All rows by model, without what every visit changes: sessions and counts of requests.

    They are those of the database: converting their values would take as long as ten requests.
    """
    rows: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        for options in (model._meta for model in apps.get_models() if model not in {Session, UsageCounter}):
            table, key = map(connection.ops.quote_name, (options.db_table, str(options.pk.column)))
            cursor.execute(f"SELECT * FROM {table} ORDER BY {key}")
            rows[options.label] = cursor.fetchall()
    return rows


@dataclass
class PopulatedService:
    alice: User
    staff: User
    admin: User
    project: Project
    key: ApiKey
    engine: MemoryEngine

    @classmethod
    def make(cls, engine: MemoryEngine) -> "PopulatedService":
        alice = make_person("alice")
        add_to_quarantine(engine, alice)
        OutgoingMail.objects.create(kind="agent", user_id=alice.pk)
        soon = timezone.now() + timedelta(hours=1)
        OpenSession.objects.create(
            user=alice, kind="api", token=uuid4().hex, ends_at=soon, session_version=1, program="a program"
        )
        Notice.objects.create(pk=1, text="A notice")
        Provider.objects.create(slug="groq", title="Groq", base_url="https://groq.example/v1", default_model="m")
        ModelPrice.objects.create(model="gpt", input=1, output=2)
        project = deploy_project(api_of(alice))
        Spending.objects.create(project=project, day=date(2026, 11, 22), month=date(2026, 11, 1))
        admin = make_person("ada")
        begin_batch(by=admin, action="confine", chosen=[(project.pk, project.name)])
        return cls(
            alice=alice,
            staff=make_person("sam"),
            admin=admin,
            project=project,
            key=ApiKeyFactory.create(user=alice),
            engine=engine,
        )

    @property
    def route_parameters(self) -> dict[str, Any]:
        """Values for the parameters of routes."""
        return {
            "project_id": self.project.pk, "id": self.project.pk, "key_id": self.key.pk, "pk": self.key.pk,
            "user_id": self.alice.pk, "app_label": "projects",
            "batch_id": Batch.objects.get().pk,
            "session_id": OpenSession.objects.get(program="a program").pk,
        }  # fmt: skip

    def state(self) -> list[Any]:
        """All rows, containers and volumes."""
        return [read_rows(), sorted(self.engine.containers), sorted(self.engine.volumes)]

    def engine_changes(self) -> list[tuple[str, str]]:
        """The calls that told the engine to change something."""
        return [call for call in self.engine.calls if call[0] in CHANGING_VERBS]
