"""Reads the owner of an agent's state directory from outside, and changes it, even if its container has never run."""

import io
import tarfile
import time
from contextlib import closing
from dataclasses import dataclass

from containers.agent_contract import DATA_PATH
from containers.docker_api.client import CALL_LIMIT, Connection
from containers.docker_api.errors import GARBLED, ConflictError, EngineFailedError, MissingError, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError

_ANYBODY = 0o007
"""The mode bits of a directory that everyone may read, write and enter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The directory of the volume: its owner, its mode, and the owner of the first entry in it, if there is one."""

    user: int
    group: int
    mode: int
    first_user: int | None

    @property
    def is_empty(self) -> bool:
        return self.first_user is None

    def serves(self, user: int) -> bool:
        """Returns whether this user, with the group of the same number, may write there and owns the content.

        If everyone may write there, the agent has owned its files from the beginning, because no one else ever sees the
        volume. A handover first closes the directory, so that an interrupted one is not taken for a complete one.
        """
        if (self.user, self.group) == (user, user):
            return True
        return self.mode & _ANYBODY == _ANYBODY and self.first_user in {None, user}


def read_root(connection: Connection, container_id: str) -> Root:
    """Reads only the first two entries of an archive of the volume. Raises `EngineError`."""
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
        first_user = None if other is None else other.uid
        return Root(user=root.uid, group=root.gid, mode=root.mode, first_user=first_user)


class OwnDirectory:
    """Changes the owner of a volume's directory through the agent's own container, which has not been started.

    Docker unpacks an archive where the container may write, which is only below the directory. But in an archive for
    /data, `../data` is the directory itself. No document promises that, so the first attempt finds out. It takes one
    call; a container created for the purpose takes three, and three times as long.
    """

    works: bool | None = None
    """None as long as it is unknown. One object serves all threads of a process, and any of them may find out."""

    def give(self, connection: Connection, container_id: str, root: Root, user: int) -> bool:
        """Returns whether the change is certain. If not, the caller looks again, and notes the result in `works`."""
        try:
            with connection.call(about_one=True) as client:
                client.put_archive(container_id, DATA_PATH, pack_directory(f"..{DATA_PATH}", root, user))
        except (MissingError, ConflictError):
            raise
        except (EngineRefusedError, EngineFailedError):
            self.works = False
        return self.works is True


def pack_directory(name: str, root: Root, user: int) -> bytes:
    """Returns an archive with only the directory of the volume, which exists already."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.uid, entry.gid, entry.mtime = tarfile.DIRTYPE, root.mode, user, user, time.time()
        archive.addfile(entry)
    return buffer.getvalue()
