"""Where the processes of a `serve` write down what they count, so that the one that is asked tells it of all of them.

prometheus_client keeps it in a file for each process. Here a file is for a place that one process after the other
takes: what a killed one has counted its successor goes on with, so that no counter goes back and there are no more
files than processes at a time. The files are in memory, and as large as they ever need be: neither a full disk nor one
that hangs comes between a request and its count.

Of an ordinary user systemd takes away all that is in /dev/shm once they log out (`RemoveIPC`). The folder that it keeps
for a service stays, and `config.metrics.folders` takes that one where there is one.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

from prometheus_client import Counter, values

from config.metrics.folders import PLACE, hold_folder, make_folder, sweep_folders
from config.metrics.requests import NO_ROUTE, SECONDS
from containers.docker_api.counted_requests import REQUESTS
from containers.process_metrics import PROCESS

STARTS = Counter("berth_process_starts", "Processes that began to work.", ["process"], registry=PROCESS)

log = logging.getLogger("berth.metrics")

VARIABLE = "_BERTH_METRICS"
"""In the environment of the processes of a `serve`: the folder."""

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Where prometheus_client looks for it."""

SIZES = {"histogram": 2 * 1024 * 1024, "counter": 256 * 1024}
"""Bytes of each file: for as many series as `config.metrics.requests` has at most, and twice the engine's requests."""

MOST_PLACES = 1000


_told: set[str] = set()
"""The folders of which this process has said that they are gone."""


@contextmanager
def counting_together(*, goes_on: bool) -> Iterator[None]:
    """For the parent of the processes. `goes_on`: those of the program before this one still count there, unless
    somebody has taken their folder away.
    """
    former = os.environ.pop(VARIABLE, "") if goes_on else ""
    with ExitStack() as stack:
        try:
            folder = Path(former) if former and Path(former).is_dir() else make_folder()
            stack.enter_context(hold_folder(folder))
            os.environ[VARIABLE] = str(folder)
        except OSError as error:
            os.environ.pop(VARIABLE, None)
            log.warning("Each process tells its own metrics only: %s", error)
        with suppress(OSError):
            sweep_folders()
        try:
            yield
        finally:
            os.environ.pop(VARIABLE, None)


def begin_to_count(process: str) -> None:
    """For each process, after it was forked and before it counts anything. Goes on alone where that cannot be."""
    REQUESTS.clear()  # a copy of the first process, which may have asked the engine, has its counts, and not in a file
    if folder := os.environ.get(VARIABLE):
        try:
            place = _take_place(Path(folder))
            os.environ[_FOLDER] = folder
            values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]  # the library's
            SECONDS.labels(NO_ROUTE, "GET", "404")  # opens the file now: later the process may get no more
        except OSError as error:
            log.warning("This process keeps its metrics for itself: %s", error)
            os.environ.pop(_FOLDER, None)
            values.ValueClass = values.MutexValue
    STARTS.labels(process).inc()


def shared_folder() -> str | None:
    """Where this process and others count, if they do so together and nobody has taken it away."""
    folder = os.environ.get(_FOLDER) if os.environ.get(VARIABLE) else None
    if folder is None or Path(folder).is_dir():
        return folder
    if folder not in _told:
        _told.add(folder)
        log.warning("Each process tells its own metrics only until `manage.py reload`: somebody removed %s.", folder)
    return None


def _take_place(folder: Path) -> str:
    """The first that no living process holds. The kernel gives it back with the end of this one."""
    for number in count():
        held = os.open(folder / f"{PLACE}{number}", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            if number >= MOST_PLACES:
                raise
            continue
        for kind, size in SIZES.items():
            _reserve(folder / f"{kind}_{number}.db", size)
        return str(number)
    raise AssertionError


def _reserve(path: Path, size: int) -> None:
    """Makes all of the file now: memory that is missing later would end the process. Others see it whole."""
    if path.exists():
        return
    draft = path.with_suffix(".new")
    file = os.open(draft, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(file, 0, size)
        draft.rename(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
