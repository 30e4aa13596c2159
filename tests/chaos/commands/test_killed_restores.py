"""A restore that is killed at any point, and repeated, ends as if nothing had happened."""

import json
from io import StringIO
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from accounts.models import User
from config.backup.marker import read_marker
from projects.models import Event, Project
from tests.chaos.commands.killing import run_until_killed
from tests.config.backup.rows import fill_every_table, photograph

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.either_database]

STRIDE = 31
"""The short version takes one point of this many."""


def restore(folder: Path, *options: str) -> str:
    output = StringIO()
    call_command(
        "restore", str(folder / "a.tar"), "--keys", str(folder / "k.json"), *options, stdout=output, stderr=output
    )
    return output.getvalue()


@pytest.mark.rare(1)
def test_a_killed_restore_can_be_repeated(folder: Path, settings: Settings, is_long: bool) -> None:
    """The database is either the old one or the new one, complete; there is nothing in between."""
    fill_every_table()
    call_command("backup", str(folder / "a.tar"), "--with-keys", str(folder / "k.json"), stdout=StringIO())
    wanted = photograph()
    keys = json.loads((folder / "k.json").read_text())["keys"]
    killed, points = 0, 0
    while True:
        points += 1 if is_long else STRIDE
        (folder / "restore.json").unlink(missing_ok=True)
        (folder / "token_key.key").write_text(Fernet.generate_key().decode())
        settings.BERTH_TOKEN_KEY = (folder / "token_key.key").read_text()  # of another machine
        User.objects.update(email="other@example.org")
        Event.objects.all()._raw_delete("default")
        Project.objects.update(name="of before")
        old = photograph()
        if not run_until_killed(lambda: restore(folder, "--replace"), at=points):
            break
        killed += 1
        now, marker = photograph(), read_marker()
        assert now in (old, wanted)
        settings.BERTH_TOKEN_KEY = (folder / "token_key.key").read_text().strip()
        restore(folder, *([] if marker is not None else ["--replace"]))
        assert photograph() == wanted
        assert (folder / "token_key.key").read_text().strip() == keys["BERTH_TOKEN_KEY"]
        assert (done := read_marker()) is not None
        assert done.finished
    assert photograph() == wanted
    assert killed > (50 if is_long else 1)
    assert not Path(f"{connection.settings_dict['NAME']}.restoring").exists()
    left = {path.name.partition(".key.replaced-")[0] for path in folder.iterdir()}
    assert left == {"a.tar", "k.json", "restore.json", "restore.lock", "token_key", "token_key.key"}
