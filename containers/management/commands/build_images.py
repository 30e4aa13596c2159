"""Builds the images of the gateway and of the agents that are not up to date."""

from argparse import ArgumentParser
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from containers.docker_api.building.base_image import NoBaseImageError, find_base
from containers.docker_api.building.former_images import remove_former_gateways
from containers.docker_api.building.image_build import (
    AGENT_BASE,
    FIREWALL,
    GATEWAY,
    BuildContext,
    find_contexts,
    inspect_image,
    is_current,
)
from containers.docker_api.building.pinned_base import PinnedBase, describe_build, fetch_base, find_pin, pin_base
from containers.docker_api.building.run_build import Ingredients, build_image, remove_replaced
from containers.docker_api.building.wanted_images import find_gateway, select_contexts
from containers.docker_api.building.wheelhouse import find_wheels
from containers.docker_api.client import Connection
from containers.errors import EngineError, EngineRefusedError
from containers.firewall.iptables import can_set_rules
from containers.programs import is_local_engine
from containers.swarm.images.distribution import distribute

NO_BASE_IMAGE = 3
"""The exit code on which `config/bin/run` installs mmdebstrap and tries again."""

AT_ONCE = 4
"""Images that are built at the same time."""


@dataclass(frozen=True, slots=True)
class _Build:
    """An image to build, and its ingredients."""

    context: BuildContext
    of: Ingredients


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Build the images of the gateway and the agent types, where anything has changed."

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._found_base: PinnedBase | None = None
        self._printing = Lock()
        self._wheels: tuple[Path, ...] = ()
        self._former_bases: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("types", nargs="*", help="only these agent types, or gateway, or firewall")
        parser.add_argument("--base-image", default="", help="build on this image, which must be on the engine")
        parser.add_argument("--update-base", action="store_true", help="look for a newer base image")
        parser.add_argument(
            "--first-run", action="store_true", help="without types: only the default one, and those built before"
        )
        parser.add_argument("--no-pull", action="store_true", help="ask no registry for the base image")
        parser.add_argument("--push", action="store_true", help="then push to BERTH_REGISTRY, for the nodes of a Swarm")
        parser.add_argument("--force", action="store_true", help="build even what is up to date")
        parser.add_argument(
            "--wheelhouse", default="", metavar="DIR", help="take Python packages only from this folder"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        others = (GATEWAY, FIREWALL, AGENT_BASE)
        if unknown := set(options["types"]) - {context.type for context in (*find_contexts(), *others)}:
            message = f"There is no agent type {', '.join(sorted(unknown))} in containers/images."
            raise CommandError(message)
        connection = Connection()
        try:
            self._wheels = find_wheels(options["wheelhouse"])
            chosen = self._choose(connection, options)
            contexts = select_contexts(connection, options["types"], is_first_run=options["first_run"])
            self._build_all(connection, [self._plan(connection, each, chosen, options) for each in contexts])
            if not options["types"] and not (is_local_engine() and can_set_rules()):
                self._build_firewall(connection, chosen, options)
            remove_former_gateways(connection)
            if options["push"]:
                distribute(connection, [context.image for context in contexts], self._report)
        except NoBaseImageError as error:
            raise CommandError(str(error), returncode=NO_BASE_IMAGE) from error
        except EngineError as error:
            raise CommandError(str(error)) from error

    def _choose(self, connection: Connection, options: dict[str, Any]) -> PinnedBase | None:
        """Returns the base image that the operator asks for, or None if each image keeps its own."""
        name = options["base_image"]
        if not name:
            if not options["update_base"]:
                return None
            name = find_base(connection, pull=not options["no_pull"], newest=True, report=self._report)
        return self._pin(connection, name)

    def _pin(self, connection: Connection, name: str) -> PinnedBase:
        if pin := pin_base(connection, name):
            return pin
        message = f"The image {name} is not on the engine. Load it first, or leave --base-image out."
        raise CommandError(message)

    def _plan(
        self, connection: Connection, context: BuildContext, chosen: PinnedBase | None, options: dict[str, Any]
    ) -> _Build | None:
        """Returns the build, or None if the image is up to date. Builds or pulls the base image if it is missing."""
        pull = not options["no_pull"]
        known = [each.image for each in (context, *find_contexts(), *find_gateway())]
        pin = chosen or find_pin(connection, known) or self._found_base
        if pin is None:
            pin = self._found_base = self._pin(connection, find_base(connection, pull=pull, report=self._report))
        labels = describe_build(context, pin)
        if not options["force"] and is_current(connection, context, labels):
            self._report(f"{context.image} is up to date, on {pin}.")
            return None
        base = fetch_base(connection, pin, pull=pull)
        agent_base = self._build_agent_base(connection, pin, base) if context.base_images().uses_agent_base else ""
        self._report(f"Building {context.image} on {pin}")
        for image in context.base_images().unpinned:
            self._report(f"  Nothing fixes {image} in its Dockerfile: write FROM ${{BASE_IMAGE}}, or add its @sha256:…")
        return _Build(context, Ingredients(base=base, agent_base=agent_base, labels=labels, wheels=self._wheels))

    def _build_agent_base(self, connection: Connection, pin: PinnedBase, base: str) -> str:
        """Returns the id of the image that agent types are based on, which is built if it is not up to date."""
        labels = describe_build(AGENT_BASE, pin)
        if not is_current(connection, AGENT_BASE, labels):
            self._report(f"Building {AGENT_BASE.image} on {pin}")
            self._build(connection, _Build(AGENT_BASE, Ingredients(base=base, labels=labels)))
        found = inspect_image(connection, AGENT_BASE.image)
        if found is None:
            raise EngineRefusedError(f"The image {AGENT_BASE.image} was removed while it was needed. Try once more.")
        return str(found["Id"])

    def _build_all(self, connection: Connection, wanted: Iterable[_Build | None]) -> None:
        """Builds in parallel, because each build waits for downloads. Raises the first error once all have ended."""
        builds = [build for build in wanted if build is not None]
        threads = ThreadPoolExecutor(max(1, min(len(builds), AT_ONCE)))
        done = [threads.submit(self._build, connection, build) for build in builds]
        try:
            wait(done)
        except KeyboardInterrupt:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
        threads.shutdown()
        for each in done:
            each.result()
        while self._former_bases:
            remove_replaced(connection, self._former_bases.pop(), AGENT_BASE.image)

    def _build(self, connection: Connection, build: _Build) -> None:
        context = build.context
        if context.image == AGENT_BASE.image and (former := inspect_image(connection, context.image)):
            self._former_bases.append(str(former["Id"]))
        self._run(context.type, build_image(connection, context, build.of))
        self._report(f"{context.image} is built.")

    def _run(self, name: str, lines: Iterator[str]) -> None:
        recent: deque[str] = deque(maxlen=20)
        try:
            for line in lines:
                recent.append(line)
                if line.startswith("Step "):
                    self._report(f"  {name}: {line[:110]}")
        except EngineError:
            self.stderr.write("\n".join(recent))
            raise

    def _build_firewall(self, connection: Connection, chosen: PinnedBase | None, options: dict[str, Any]) -> None:
        """Builds the firewall's image. A failure is only reported, because agents can run without it."""
        try:
            self._build_all(connection, [self._plan(connection, FIREWALL, chosen, options)])
        except EngineError as error:
            self.stderr.write(f"{error} Until it is built, Berth cannot set the agents' firewall rules.")

    def _report(self, text: str) -> None:
        with self._printing:
            self.stdout.write(text)
            self.stdout.flush()
