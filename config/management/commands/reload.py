import os
import signal
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.serving.pid_file import Serving, find_serving
from config.serving.port import is_taken
from config.serving.roles import Role

WITHIN = 180.0
"""Seconds until the new program must serve. It imports everything, possibly on a busy machine."""

LOOK_EVERY = 0.1

CANNOT_HAND_OVER = (
    "The program on {host}:{port} cannot hand over; Berth before 0.3.0 could not. Stop it and start this one: Ctrl-C "
    "and `make run`, or `systemctl restart berth`. Requests fail for the seconds of its start; agents keep running."
)


class Command(BaseCommand):
    help = "Restart a running `serve` with the current program and data, without refusing a request."
    requires_current_database = True

    def handle(self, *args: Any, **options: Any) -> None:
        serving = find_serving()
        if serving is None and Role(settings.BERTH_ROLE).serves and is_taken(settings.BERTH_HOST, settings.BERTH_PORT):
            raise CommandError(CANNOT_HAND_OVER.format(host=settings.BERTH_HOST, port=settings.BERTH_PORT))
        if serving is None:
            raise CommandError("Berth is not running with this BERTH_DATA_DIR and BERTH_PORT. Start it: `make run`.")
        try:
            os.kill(serving.pid, signal.SIGUSR2)
        except PermissionError:
            raise CommandError("Berth runs as another user. Run this as that user, or as root.") from None
        _wait_for_successor(serving)
        self.stdout.write("Berth has restarted. The previous program finishes the requests that it has begun.")


def _wait_for_successor(former: Serving) -> None:
    """Waits until the same process serves with the new program. While it starts, it does not hold its lock."""
    until = time.monotonic() + WITHIN
    while time.monotonic() < until and Path(f"/proc/{former.pid}").exists():
        serving = find_serving()
        if serving is not None and serving.start != former.start:
            return
        if serving is not None and serving.refusal != former.refusal:
            raise CommandError(f"Berth did not restart, and the previous program serves on: {serving.obstacle}")
        time.sleep(LOOK_EVERY)
    raise CommandError("Berth did not restart. Its log says why.")
