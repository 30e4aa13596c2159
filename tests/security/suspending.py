"""How staff suspend a project of the service of these tests."""

from typing import Any

from projects.models import Actor, Project
from projects.services import suspend_project
from projects.watcher.reconcile.full import reconcile
from tests.security.populated_service import PopulatedService

STAFF = Actor(label="sam@example.com", source="admin")


def frozen(service: PopulatedService) -> list[Any]:
    """Everything that staff must still see, and that keeps the bot and the place taken."""
    fields = (
        *("owner_id", "name", "plan_id", "agent_type_id", "settings", "bot_id", "bot_username", "provider"),
        *("telegram_token_ciphertext", "api_key_ciphertext", "suspended_at", "log_tail", "created_at"),
    )
    rows = list(Project.objects.filter(pk=service.project.pk).values(*fields))
    container = service.engine.containers.get(service.project.container_name)
    return [rows, container is not None and container.is_up, sorted(service.engine.volumes)]


def suspend(service: PopulatedService) -> None:
    suspend_project(project=service.project, actor=STAFF)


def deactivate(service: PopulatedService) -> None:
    """Deactivates the owner, whose projects are suspended with them."""
    service.alice.is_active = False
    service.alice.save(update_fields=["is_active"])
    reconcile()
