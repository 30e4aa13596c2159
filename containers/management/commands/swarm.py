"""Shows the nodes of the Swarm, what they have left, and what its services cannot hold."""

from collections import Counter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.errors import EngineError
from containers.swarm.confinement.confinement import Confinement
from containers.swarm.confinement.missing_protections import MEASURES
from containers.swarm.nodes.nodes import Node, find_room, list_nodes
from containers.swarm.placement.agent_nodes import find_places
from containers.swarm.services.services import LIST_SIZE

MEBIBYTE = 1024 * 1024


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Show the nodes of the Swarm, their room, and the protections that its services lack."

    def handle(self, *args: Any, **options: Any) -> None:
        connection = Connection()
        try:
            nodes = list_nodes(connection)
            with connection.call(size=LIST_SIZE) as client, understand_answer():
                free = find_room(nodes, client.tasks())
            missing, agents = Confinement(connection).missing(), Counter(find_places(connection).values())
        except EngineError as error:
            raise CommandError(str(error)) from error
        for node in nodes:
            self.stdout.write(_describe(node, free.get(node.node_id), agents[node.node_id]))
        for word in missing:
            how = "accepted" if word in settings.BERTH_SWARM_ACCEPT else "REFUSED: no agent is started"
            self.stdout.write(f"{word} ({how}): {MEASURES[word].loss}")


def _describe(node: Node, free: int | None, agents: int) -> str:
    """`agents` are those of this installation that the Swarm has run there, or wants to."""
    state = "down" if node.is_down else "ready" if node.is_ready else "not heard of yet"
    state += ", drained" if node.is_drained else "" if node.is_active else ", paused"
    takes = f"{max(0, free) // MEBIBYTE} MB free" if free is not None else "takes no agents"
    return f"{node.name} ({node.node_id}): {state}, {node.memory // MEBIBYTE} MB, {takes}, {agents} agents here"
