"""Redis as Django's cache: each command has one deadline, and a Redis that does not answer is left alone."""

import socket
import threading
import time
from typing import Any

import redis
from django.core.cache.backends.redis import RedisCache, RedisCacheClient

from containers.outbound import call_limits

WITHIN = 1.0
"""Seconds for a command, including connecting. Redis needs a thousandth of it."""

ANSWER_SIZE = 64 * 1024
"""Bytes. Only numbers are stored there."""

PAUSE = 10.0
"""Seconds for which a failed Redis is not asked, because every request would wait for it."""

_FOREIGN = (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError)
"""Raised by the client for answers that Redis never gives."""


class _Breaker:
    """Until when this process does not ask a server, for all threads. After that, one of them tries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._again_at: dict[str, float] = {}

    def check(self, server: str) -> None:
        """Raises `ConnectionError` while the server is left alone."""
        with self._lock:
            again_at = self._again_at.get(server)
            if again_at is None:
                return
            now = time.monotonic()
            if now < again_at:
                raise redis.ConnectionError("Redis has not answered, and is asked again in a few seconds.")
            self._again_at[server] = now + PAUSE

    def note(self, server: str, *, answers: bool) -> None:
        with self._lock:
            if answers:
                self._again_at.pop(server, None)
            else:
                self._again_at[server] = time.monotonic() + PAUSE


breaker = _Breaker()


class DeadlineConnection(redis.Connection):
    """A connection over TCP."""

    def _connect(self) -> socket.socket:
        return _keep_alive(call_limits.connect(self.host, self.port))


class DeadlineTLSConnection(redis.SSLConnection):
    """Over TLS. The client's context creates its own sockets, so they become ours afterwards."""

    def _connect(self) -> socket.socket:
        plain = _keep_alive(call_limits.connect(self.host, self.port))
        try:
            wrapped: Any = self._wrap_socket_with_ssl(plain)  # type: ignore[no-untyped-call]  # the client has no types
        except BaseException:
            plain.close()
            raise
        wrapped.__class__ = call_limits.BoundedTLSSocket
        found: socket.socket = wrapped
        return found


def _keep_alive(sock: socket.socket) -> socket.socket:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.settimeout(WITHIN)
    return sock


class DeadlinePool(redis.ConnectionPool):
    """Our connections, with or without TLS, as the URL says."""

    def __init__(self, connection_class: Any = redis.Connection, **options: Any) -> None:
        is_tls = issubclass(connection_class, redis.SSLConnection)
        super().__init__(connection_class=DeadlineTLSConnection if is_tls else DeadlineConnection, **options)


class DeadlineRedis(redis.Redis):
    """Raises only `RedisError`, and raises it within the deadline."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        place = self.connection_pool.connection_kwargs
        server = f"{place.get('host')}:{place.get('port')}/{place.get('db', 0)}"
        breaker.check(server)
        try:
            with call_limits.time_limit(WITHIN), call_limits.size_limit(ANSWER_SIZE):
                found = super().execute_command(*args, **options)  # type: ignore[no-untyped-call]  # no types
        except redis.ResponseError:
            raise  # it has answered
        except redis.RedisError:
            breaker.note(server, answers=False)
            raise
        except _FOREIGN as error:
            breaker.note(server, answers=False)
            raise redis.ConnectionError(f"Redis gave an answer that cannot be read: {type(error).__name__}") from None
        breaker.note(server, answers=True)
        return found


class DeadlineClient(RedisCacheClient):
    def __init__(self, servers: list[str], **options: Any) -> None:
        super().__init__(servers, **{**options, "pool_class": DeadlinePool})
        self._client = DeadlineRedis


class DeadlineRedisCache(RedisCache):
    """Django's cache with the client above."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = DeadlineClient
