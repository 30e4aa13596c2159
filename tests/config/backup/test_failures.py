"""A restore that fails at any step leaves the former installation with its keys, or a marker that advises rightly."""

import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from threading import Event, Thread
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import DatabaseError
from pytest_django import Settings

from config.backup.errors import BackupError
from config.backup.marker import require_no_restore
from config.backup.whole_files import write_whole
from config.database.faults import InUseError
from tests.config.backup.conftest import Run
from tests.config.backup.rows import fill_every_table, photograph
from tests.config.backup.test_keys import NAMES, become_another_machine

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

STEPS = {
    "the new database is created": "config.backup.restore.migrate_to",
    "rows are written": "config.backup.restore.write_rows",
    "rows are settled": "config.backup.restore.settle_rows",
    "the first key is written": "config.backup.keys.os.link",
    "a key is written": "config.backup.keys.write_whole",
    "the database is put in place": "config.database.sqlite.copies._put_in_place",
    "foreign keys are checked": "django.db.backends.sqlite3.base.DatabaseWrapper.check_constraints",
}
FAULTS = [InUseError(), DatabaseError("it broke"), sqlite3.OperationalError("it broke"), OSError(5, "I/O error")]
"""Of the database and its files."""


@pytest.fixture
def keys(archive: Path, folder: Path, settings: Settings, run: Run) -> Path:
    """The key file of an archive, on a machine that has other keys."""
    fill_every_table()
    path = archive.with_name("keys.json")
    run("backup", archive, "--with-keys", path)
    become_another_machine(settings, folder)
    return path


def keys_of(folder: Path) -> dict[str, str]:
    return {name: (folder / f"{name}.key").read_text() for name in NAMES.values()}


def fail_at(call: int, error: BaseException, usual: Callable[..., Any]) -> Callable[..., Any]:
    calls = 0

    def fail(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error
        return usual(*arguments, **options)

    return fail


def find(path: str) -> Callable[..., Any]:
    place, _, name = path.rpartition(".")
    found: Callable[..., Any] = getattr(resolve_name(place), name)
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("step", "error"),
    [(step, FAULTS[at % len(FAULTS)]) for at, step in enumerate(STEPS)]
    + [("the database is put in place", error) for error in FAULTS],
)
def test_a_failed_restore_leaves_the_former_keys_and_database(
    step: str, error: Exception, keys: Path, archive: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, former = photograph(), keys_of(folder)
    monkeypatch.setattr(STEPS[step], fail_at(2 if step == "a key is written" else 1, error, find(STEPS[step])))
    with pytest.raises((CommandError, type(error))) as raised:
        run("restore", archive, "--replace", "--keys", keys)
    monkeypatch.undo()
    assert (photograph(), keys_of(folder)) == (before, former)
    assert not list(folder.glob("*.replaced-*"))
    if isinstance(raised.value, CommandError):
        assert "has begun" not in str(raised.value)
    require_no_restore()
    run("restore", archive, "--replace", "--keys", keys)
    assert keys_of(folder) != former


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", STEPS)
def test_after_ctrl_c_the_former_installation_goes_on(
    step: str, keys: Path, archive: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Berth did not start from it, although nothing had been changed."""
    before, former = photograph(), keys_of(folder)
    monkeypatch.setattr(STEPS[step], fail_at(1, KeyboardInterrupt(), find(STEPS[step])))
    with pytest.raises(KeyboardInterrupt):
        run("restore", archive, "--replace", "--keys", keys)
    monkeypatch.undo()
    require_no_restore()
    assert (photograph(), keys_of(folder)) == (before, former)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_waits_until_database_and_keys_belong_together(
    number: signal.Signals, keys: Path, archive: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former keys returned beside the new database, if it came when that was in its place."""
    former, put_in_place = keys_of(folder), find(STEPS["the database is put in place"])

    def interrupted(*arguments: Any) -> None:
        put_in_place(*arguments)
        os.kill(os.getpid(), number)

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before, over = signal.signal(number, end), Event()
    Thread(target=over.wait).start()  # which could receive the signal as well
    try:
        monkeypatch.setattr(STEPS["the database is put in place"], interrupted)
        with pytest.raises(KeyboardInterrupt):
            run("restore", archive, "--replace", "--keys", keys)
    finally:
        signal.signal(number, before)
        over.set()
    monkeypatch.undo()
    require_no_restore()
    assert keys_of(folder) != former
    assert "already been restored" in run("restore", archive, "--keys", keys)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", STEPS)
def test_after_a_kill_the_marker_advises_what_works(
    step: str, keys: Path, archive: Path, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process puts nothing back, neither keys nor the marker."""
    kill = Event()

    def write_unless_killed(*arguments: Any, **options: Any) -> None:
        if not kill.is_set():
            write_whole(*arguments, **options)

    former = keys_of(folder)
    monkeypatch.setattr(STEPS[step], fail_at(1, KeyboardInterrupt(), find(STEPS[step])))
    monkeypatch.setattr("config.backup.keys._put_back", lambda _: kill.set())
    monkeypatch.setattr("config.backup.marker.write_whole", write_unless_killed)
    monkeypatch.setattr("config.backup.marker.Marker.remove", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        run("restore", archive, "--replace", "--keys", keys)
    monkeypatch.undo()
    with pytest.raises(BackupError) as raised:
        require_no_restore()
    if keys_of(folder) != former:
        assert "delete" not in str(raised.value)
    run("restore", archive, "--keys", keys)
    require_no_restore()
    assert keys_of(folder) != former
