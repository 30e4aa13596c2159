"""What agents remember, as a whole: read from the engine and put back there, for backups."""

from collections.abc import Iterable, Iterator, Mapping
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
"""Bytes that an archive may have next to twice what a memory takes on the disk. An agent makes a file of a terabyte, of
which nothing but holes is on the disk; in an archive each hole is as long as it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMemory:
    """The volume of an agent's state. `image` is any of which the engine can make a container to reach it.

    `most`: of more bytes an archive of it is not to be; 0 is no limit.
    """

    key: str
    volume: str
    labels: Mapping[str, str]
    image: str
    most: int = 0


def list_memories() -> list[KeptMemory]:
    """The memory of every agent of this installation, running or not, in quarantine too. Raises `EngineError`."""
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
    """Bytes that an archive of what the agent keeps may have."""
    return MARGIN + 2 * max(project.plan.disk, project.disk_used or 0)


def read_memory(memory: KeptMemory) -> Iterator[bytes]:
    """A tar archive of the volume, piece by piece; nothing where there is none any more. Raises `EngineError`.

    Of an agent on the way back from a new image it is the copy, which takes the volume's place.
    """
    project_id = as_uuid(memory.key)
    rows = Project.objects.filter(update_step__in=[Step.BACK, Step.STUCK])
    is_going_back = project_id is not None and rows.filter(pk=project_id).exists()
    return get_engine().read_state(memory.key, image=memory.image, of_copy=is_going_back)


def write_memory(memory: KeptMemory, pieces: Iterable[bytes]) -> None:
    """Removes the container and the memory of the agent, and makes a memory of this archive. Raises `EngineError`."""
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
    """Raises `EngineError` where the engine does not answer, or lacks an image that is needed to write them."""
    get_engine().ping()
    for image in sorted({memory.image for memory in memories}):
        if not get_engine().image_exists(image):
            raise ImageMissingError(f"The engine has no image {image}. Run `manage.py build_images` first.")


def _images() -> dict[str, str]:
    """The image of each project by its key, and that of the rest under no key."""
    default = AgentType.objects.order_by("-is_default", "pk").values_list("image", flat=True).first() or ""
    rows = Project.objects.select_related("agent_type").values_list("pk", "agent_type__image")
    return {"": default, **{str(pk): image for pk, image in rows}}


def _sizes() -> dict[str, int]:
    """Bytes that the memory of each project may take, or takes though it may not; the most of all under no key."""
    rows = Project.objects.select_related("plan").values_list("pk", "plan__disk_mb", "disk_used")
    found = {str(pk): max(limit * MIB, used or 0) for pk, limit, used in rows}
    largest = max(Plan.objects.values_list("disk_mb", flat=True), default=0) * MIB
    return {"": max([largest, *found.values()]), **found}


def _stop_timeout(key: str) -> int:
    """Seconds. What is stopped is about to go, so that nothing of it is waited for longer than its type allows."""
    project_id = as_uuid(key)
    project = Project.objects.select_related("agent_type").filter(pk=project_id).first() if project_id else None
    return project.agent_type.stop_timeout if project else 15


def count_missing_agents() -> int:
    """How many agents that should run have no container on this engine. Raises `EngineError`."""
    present = {seen.key for seen in get_engine().observe({INSTANCE_LABEL: settings.BERTH_INSTANCE}, others=True)}
    wanted = Project.objects.filter(instance=settings.BERTH_INSTANCE, desired=Desired.RUNNING, suspended_at=None)
    return sum(str(pk) not in present for pk in wanted.values_list("pk", flat=True))
