"""Prepares what `serve` needs: database, cache table, static files, first superuser. Skips what is up to date."""

import hashlib
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand

from config.serving.port import require_free_port
from projects.services.key_rotation import check_keys


class Command(BaseCommand):
    help = "Migrate the database, make the cache table, collect static files and make the first superuser."

    def handle(self, *args: Any, **options: Any) -> None:
        require_free_port(settings.BERTH_HOST, settings.BERTH_PORT)
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        check_keys()
        self._collect_static()
        call_command("ensure_admin", stdout=self.stdout)

    def _collect_static(self) -> None:
        stamp = settings.BERTH_DATA_DIR / "static.digest"
        digest = digest_static_files()
        if stamp.exists() and stamp.read_text() == digest and settings.STATIC_ROOT.is_dir():
            return
        self.stdout.write("… Collecting static files")
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        stamp.write_text(digest)


def digest_static_files() -> str:
    """A digest that changes when a static file is added, removed or written."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            line = f"{path} {storage.size(path)} {storage.get_modified_time(path).timestamp()}\n"
            digest.update(line.encode())
    return digest.hexdigest()
