"""Reads the volume of an agent's state as a whole, and fills a new one, piece by piece."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from containers.agent_contract import DATA_PATH
from containers.docker.lookup import Lookup
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, translate_errors, understand_answer
from containers.docker_api.logs import read_chunks
from containers.errors import EngineRefusedError, NameTakenError
from containers.identity import container_name, is_ours
from containers.volume_containers import CARRIER, HANDOVER_LABEL, carrier_payload, handover_name

SILENCE = 60.0
"""Seconds without a piece after which the engine is taken for silent. A busy disk may take some."""

WRITE_LIMIT = 6 * 3600.0
"""Seconds for filling a volume, however large it is."""


class State:
    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup

    def read(self, key: str, image: str) -> Iterator[bytes]:
        containers = [each for each in self._lookup.list_key(key) if is_ours(each.labels)]
        if containers:
            yield from self._read_from(containers[0].container_id)
        elif volume := self._lookup.find_data_volume(key):
            with self._carrier(key, image=image, volume=volume) as carrier:
                yield from self._read_from(carrier)

    def write(self, key: str, *, volume: str, labels: Mapping[str, str], image: str, pieces: Iterable[bytes]) -> None:
        if self._lookup.has_volume(volume):
            raise EngineRefusedError(f"There is a volume {volume} already.")
        with (
            self._carrier(key, image=image, volume=volume, labels=labels) as carrier,
            self._connection.call(WRITE_LIMIT, about_one=True) as client,
        ):
            client.put_pieces(carrier, "/", pieces, silence=SILENCE)

    def _read_from(self, container_id: str) -> Iterator[bytes]:
        """Nothing where the container is gone."""
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
    def _carrier(self, key: str, *, image: str, volume: str, labels: Mapping[str, str] | None = None) -> Iterator[str]:
        """A container to which the volume belongs, for as long as the block lasts."""
        name = container_name(key)
        left = self._lookup.look_up(handover_name(name))
        if left is not None and left.labels.get(HANDOVER_LABEL, "").endswith(CARRIER):
            self._remove(left.container_id)  # of a process that was killed
        payload = carrier_payload(name, image=image, volume=volume, labels=labels)
        try:
            with self._connection.call() as client, understand_answer():
                carrier = str(client.create_container_from_config(payload, handover_name(name))["Id"])
        except (NameTakenError, ConflictError):
            raise EngineRefusedError(f"The state of {key} is in use: its agent is just being deployed.") from None
        try:
            yield carrier
        finally:
            self._remove(carrier)

    def _remove(self, container_id: str) -> None:
        with suppress(MissingError, ConflictError), self._connection.call() as client:
            client.remove_container(container_id, v=True, force=True)
