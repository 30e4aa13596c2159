from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.backup.plan import Plan, RestoreOptions
from config.backup.restore import planned_restore
from config.backup.schema import known
from config.backup.words import count_kinds, counted
from containers.errors import EngineError
from projects.services.inventory.installation import look_for_conflicts
from projects.services.inventory.memory import count_missing_agents


class Command(BaseCommand):
    help = (
        "Bring back an archive of `manage.py backup`. Berth must not run. All is checked before anything is written; "
        "where this is killed, run it again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, help="the file that `manage.py backup` has written")
        parser.add_argument("--keys", type=Path, metavar="FILE", help="the key file; by default this machine's keys")
        parser.add_argument("--with-memory", action="store_true", help="also what agents keep in /data")
        parser.add_argument("--dry-run", action="store_true", help="check everything, say what would be done, and end")
        parser.add_argument("--replace", action="store_true", help="lose what the database holds now")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = RestoreOptions(
            archive=options["archive"].absolute(),
            keys_path=options["keys"],
            with_memory=options["with_memory"],
            replace=options["replace"],
        )
        with planned_restore(wanted) as restore:
            self._describe(restore.plan, wanted)
            if restore.plan.is_done or options["dry_run"]:
                return
            restore.carry_out(self.stdout.write)
        self.stdout.write(self.style.SUCCESS("Restored. Start Berth: it makes the agents' containers as the rows say."))
        self._describe_engine()

    def _describe(self, plan: Plan, wanted: RestoreOptions) -> None:
        manifest = plan.manifest
        made = f"{manifest.made_at:%Y-%m-%d %H:%M} UTC by version {manifest.version} ({manifest.database})"
        self.stdout.write(f"The archive was made {made}. It holds {count_kinds(manifest)}.")
        if plan.is_done:
            self.stdout.write("It has been restored here. To do it once more, and lose what came since, say --replace.")
            return
        if plan.closed:
            self.stdout.write(self.style.WARNING(f"The keys do not open {plan.closed} credentials. Enter those anew."))
        lines = [
            f"The database, which holds {plan.held}, is replaced." if plan.held else "The database is filled.",
            *(["The key files are those of --keys."] if wanted.keys_path else []),
            *([f"{later} migrations follow."] if (later := len(known()) - len(manifest.migrations)) else []),
            *(["The agents' memory is replaced; those that run are stopped."] if wanted.with_memory else []),
            "Everybody signs in anew. API keys work again that were revoked since the backup: revoke them again.",
        ]
        self.stdout.write("\n".join(lines))

    def _describe_engine(self) -> None:
        """What the engine and the restored database do not agree on, which the watcher goes by."""
        try:
            conflicts, missing = look_for_conflicts(), count_missing_agents()
        except EngineError as error:
            self.stdout.write(self.style.WARNING(f"{error} Agents start as soon as it answers."))
            return
        if conflicts:
            self.stdout.write(self.style.WARNING(conflicts.describe()))
        if missing:
            message = (
                f"Without a container here: {counted(missing, 'agent')} that should run. If another machine still runs "
                "them, stop them there first: Telegram gives a bot's messages to one program only, and both would fail."
            )
            self.stdout.write(self.style.WARNING(message))
