from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.backup.plan import Plan, RestoreOptions
from config.backup.restore import planned_restore
from config.backup.schema import known
from config.backup.summary import count_kinds, counted
from containers.errors import EngineError
from projects.services.inventory.installation import look_for_conflicts
from projects.services.inventory.memory import count_missing_agents


class Command(BaseCommand):
    help = (
        "Restore an archive of `manage.py backup`. Berth must not run. Everything is checked before anything is "
        "written. If this is killed, run it again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, help="the file that `manage.py backup` has written")
        parser.add_argument("--keys", type=Path, metavar="FILE", help="the key file; by default this machine's keys")
        parser.add_argument("--with-memory", action="store_true", help="include the agents' memories (/data)")
        parser.add_argument("--dry-run", action="store_true", help="check everything, say what would be done, and end")
        parser.add_argument("--replace", action="store_true", help="delete the current contents of the database")

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
        self.stdout.write(
            self.style.SUCCESS("Restored. Start Berth: it creates the agents' containers from the database.")
        )
        self._describe_engine()

    def _describe(self, plan: Plan, wanted: RestoreOptions) -> None:
        manifest = plan.manifest
        made = f"{manifest.made_at:%Y-%m-%d %H:%M} UTC by version {manifest.version} ({manifest.database})"
        self.stdout.write(f"The archive was made {made}. It contains {count_kinds(manifest)}.")
        if plan.is_done:
            self.stdout.write(
                "It has already been restored here. Use --replace to do it again and lose all later changes."
            )
            return
        if plan.closed:
            self.stdout.write(
                self.style.WARNING(f"The keys do not decrypt {plan.closed} credentials. Enter those again.")
            )
        for key, flaw in plan.flawed.items():
            what = f"The memory of {key} will NOT be restored: {flaw}. What its agent has here, if anything, stays."
            self.stdout.write(self.style.WARNING(what))
        lines = [
            f"The database, which contains {plan.held}, will be replaced."
            if plan.held
            else "The database will be filled.",
            *(["The key files are those of --keys."] if wanted.keys_path else []),
            *([f"{later} migrations follow."] if (later := len(known()) - len(manifest.migrations)) else []),
            *(["The agents' memories will be replaced, and running agents stopped."] if wanted.with_memory else []),
            "Everyone must sign in again. API keys revoked since the backup work again: revoke them again.",
        ]
        self.stdout.write("\n".join(lines))

    def _describe_engine(self) -> None:
        """Reports conflicts between the engine and the restored database, which the watcher will follow."""
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
