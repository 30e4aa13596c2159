"""Shares the counts of all processes of a `serve`, so that the process that is asked can report all of them.

prometheus_client keeps them in a file for each process. Here a file belongs to a place, which one process after another
takes: a successor continues the counts of a killed process, so no counter goes back, and there are no more files than
simultaneous processes. The files are in memory and have their full size from the beginning, so neither a full disk nor
a hanging one can block a request.

When an ordinary user logs out, systemd removes everything that the user has in /dev/shm (`RemoveIPC`). It keeps the
folder of a service, which `config.metrics.folders` uses if there is one.
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
from containers.processes.process_metrics import PROCESS

STARTS = Counter("berth_process_starts", "Processes that began to work.", ["process"], registry=PROCESS)

log = logging.getLogger("berth.metrics")

VARIABLE = "_BERTH_METRICS"
"""Names the folder, in the environment of the processes of a `serve`."""

_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable in which prometheus_client looks for the folder."""

SIZES = {"histogram": 2 * 1024 * 1024, "counter": 256 * 1024}
"""Bytes of each file: enough for the most series of `config.metrics.requests`, and twice the engine's requests."""

MOST_PLACES = 1000


_reported: set[str] = set()
"""Folders for which this process has logged that they are gone."""


@contextmanager
def counting_together(*, continues: bool) -> Iterator[None]:
    """Provides the folder, in the parent process. With `continues`, the processes of the previous program still count
    in it, and it is reused unless someone has removed it.
    """
    former = os.environ.pop(VARIABLE, "") if continues else ""
    with ExitStack() as stack:
        try:
            folder = Path(former) if former and Path(former).is_dir() else make_folder()
            stack.enter_context(hold_folder(folder))
            os.environ[VARIABLE] = str(folder)
        except OSError as error:
            os.environ.pop(VARIABLE, None)
            log.warning("Each process reports only its own metrics: %s", error)
        with suppress(OSError):
            sweep_folders()
        try:
            yield
        finally:
            os.environ.pop(VARIABLE, None)


def begin_to_count(process: str) -> None:
    """Call in each process after the fork, before it counts anything. The process counts alone if sharing is
    impossible.
    """
    REQUESTS.clear()  # a fork has the counts of the first process, which may have asked the engine
    if folder := os.environ.get(VARIABLE):
        try:
            place = _take_place(Path(folder))
            os.environ[_FOLDER] = folder
            values.ValueClass = values.MultiProcessValue(lambda: place)  # type: ignore[no-untyped-call]  # the library's
            SECONDS.labels(
                NO_ROUTE, "GET", "404"
            )  # opens the file now, because the process may get no descriptor later
        except OSError as error:
            log.warning("This process does not share its metrics: %s", error)
            os.environ.pop(_FOLDER, None)
            values.ValueClass = values.MutexValue
    STARTS.labels(process).inc()


def shared_folder() -> str | None:
    """Returns the folder in which this process and others count. None if it counts alone or the folder was removed."""
    folder = os.environ.get(_FOLDER) if os.environ.get(VARIABLE) else None
    if folder is None or Path(folder).is_dir():
        return folder
    if folder not in _reported:
        _reported.add(folder)
        log.warning("Each process reports only its own metrics until `manage.py reload`: someone removed %s.", folder)
    return None


def _take_place(folder: Path) -> str:
    """Takes the first place that no living process has locked. The kernel releases the lock when this process ends."""
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
    """Allocates the whole file now, because a process that lacks memory later would be killed. Others only see it
    complete.
    """
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
