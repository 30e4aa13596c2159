"""Backups that root makes of an installation that another user runs."""

import os
from pathlib import Path

import pytest

from tests.config.backup.conftest import Run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("folder_of", ["nobody yet", "another user", "root"])
def test_root_makes_backups_that_the_owner_can_read_and_replace(folder: Path, run: Run, folder_of: str) -> None:
    """The folder was root's, so that every later backup of the owner failed."""
    backups, somebody, another = folder / "backups", 10_123, 10_124
    users = {"nobody yet": somebody, "another user": another, "root": 0}
    os.chown(folder, somebody, somebody)
    if folder_of != "nobody yet":
        backups.mkdir(mode=0o700)
        os.chown(backups, users[folder_of], users[folder_of])
    run("backup")
    [made] = backups.iterdir()
    assert {path.stat().st_uid for path in (backups, made)} == {users[folder_of]}
    assert (backups.stat().st_mode & 0o777, made.stat().st_mode & 0o777) == (0o700, 0o600)
