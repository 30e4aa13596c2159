"""Parts on which an engine depends are broken: its containerd, the shims that hold its containers, its socket; and the
service's connections to the database."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import psycopg

from tests.chaos.matrix.installation import Installation

END_EVERY = 0.2
"""Seconds between two interruptions of what is under way."""


def containerd_of(installation: Installation) -> int:
    return int((installation.engine.home / "exec" / "containerd" / "containerd.pid").read_text())


def find_pids(installation: Installation, process: str) -> set[int]:
    """The process ids of the engine, or of a process of the service."""
    if process == "engine":
        return {installation.engine.pid}
    return {containerd_of(installation)} if process == "containerd" else installation.service.pids(process)


@contextmanager
def containerd_killed(installation: Installation) -> Iterator[None]:
    """The engine starts it again, and its containers continue."""
    os.kill(containerd_of(installation), signal.SIGKILL)
    yield


@contextmanager
def containerd_stopped(installation: Installation) -> Iterator[None]:
    """The engine lists and reports, and can neither start nor end anything."""
    pid = containerd_of(installation)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):  # its engine may have ended it
            os.kill(pid, signal.SIGCONT)


@contextmanager
def shims_killed(installation: Installation) -> Iterator[None]:
    """Each holds one container, which ends with it."""
    for pid in shims_of(installation):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    yield


@contextmanager
def shims_stopped(installation: Installation) -> Iterator[None]:
    """The engine waits for each of them forever."""
    pids = list(shims_of(installation))
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def hanging(path: str) -> Callable[[Installation], AbstractContextManager[None]]:
    """The engine never answers requests to paths that contain this. Answers in progress end."""

    @contextmanager
    def hung(installation: Installation) -> Iterator[None]:
        installation.proxy.break_("hang", only=path)
        installation.proxy.cut_streams()
        try:
            yield
        finally:
            installation.proxy.heal()

    return hung


def shims_of(installation: Installation) -> Iterator[int]:
    home = str(installation.engine.home)
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            words = (folder / "cmdline").read_bytes().decode().split("\0")
            if "containerd-shim" in words[0] and any(word.startswith(home) for word in words):
                yield int(folder.name)


@contextmanager
def socket_removed(installation: Installation) -> Iterator[None]:
    """As a package of the engine does during its own upgrade. Open connections stay open."""
    path = installation.proxy.path
    away = path.with_suffix(".away")
    path.rename(away)
    try:
        yield
    finally:
        away.rename(path)


@contextmanager
def streams_cut(installation: Installation) -> Iterator[None]:
    """All answers in progress end at once, again and again."""
    with _again_and_again(installation.proxy.cut_streams):
        yield


@contextmanager
def connections_ended(installation: Installation) -> Iterator[None]:
    """Someone ends all of the service's connections to the database, again and again."""

    def end() -> None:
        with suppress(psycopg.Error):
            installation.postgres.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )

    with _again_and_again(end):
        yield


@contextmanager
def _again_and_again(act: Callable[[], object]) -> Iterator[None]:
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(END_EVERY):
            act()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
