from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from containers.errors import EngineUnavailableError
from projects.models import Project
from projects.services.credentials.key_rotation import check_keys
from projects.watcher.reconcile.full import reconcile


class Command(BaseCommand):
    help = "Inspect every container once, repair what differs from the desired state, and print what was done."
    requires_current_database = True

    def handle(self, *args: Any, **options: Any) -> None:
        check_keys()
        try:
            result = reconcile(changed_keys=_find_keys())
        except EngineUnavailableError as error:
            raise CommandError(str(error)) from error
        for line in result.repaired:
            self.stdout.write(self.style.SUCCESS(line))
        for line in result.failed:
            self.stdout.write(self.style.ERROR(line))
        if result.held:
            self.stdout.write(self.style.ERROR(result.held))
        self.stdout.write(
            f"{result.seen} containers seen, {result.changed} rows updated, "
            f"{len(result.repaired)} repaired, {len(result.failed)} could not be repaired."
        )


def _find_keys() -> set[str]:
    """Returns the keys of all projects with a known container, so that each is inspected: a list may be outdated."""
    known = Project.objects.filter(instance=settings.BERTH_INSTANCE).exclude(container_state="")
    return {str(pk) for pk in known.values_list("pk", flat=True)}
