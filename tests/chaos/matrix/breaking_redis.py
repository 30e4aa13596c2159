"""How the Redis of an installation is broken."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.matrix.installation import Installation


@contextmanager
def redis_killed(installation: Installation) -> Iterator[None]:
    assert installation.redis is not None
    installation.redis.end()
    try:
        yield
    finally:
        installation.redis.start()


@contextmanager
def redis_stopped(installation: Installation) -> Iterator[None]:
    assert installation.redis is not None
    installation.redis.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        installation.redis.send_signal(signal.SIGCONT)
