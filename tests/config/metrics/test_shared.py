"""The counts of all processes are reported together, and a process that ends loses none."""

import fcntl
import logging
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from prometheus_client import CollectorRegistry, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

from config.metrics import requests, shared
from config.metrics.folders import hold_folder, make_folder, sweep_folders
from config.metrics.requests import OTHER, SECONDS, note_request
from config.metrics.shared import SIZES, STARTS, VARIABLE, begin_to_count, counting_together, shared_folder
from tests.config.metrics.reading import Scrape


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.BERTH_DATA_DIR = tmp_path
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    yield
    assert shared_folder() is None
    assert values.ValueClass is values.MutexValue


@pytest.fixture
def folder() -> Iterator[Path]:
    with counting_together(continues=False):
        yield Path(os.environ[VARIABLE])


def fork(act: Callable[[], object]) -> int:
    """Runs this in a child, which is killed then."""
    child = os.fork()
    if child:
        return child
    try:
        act()
        os.kill(os.getpid(), signal.SIGKILL)
    finally:
        os._exit(1)


def count_in_a_child(act: Callable[[], object] = lambda: None) -> None:
    def begin() -> None:
        begin_to_count("tested")
        act()

    _, status = os.waitpid(fork(begin), 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def told(folder: Path) -> Scrape:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]  # the library's
    return Scrape(generate_latest(registry).decode())


def files_of(folder: Path) -> set[str]:
    return {file.name for file in folder.glob("*.db")}


def test_counts_of_a_killed_process_continue_in_its_successor(folder: Path) -> None:
    for number in range(1, 4):
        count_in_a_child(lambda: SECONDS.labels("tested", "GET", "200").observe(2.0))
        found = told(folder)
        assert found.value("berth_process_starts_total", process="tested") == number
        assert found.value("berth_http_request_duration_seconds_count", route="tested") == number
        assert found.value("berth_http_request_duration_seconds_bucket", route="tested", le="1.0") == 0
    assert files_of(folder) == {"counter_0.db", "histogram_0.db"}


def test_simultaneous_processes_write_to_separate_files(folder: Path) -> None:
    ready, has_begun = os.pipe()
    hears, go_on = os.pipe()

    def wait() -> None:
        begin_to_count("tested")
        os.write(has_begun, b"1")
        os.read(hears, 1)

    child = fork(wait)
    assert os.read(ready, 1) == b"1"
    count_in_a_child()
    count_in_a_child()
    os.write(go_on, b"1")
    os.waitpid(child, 0)
    assert files_of(folder) == {"counter_0.db", "counter_1.db", "histogram_0.db", "histogram_1.db"}
    assert told(folder).value("berth_process_starts_total", process="tested") == 3
    for descriptor in (ready, has_begun, hears, go_on):
        os.close(descriptor)


def test_a_file_has_its_full_size_from_the_start(folder: Path) -> None:
    """A file that grew could find no memory, which would end the process."""
    many = [f"an-app-with-a-name:a-route-with-a-long-name-{number}" for number in range(requests.MOST_SERIES)]
    count_in_a_child(lambda: [SECONDS.labels(route, "OPTIONS", "200") for route in many])
    for kind, size in SIZES.items():
        found = (folder / f"{kind}_0.db").stat()
        assert found.st_size == size <= found.st_blocks * 512
    used = int.from_bytes((folder / "histogram_0.db").read_bytes()[:4], "little")
    assert used < SIZES["histogram"]


def test_a_start_resets_the_counts_and_a_handover_keeps_them(tmp_path: Path) -> None:
    folder = make_folder()
    assert folder.parent == tmp_path
    os.environ[VARIABLE] = str(folder)
    count_in_a_child()
    with counting_together(continues=True):
        assert Path(os.environ[VARIABLE]) == folder
        assert files_of(folder)
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    (folder / "counter_0.db").write_bytes(b"of one that was killed")
    with counting_together(continues=False):
        assert Path(os.environ[VARIABLE]) == folder
        assert files_of(folder) == set()


def test_a_directory_removed_at_logout_is_reported_once_and_recreated_by_a_handover(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as of_a_process, caplog.at_level(logging.WARNING):
        of_a_process.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
        assert shared_folder() == str(folder)
        shutil.rmtree(folder)
        assert [shared_folder() for _ in range(3)] == [None] * 3
    assert [str(folder) in line.getMessage() for line in caplog.records] == [True]
    with counting_together(continues=True):
        count_in_a_child()
        assert told(Path(os.environ[VARIABLE])).value("berth_process_starts_total", process="tested") == 1


def test_a_copy_of_the_parent_does_not_hold_the_folder_past_a_hand_over(folder: Path) -> None:
    def look(*, holds: bool) -> None:
        assert holds == (folder in (each.resolve() for each in Path("/proc/self/fd").iterdir()))

    look(holds=True)
    _, status = os.waitpid(fork(lambda: look(holds=False)), 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def test_only_remains_of_killed_processes_are_removed(tmp_path: Path) -> None:
    served, worked, left, open_to_all = (tmp_path / f"berth-metrics-{number}" for number in range(4))
    for each in (served, worked, left, open_to_all):
        each.mkdir(mode=0o700)
        (each / "place-0").touch()
    open_to_all.chmod(0o755)
    with hold_folder(served), (worked / "place-0").open() as place:
        fcntl.flock(place, fcntl.LOCK_EX)
        with counting_together(continues=False):
            ours = Path(os.environ[VARIABLE])
        sweep_folders()
        assert {*tmp_path.glob("berth-metrics-*")} == {served, worked, open_to_all}
    assert ours not in tmp_path.iterdir()


@pytest.mark.parametrize("what", ["others may write there", "a link", "no room"])
def test_without_a_shared_directory_each_process_counts_alone(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with counting_together(continues=False):
        folder = Path(os.environ[VARIABLE])
    if what == "others may write there":
        folder.mkdir()
        folder.chmod(0o777)
    elif what == "a link":
        folder.symlink_to(tmp_path)
    else:
        monkeypatch.setattr(shared, "SIZES", {"histogram": 1 << 60})
    before = STARTS.labels("alone")._value.get()
    with caplog.at_level(logging.WARNING), counting_together(continues=False):
        begin_to_count("alone")
    assert STARTS.labels("alone")._value.get() == before + 1
    assert "metrics" in caplog.text
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        folder.rmdir()


def test_the_number_of_label_combinations_is_limited_by_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_known", {})
    monkeypatch.setattr(requests, "MOST_SERIES", 3)
    before = SECONDS.labels(OTHER, OTHER, "299")._sum.get()
    for status in (290, 291, 292, 299, 290, 299):
        note_request(RequestFactory().get("/"), status=status, seconds=1.0)
    assert len(requests._known) == 3
    assert SECONDS.labels(OTHER, OTHER, "299")._sum.get() == before + 2
