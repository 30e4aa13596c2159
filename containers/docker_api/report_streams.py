"""Notices reports of many containers at once, with one thread and one open log for each container.

The requests use HTTP/1.0, because its answers are not chunked and can be read directly from a socket that is ready.
Nothing here waits for a single container. If a container prints too much, some of its output is skipped.
"""

import selectors
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from containers.agent_contract import STATUS_MARK
from containers.docker_api.logs import LONGEST_LINE, log_params
from containers.errors import EngineError

MOST_FOLLOWED = 500
"""Open logs. The reports of further containers are known from their health checks."""

MOST_AT_ONCE = 256 * 1024
"""Bytes that are read from a container that prints without end, before its log is left alone for `REST` seconds."""

REST = 5.0
"""Seconds until a log that could not be opened, or had too much output, is opened again."""

SOON = 0.5
"""Seconds until a log that ended is opened again, because the container or the engine may be restarted, and until the
next attempt to reach an engine that is away."""

MARGIN = timedelta(seconds=5)
"""Reports from this long before a container is followed count, because the caller has looked at it about then."""

LINES = 50
"""Lines from before a log was opened that are searched, so that no report is missed."""

OPENED_AT_ONCE = 20
"""Logs that are opened between two looks at the others."""

_HEADER = struct.Struct(">BxxxL")
_LONGEST_HEAD = 16 * 1024
_MARK = STATUS_MARK.encode()
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError)


@dataclass(slots=True)
class _Stream:
    container_id: str
    sock: socket.socket
    has_begun: bool = False
    rest: bytearray = field(default_factory=bytearray)

    def take(self, data: bytes) -> bool:
        """Returns whether a line of the data is a report. Raises `ValueError` if this is not the log of a container."""
        self.rest += data
        if not self.has_begun:
            head, end, body = bytes(self.rest).partition(b"\r\n\r\n")
            if not end:
                if len(head) > _LONGEST_HEAD:
                    raise ValueError
                return False
            if head.split(b" ", 2)[1:2] != [b"200"]:
                raise ValueError
            self.has_begun, self.rest = True, bytearray(body)
        return self._take_frames()

    def _take_frames(self) -> bool:
        found = False
        while len(self.rest) >= _HEADER.size:
            stream, size = _HEADER.unpack_from(self.rest)
            if stream > 2 or size > 4 * LONGEST_LINE:
                raise ValueError
            end = _HEADER.size + size
            if len(self.rest) < end:
                break
            found |= bytes(self.rest[_HEADER.size : end]).partition(b" ")[2].startswith(_MARK)
            del self.rest[:end]
        return found


class ReportStreams:
    """Any thread may call `follow`; a single thread calls the other methods. `connect` returns a connection to the
    engine and the version of its API."""

    def __init__(self, connect: Callable[[], tuple[socket.socket, str]], *, kind: str = "containers") -> None:
        """`kind` is the engine's word for the objects whose logs are followed by id, such as `containers`."""
        self._connect = connect
        self._kind = kind
        self._wanted: dict[str, str] = {}
        self._wanted_since: dict[str, datetime] = {}
        self._again_at: dict[str, float] = {}
        self._streams: dict[str, _Stream] = {}
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()

    def follow(self, running: Mapping[str, str]) -> None:
        """Follows exactly these containers: keys by container ids."""
        since = datetime.now(UTC) - MARGIN
        with self._lock:
            self._wanted = dict(list(running.items())[:MOST_FOLLOWED])
            self._wanted_since = {each: self._wanted_since.get(each, since) for each in self._wanted}

    def wait(self, timeout: float) -> set[str]:
        """Returns the keys of containers that have printed a report, after at most `timeout` seconds. Never raises."""
        with self._lock:
            wanted, since = self._wanted, self._wanted_since
        for gone in self._streams.keys() - wanted.keys():
            self._drop(gone)
        self._open_missing(wanted, since)
        if self._streams.keys() != wanted.keys():
            timeout = min(timeout, SOON)
        if not self._streams:
            time.sleep(timeout)
            return set()
        return {wanted[ready.data] for ready, _ in self._selector.select(timeout) if self._read(ready.data)}

    def close(self) -> None:
        for each in list(self._streams):
            self._drop(each)
        self._selector.close()

    def _open_missing(self, wanted: Mapping[str, str], since: Mapping[str, datetime]) -> None:
        now = time.monotonic()
        self._again_at = {each: at for each, at in self._again_at.items() if each in wanted}
        missing = [each for each in wanted if each not in self._streams and self._again_at.get(each, now) <= now]
        for each in missing[:OPENED_AT_ONCE]:
            self._again_at[each] = now + REST
            try:
                self._open(each, since[each])
            except EngineError:  # it is away: one attempt is enough for all
                self._again_at |= dict.fromkeys(missing, now + SOON)
                return
            except (OSError, ValueError):
                self._again_at[each] = now + SOON

    def _open(self, container_id: str, since: datetime) -> None:
        query = urlencode(log_params(tail=LINES, since=since, follow=True))
        sock, api = self._connect()
        try:
            path = f"/v{api}/{self._kind}/{container_id}/logs?{query}"
            sock.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            sock.setblocking(False)  # noqa: FBT003 - the signature of socket
            self._selector.register(sock, selectors.EVENT_READ, container_id)
        except BaseException:
            sock.close()
            raise
        self._streams[container_id] = _Stream(container_id=container_id, sock=sock)

    def _read(self, container_id: str) -> bool:
        """Reads the available output. Returns whether it contained a report."""
        stream = self._streams[container_id]
        found, size = False, 0
        try:
            while data := stream.sock.recv(64 * 1024):
                found |= stream.take(data)
                size += len(data)
                if size > MOST_AT_ONCE:
                    break
            rest = REST if data else SOON
        except _NOT_NOW:
            return found
        except OSError:  # the engine ends
            rest = SOON
        except ValueError:
            rest = REST
        self._drop(container_id, rest=rest)
        return found

    def _drop(self, container_id: str, *, rest: float | None = None) -> None:
        """Closes the log. With `rest`, it is opened again after that many seconds, for output from now on."""
        stream = self._streams.pop(container_id)
        self._selector.unregister(stream.sock)
        stream.sock.close()
        if rest is not None:
            self._again_at[container_id] = time.monotonic() + rest
            with self._lock:
                if container_id in self._wanted_since:
                    self._wanted_since[container_id] = datetime.now(UTC)
