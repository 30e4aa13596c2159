"""Looks at the directory of an agent's state from outside, also where its container has never run."""

import tarfile
from contextlib import closing
from dataclasses import dataclass

from containers.agent_contract import DATA_PATH
from containers.docker_api.client import CALL_LIMIT, Connection
from containers.docker_api.errors import GARBLED, understand_answer
from containers.errors import EngineUnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The directory of the volume: whose it is, its mode, and whether anything is in it."""

    user: int
    group: int
    mode: int
    is_empty: bool


def read_root(connection: Connection, container_id: str) -> Root:
    """Reads the first two entries of an archive of the volume, and no more of it. Raises `EngineError`."""
    path = {"path": DATA_PATH}
    with connection.call(about_one=True) as client, understand_answer():
        response = client.open_stream("/containers/{0}/archive", container_id, params=path, silence=CALL_LIMIT)
        response.raw.decode_content = True
        with closing(response):
            try:
                archive = tarfile.open(fileobj=response.raw, mode="r|")  # noqa: SIM115 - it has nothing to close
                root, other = archive.next(), archive.next()
            except tarfile.TarError as error:
                raise EngineUnavailableError(GARBLED) from error
        if root is None:
            raise EngineUnavailableError(GARBLED)
        return Root(user=root.uid, group=root.gid, mode=root.mode, is_empty=other is None)
