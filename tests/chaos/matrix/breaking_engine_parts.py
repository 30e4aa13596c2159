"""What an engine itself depends on is broken: its containerd, the shims that hold its containers, its socket; and what
the service's connections to the database depend on."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.chaos.matrix.installation import Installation

END_EVERY = 0.2
"""Seconds between two ends of all connections."""


def _containerd(installation: Installation) -> int:
    return int((installation.engine.home / "exec" / "containerd" / "containerd.pid").read_text())


@contextmanager
def containerd_killed(installation: Installation) -> Iterator[None]:
    """The engine starts it again, and its containers go on."""
    os.kill(_containerd(installation), signal.SIGKILL)
    yield


@contextmanager
def containerd_stopped(installation: Installation) -> Iterator[None]:
    """The engine lists and tells, and can begin and end nothing."""
    pid = _containerd(installation)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # its engine may have had enough of it
            os.kill(pid, signal.SIGCONT)


@contextmanager
def shims_killed(installation: Installation) -> Iterator[None]:
    """Each holds one container, which ends with it."""
    for pid in _shims(str(installation.engine.home)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    yield


def _shims(home: str) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if "containerd-shim" in words[0] and any(word.startswith(home) for word in words):
                yield int(folder.name)


@contextmanager
def socket_removed(installation: Installation) -> Iterator[None]:
    """As a package of the engine does while it is replaced. What is connected stays so."""
    path = installation.proxy.path
    away = path.with_suffix(".away")
    path.rename(away)
    try:
        yield
    finally:
        away.rename(path)


@contextmanager
def connections_ended(installation: Installation) -> Iterator[None]:
    """Somebody ends all of the service's connections to the database, again and again."""
    over = threading.Event()

    def end() -> None:
        while not over.wait(END_EVERY):
            with suppress(psycopg.Error):
                installation.postgres.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                )

    thread = threading.Thread(target=end)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
