"""Refuses images that no agent can have, before a container is created from them.

What an image declares is read by an inspection, and what its files are by looks into a container that never starts.
Both are remembered by the image's id, because an image never changes.
"""

import tarfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.conf import settings

from containers.agent_contract import DATA_PATH
from containers.docker_api.building.image_build import inspect_image
from containers.docker_api.client import CALL_LIMIT, Connection
from containers.docker_api.errors import (
    GARBLED,
    ConflictError,
    EngineFailedError,
    MissingError,
    as_refusal,
    understand_answer,
)
from containers.docker_api.image_rules import OWN_PLACES, find_fault, places_to_look_at, read_volumes
from containers.errors import EngineUnavailableError, ImageMissingError, ImageUnusableError
from containers.identity import installation_id
from containers.vocabulary import INSTALLATION_LABEL
from containers.volume_containers import CARRIER, HANDOVER_LABEL, look_payload

SAME_FOR = 30.0
"""Seconds for which a name is assumed to mean the same image. One that is built meanwhile is used after that."""

LEFT_BEHIND = timedelta(minutes=10)
"""The age from which such a container was left behind by a killed process."""

OTHER_LOOK_WITHIN = 2.0
"""Seconds to wait for another thread that looks into an image. It takes a quarter of a second."""

LINK_TO_ITSELF = "too many links"
"""What an engine says of a link that leads to itself."""

NO_DIRECTORY = (
    "In the image, {} is a link or a file, so that what the agent keeps would be lost. Make it a directory, or leave "
    "it out."
)


class UsableImage(NamedTuple):
    """An image that an agent can have. Create containers from `image_id`: its name may mean another one by now.

    `places` are where it declares volumes, except where each agent has a mount anyway.
    """

    image_id: str
    places: tuple[str, ...]


class _Declared(NamedTuple):
    """`fault` says why no agent can have the image, as far as its configuration shows."""

    image: UsableImage
    fault: str


class UsableImages:
    """Serves all threads of a process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._declared: dict[str, tuple[_Declared, float]] = {}
        self._faults: dict[str, str] = {}
        self._look = threading.Lock()

    def note(self, image: str) -> str:
        """Asks the engine for the image. Returns its id, or an empty text if there is none."""
        try:
            return self._read(image).image.image_id
        except ImageMissingError:
            return ""

    def forget(self, image: str) -> bool:
        """Forgets which image has this name, because the engine no longer has it. Returns whether it was known."""
        return self._declared.pop(image, None) is not None

    def require(self, image: str, *, asks: bool = False) -> UsableImage:
        """Returns the image of this name or id.

        With `asks`, the engine is asked whether it still has the image, even if its last answer is recent. Raises
        `ImageMissingError`, and `ImageUnusableError` with a sentence for the staff.
        """
        known, at = (None, 0.0) if asks else self._declared.get(image, (None, 0.0))
        is_fresh = known is not None and (image == known.image.image_id or time.monotonic() - at <= SAME_FOR)
        declared = known if known is not None and is_fresh else self._read(image)
        fault = declared.fault or self._find_fault_in_files(declared.image)
        if fault:
            raise ImageUnusableError(fault)
        return declared.image

    def _read(self, image: str) -> _Declared:
        found = inspect_image(self._connection, image)
        if found is None:
            self.forget(image)
            raise ImageMissingError(f"The image {image} is not on the engine. Images are never pulled.")
        with understand_answer():
            config = found.get("Config") or {}
            places = tuple(path for path in read_volumes(config) if path not in OWN_PLACES)
            declared = _Declared(UsableImage(str(found["Id"]), places), find_fault(config))
        self._declared[image] = declared, time.monotonic()
        return declared

    def _find_fault_in_files(self, image: UsableImage) -> str:
        fault = self._faults.get(image.image_id)
        if fault is None:
            with self._looking_alone():
                fault = self._faults.get(image.image_id)  # another thread may have looked meanwhile
                if fault is None:
                    fault = self._faults[image.image_id] = self._look_into(image)
        return fault

    @contextmanager
    def _looking_alone(self) -> Iterator[None]:
        """Lets many agents that start together share one look. Waits only briefly, because the engine may hang."""
        is_alone = self._look.acquire(timeout=OTHER_LOOK_WITHIN)
        try:
            yield
        finally:
            if is_alone:
                self._look.release()

    def _look_into(self, image: UsableImage) -> str:
        self.remove_left_behind()
        payload = look_payload(image=image.image_id, labels=look_labels(), places=image.places)
        try:
            with self._connection.call() as client, understand_answer():
                looked_into = str(client.create_container_from_config(payload, None)["Id"])
        except EngineFailedError as error:
            raise as_refusal(error) from error  # for example, the image's working directory is a file
        try:
            closed = (path for path in self._ways(image.places) if not self._is_directory(looked_into, path))
            wrong = next(closed, None)
            return NO_DIRECTORY.format(wrong) if wrong else ""
        finally:
            self._remove(looked_into)

    @staticmethod
    def _ways(places: Sequence[str]) -> list[str]:
        """Returns the paths to look at, the most important one first."""
        return sorted(places_to_look_at(places), key=lambda path: (path != DATA_PATH, path))

    def _is_directory(self, container_id: str, path: str) -> bool:
        """Reads only the first entry of an archive of this path. Something that is not there can become a directory."""
        params = {"path": path}
        try:
            with self._connection.call(about_one=True) as client, understand_answer():
                response = client.open_stream(
                    "/containers/{0}/archive", container_id, params=params, silence=CALL_LIMIT
                )
                response.raw.decode_content = True
                with closing(response):
                    first = tarfile.open(fileobj=response.raw, mode="r|").next()  # noqa: SIM115 - nothing to close
        except MissingError:
            return True
        except EngineFailedError as error:
            if LINK_TO_ITSELF not in str(error):
                raise
            return False
        except tarfile.TarError as error:
            raise EngineUnavailableError(GARBLED) from error
        return first is not None and first.isdir()

    def remove_left_behind(self) -> None:
        """Removes the containers of killed processes, which keep their images from being removed."""
        with self._connection.call() as client, understand_answer():
            chosen = [f"{label}={value}" for label, value in look_labels().items()]
            rows = client.containers(all=True, filters={"label": chosen})
            now = datetime.now(UTC)  # the engine's clock may differ from ours, in either direction
            old = [row["Id"] for row in rows if abs(now - datetime.fromtimestamp(row["Created"], UTC)) > LEFT_BEHIND]
        for container_id in old:
            self._remove(container_id)

    def _remove(self, container_id: str) -> None:
        try:
            with self._connection.call(about_one=True) as client:
                client.remove_container(container_id, force=True, v=True)
        except (MissingError, ConflictError):
            pass  # gone, or being removed


def look_labels() -> dict[str, str]:
    """Returns the labels of the containers to look through. None of an agent's, and so of no agent."""
    return {HANDOVER_LABEL: f"{settings.BERTH_INSTANCE}-image{CARRIER}", INSTALLATION_LABEL: installation_id()}
