"""The checks that must pass before a restore writes anything."""

from datetime import datetime

from django.conf import settings
from django.db import DatabaseError, connection, models
from django.views.decorators.debug import sensitive_variables

from accounts import clock
from accounts.credentials.encryption import opens
from accounts.models import User
from accounts.moments import lasts
from config.backup.archive import ArchiveReader, Content
from config.backup.errors import BackupError
from config.backup.manifest import WRONG_KEY, Manifest, Table
from config.backup.rows import columns_of, parse_rows
from config.backup.schema import archived_models, require_known
from config.backup.summary import counted
from config.serving.port import is_taken
from projects.models import Project, Watch
from projects.rules.status.lifecycle import LEASE

ENCRYPTED = "ciphertext"
"""How the name of each column ends whose values are encrypted."""


def check_version(manifest: Manifest) -> None:
    """Raises `BackupError` if the archive is from a newer version, or from another instance."""
    require_known({(app, name) for app, name in manifest.migrations}, what="The archive")
    if _numbers(manifest.version) > _numbers(settings.BERTH_VERSION):
        raise BackupError(
            f"The archive is from version {manifest.version} of Berth, and this is {settings.BERTH_VERSION}. Install "
            "that version first."
        )
    if manifest.instance != settings.BERTH_INSTANCE:
        raise BackupError(
            f"The archive is from the instance {manifest.instance}, and this is {settings.BERTH_INSTANCE}. Set "
            f"BERTH_INSTANCE={manifest.instance}."
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


@sensitive_variables("keys")
def check_contents(reader: ArchiveReader, manifest: Manifest, *, keys: list[str]) -> int:
    """Reads the whole archive. Returns how many credentials cannot be decrypted although the keys are the right ones.

    Raises `BackupError` if a part differs from what was written, or if the keys are wrong.
    """
    models_by_label = {
        model._meta.label_lower: model for model in archived_models([(app, name) for app, name in manifest.migrations])
    }
    described = {table.model: table.columns for table in manifest.tables}
    if described != {label: columns_of(model) for label, model in models_by_label.items()}:
        raise BackupError(
            "The tables of the archive do not match its version. Restore it with the version that created it."
        )
    closed: list[str] = []
    for table in manifest.tables:
        closed += _check_table(reader.content(table.member), table, models_by_label[table.model], keys)
    for memory in manifest.memory or []:
        if reader.content(memory.member).finish() != memory.sha256:
            raise _damaged(memory.member)
    if "projects.keycheck" in closed:
        raise BackupError(WRONG_KEY)
    return len(closed)


def _check_table(content: Content, table: Table, model: type[models.Model], keys: list[str]) -> list[str]:
    """Returns the model's label once for each ciphertext that the keys do not decrypt."""
    fields = [name for name in columns_of(model) if name.endswith(ENCRYPTED)]
    closed: list[str] = []
    rows = 0
    for row in parse_rows(model, content.lines()):
        rows += 1
        ciphertexts = [row[name] for name in fields]
        closed += [table.model for each in ciphertexts if each and not opens(each, keys=keys)]
    if content.finish() != table.sha256 or rows != table.rows:
        raise _damaged(table.member)
    return closed


def _damaged(member: str) -> BackupError:
    return BackupError(f"The archive is damaged: {member} differs from what was written. Use another backup.")


def check_nothing_runs() -> None:
    """Raises `BackupError` if Berth is serving this database or this address."""
    if is_taken(settings.BERTH_HOST, settings.BERTH_PORT):
        where = f"{settings.BERTH_HOST}:{settings.BERTH_PORT}"
        raise BackupError(f"Something listens on {where}. If it is Berth, stop it: a restore replaces its database.")
    for instance, until in _read_leases():
        if lasts(until, at_most=LEASE, now=clock.now()):
            raise BackupError(
                f"A watcher of the instance {instance} is using this database. Stop Berth on every machine, and "
                f"wait {LEASE.seconds} seconds if it was killed."
            )


def _read_leases() -> list[tuple[str, datetime | None]]:
    try:
        return list(Watch.objects.values_list("instance", "lease_until")) if _has_table(Watch) else []
    except DatabaseError:
        return []  # an older version or a damaged database, which `check_empty` reports


def check_empty(*, replace: bool) -> str:
    """Returns a description of the rows in the database; empty if there are no users and no projects.

    Raises `BackupError` if there are some, unless they may be replaced.
    """
    try:
        users, projects = (model._default_manager.count() if _has_table(model) else 0 for model in (User, Project))
    except DatabaseError:
        held = "something that cannot be read"
    else:
        held = f"{counted(users, 'user')} and {counted(projects, 'project')}" if users or projects else ""
    if held and not replace:
        raise BackupError(f"The database is not empty: it contains {held}. Back it up first; --replace deletes it.")
    return held


def _has_table(model: type[models.Model]) -> bool:
    return model._meta.db_table in connection.introspection.table_names()
