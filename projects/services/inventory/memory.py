"""Reads agents' memories from the engine and writes them back, for backups."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings

from containers.errors import EngineRefusedError, ImageMissingError
from containers.get_engine import get_engine
from containers.hardening import DATA
from containers.identity import own_labels
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL
from projects.models import AgentType, Plan, Project
from projects.models.catalogue import disk_ceiling
from projects.rules.sizes import MIB
from projects.rules.status.image_update import Step
from projects.rules.status.lifecycle import Desired
from projects.services.inventory.quarantine import as_uuid

MARGIN = 64 * MIB
"""Bytes that an archive may have in addition to twice the memory's size on the disk. This bounds sparse files: a file
of a terabyte of holes takes nothing on the disk, but an archive contains every hole in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMemory:
    """The volume of an agent's memory. `image` is any image for a container that can access it.

    `most` is the maximum size of an archive in bytes; 0 means no limit.
    """

    key: str
    volume: str
    labels: Mapping[str, str]
    image: str
    most: int = 0


def list_memories() -> list[KeptMemory]:
    """Returns the memories of all agents of this installation, running or not, also in quarantine.

    Raises `EngineError`.
    """
    volumes = get_engine().list_volumes({INSTANCE_LABEL: settings.BERTH_INSTANCE})
    images, sizes = _images(), _sizes()
    return [
        KeptMemory(
            key=volume.key,
            volume=volume.name,
            labels=volume.labels,
            image=images.get(volume.key, images[""]),
            most=MARGIN + 2 * sizes.get(volume.key, sizes[""]),
        )
        for volume in sorted(volumes, key=lambda each: (each.key, each.name))
        if volume.key and volume.name.endswith(DATA)
    ]


def most_in_archive(project: Project) -> int:
    """Returns the maximum size of an archive of the agent's memory in bytes."""
    return MARGIN + 2 * max(project.plan.disk, project.disk_used or 0)


def read_memory(memory: KeptMemory) -> Generator[bytes]:
    """Yields a tar archive of the volume in pieces; nothing if the volume is gone. Raises `EngineError`.

    If the agent is returning from a new image, it reads the copy, which will replace the volume.
    """
    project_id = as_uuid(memory.key)
    rows = Project.objects.filter(update_step__in=[Step.BACK, Step.STUCK])
    is_going_back = project_id is not None and rows.filter(pk=project_id).exists()
    yield from get_engine().read_state(memory.key, image=memory.image, of_copy=is_going_back)


def write_memory(memory: KeptMemory, pieces: Iterable[bytes]) -> None:
    """Removes the agent's container and memory, and creates its memory from this archive. Raises `EngineError`."""
    own = {**own_labels(), PROJECT_LABEL: memory.key}
    if any(memory.labels.get(label, value) != value for label, value in own.items()):
        raise EngineRefusedError(f"The volume {memory.volume} is not one of this installation.")
    get_engine().stop(memory.key, timeout=_stop_timeout(memory.key))
    get_engine().remove(memory.key, volumes=True)
    get_engine().write_state(
        memory.key,
        volume=memory.volume,
        labels={**memory.labels, **own},
        image=memory.image,
        pieces=pieces,
        ceiling=disk_ceiling(),
    )


def require_images(memories: Iterable[KeptMemory]) -> None:
    """Raises `EngineError` if the engine does not answer, or lacks an image that is needed to write the memories."""
    get_engine().ping()
    for image in sorted({memory.image for memory in memories}):
        if not get_engine().image_exists(image):
            raise ImageMissingError(f"The engine has no image {image}. Run `manage.py build_images` first.")


def _images() -> dict[str, str]:
    """Returns the image of each project by its key, and the image for all others under the empty key."""
    default = AgentType.objects.order_by("-is_default", "pk").values_list("image", flat=True).first() or ""
    rows = Project.objects.select_related("agent_type").values_list("pk", "agent_type__image")
    return {"": default, **{str(pk): image for pk, image in rows}}


def _sizes() -> dict[str, int]:
    """Returns the bytes that each project's memory may use or does use, by key; the maximum under the empty key."""
    rows = Project.objects.select_related("plan").values_list("pk", "plan__disk_mb", "disk_used")
    found = {str(pk): max(limit * MIB, used or 0) for pk, limit, used in rows}
    largest = max(Plan.objects.values_list("disk_mb", flat=True), default=0) * MIB
    return {"": max([largest, *found.values()]), **found}


def _stop_timeout(key: str) -> int:
    """Returns the stop timeout of the project's type in seconds, or 15 if there is no project."""
    project_id = as_uuid(key)
    project = Project.objects.select_related("agent_type").filter(pk=project_id).first() if project_id else None
    return project.agent_type.stop_timeout if project else 15


def count_missing_agents() -> int:
    """Returns how many agents that should run have no container on this engine. Raises `EngineError`."""
    present = {seen.key for seen in get_engine().observe({INSTANCE_LABEL: settings.BERTH_INSTANCE}, others=True)}
    wanted = Project.objects.filter(instance=settings.BERTH_INSTANCE, desired=Desired.RUNNING, suspended_at=None)
    return sum(str(pk) not in present for pk in wanted.values_list("pk", flat=True))
