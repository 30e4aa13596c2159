"""`manage.py uninstall --data` that cannot remove a file says so, and a second run can end what it has begun."""

import errno
import os
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from config.management.commands.uninstall import DATABASE
from containers.docker import removal
from projects.models.installation import read_installation
from tests.ports import reserve_port

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]

FILES = (
    *(DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "token_key.key", "encryption_keys.key", "static.digest"),
    *("migrating.lock", "restore.json", "dockerd.log", "static/admin/base.css", "sbom/service.cdx.json"),
)


@pytest.fixture
def data(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory of an installation that has nothing on its engine."""
    settings.BERTH_DATA_DIR, settings.BERTH_PORT = tmp_path, reserve_port()
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    read_installation()
    nothing = removal.Belongings({}, {}, {}, {}, [])
    monkeypatch.setattr(removal, "find_belongings", lambda _: nothing)
    monkeypatch.setattr(connection, "close", lambda: None)  # it is in memory
    monkeypatch.setattr(removal, "remove_firewall", lambda *_: True)
    return tmp_path


def uninstall() -> None:
    call_command("uninstall", "--yes", "--data", stdout=StringIO())


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_stays_is_told_and_the_second_run_ends_it(
    name: str, number: int, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the database, the second run would refuse to work, because nobody knows what is Berth's."""
    unlink = os.unlink

    def refuse(path: Any, *arguments: Any, **options: Any) -> None:
        if Path(os.fsdecode(path)).name == Path(name).name:
            raise OSError(number, os.strerror(number), path)
        unlink(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        with pytest.raises(CommandError) as caught:
            uninstall()
    assert str(caught.value).startswith(f"{data / Path(name).parts[0]} cannot be removed ({os.strerror(number)}). ")
    assert (data / DATABASE).exists()
    uninstall()
    assert list(data.iterdir()) == []
