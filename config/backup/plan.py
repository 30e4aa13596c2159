"""What a restore is going to do, made from an archive and from what is here, before anything is written."""

from dataclasses import dataclass, field
from pathlib import Path

from django.db import DatabaseError
from django.views.decorators.debug import sensitive_variables

from config.backup.archive import ArchiveReader
from config.backup.checks import check_contents, check_empty, check_nothing_runs, check_version
from config.backup.errors import BackupError
from config.backup.keys import Keys, encryption_keys, require_installable
from config.backup.manifest import Manifest
from config.backup.marker import Marker, read_marker
from config.backup.memory import check_memories
from config.backup.schema import Migration, read_applied, require_known
from projects.models import Installation


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """What the operator asked for. `keys_path` is the key file; without one the keys of this process are used."""

    archive: Path
    keys_path: Path | None = None
    with_memory: bool = False
    replace: bool = False


@dataclass(slots=True, kw_only=True)
class Plan:
    """What will be done. `held`: what the present database loses, in words. `is_done`: there is nothing to do.

    `has_begun`: a run before this one did not end.
    """

    manifest: Manifest
    keys: Keys = field(repr=False)
    marker: Marker
    held: str = ""
    closed: int = 0
    is_done: bool = False
    has_begun: bool = False


@sensitive_variables("keys")
def make_plan(options: RestoreOptions, reader: ArchiveReader, manifest: Manifest, keys: Keys) -> Plan:
    check_version(manifest)
    if options.with_memory and manifest.memory is None:
        raise BackupError("The archive holds no memory: it was made without --with-memory. Restore without it.")
    marker, is_again = _read_marker(manifest)
    held = check_empty(replace=options.replace or is_again)
    has_begun = is_again and not marker.finished
    plan = Plan(manifest=manifest, keys=keys, marker=marker, held=held, has_begun=has_begun)
    if held and marker.finished and not options.replace:
        plan.is_done = True
        return plan
    require_installable(keys)
    require_known(read_present(), what="The database")
    check_nothing_runs()
    plan.closed = check_contents(reader, manifest, keys=encryption_keys(keys))
    if options.with_memory:
        check_memories(reader, manifest)
    return plan


def _read_marker(manifest: Manifest) -> tuple[Marker, bool]:
    """The marker of this archive, and whether it has begun to be restored here, or has been."""
    marker = read_marker()
    if marker is not None and marker.archive == manifest.id:
        is_ours = not marker.finished or _holds(manifest.installation)
        return marker, is_ours
    return Marker(archive=manifest.id, installation=manifest.installation), False


def _holds(installation: str) -> bool:
    try:
        return Installation.objects.filter(identifier=installation).exists()
    except DatabaseError:
        return False


def read_present() -> set[Migration]:
    try:
        return read_applied()
    except DatabaseError:
        return set()
