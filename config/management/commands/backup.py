import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from config.backup.create import make_backup
from config.backup.keys import write_key_file
from config.backup.summary import count_kinds
from config.backup.whole_files import remove_drafts
from config.database.faults import Fault, find_fault
from config.environment.ownership import give_to_owner
from config.management.start_checks import require_own_instance
from projects.services.alerts.service_health import note_backup


class Command(BaseCommand):
    help = (
        "Write the database and, on request, the agents' memories to one archive while everything keeps running. "
        "Nobody can use the credentials in it without the keys: keep those in another place."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "archive", nargs="?", type=Path, help="the file to write; by default a new one in BERTH_DATA_DIR/backups"
        )
        parser.add_argument("--with-keys", type=Path, metavar="FILE", help="also write the keys, to this separate file")
        parser.add_argument("--with-memory", action="store_true", help="include the agents' memories (/data)")

    def handle(self, *args: Any, **options: Any) -> None:
        require_own_instance()  # a restore asks for the instance that the archive names
        is_own = options["archive"] is None
        archive: Path = (_default_path() if is_own else options["archive"]).absolute()
        keys: Path | None = options["with_keys"]
        if keys is not None:
            if os.path.realpath(keys) == os.path.realpath(archive):  # unlike `resolve`, it takes a link to itself
                raise CommandError(
                    "--with-keys names the archive itself. Name another file, preferably in another place."
                )
            write_key_file(keys.absolute())
            self.stdout.write(f"The keys are in {keys}. Keep them away from the archive, because they decrypt it.")
        memory = options["with_memory"]
        manifest = make_backup(archive, with_memory=memory, for_owner=is_own, report=self.stdout.write)
        self._note(manifest.made_at)
        size = archive.stat().st_size
        done = f"Wrote {archive} ({size / 1024 / 1024:.1f} MiB): {count_kinds(manifest)}."
        self.stdout.write(self.style.SUCCESS(done))
        if keys is None:
            self.stdout.write("It is useless without the keys. If you have no copy of them yet, add --with-keys FILE.")

    def _note(self, made_at: datetime) -> None:
        """Records the time of the backup, for the operators' alerts. A database that is read-only, or of an older
        version, has been archived all the same.
        """
        try:
            note_backup(made_at)
        except DatabaseError as error:
            is_older = find_fault(error) is Fault.OUTDATED
            reason = "is that of an older version" if is_older else "accepts no changes"
            self.stdout.write(f"The database {reason}, so it has no record of this backup.")


def _default_path() -> Path:
    folder = Path(settings.BERTH_DATA_DIR) / "backups"
    try:
        is_new = not folder.exists()
        folder.mkdir(mode=0o700, exist_ok=True)
        if is_new:
            give_to_owner(folder, folder.parent)
    except OSError as error:
        raise CommandError(f"{folder} cannot be created ({error.strerror}). Name a file to write to.") from None
    remove_drafts(folder, "berth-*.tar")
    return folder / f"berth-{datetime.now(UTC):%Y%m%d-%H%M%S}.tar"
