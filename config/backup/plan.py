"""Plans a restore, from the archive and the current database, before anything is written."""

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
    """The operator's options. `keys_path` is the key file; without it the keys of this process are used."""

    archive: Path
    keys_path: Path | None = None
    with_memory: bool = False
    replace: bool = False


@dataclass(slots=True, kw_only=True)
class Plan:
    """What a restore will do. `held` describes what the current database will lose. `is_done`: nothing is left to do.

    `has_begun`: an earlier run did not finish. `flawed` has the agents whose memory cannot be restored, and why.
    """

    manifest: Manifest
    keys: Keys = field(repr=False)
    marker: Marker
    held: str = ""
    closed: int = 0
    flawed: dict[str, str] = field(default_factory=dict)
    is_done: bool = False
    has_begun: bool = False


@sensitive_variables("keys")
def make_plan(options: RestoreOptions, reader: ArchiveReader, manifest: Manifest, keys: Keys) -> Plan:
    check_version(manifest)
    if options.with_memory and manifest.memory is None:
        raise BackupError(
            "The archive contains no memories: it was made without --with-memory. Restore it without that option."
        )
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
        plan.flawed = check_memories(reader, manifest)
    return plan


def _read_marker(manifest: Manifest) -> tuple[Marker, bool]:
    """Returns the marker of this archive, and whether a restore of it has begun here or is finished."""
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
