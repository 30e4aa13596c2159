"""Packs credentials into an archive for a container, where the agent can read them but only root can write them."""

import io
import tarfile
from collections.abc import Mapping
from contextlib import closing

from django.views.decorators.debug import sensitive_variables

from containers.agent_contract import SECRETS_PATH
from containers.docker_api.client import CALL_LIMIT, Connection
from containers.docker_api.errors import GARBLED, MissingError, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError

MOST_FILES = 16
MOST_BYTES = 64 * 1024
"""The most that is read from one container, because agents of older versions could write there."""


def pack_secrets(secrets: Mapping[str, str], *, group: int) -> bytes:
    """Returns a tar archive with a file for each secret, owned by root and the agent's group, mode 0440."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, value in sorted(secrets.items()):
            content = value.encode()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.uid, entry.gid = len(content), 0o440, 0, group
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@sensitive_variables()
def read_secrets(connection: Connection, container_id: str) -> list[str]:
    """Returns the credentials that were delivered to this container, or none if it has no such directory.

    Raises `EngineRefusedError` if there is more than Berth puts there, and `EngineUnavailableError`.
    """
    path = {"path": SECRETS_PATH}
    try:
        with connection.call(about_one=True) as client, understand_answer():
            response = client.open_stream("/containers/{0}/archive", container_id, params=path, silence=CALL_LIMIT)
            response.raw.decode_content = True
            with closing(response):
                return [content.decode("utf-8", "replace") for content in _unpack(response.raw)]
    except MissingError:
        return []
    except tarfile.TarError as error:
        raise EngineUnavailableError(GARBLED) from error


def _unpack(stream: io.IOBase) -> list[bytes]:
    found: list[bytes] = []
    left = MOST_BYTES
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            left -= entry.size
            if left < 0 or len(found) >= MOST_FILES:
                raise EngineRefusedError("The container holds more than credentials where those are.")
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is not None:
                found.append(content.read())
    return found
