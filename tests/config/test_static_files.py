"""Static files are collected when they have changed, and only then."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.core.management import CommandError, call_command
from django.db import connection

from config.database.migration_lock import migration_lock
from config.management.commands import prepare

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of static files, and a data directory into which they are collected."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.css").write_text("a {}")
    settings.BERTH_DATA_DIR, settings.STATIC_ROOT = tmp_path, tmp_path / "static"
    settings.STATICFILES_DIRS, settings.BERTH_PORT = [source], 1
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    finders.get_finder.cache_clear()  # type: ignore[attr-defined]  # it is cached, and the stubs do not say so
    monkeypatch.setattr(prepare, "require_port_of_role", lambda: None)
    return source


def collected(capsys: pytest.CaptureFixture[str]) -> bool:
    call_command("prepare")
    return "Collecting static files" in capsys.readouterr().out


def test_static_files_are_collected_the_first_time_only(
    source: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert collected(capsys)
    assert (settings.STATIC_ROOT / "a.css").read_text() == "a {}"
    assert not collected(capsys)


def test_a_changed_file_is_collected(source: Path, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    collected(capsys)
    (source / "a.css").write_text("a { color: red }")
    assert collected(capsys)
    assert (settings.STATIC_ROOT / "a.css").read_text() == "a { color: red }"


def test_a_file_that_is_gone_goes(source: Path, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (source / "b.css").write_text("b {}")
    collected(capsys)
    (source / "b.css").unlink()
    assert collected(capsys)
    assert not (settings.STATIC_ROOT / "b.css").exists()


def test_a_lost_directory_is_made_again(source: Path, settings: Any, capsys: pytest.CaptureFixture[str]) -> None:
    collected(capsys)
    shutil.rmtree(settings.STATIC_ROOT)
    assert collected(capsys)


def test_simultaneous_preparations_create_one_admin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step after the migration waits for the other machine's, as the migration does."""
    locked: dict[str, bool] = {}

    def run(command: str, **_: Any) -> None:
        try:
            with migration_lock(connection, patience=0.0):
                locked[command] = False
        except CommandError:
            locked[command] = True

    monkeypatch.setattr(prepare, "call_command", run)
    call_command("prepare", while_serving=True)
    assert locked.pop("migrate") is False  # it takes the lock itself
    assert {"createcachetable", "ensure_admin"} <= locked.keys()
    assert all(locked.values())


@pytest.mark.parametrize(("key", "warns"), [("0123456789abcdef", True), ("0123456789abcdef" * 2, False)])
def test_a_short_key_is_warned_of(
    source: Path, settings: Any, capsys: pytest.CaptureFixture[str], key: str, warns: bool
) -> None:
    settings.SECRET_KEY = key
    call_command("prepare")
    assert ("BERTH_SECRET_KEY is shorter than 32 bytes" in capsys.readouterr().err) == warns
