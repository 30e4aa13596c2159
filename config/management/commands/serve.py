import os
import socket
import sys
from contextlib import nullcontext
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connections

from config.backup.marker import require_no_restore
from config.environment.ownership import open_owned
from config.management.start_checks import require_shared_keys, require_that_it_may_serve
from config.metrics.shared import counting_together
from config.serving.pid_file import PidFile, pid_file
from config.serving.port import bind_port
from config.serving.roles import Role
from config.serving.supervision.handover import Predecessors
from config.serving.supervision.supervisor import Supervisor
from config.serving.welcome import write_welcome
from containers.docker_api.building.wanted_images import are_built
from containers.docker_api.client import Connection
from containers.firewall.iptables import can_set_rules
from containers.programs import become_program, is_local_engine
from projects.services.credentials.key_rotation import check_keys


class Command(BaseCommand):
    help = "Serve Berth: run the web server and the watcher, or the one that BERTH_ROLE names."
    requires_current_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--prepare", action="store_true", help="First do what `manage.py prepare` does.")
        parser.add_argument("--again", action="store_true", help="First check whether `make run` has more to do.")
        parser.add_argument("--announce", action="store_true", help="Say how to sign in, once everything is ready.")
        parser.add_argument(
            "--check", action="store_true", help="Only check whether it could serve in place of another."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        require_no_restore()
        if options["check"]:
            _require_that_it_may_succeed()
            return
        if options["again"]:
            _require_engine_and_images()
        if options["prepare"]:
            call_command("prepare", stdout=self.stdout)
        predecessors, role = Predecessors.read(), Role(settings.BERTH_ROLE)
        with _listen(predecessors) if role.serves else nullcontext() as listener:
            check_keys()
            require_shared_keys()
            announces = options["announce"] and role.serves
            welcome = partial(write_welcome, self.stdout.write) if announces else None
            supervisor = Supervisor(listener, predecessors, PidFile(), role=role, forks=True, welcome=welcome)
            connections.close_all()
            with counting_together(continues=predecessors.hand_over):
                sys.exit(supervisor.run())


def _require_that_it_may_succeed() -> None:
    """Raises what would end the start of this program in the place of a running one."""
    os.close(open_owned(pid_file()))
    check_keys()
    require_shared_keys()


def _listen(predecessors: Predecessors) -> socket.socket:
    return bind_port(settings.BERTH_HOST, settings.BERTH_PORT, inherited=predecessors.listener)


def _require_engine_and_images() -> None:
    """Replaces this process by the whole of `make run` if the engine does not answer or lacks an image."""
    require_that_it_may_serve()
    firewall = not (is_local_engine() and can_set_rules())
    if not are_built(Connection(), firewall=firewall):
        sys.stdout.flush()
        become_program(str(settings.BASE_DIR / "config" / "bin" / "run"), "--all")
