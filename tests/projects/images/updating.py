"""An agent that runs an image which has lost its name to a newer one."""

from datetime import timedelta

from django.utils import timezone

from containers.get_engine import get_engine
from projects.models import Event, Project
from projects.watcher.reconcile.full import reconcile
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state

NAME = "berth/assistant:latest"
OLD, NEW = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
REMEMBERED = pack_state({"memory": "what it knows"})


def path_of(project: Project) -> str:
    return f"/api/projects/{project.pk}"


def image_of(engine: MemoryEngine, project: Project) -> str:
    return engine.containers[project.container_name].image_id


def told(project: Project) -> list[str]:
    return [event.outcome for event in Event.objects.filter(project_id=project.pk, action="new image").order_by("pk")]


def copies(engine: MemoryEngine) -> list[str]:
    return [volume for volume in engine.volumes if volume.endswith("-former")]


def look(times: int) -> None:
    for _ in range(times):
        reconcile()


def late(project: Project) -> None:
    """Its time for a new image is over."""
    container = get_engine().containers[project.container_name]  # type: ignore[attr-defined]  # the one in memory
    container.started_at -= timedelta(hours=1)
    Project.objects.filter(pk=project.pk).update(update_until=timezone.now())
