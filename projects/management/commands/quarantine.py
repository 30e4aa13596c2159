from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts import clock
from accounts.models import User
from containers.errors import EngineError
from projects.errors import CannotAdoptError
from projects.management.confirmation import require_confirmation
from projects.models import Actor, AgentType, Plan, Quarantined
from projects.services.inventory.decisions import (
    adopt_from_quarantine,
    delete_from_quarantine,
    describe_overdue,
    find_owner,
)

OPERATOR = Actor(label="operator", source="manage.py quarantine")


class Command(BaseCommand):
    help = (
        "List, adopt or delete agents in quarantine, which have the id of this installation and belong to no project. "
        "They are stopped and kept, with their memories, until you decide."
    )
    requires_current_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb")
        verbs.add_parser("list", help="list what is in quarantine (the default)")
        shown = verbs.add_parser("log", help="print what an agent printed last, without its credentials")
        shown.add_argument("project", help="the id of the project that it belonged to, as the list has it")
        adopt = verbs.add_parser("adopt", help="make a stopped project of an agent; its owner enters the credentials")
        adopt.add_argument("project", help="the id of the project that it belonged to, as the list has it")
        adopt.add_argument("--owner", metavar="EMAIL", help="the owner; by default the one in its labels")
        adopt.add_argument("--plan", metavar="SLUG", help="the plan; by default the default one")
        adopt.add_argument("--type", metavar="SLUG", help="the agent type; by default the default one")
        delete = verbs.add_parser("delete", help="permanently remove containers and agents' memories")
        delete.add_argument("project", nargs="*", help="the ids, as the list has them")
        delete.add_argument("--expired", action="store_true", help="all that have been kept for 30 days")
        delete.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            match options["verb"]:
                case "log":
                    self._show_log(_find(Quarantined, options["project"]))
                case "adopt":
                    self._adopt(options)
                case "delete":
                    self._delete(options)
                case _:
                    self._list(Quarantined.objects.defer("log"))
                    if waiting := describe_overdue():
                        self.stderr.write(self.style.WARNING(waiting))
        except (EngineError, CannotAdoptError) as error:
            raise CommandError(str(error)) from error

    def _list(self, entries: Iterable[Quarantined]) -> None:
        now = clock.now()
        lines = [
            f"{entry.key}  since {entry.since:%Y-%m-%d %H:%M}  kept until {entry.kept_until:%Y-%m-%d}  "
            f"owner {_name_owner(entry)}  {entry.container_name or 'without a container'}"
            f"{'  KEPT FOR 30 DAYS: DECIDE' if entry.is_overdue(now) else ''}"
            for entry in entries
        ]
        self.stdout.write("\n".join(lines) or "Nothing is in quarantine.")

    def _show_log(self, entry: Quarantined) -> None:
        self.stdout.write(entry.log or f"No log was kept of {entry.key}.")

    def _adopt(self, options: dict[str, Any]) -> None:
        project = adopt_from_quarantine(
            entry=_find(Quarantined, options["project"]),
            actor=OPERATOR,
            owner=_find(User, options["owner"], "email__iexact") if options["owner"] else None,
            plan=_find(Plan, options["plan"]) if options["plan"] else None,
            agent_type=_find(AgentType, options["type"]) if options["type"] else None,
        )
        done = f"Project {project.pk} is {project.owner.email}'s, and stopped. Enter its credentials, then start it."
        self.stdout.write(self.style.SUCCESS(done))

    def _delete(self, options: dict[str, Any]) -> None:
        chosen = {entry.pk: entry for entry in (_find(Quarantined, key) for key in options["project"])}
        if options["expired"]:
            now = clock.now()
            chosen |= {entry.pk: entry for entry in Quarantined.objects.all() if entry.kept_until <= now}
        if not chosen:
            raise CommandError("Name the projects to delete, or say --expired for all that were kept for 30 days.")
        self._list(chosen.values())
        if not options["yes"]:
            require_confirmation(str(len(chosen)), "to delete that many permanently")
        for entry in chosen.values():
            delete_from_quarantine(entry=entry, actor=OPERATOR)
            self.stdout.write(self.style.SUCCESS(f"Deleted {entry.key}."))


def _name_owner(entry: Quarantined) -> str:
    owner = find_owner(entry)
    return owner.email if owner else f"unknown ({entry.owner_key or 'no label'})"


def _find(model: type[Any], value: str, field: str = "pk") -> Any:
    found = model._default_manager.filter(**{field: value}).first()
    if found is None:
        raise CommandError(f"There is no {model._meta.verbose_name} “{value}”.")
    return found
