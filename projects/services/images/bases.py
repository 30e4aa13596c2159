"""Facts about the images of agent types: their base, and what they declare about themselves."""

from contextlib import suppress

from containers.engine.images import ImageFacts
from containers.errors import EngineError, EngineRefusedError
from containers.get_engine import get_engine
from projects.models import AgentType, Project


def describe_base(*, image: str) -> str:
    """Describes the base of an image, which the engine is asked for. Raises nothing."""
    engine = get_engine()
    try:
        with engine.read_deadline():
            found = engine.describe_image(image)
    except EngineError as error:
        return f"Unknown: {error}"
    base = found.base if found else None
    return base or "Not recorded: “manage.py build_images” has not built this image."


def note_images() -> None:
    """Records which image the engine has under the name of each type's image; none if it refuses the name.

    Responses that list all types read this, because they may not wait for an engine. The watcher records it once a
    minute, and the admin after a change. Raises other `EngineError`s.
    """
    engine = get_engine()
    for row in AgentType.objects.only("slug", "image", "image_id", "capabilities"):
        found = None
        with suppress(EngineRefusedError):
            found = engine.describe_image(row.image)
        note_image(row, found)


def note_image_now(row: AgentType) -> None:
    """Records the image of a changed type. Raises nothing: if it fails, the watcher records it later."""
    engine = get_engine()
    with suppress(EngineError), engine.read_deadline():
        note_image(row, engine.describe_image(row.image))


def note_image(row: AgentType, found: ImageFacts | None) -> None:
    """Writes the facts if they differ, and only while the row still names that image."""
    image_id, capabilities = (found.image_id, ",".join(found.capabilities)) if found else ("", "")
    if (row.image_id, row.capabilities) != (image_id, capabilities):
        AgentType.objects.filter(pk=row.pk, image=row.image).update(image_id=image_id, capabilities=capabilities)


def remove_unused_images() -> int:
    """Removes images that no project runs or may return to. Returns how many. Raises `EngineError`.

    Of other installations on the engine only the containers are known, so their images are kept by these.
    """
    columns = ("image_id", "next_image_id", "former_image_id")
    keep = {image_id for row in Project.objects.values_list(*columns).distinct() for image_id in row}
    keep |= {*AgentType.objects.values_list("image_id", flat=True)}
    return get_engine().remove_unused_images(keep=keep - {""})
