"""Brings images that `build_images` knows nothing of to the registry, and to the nodes of a Swarm."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from containers.docker_api.client import Connection
from containers.errors import EngineError
from containers.swarm.images.distribution import distribute


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Push images of the engine to BERTH_REGISTRY, and have the nodes of a Swarm pull them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("images", nargs="+", help="such as example/agent:1, as an agent type names it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            distribute(Connection(), options["images"], self.stdout.write)
        except EngineError as error:
            raise CommandError(str(error)) from error
