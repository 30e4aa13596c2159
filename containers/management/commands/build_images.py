"""Builds the agent images that are not up to date."""

from argparse import ArgumentParser
from collections import deque
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from containers.docker_api.base_image import NoBaseImageError, find_base
from containers.docker_api.client import Connection
from containers.docker_api.image_build import (
    FIREWALL,
    BuildContext,
    build_image,
    find_contexts,
    inspect_image,
    is_current,
)
from containers.errors import EngineError
from containers.firewall.iptables import can_set_rules
from containers.programs import is_local_engine

NO_BASE_IMAGE = 3
"""Exit code that tells `config/bin/run` to install mmdebstrap and try again."""


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Build the images of the agent types as berth/<type>:latest, where anything has changed since."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("types", nargs="*", help="only these agent types, or firewall")
        parser.add_argument("--base-image", default="", help="begin with this image, which is on the engine")
        parser.add_argument("--no-pull", action="store_true", help="ask no registry for the base image")
        parser.add_argument("--force", action="store_true", help="build even what is up to date")

    def handle(self, *args: Any, **options: Any) -> None:
        contexts = find_contexts()
        if FIREWALL.type in options["types"]:
            contexts.append(FIREWALL)
        if unknown := set(options["types"]) - {context.type for context in contexts}:
            message = f"There is no agent type {', '.join(sorted(unknown))}."
            raise CommandError(message)
        connection = Connection()
        try:
            base = options["base_image"] or find_base(connection, pull=not options["no_pull"], tell=self._tell)
            found = inspect_image(connection, base)
            if found is None:
                message = f"The image {base} is not on the engine. Load it first, or leave --base-image out."
                raise CommandError(message)
            wanted = [context for context in contexts if not options["types"] or context.type in options["types"]]
            for context in wanted:
                self._build(connection, context, base=base, digest=context.digest(found["Id"]), force=options["force"])
            if not options["types"] and not (is_local_engine() and can_set_rules()):
                self._build_firewall(connection, base=base, digest=FIREWALL.digest(found["Id"]), force=options["force"])
        except NoBaseImageError as error:
            raise CommandError(str(error), returncode=NO_BASE_IMAGE) from error
        except EngineError as error:
            raise CommandError(str(error)) from error

    def _build(self, connection: Connection, context: BuildContext, *, base: str, digest: str, force: bool) -> None:
        if not force and is_current(connection, context, digest):
            self._tell(f"{context.image} is up to date.")
            return
        self._tell(f"Building {context.image} on {base}")
        recent: deque[str] = deque(maxlen=20)
        try:
            for line in build_image(connection, context, base=base, digest=digest):
                recent.append(line)
                if line.startswith("Step "):
                    self._tell(f"  {line[:110]}")
        except EngineError:
            self.stderr.write("\n".join(recent))
            raise
        self._tell(f"{context.image} is built.")

    def _build_firewall(self, connection: Connection, *, base: str, digest: str, force: bool) -> None:
        """Agents can do without it, so that its failure is none of theirs."""
        try:
            self._build(connection, FIREWALL, base=base, digest=digest, force=force)
        except EngineError as error:
            self.stderr.write(f"{error} Until it is built, Berth cannot set the agents' firewall rules.")

    def _tell(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
