import sys
import threading
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from config.backup.marker import require_no_restore
from config.metrics.shared import counting_together
from config.serving.handover import Predecessors
from config.serving.pid_file import PidFile
from config.serving.port import bind_port
from config.serving.supervisor import Supervisor
from config.serving.welcome import write_welcome
from projects.services.key_rotation import check_keys


class Command(BaseCommand):
    help = "Serve Berth: the web server and the watcher. Agents go on when it stops."
    requires_current_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--prepare", action="store_true", help="First do what `manage.py prepare` does.")
        parser.add_argument("--announce", action="store_true", help="Say how to sign in, once everything is ready.")

    def handle(self, *args: Any, **options: Any) -> None:
        require_no_restore()
        if options["prepare"]:
            call_command("prepare", stdout=self.stdout)
        predecessors = Predecessors.read()
        with bind_port(settings.BERTH_HOST, settings.BERTH_PORT, inherited=predecessors.listener) as listener:
            check_keys()
            if options["announce"]:
                threading.Thread(target=write_welcome, args=(self.stdout.write,), daemon=True).start()
            with counting_together(goes_on=predecessors.listener is not None):
                sys.exit(Supervisor(listener, predecessors, PidFile()).run())
