"""Every encrypted column is checked by a restore, and encrypted again by a rotation. Generated: a new one is in."""

from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.management.base import CommandError
from pytest_django import Settings

from accounts.credentials.encryption import opens
from config.backup.checks import ENCRYPTED
from config.backup.rows import columns_of
from config.backup.schema import OF_ONE_MACHINE
from tests.config.backup.conftest import Run
from tests.config.backup.rows import fill_every_table

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]

COLUMNS = {
    f"{model._meta.label_lower}.{name}": (model, name)
    for model in apps.get_models(include_auto_created=True)
    for name in columns_of(model)
    if name.endswith(ENCRYPTED)
}


def fill(settings: Settings) -> None:
    """Fills each encrypted column of the database."""
    fill_every_table()
    other = Fernet(settings.BERTH_ENCRYPTION_KEYS[0]).encrypt(b"{}").decode()
    for model, name in COLUMNS.values():
        model._default_manager.filter(**{name: ""}).update(**{name: other})


def test_the_columns_are_found() -> None:
    names = {f"projects.alertchannel.{field}_ciphertext" for field in ("address", "secret")}
    assert {*names, "projects.keycheck.ciphertext", "accounts.secondfactor.secret_ciphertext"} <= set(COLUMNS)
    assert not {".".join(name.split(".")[:2]) for name in COLUMNS} & OF_ONE_MACHINE


def test_no_column_that_holds_a_ciphertext_has_another_name(settings: Settings) -> None:
    fill_every_table()
    keys = settings.BERTH_ENCRYPTION_KEYS
    for model in apps.get_models(include_auto_created=True):
        for row in model._default_manager.values(*columns_of(model)):
            sealed = {name for name, value in row.items() if isinstance(value, str) and opens(value, keys=keys)}
            assert all(name.endswith(ENCRYPTED) for name in sealed), (model, sealed)


def test_a_rotation_encrypts_each_column_with_the_new_key(run: Run, settings: Settings) -> None:
    fill_every_table()
    old, new = settings.BERTH_ENCRYPTION_KEYS[0], Fernet.generate_key().decode()
    settings.BERTH_ENCRYPTION_KEYS = [new, old]
    run("rotate_secrets")
    for model, name in COLUMNS.values():
        for value in model._default_manager.exclude(**{name: ""}).values_list(name, flat=True):
            assert opens(value, keys=[new]), (model, name)


@pytest.mark.parametrize("column", sorted(COLUMNS))
def test_a_value_that_the_keys_do_not_decrypt_is_counted(
    column: str, archive: Path, run: Run, settings: Settings
) -> None:
    fill(settings)
    model, name = COLUMNS[column]
    strange = Fernet(Fernet.generate_key()).encrypt(b"{}").decode()
    assert model._default_manager.update(**{name: strange}), "An example row is missing."
    if column == "projects.keycheck.ciphertext":
        with pytest.raises(CommandError, match="does not hold the key"):
            run("backup", archive)
        return
    run("backup", archive)
    count = model._default_manager.count()
    assert f"The keys do not decrypt {count} credentials." in run("restore", archive, "--replace", "--dry-run")
