"""Removes this installation from its engine and, on request, everything else. Lists it first."""

import shutil
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection as database

from accounts import clock
from config.environment.ownership import advise
from config.management.start_checks import require_own_instance
from config.serving.port import is_taken
from containers.docker import removal
from containers.docker_api.building.image_build import FIREWALL
from containers.docker_api.client import Connection
from containers.errors import EngineError
from projects.management.confirmation import require_confirmation
from projects.models import Watch
from projects.models.columns.facts import is_watch_alive
from projects.models.processes.holder import describe_process

DATABASE = "berth.sqlite3"
FILES = (
    *(f"{DATABASE}*", "*.key", "static", "static.digest", "serve-*.pid", "migrating.lock", "restore.json"),
    *("restore.lock", "dockerd.log", "dockerd.log.1", "sbom"),
)
"""The files that Berth writes to its data directory, except backups."""


class Command(BaseCommand):
    help = (
        "Remove the containers, networks and firewall rules of this installation, and on request more. Volumes, "
        "images, the database and the keys are kept unless you name them, so that `make run` can restore everything. "
        "Backups are always kept."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--volumes", action="store_true", help="also the agents' memories, permanently")
        parser.add_argument("--images", action="store_true", help="also all of Berth's images that no container uses")
        parser.add_argument("--data", action="store_true", help="also the files of the data directory, permanently")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Refuses abbreviated options, because `config/bin/uninstall` reads them, too."""
        return super().create_parser(prog_name, subcommand, allow_abbrev=False, **kwargs)

    def handle(self, *args: Any, **options: Any) -> None:
        self._require_database()
        require_own_instance()
        if not options["dry_run"]:
            self._require_rest()
        engine = Connection()
        try:
            found = removal.find_belongings(engine)
            files = self._files() if options["data"] else []
            self._report(found, files, options)
            if options["dry_run"]:
                return
            if not options["yes"]:
                require_confirmation("yes", "to do this")
            self._remove_from_engine(engine, found, options)
        except EngineError as error:
            raise CommandError(f"{error} Nothing is lost; run this again.") from None
        if files:
            database.close()
        for path in files:
            _remove(path)
        self._report_what_stays(options)

    def _require_rest(self) -> None:
        """Raises `CommandError` if Berth still runs, because it would recreate what is removed."""
        if is_taken(settings.BERTH_HOST, settings.BERTH_PORT):
            raise CommandError(
                f"Something still listens on port {settings.BERTH_PORT}. Stop Berth first, then run this."
            )
        watch = Watch.objects.filter(instance=settings.BERTH_INSTANCE).only("holder", "lease_until").first()
        if watch is not None and is_watch_alive(watch.lease_until, clock.now()):
            process = describe_process(watch.holder)
            raise CommandError(f"Berth still runs ({process}). Stop it, wait for half a minute, then run this.")

    def _require_database(self) -> None:
        """Raises `CommandError` if there is no database."""
        if "projects_installation" not in database.introspection.table_names():
            raise CommandError(
                "There is no database, and only the database knows what on the engine belongs to Berth. Check "
                "DATABASE_URL and BERTH_DATA_DIR, or remove everything labelled berth.installation by hand."
            )

    def _files(self) -> list[Path]:
        """Returns the files in the order of their removal. The database comes last, because a second run needs it."""
        folder = Path(settings.BERTH_DATA_DIR)
        found = {path for pattern in FILES for path in folder.glob(pattern)}
        return sorted(found, key=lambda path: (path.match(DATABASE), path.match(f"{DATABASE}*"), path))

    def _report(self, found: removal.Belongings, files: list[Path], options: Mapping[str, Any]) -> None:
        self._list("Containers, stopped and removed", found.containers)
        self._list("Networks, and the firewall rules around them", found.networks)
        self._list("Volumes, with the agents' memories", found.volumes, is_removed=options["volumes"])
        whose = (
            "Images that Berth has built and no container uses, including those of other installations on this engine"
        )
        self._list(whose, found.images, is_removed=options["images"])
        if options["data"]:
            self._list("Files, permanently", {str(path): "" for path in files})

    def _list(self, title: str, names: Mapping[str, str], *, is_removed: bool = True) -> None:
        if names:
            self.stdout.write(f"{title}:" if is_removed else f"{title} (these stay):")
            self.stdout.write("\n".join(f"  {name}" for name in names))

    def _remove_from_engine(self, engine: Connection, found: removal.Belongings, options: Mapping[str, Any]) -> None:
        self._each("Removing", found.containers, lambda each: removal.remove_container(engine, each))
        self._each("Removing", found.networks, lambda each: removal.remove_network(engine, each))
        if not removal.remove_firewall(engine, found.bridges):
            chains = "|".join(bridge.upper() for bridge in found.bridges)
            self.stdout.write(
                f"The image {FIREWALL.image} is not on the engine, so that nobody looked for firewall rules. On the "
                f"engine's host, root sees any that are left with: iptables -S | grep -E '{chains}'"
            )
        if options["volumes"]:
            self._each("Removing", found.volumes, lambda each: removal.remove_volume(engine, each))
        if options["images"]:
            used = [name for name in found.images if not removal.remove_image(engine, name)]
            self._list("Images that a container still uses (these stay)", dict.fromkeys(used, ""))

    def _each(self, verb: str, found: Mapping[str, str], act: Callable[[str], None]) -> None:
        for name, identifier in found.items():
            self.stdout.write(f"… {verb} {name}")
            act(identifier)

    def _report_what_stays(self, options: Mapping[str, Any]) -> None:
        self.stdout.write("Berth has been removed from this engine.")
        if not options["data"]:
            self.stdout.write(
                f"The database and the keys are kept ({settings.BERTH_DATA_DIR}): `make run` brings Berth back."
            )
        elif database.vendor != "sqlite":
            self.stdout.write("The database on its server is kept. Drop it there if you no longer need it.")
        folder = Path(settings.BERTH_DATA_DIR)
        if options["data"] and folder.is_dir():
            left = sorted(path.name for path in folder.iterdir())
            self.stdout.write(f"These are kept in {folder}: {', '.join(left)}." if left else f"{folder} is empty.")


def _remove(path: Path) -> None:
    try:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"{path} cannot be removed ({error.strerror}). {advise(error)}") from None
