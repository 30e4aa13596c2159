"""Chooses the image for measuring on each node: one that the node has, and one of Berth's own if possible."""

from collections.abc import Collection, Mapping, Sequence

from django.conf import settings

from containers.docker_api.building.image_build import find_contexts, inspect_image
from containers.docker_api.client import Connection
from containers.docker_api.errors import understand_answer
from containers.identity import is_our_helper
from containers.swarm.gateway.payload import LABEL, NODE_LABEL
from containers.swarm.notes.state_locations import program_of
from containers.swarm.tasks.service_spec import IMAGE_LABEL
from containers.swarm.tasks.tasks import Service


class DiskImages:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def choose(self, services: Sequence[Service], nodes: Collection[str]) -> dict[str, str]:
        """Returns the image for each of these nodes, as the node names it; leaves out nodes without any.

        The node has the image of an agent that has run there. It takes that of an agent type of ours, else that of its
        gateway, and only without gateways that of another type: the container can read what all agents keep.
        """
        ours = self._find_ours()
        gateways = self.of_gateways()
        found: dict[str, str] = {}
        others: dict[str, str] = {}
        for service in services:
            chosen = found if service.labels.get(IMAGE_LABEL) in ours else others
            for run in service.runs:
                if run.has_run and run.node in nodes:
                    chosen.setdefault(run.node, program_of(service).image)
        least = gateways if settings.BERTH_GATEWAY else others
        return {**{node: least[node] for node in nodes if node in least}, **found}

    def _find_ours(self) -> set[str]:
        seen = (inspect_image(self._connection, context.image) for context in find_contexts())
        with understand_answer():
            return {str(image["Id"]) for image in seen if image}

    def of_gateways(self) -> Mapping[str, str]:
        """Returns the image of each node's gateway."""
        chosen = {"label": [f"{LABEL}={settings.BERTH_INSTANCE}"]}
        with self._connection.call() as client, understand_answer():
            specs = [row["Spec"] for row in client.services(filters=chosen)]
            return {
                str(spec["Labels"].get(NODE_LABEL)): str(spec["TaskTemplate"]["ContainerSpec"]["Image"])
                for spec in specs
                if is_our_helper(spec["Labels"], LABEL)
            }
