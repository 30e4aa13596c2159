"""Has a gateway run on each node of the Swarm, and knows the ways to them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import IPv4Address
from typing import Any, NamedTuple

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, EngineFailedError, MissingError, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError, NameTakenError
from containers.gateway.authority import name_of_node
from containers.gateway.protocol import GatewayClient
from containers.gateway.tls_transport import ServiceContexts, TlsTransport
from containers.gateway.words import GatewaySpec
from containers.identity import is_our_helper
from containers.swarm.gateway.papers import Papers
from containers.swarm.gateway.payload import LABEL, MADE_LABEL, NODE_LABEL, NodePlan, service_payload
from containers.swarm.nodes import Node, list_nodes

ANSWERS_WITHIN = 2.0
"""Seconds for a gateway to answer before that of another node may be changed."""

_SOMEBODY_WAS_FASTER = "out of sequence"

logger = logging.getLogger(__name__)


class _Late(NamedTuple):
    """A service that is not made as it is to be."""

    node: Node
    plan: NodePlan
    row: Mapping[str, Any]


class NodeGateways:
    def __init__(self, connection: Connection, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._connection = connection
        self._papers = Papers(connection, now)
        self._contexts = ServiceContexts(settings.BERTH_ENCRYPTION_KEYS, instance=settings.BERTH_INSTANCE, now=now)

    def ensure(self, spec: GatewaySpec, *, image: str, listens_at: IPv4Address) -> str:
        """Returns why the gateways of some nodes are not yet as they are to be; empty where all are.

        A node that is away gets its gateway when it comes, and that of a node which the Swarm has forgotten is removed.
        What has to be changed is changed on one node with each call, and on the next one once that one answers.
        """
        nodes = list_nodes(self._connection)
        with self._connection.call() as client, understand_answer():
            api = client.read_api()
        found = {str(row["Spec"]["Labels"].get(NODE_LABEL)): row for row in self._rows()}
        late = []
        for node in nodes:
            files = {"gateway_key": spec.key, **self._papers.of_node(node.node_id)}
            plan = NodePlan(
                spec=spec, node=node.node_id, image=image, listens_at=listens_at, api=api, files=files
            )  # fmt: skip
            row = found.get(node.node_id)
            if row is None:
                self._make(plan)
            elif row["Spec"]["Labels"].get(MADE_LABEL) != plan.made:
                late.append(_Late(node, plan, row))
        for gone in found.keys() - {node.node_id for node in nodes}:
            self._remove(found[gone])
            self._papers.remove(node=gone)
        return self._update_next(late, nodes, found) if late else ""

    def way_to(self, node: Node) -> TlsTransport:
        return TlsTransport(node.address, name=name_of_node(node.node_id), contexts=self._contexts)

    def remove(self) -> None:
        """What they keep stays on their nodes."""
        for row in self._rows():
            self._remove(row)
        self._papers.remove()

    def _rows(self) -> list[Mapping[str, Any]]:
        with self._connection.call() as client, understand_answer():
            rows = client.services(filters={"label": [f"{LABEL}={settings.BERTH_INSTANCE}"]})
            return [row for row in rows if is_our_helper(row["Spec"]["Labels"] or {}, LABEL)]

    def _make(self, plan: NodePlan) -> None:
        payload = service_payload(plan, self._papers.make(plan), made=plan.made)
        # Where somebody else was faster, the next look finds what that one has made.
        with suppress(NameTakenError, ConflictError), self._connection.call() as client:
            client.create_service_from(payload)

    def _update_next(self, late: Sequence[_Late], nodes: Sequence[Node], found: Mapping[str, Mapping[str, Any]]) -> str:
        waiting = {each.node.node_id for each in late}
        for node in nodes:
            if node.node_id in found and node.node_id not in waiting and node.is_ready and node.is_active:
                state = (found[node.node_id].get("UpdateStatus") or {}).get("State", "completed")
                if state != "completed" or not self._answers(node):
                    return (
                        f"The gateway of {node.name} does not answer since it was changed. Those of {len(late)} other "
                        "nodes stay as they are until it does."
                    )
        each = late[0]
        secrets = self._papers.make(each.plan)
        payload = service_payload(each.plan, secrets, made=each.plan.made)
        try:
            with self._connection.call() as client, understand_answer():
                client.update_service_to(str(each.row["ID"]), int(each.row["Version"]["Index"]), payload)
        except (EngineFailedError, EngineRefusedError) as error:
            if _SOMEBODY_WAS_FASTER not in str(error):
                raise
        else:
            logger.info("The gateway of the node %s is made anew.", each.node.name)
            self._papers.remove(node=each.node.node_id, keep=secrets)
        return ""

    def _answers(self, node: Node) -> bool:
        try:
            return GatewayClient(self.way_to(node), within=ANSWERS_WITHIN).is_ready()
        except EngineUnavailableError:
            return False

    def _remove(self, row: Mapping[str, Any]) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_service(row["ID"])
