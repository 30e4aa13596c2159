"""Prepares what `serve` needs: database, cache table, static files, first superuser. Skips what is up to date."""

import hashlib
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.db.utils import Error as DatabaseError

from accounts.management.commands.ensure_admin import NoAdminError
from config.backup.marker import require_no_restore
from config.database.explanations import explain_fault
from config.database.migration_lock import migration_lock
from config.environment.ownership import give_to_owner
from config.management.full_disk import explain_full_disk
from config.management.start_checks import require_own_instance, require_shared_keys
from config.serving.port import require_port_of_role
from projects.services.credentials.key_rotation import check_keys

KEY_BYTES = 32
"""The least length of a key that an attacker cannot find by trying."""

SHORT_KEY = (
    f"Warning: BERTH_SECRET_KEY is shorter than {KEY_BYTES} bytes. Set the output of `openssl rand -hex 32`; all users "
    "must sign in again after that. The next version will refuse the current key."
)


class Command(BaseCommand):
    help = "Migrate the database, create the cache table, collect static files and create the first superuser."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--while-serving", action="store_true", help="while a server of the previous version keeps running"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with explain_full_disk():
            self._prepare(is_serving=options["while_serving"])

    def _prepare(self, *, is_serving: bool) -> None:
        require_no_restore()
        require_own_instance()
        if not is_serving:
            require_port_of_role()
        if len(settings.SECRET_KEY.encode()) < KEY_BYTES:
            self.stderr.write(SHORT_KEY)
        _migrate()
        with migration_lock(connection):  # another process may do the same now
            _create_cache_table()
            check_keys()
            require_shared_keys()
            self._collect_static(clear=not is_serving)
            try:
                call_command("ensure_admin", stdout=self.stdout)
            except NoAdminError as error:
                self.stderr.write(f"Warning: {error}")

    def _collect_static(self, *, clear: bool) -> None:
        """Keeps the static files of the previous version for its servers. Their names differ."""
        stamp = settings.BERTH_DATA_DIR / "static.digest"
        digest = digest_static_files()
        if stamp.exists() and stamp.read_bytes() == digest.encode() and settings.STATIC_ROOT.is_dir():
            return
        self.stdout.write("… Collecting static files")
        call_command("collectstatic", interactive=False, clear=clear, verbosity=0)
        for path in (settings.STATIC_ROOT, *settings.STATIC_ROOT.rglob("*")):
            give_to_owner(path, stamp.parent)
        stamp.write_text(digest)
        give_to_owner(stamp, stamp.parent)


def _migrate() -> None:
    """Raises `CommandError` if the database cannot be used."""
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        if explained := explain_fault(error):
            raise CommandError(explained) from None
        raise


def _create_cache_table() -> None:
    """Raises the error of the database, which Django puts into two lines without advice."""
    try:
        call_command("createcachetable", verbosity=0)
    except CommandError as error:
        said = error.__context__
        if isinstance(said, DatabaseError):
            raise said from said.__cause__
        raise


def digest_static_files() -> str:
    """Returns a digest that changes when a static file is added, removed or written."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            line = f"{path} {storage.size(path)} {storage.get_modified_time(path).timestamp()}\n"
            digest.update(line.encode())
    return digest.hexdigest()
