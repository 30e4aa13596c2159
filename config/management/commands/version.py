from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """For `call_command` and the list of commands. On the command line, `manage.py` itself answers without settings."""

    help = "Print the version of Berth."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Berth {settings.BERTH_VERSION}")
