from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """`manage.py` answers by itself, without settings. This is for `call_command`, and for the list of commands."""

    help = "Say which version of Berth this is."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"Berth {settings.BERTH_VERSION}")
