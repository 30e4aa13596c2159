"""How the Redis of an installation is broken."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.chaos.matrix.breaking import Breaking
from tests.chaos.matrix.installation import Installation

PASSWORD = "of-another-installation"
REFUSALS: Mapping[str, tuple[str, str]] = {
    "out of memory": ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
    "read-only": ("REPLICAOF 127.0.0.1 9", "REPLICAOF NO ONE"),
    "another password": (f"CONFIG SET requirepass {PASSWORD}", 'CONFIG SET requirepass ""'),
}
"""The commands that make it refuse, and what undoes them. It answers meanwhile, and says no."""


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


def redis_refusing(what: str) -> Breaking:
    begin, end = REFUSALS[what]

    @contextmanager
    def refusing(installation: Installation) -> Iterator[None]:
        assert installation.redis is not None
        with installation.redis.talk() as tell:
            tell(begin)
            tell("CLIENT KILL TYPE normal")  # except for this connection, which needs no password
            try:
                yield
            finally:
                tell(end)

    return refusing
