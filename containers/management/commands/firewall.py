"""Prints, sets or removes the rules that keep agents away from this host and from private networks."""

from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from containers.docker.alignment import keep_down
from containers.docker_api.client import Connection
from containers.errors import EngineError
from containers.firewall.boot import SCRIPT
from containers.firewall.bridge import former_bridge_name, is_here
from containers.firewall.iptables import current_rules, remove_rules
from containers.firewall.script import as_script
from containers.get_engine import get_engine


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Print the agents' firewall rules as a shell script, or set or remove them here (as root)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--apply", action="store_true", help="set the rules on this host")
        action.add_argument("--boot", action="store_true", help="print what closes the agents' bridges at boot instead")
        action.add_argument("--keep-down", action="store_true", help="let the engine start no agent by itself")
        action.add_argument("--remove", action="store_true", help="remove them from this host")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["remove"]:
            remove_rules()
            if is_here(former := former_bridge_name()):
                self.stdout.write(f"The rules of {former} stay: agents of another installation may be on this bridge.")
            return
        if options["keep_down"]:
            self._keep_down()
            return
        if options["boot"]:
            self.stdout.write(SCRIPT, ending="")
            return
        if not options["apply"]:
            with suppress(EngineError):  # without one there is no gateway whose place the rules have to name
                get_engine().find_agents_network()
            self.stdout.write(as_script(current_rules()), ending="")
            return
        try:
            obstacle = get_engine().ensure_firewall()
        except EngineError as error:
            raise CommandError(str(error)) from error
        if obstacle:
            raise CommandError(obstacle)
        self.stdout.write("Agents reach the internet and nothing near.")

    def _keep_down(self) -> None:
        try:
            keep_down(Connection())
        except EngineError as error:
            raise CommandError(str(error)) from error
