"""Every credential of a service in use."""

from dataclasses import dataclass, field

from django.core.cache import cache
from django.test import Client

from projects.models import AlertChannel, Project
from projects.models.alert import ADDRESS, SECRET
from projects.rules.alerts import Way
from tests.clients import api_of
from tests.deploying import PROJECT
from tests.security.database_copy import COOKIE
from tests.security.populated_service import PopulatedService


@dataclass
class Credentials:
    """Credentials by entrance. Each is valid, so none of them may be in a copy of the database."""

    by_door: dict[str, list[str]] = field(default_factory=dict)

    def add(self, door: str, *credentials: str) -> None:
        self.by_door.setdefault(door, []).extend(credentials)

    @property
    def all(self) -> list[str]:
        return [credential for each in self.by_door.values() for credential in each]


def _leave_traces(service: PopulatedService) -> None:
    """Leaves rows of earlier requests: failures, a revoked session, an answer kept for a retry, counters, the cache."""
    api = api_of(service.alice)
    body = PROJECT | {"telegramToken": "555:a-free-bot"}
    assert api.post("/api/projects", body, headers={"Idempotency-Key": "retry"}).status_code == 201
    assert api.post("/api/auth/logout").status_code == 204
    assert Client().post("/sign-in", {"email": "nobody@example.com", "password": "wrong"}).status_code == 200
    cache.set("greeting", "hello")
    project = Project.objects.filter(owner=service.alice).latest("created_at")
    kept = project.encrypt_servers({"https://tools.example/mcp": "a-live-token-of-tools"}, virtual="bvk_of-servers")
    Project.objects.filter(pk=project.pk).update(**kept)
    channel = AlertChannel.objects.create(user=service.alice, way=Way.WEBHOOK, target="https://a.example/…")
    values = {**channel.encrypt(ADDRESS, "https://a.example/b"), **channel.encrypt(SECRET, "whsec_YQ==")}
    AlertChannel.objects.filter(pk=channel.pk).update(**values, secret_hint="YQ==")


def _cookie_of(client: Client) -> str:
    return str(client.cookies[COOKIE].value)
