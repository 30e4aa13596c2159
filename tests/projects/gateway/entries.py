"""A project's data in the gateway in memory and in its container."""

import hashlib
from typing import Any

from containers.gateway.protocol import GatewayClient
from projects.models import Project
from projects.watcher.gateway.entries import find_in_force, read_in_force, reconcile_entries
from tests.fakes.engine import MemoryEngine


def entry_of(engine: MemoryEngine, project: Project) -> Any:
    """Returns the entry in force, or None if the credentials are void."""
    return engine.gateway_program.entries[str(project.pk)]


def knows(engine: MemoryEngine, project: Project) -> bool:
    """Whether the gateway has the row's version."""
    version = Project.objects.values_list("entry_version", flat=True).get(pk=project.pk)
    return engine.gateway_program.versions.get(str(project.pk)) == version


def tell_what_it_missed(engine: MemoryEngine) -> int:
    """Does what the watcher does for its gateway in each round. Returns the number of entries that it sent."""
    client = GatewayClient(engine.gateway())
    return reconcile_entries(client, client.versions(find_in_force()), read_in_force()).sent


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def counts_for(engine: MemoryEngine, project: Project) -> tuple[bool, bool]:
    """Whether the token and the key in the container's files are those that the entry admits."""
    entry, files = entry_of(engine, project), engine.secrets_of(project.container_name)
    token = files["telegram_bot_token"].partition(":")[2]
    return entry["telegram"]["virtual"] == digest(token), entry["provider"]["virtual"] == digest(files["agent_api_key"])
