"""How the processes of an installation are broken, each way with a beginning and an end."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import psycopg

from tests.chaos.matrix.installation import Installation

Breaking = Callable[[Installation], AbstractContextManager[None]]


def stopping(process: str) -> Breaking:
    """SIGSTOP: the process keeps everything, and does nothing."""

    @contextmanager
    def stopped(installation: Installation) -> Iterator[None]:
        pids = installation.service.pids(process)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with suppress(ProcessLookupError):  # its parent may have ended it
                    os.kill(pid, signal.SIGCONT)

    return stopped


def killing(process: str) -> Breaking:
    @contextmanager
    def killed(installation: Installation) -> Iterator[None]:
        for pid in installation.service.pids(process):
            os.kill(pid, signal.SIGKILL)
        yield

    return killed


@contextmanager
def serve_killed(installation: Installation) -> Iterator[None]:
    """With all of its children, as the kernel ends a unit's processes. It is started again afterwards."""
    installation.service.kill()
    try:
        yield
    finally:
        installation.service.start()


@contextmanager
def database_killed(installation: Installation) -> Iterator[None]:
    installation.postgres.end(signal.SIGKILL)
    try:
        yield
    finally:
        installation.postgres.start()


@contextmanager
def database_stopped(installation: Installation) -> Iterator[None]:
    installation.postgres.freeze()
    try:
        yield
    finally:
        installation.postgres.thaw()


@contextmanager
def engine_killed(installation: Installation) -> Iterator[None]:
    installation.engine.end(signal.SIGKILL)
    try:
        yield
    finally:
        installation.engine.start()


@contextmanager
def engine_restarted(installation: Installation) -> Iterator[None]:
    """Like an upgrade of its package. Its agents end with it, one after the other."""
    installation.engine.end(signal.SIGTERM)
    try:
        yield
    finally:
        installation.engine.start()


@contextmanager
def engine_stopped(installation: Installation) -> Iterator[None]:
    os.kill(installation.engine.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(installation.engine.pid, signal.SIGCONT)


@contextmanager
def service_full(installation: Installation) -> Iterator[None]:
    """The file system of the service itself: its data directory, its temporary files and its log."""
    with installation.service_disk.full():
        yield


@contextmanager
def database_full(installation: Installation) -> Iterator[None]:
    """Without room for its journal PostgreSQL crashes, and cannot recover until there is some. Then it is started."""
    assert installation.postgres.disk is not None
    with installation.postgres.disk.full():
        with suppress(psycopg.Error):
            for _ in range(8):  # until it needs a new file
                installation.postgres.execute("SELECT pg_logical_emit_message(false, 'chaos', 'x'), pg_switch_wal()")
        yield
    installation.postgres.start_again()


@contextmanager
def engine_full(installation: Installation) -> Iterator[None]:
    with installation.engine_disk.full():
        yield


def engine_answering(mode: str) -> Breaking:
    @contextmanager
    def faulty(installation: Installation) -> Iterator[None]:
        installation.proxy.break_(mode)
        if mode in {"refuse", "hang"}:
            installation.proxy.cut_streams()
        try:
            yield
        finally:
            installation.proxy.heal()

    return faulty


def relay(to: str, mode: str) -> Breaking:
    @contextmanager
    def broken(installation: Installation) -> Iterator[None]:
        installation.relays[to].break_(mode)
        try:
            yield
        finally:
            installation.relays[to].heal()

    return broken
