"""Builds the images of the gateway and of the agents that are not up to date."""

from argparse import ArgumentParser
from collections import deque
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from containers.docker_api import image_build
from containers.docker_api.base_image import NoBaseImageError, find_base
from containers.docker_api.client import Connection
from containers.docker_api.image_build import (
    FIREWALL,
    GATEWAY,
    BuildContext,
    build_image,
    find_contexts,
    is_current,
)
from containers.docker_api.pinned_base import PinnedBase, describe_build, fetch_base, find_pin, pin_base
from containers.errors import EngineError
from containers.firewall.iptables import can_set_rules
from containers.programs import is_local_engine

NO_BASE_IMAGE = 3
"""Exit code that tells `config/bin/run` to install mmdebstrap and try again."""


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Build the images of the gateway and the agent types as berth/<type>:latest, where anything has changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("types", nargs="*", help="only these agent types, or gateway, or firewall")
        parser.add_argument("--base-image", default="", help="begin with this image, which is on the engine")
        parser.add_argument("--update-base", action="store_true", help="leave the base image that was built on so far")
        parser.add_argument("--no-pull", action="store_true", help="ask no registry for the base image")
        parser.add_argument("--force", action="store_true", help="build even what is up to date")

    def handle(self, *args: Any, **options: Any) -> None:
        if unknown := set(options["types"]) - {context.type for context in (*find_contexts(), GATEWAY, FIREWALL)}:
            message = f"There is no agent type {', '.join(sorted(unknown))}."
            raise CommandError(message)
        connection = Connection()
        try:
            chosen = self._choose(connection, options)
            for context in _select(options["types"]):
                self._build(connection, context, chosen, options)
            if not options["types"] and not (is_local_engine() and can_set_rules()):
                self._build_firewall(connection, chosen, options)
        except NoBaseImageError as error:
            raise CommandError(str(error), returncode=NO_BASE_IMAGE) from error
        except EngineError as error:
            raise CommandError(str(error)) from error

    def _choose(self, connection: Connection, options: dict[str, Any]) -> PinnedBase | None:
        """The base image that the operator asks for, or None for that of each image."""
        name = options["base_image"]
        if not name:
            if not options["update_base"]:
                return None
            name = find_base(connection, pull=not options["no_pull"], newest=True, tell=self._tell)
        return self._pin(connection, name)

    def _pin(self, connection: Connection, name: str) -> PinnedBase:
        if pin := pin_base(connection, name):
            return pin
        message = f"The image {name} is not on the engine. Load it first, or leave --base-image out."
        raise CommandError(message)

    def _build(
        self, connection: Connection, context: BuildContext, chosen: PinnedBase | None, options: dict[str, Any]
    ) -> None:
        pull = not options["no_pull"]
        pin = chosen or find_pin(connection, [context.image, *(each.image for each in find_contexts())])
        if pin is None:
            pin = self._pin(connection, find_base(connection, pull=pull, tell=self._tell))
        labels = describe_build(context, pin)
        if not options["force"] and is_current(connection, context, labels):
            self._tell(f"{context.image} is up to date, on {pin}.")
            return
        base = fetch_base(connection, pin, pull=pull)
        self._tell(f"Building {context.image} on {pin}")
        for image in context.base_images().unpinned:
            self._tell(f"  Nothing fixes {image} in its Dockerfile: write FROM ${{BASE_IMAGE}}, or add its @sha256:…")
        self._run(build_image(connection, context, base=base, labels=labels))
        self._tell(f"{context.image} is built.")

    def _run(self, lines: Iterator[str]) -> None:
        recent: deque[str] = deque(maxlen=20)
        try:
            for line in lines:
                recent.append(line)
                if line.startswith("Step "):
                    self._tell(f"  {line[:110]}")
        except EngineError:
            self.stderr.write("\n".join(recent))
            raise

    def _build_firewall(self, connection: Connection, chosen: PinnedBase | None, options: dict[str, Any]) -> None:
        """Agents can do without it, so that its failure is none of theirs."""
        try:
            self._build(connection, FIREWALL, chosen, options)
        except EngineError as error:
            self.stderr.write(f"{error} Until it is built, Berth cannot set the agents' firewall rules.")

    def _tell(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _select(types: list[str]) -> list[BuildContext]:
    """What is named, or else the gateway, without which no agent has a way out, and then all agent types."""
    contexts = find_contexts()
    if types:
        return [each for each in (GATEWAY, *contexts, FIREWALL) if each.type in types]
    return [*([GATEWAY] if GATEWAY.folder.parent == image_build.IMAGES else []), *contexts]
