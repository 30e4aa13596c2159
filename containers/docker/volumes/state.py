"""Reads the whole volume of an agent's state, and fills a new one, piece by piece."""

import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from django.conf import settings

from containers.agent_contract import DATA_PATH
from containers.docker.lookup import Lookup
from containers.docker.volumes.quota import HardQuota, size_of_volume
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, translate_errors, understand_answer
from containers.docker_api.logs import read_chunks
from containers.docker_api.usable_images import UsableImages
from containers.errors import EngineError, EngineRefusedError, NameTakenError
from containers.hardening import COPY, data_volume
from containers.identity import container_name, is_ours
from containers.outbound.call_limits import time_of_its_own
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, Volume
from containers.volume_containers import (
    CARRIER,
    COPY_READER,
    COPY_TOO_LARGE,
    COPY_WRITER,
    HANDOVER_LABEL,
    carrier_names,
    carrier_payload,
    handover_name,
)

SILENCE = 60.0
"""Seconds without a piece after which the engine counts as silent. A busy disk may take a while."""

WRITE_LIMIT = 6 * 3600.0
"""Seconds for filling a volume of any size."""

CLEANING = 5.0
"""Seconds for removing the helper containers, even if all other time is over."""

Labels = Mapping[str, str]
NOTHING_CAME = "What the agent keeps could not be read."


class State:
    def __init__(self, connection: Connection, lookup: Lookup, quota: HardQuota, images: UsableImages) -> None:
        self._connection = connection
        self._lookup = lookup
        self._quota = quota
        self._images = images

    def read(self, key: str, image: str, *, of_copy: bool = False) -> Iterator[bytes]:
        if of_copy and (copy := self._find_copy(key)):
            with self._carrier(key, image=image, volume=copy.name) as carrier:
                yield from self._read_whole(carrier)
            return
        containers = [each for each in self._lookup.list_key(key) if is_ours(each.labels)]
        if containers:
            yield from self._read_from(containers[0].container_id)
        elif volume := self._lookup.find_data_volume(key):
            with self._carrier(key, image=image, volume=volume) as carrier:
                yield from self._read_whole(carrier)

    def write(
        self, key: str, *, volume: str, labels: Labels, image: str, pieces: Iterable[bytes], ceiling: int
    ) -> None:
        if self._lookup.has_volume(volume):
            raise EngineRefusedError(f"The volume {volume} already exists.")
        with (
            self._carrier(key, image=image, volume=volume, labels=labels, size=ceiling) as carrier,
            self._connection.call(WRITE_LIMIT, about_one=True) as client,
        ):
            client.put_pieces(carrier, "/", pieces, silence=SILENCE)

    def keep_copy(self, key: str, *, image: str, labels: Labels, most: int) -> None:
        self.drop_copy(key)  # and anything that a killed process has left behind
        if not (state := self._lookup.find_data_volume(key)):
            return
        try:
            self._copy(key, image=image, source=state, target=_copy_of(key), labels=labels, most=most)
        except EngineError:
            with time_of_its_own(CLEANING), suppress(EngineError):
                self.drop_copy(key)  # it may have filled the disk, and the agent should run again
            raise

    def return_copy(self, key: str, *, image: str) -> bool:
        copy = self._find_copy(key)
        if copy is None:
            return False
        state = self._lookup.find_data_volume(key) or data_volume(container_name(key))
        self._images.require(image, asks=True)  # before anything is removed
        self._remove_carriers(key)
        self._remove_volume(state)
        self._copy(key, image=image, source=copy.name, target=state, labels=copy.labels)
        return True

    def drop_copy(self, key: str) -> None:
        self._remove_carriers(key)
        if self._find_copy(key) is not None:
            self._remove_volume(_copy_of(key))

    def _find_copy(self, key: str) -> Volume | None:
        labels = {INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key}
        found = self._lookup.list_volumes(labels)
        return next((each for each in found if each.name == _copy_of(key) and is_ours(each.labels)), None)

    def _copy(self, key: str, *, image: str, source: str, target: str, labels: Labels, most: int = 0) -> None:
        """Copies piece by piece, through this process: engines have no other way that needs no program in the image.

        Two containers, as no engine reads from one that it writes to. The new volume has the same size limit.
        """
        size = size_of_volume(self._connection, source)
        with (
            self._carrier(key, image=image, volume=source, end=COPY_READER) as reader,
            self._carrier(key, image=image, volume=target, labels=labels, end=COPY_WRITER, size=size) as writer,
            self._connection.call(WRITE_LIMIT, about_one=True, size=sys.maxsize) as client,
            # An engine does not remove a container while it still sends an archive from it.
            closing(self._read_whole(reader)) as pieces,
        ):
            client.put_pieces(writer, "/", _bounded(pieces, most), silence=SILENCE)

    def _remove_volume(self, volume: str) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_volume(volume)

    def _read_whole(self, container_id: str) -> Generator[bytes]:
        """Yields the archive. Raises `EngineRefusedError` if it lacks even the directory itself, which must exist."""
        pieces = self._read_from(container_id)
        first = next(pieces, b"")
        if not first.strip(b"\0"):
            raise EngineRefusedError(NOTHING_CAME)
        yield first
        yield from pieces

    def _read_from(self, container_id: str) -> Iterator[bytes]:
        """Yields the archive, or nothing if the container is gone."""
        try:
            with self._connection.call(about_one=True) as client:
                response = client.open_stream(
                    "/containers/{0}/archive", container_id, params={"path": DATA_PATH}, silence=SILENCE
                )
        except MissingError:
            return
        with closing(response), translate_errors():
            yield from read_chunks(response)

    @contextmanager
    def _carrier(
        self, key: str, *, image: str, volume: str, labels: Labels | None = None, end: str = "", size: int = 0
    ) -> Iterator[str]:
        """Provides a container that has the volume, for as long as the block lasts. Raises `ImageUnusableError`."""
        image = self._images.require(image).image_id
        own = f"{handover_name(container_name(key))}{end}"
        self._remove_carrier(own)  # left behind by a killed process

        def create(size: int) -> str:
            payload = carrier_payload(container_name(key), image=image, volume=volume, labels=labels, size=size)
            with self._connection.call() as client, understand_answer():
                return str(client.create_container_from_config(payload, own)["Id"])

        try:
            carrier = self._quota.bounded(size, create)
        except (NameTakenError, ConflictError):
            raise EngineRefusedError(f"The state of {key} is in use: its agent is just being deployed.") from None
        try:
            yield carrier
        finally:
            with time_of_its_own(CLEANING):  # or the container would keep the volume in use if the time is over
                self._remove(carrier)

    def _remove_carriers(self, key: str) -> None:
        """Removes all helper containers of this key, because a volume that they use cannot be removed."""
        for own in carrier_names(container_name(key)):
            self._remove_carrier(own)

    def _remove_carrier(self, own: str) -> None:
        left = self._lookup.look_up(own)
        if left is not None and left.labels.get(HANDOVER_LABEL, "").endswith(CARRIER):
            self._remove(left.container_id)

    def _remove(self, container_id: str) -> None:
        with suppress(MissingError, ConflictError), self._connection.call(about_one=True) as client:
            client.remove_container(container_id, v=True, force=True)


def _bounded(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Yields the pieces. Raises `EngineRefusedError` after `most` bytes; 0 means no limit.

    Holes in sparse files count at their full length.
    """
    size = 0
    for piece in pieces:
        size += len(piece)
        if most and size > most:
            raise EngineRefusedError(COPY_TOO_LARGE.format(most >> 20))
        yield piece


def _copy_of(key: str) -> str:
    return f"{container_name(key)}{COPY}"
