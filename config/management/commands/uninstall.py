"""Takes away what this installation has on its engine, and on request the rest. Says first what it will do."""

import shutil
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection as database

from accounts import clock
from config.serving.port import is_taken
from containers.docker import removal
from containers.docker_api.client import Connection
from containers.errors import EngineError
from projects.management.confirmation import confirms
from projects.models import Watch
from projects.models.columns.facts import is_watch_alive
from projects.models.processes.holder import describe_process

FILES = (
    *("berth.sqlite3*", "*.key", "static", "static.digest", "serve-*.pid", "migrating.lock", "restore.json"),
    *("restore.lock", "dockerd.log", "sbom"),
)
"""What Berth writes to its data directory, but for backups."""


class Command(BaseCommand):
    help = (
        "Remove the containers, networks and firewall rules of this installation, and on request more. Volumes, "
        "images, the database and the keys stay unless you name them, so that `make run` brings all back. Backups "
        "always stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--volumes", action="store_true", help="and what agents remember, for good")
        parser.add_argument("--images", action="store_true", help="and all of Berth's images that no container uses")
        parser.add_argument("--data", action="store_true", help="and the files of the data directory, for good")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Takes options as a whole only, so that `config/bin/uninstall` sees them, too."""
        return super().create_parser(prog_name, subcommand, allow_abbrev=False, **kwargs)

    def handle(self, *args: Any, **options: Any) -> None:
        self._require_database()
        if not options["dry_run"]:
            self._require_rest()
        engine = Connection()
        try:
            found = removal.find_belongings(engine)
            files = self._files() if options["data"] else []
            self._tell(found, files, options)
            if options["dry_run"] or not (options["yes"] or confirms("yes", "to do this")):
                return
            self._remove_from_engine(engine, found, options)
        except EngineError as error:
            raise CommandError(f"{error} Nothing is lost; run this again.") from None
        if files:
            database.close()
        for path in files:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        self._tell_what_stays(options)

    def _require_rest(self) -> None:
        """Raises `CommandError` where Berth still runs, which would make anew what is removed."""
        if is_taken(settings.BERTH_HOST, settings.BERTH_PORT):
            raise CommandError(
                f"Something still listens on port {settings.BERTH_PORT}. Stop Berth first, then run this."
            )
        watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE).only("holder", "lease_until").first()
        if watch is not None and is_watch_alive(watch.lease_until, clock.now()):
            process = describe_process(watch.holder)
            raise CommandError(f"Berth still runs ({process}). Stop it, wait for half a minute, then run this.")

    def _require_database(self) -> None:
        """Raises `CommandError` where there is none."""
        if "projects_installation" not in database.introspection.table_names():
            raise CommandError(
                "There is no database, which alone knows what on the engine is Berth's. Check DATABASE_URL and "
                "BERTH_DATA_DIR, or remove what is labelled berth.installation by hand."
            )

    def _files(self) -> list[Path]:
        folder = Path(settings.BERTH_DATA_DIR)
        return sorted({path for pattern in FILES for path in folder.glob(pattern)})

    def _tell(self, found: removal.Belongings, files: list[Path], options: Mapping[str, Any]) -> None:
        self._list("Containers, stopped and removed", found.containers)
        self._list("Networks, and the firewall rules around them", found.networks)
        self._list("Volumes, with all that agents remember", found.volumes, is_removed=options["volumes"])
        whose = "Images that Berth has built, also for other installations on this engine, and that no container uses"
        self._list(whose, found.images, is_removed=options["images"])
        if options["data"]:
            self._list("Files, for good", {str(path): "" for path in files})

    def _list(self, title: str, names: Mapping[str, str], *, is_removed: bool = True) -> None:
        if names:
            self.stdout.write(f"{title}:" if is_removed else f"{title} (these stay):")
            self.stdout.write("\n".join(f"  {name}" for name in names))

    def _remove_from_engine(self, engine: Connection, found: removal.Belongings, options: Mapping[str, Any]) -> None:
        self._each("Removing", found.containers, lambda each: removal.remove_container(engine, each))
        if found.networks:
            removal.remove_firewall(engine)
        self._each("Removing", found.networks, lambda each: removal.remove_network(engine, each))
        if options["volumes"]:
            self._each("Removing", found.volumes, lambda each: removal.remove_volume(engine, each))
        if options["images"]:
            used = [name for name in found.images if not removal.remove_image(engine, name)]
            self._list("Images that a container still uses, and that stay", dict.fromkeys(used, ""))

    def _each(self, verb: str, found: Mapping[str, str], act: Callable[[str], None]) -> None:
        for name, identifier in found.items():
            self.stdout.write(f"… {verb} {name}")
            act(identifier)

    def _tell_what_stays(self, options: Mapping[str, Any]) -> None:
        self.stdout.write("Berth is gone from this engine.")
        if not options["data"]:
            self.stdout.write(
                f"The database and the keys stay ({settings.BERTH_DATA_DIR}): `make run` brings Berth back."
            )
        elif database.vendor != "sqlite":
            self.stdout.write("The database on its server stays. Drop it there where you need it no more.")
        folder = Path(settings.BERTH_DATA_DIR)
        if options["data"] and folder.is_dir():
            left = sorted(path.name for path in folder.iterdir())
            self.stdout.write(f"These stay in {folder}: {', '.join(left)}." if left else f"{folder} is empty.")
