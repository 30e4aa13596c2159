from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from containers.errors import EngineError
from projects.errors import CannotAdoptError
from projects.management.confirmation import require_confirmation
from projects.models import Actor
from projects.services.inventory.installation import Conflicts, adopt, look_for_conflicts

OPERATOR = Actor(label="operator", source="manage.py adopt")


class Command(BaseCommand):
    help = (
        "Continue with this database although containers come from a newer one, or from one with another id: take over "
        "those of its projects, and put the others into quarantine. Nothing is deleted."
    )
    requires_current_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be adopted")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            conflicts = look_for_conflicts()
            self._describe(conflicts)
            if options["dry_run"]:
                return
            if conflicts and not options["yes"]:
                require_confirmation("adopt", "to go on with this database")
            for line in adopt(actor=OPERATOR):
                self.stdout.write(self.style.SUCCESS(line))
        except (EngineError, CannotAdoptError) as error:
            raise CommandError(str(error)) from error

    def _describe(self, conflicts: Conflicts) -> None:
        if not conflicts:
            self.stdout.write("The database and the engine agree. There is nothing to adopt.")
        for key in conflicts.unknown:
            self.stdout.write(f"{key}: this database does not know the project. Its agent goes into quarantine.")
        for key, generation in conflicts.newer.items():
            self.stdout.write(f"{key}: the container is of deploy {generation}, later than the row. It is taken over.")
        for key, identifier in conflicts.foreign.items():
            self.stdout.write(
                f"{key}: the container carries the id {identifier}. This database takes on that id. Do not do this "
                "while the installation with that id is in use."
            )
