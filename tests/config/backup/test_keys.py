"""The key file: never part of the archive, and sufficient for another machine."""

import json
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.management.base import CommandError
from pytest_django import Settings

from accounts.credentials.encryption import opens
from projects.models import Project
from tests.config.backup.conftest import Run
from tests.config.backup.rows import fill_every_table, photograph

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

NAMES = {"SECRET_KEY": "secret_key", "BERTH_TOKEN_KEY": "token_key", "BERTH_ENCRYPTION_KEYS": "encryption_keys"}


@pytest.fixture
def keys(archive: Path, run: Run) -> Path:
    """The key file that belongs to an archive."""
    fill_every_table()
    path = archive.with_name("keys.json")
    assert "Keep them away" in run("backup", archive, "--with-keys", path)
    return path


def become_another_machine(settings: Settings, folder: Path) -> None:
    """Gives the data directory keys of its own, as the first start of any command does."""
    for name, file in NAMES.items():
        value = Fernet.generate_key().decode()
        setattr(settings, name, [value] if name == "BERTH_ENCRYPTION_KEYS" else value)
        (folder / f"{file}.key").write_text(f"{value}\n")


def test_another_machine_gets_the_keys_in_addition_to_its_own(
    keys: Path, archive: Path, folder: Path, settings: Settings, run: Run
) -> None:
    before = photograph()
    become_another_machine(settings, folder)
    own = {name: (folder / f"{name}.key").read_text() for name in NAMES.values()}
    with pytest.raises(CommandError, match="--keys"):
        run("restore", archive, "--replace")
    run("restore", archive, "--replace", "--keys", keys)
    assert photograph() == before
    wanted = json.loads(keys.read_text())["keys"]
    for name in NAMES.values():
        path = folder / f"{name}.key"
        assert path.read_text().strip() == wanted[f"BERTH_{name.upper()}"]
        assert path.stat().st_mode & 0o777 == 0o600
        [kept] = folder.glob(f"{name}.key.replaced-*")
        assert kept.read_text() == own[name]
    token = Project.objects.get().telegram_token_ciphertext
    assert opens(token, keys=(folder / "encryption_keys.key").read_text().split())


def test_a_key_set_by_the_environment_is_not_overwritten(
    keys: Path, archive: Path, folder: Path, settings: Settings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    become_another_machine(settings, folder)
    monkeypatch.setenv("BERTH_TOKEN_KEY", settings.BERTH_TOKEN_KEY)
    with pytest.raises(CommandError, match="BERTH_TOKEN_KEY is set in the environment"):
        run("restore", archive, "--replace", "--keys", keys)
    assert not list(folder.glob("*.replaced-*"))


def test_a_key_file_with_other_keys_is_not_overwritten(keys: Path, archive: Path, settings: Settings, run: Run) -> None:
    content = keys.read_bytes()
    run("backup", archive, "--with-keys", keys)
    assert keys.read_bytes() == content
    settings.BERTH_TOKEN_KEY = "another token key, of another installation"
    with pytest.raises(CommandError, match="contains other keys"):
        run("backup", archive, "--with-keys", keys)
    assert keys.read_bytes() == content


def test_the_keys_are_no_part_of_the_archive(keys: Path, archive: Path, run: Run) -> None:
    archive.with_name("link").symlink_to(archive)
    for name in (archive, archive.with_name("link")):
        with pytest.raises(CommandError, match="the archive itself"):
            run("backup", archive, "--with-keys", name)
