"""Builds an image on the engine through its build API."""

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from containers.agent_text import clean
from containers.docker_api.building.image_build import (
    AGENT_BASE,
    CONTEXT_LABEL,
    PROGRESS_SIZE,
    TAG_LENGTH,
    VERSION_LABEL,
    BuildContext,
    inspect_image,
)
from containers.docker_api.client import Connection
from containers.errors import EngineError, EngineRefusedError

_BUILD_LIMIT = 1800.0
_REMOVAL_LIMIT = 120.0
_STEP_SILENCE = 600.0
"""Seconds that a build step may take without printing anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingredients:
    """What an image is built from in addition to its own files: images by id, labels, and Python packages."""

    base: str
    agent_base: str = ""
    labels: Mapping[str, str]
    wheels: tuple[Path, ...] = ()

    @property
    def arguments(self) -> dict[str, str]:
        """The build arguments that the FROM lines of the Dockerfile name."""
        return {"BASE_IMAGE": self.base, **({"AGENT_BASE": self.agent_base} if self.agent_base else {})}


def build_image(connection: Connection, context: BuildContext, of: Ingredients) -> Iterator[str]:
    """Builds the image and yields the lines of progress. Raises `EngineRefusedError` with the reason of a failure."""
    replaced = inspect_image(connection, context.image)
    with connection.call(_BUILD_LIMIT, size=PROGRESS_SIZE) as client:
        answer = client.build(
            fileobj=context.pack(of.wheels),
            custom_context=True,
            tag=context.image,
            buildargs=of.arguments,
            labels={**of.labels, VERSION_LABEL: settings.BERTH_VERSION},
            network_mode="host",
            rm=True,
            forcerm=True,
            decode=True,
            timeout=_STEP_SILENCE,
        )
        with closing(answer):  # closes its socket even if a thread keeps the error
            for progress in answer:
                if "error" in progress:
                    message = f"The image {context.image} could not be built: {clean(str(progress['error'])).strip()}"
                    raise EngineRefusedError(message)
                yield from map(clean, str(progress.get("stream", "")).splitlines())
    if context.tagged_by_content:
        with connection.call() as client:
            client.tag(context.image, context.repository, of.labels[CONTEXT_LABEL][:TAG_LENGTH])
    if replaced and context.image != AGENT_BASE.image:  # other images may soon be built on the old agent base
        remove_replaced(connection, replaced["Id"], context.image)


def remove_replaced(connection: Connection, image_id: str, image: str) -> None:
    """Removes the image that has lost its name to a new one, unless containers still use it.

    A busy engine may take long to remove an image. The build counts as a success even if the image stays.
    """
    with suppress(EngineError):
        now = inspect_image(connection, image)
        if now and now["Id"] != image_id:
            with connection.call(_REMOVAL_LIMIT) as client:
                client.remove_image(image_id)
