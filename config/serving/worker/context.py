"""What a worker provides to the code that serves its clients, which does not know the worker itself."""

from collections.abc import Iterable
from typing import Any, Protocol

from config.serving.worker.connections import Connection
from config.serving.worker.event_loop import EventLoop
from config.serving.worker.threads import Threads


class ServedClients(Protocol):
    """What happens to a connection whose answer a thread has sent. Called in the worker's loop."""

    def watch_end(self, connection: Connection) -> None: ...

    def finish(self, connection: Connection, *, is_reusable: bool) -> None: ...


class WorkerContext(Protocol):
    """`alive` until the worker must end. `known` and `cfg` are gunicorn's settings, `log` is its logger."""

    alive: bool
    known: Any
    cfg: Any
    log: Any
    loop: EventLoop
    streams: Threads

    @property
    def clients(self) -> ServedClients: ...

    @property
    def is_starved(self) -> bool: ...

    def threads_for(self, request: bytes) -> Threads: ...

    def wsgi(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]: ...
