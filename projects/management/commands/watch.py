import signal
from typing import Any

from django.core.management.base import BaseCommand

from projects.services.credentials.key_rotation import check_keys
from projects.watcher.heartbeat import Pulse
from projects.watcher.watcher import Watcher


class Command(BaseCommand):
    help = "Follow the engine, keep the rows up to date, and repair agents. Of several watchers one is active."
    requires_current_database = True

    stealth_options = ("publish",)  # for `serve`: see `projects.watcher.heartbeat`

    def handle(self, *args: Any, **options: Any) -> None:
        check_keys()
        publish = options.get("publish")
        watcher = Watcher(Pulse(publish) if publish else None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: watcher.stop())
        self.stdout.write("Watching.")
        watcher.run()
