"""An engine that is about to end: it goes on to answer who is connected, stops all containers, and starts none.

Its containers have not ended by themselves then, and what it refuses it would not refuse if it went on. Nothing that it
answers tells so. But it takes no new connection any more.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from containers.docker_api.client import Connection, DockerClient
from containers.errors import EngineRefusedError


def require_open(client: DockerClient) -> None:
    """For inside of a call: it fails where the engine takes no new connection. The engine is not asked for anything."""
    client.open_socket().close()


@contextmanager
def unless_it_ends(connection: Connection) -> Iterator[None]:
    """Raises `EngineUnavailableError` for a refusal of an engine that is about to end."""
    try:
        yield
    except EngineRefusedError:
        with connection.call() as client:
            require_open(client)
        raise
