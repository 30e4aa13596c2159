"""Keeps one gateway running on each node of the Swarm and knows how to reach it."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from ipaddress import IPv4Address
from typing import Any, NamedTuple

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, EngineFailedError, MissingError, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError, ImageNotPulledError, NameTakenError
from containers.gateway.authority import name_of_node
from containers.gateway.protocol import GatewayClient
from containers.gateway.tls_transport import ServiceContexts, TlsTransport
from containers.gateway.vocabulary import GatewaySpec
from containers.identity import is_our_helper
from containers.swarm.gateway.certificates import NodeSecrets
from containers.swarm.gateway.conflicts import require_own_port
from containers.swarm.gateway.image_availability import ImageAvailability
from containers.swarm.gateway.payload import (
    ANSWERED,
    ANSWERED_LABEL,
    LABEL,
    MADE_LABEL,
    NEVER,
    NODE_LABEL,
    NodePlan,
    service_payload,
)
from containers.swarm.nodes.nodes import Node, list_nodes

ANSWERS_WITHIN = 2.0
"""Seconds for a changed gateway to answer before the gateway of the next node may be changed."""

_CHANGED_MEANWHILE = "out of sequence"

logger = logging.getLogger(__name__)


class _Late(NamedTuple):
    """A service that differs from its plan and must be updated."""

    node: Node
    plan: NodePlan
    row: Mapping[str, Any]


class _Heard(NamedTuple):
    """Whether a gateway answers. `trouble` is a sentence that says why others must not be changed now, or empty."""

    trouble: str
    answers: bool = False


class Ensured(NamedTuple):
    """All nodes, and a sentence that says why some gateways do not match their plan yet; empty if all do."""

    nodes: Sequence[Node]
    warning: str


class NodeGateways:
    def __init__(self, connection: Connection, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._connection = connection
        self._node_secrets = NodeSecrets(connection, now)
        self._contexts = ServiceContexts(settings.BERTH_ENCRYPTION_KEYS, instance=settings.BERTH_INSTANCE, now=now)

    def ensure(self, spec: GatewaySpec, *, image: ImageAvailability, listens_at: IPv4Address) -> Ensured:
        """Creates, updates and removes gateways until they match the spec, as far as that is possible now.

        A node that is away gets its gateway when it returns. The gateway of a node that the Swarm no longer knows is
        removed. Each call updates the gateway of one node; the next node follows once that gateway answers. A gateway
        that did not answer before its update either comes last and is not waited for, so that a firewall between us and
        its node does not block the update of the others. A node without the new image keeps its former gateway. Raises
        `ImageNotPulledError` if no node has a gateway and none can get one because none has the image, and
        `EngineRefusedError` if another installation has the port.
        """
        rows = self._rows()
        found = {str(row["Spec"]["Labels"].get(NODE_LABEL)): row for row in rows}
        require_own_port(self._connection, rows)
        known = found.keys() | self._node_secrets.nodes()
        nodes = list_nodes(self._connection)  # read last, so that nothing of a node that joins meanwhile is removed
        self._forget(known - {node.node_id for node in nodes}, found)
        waiting = [node for node in nodes if _waits(node, image, found.get(node.node_id))]
        if waiting and not found and not any(map(image.is_on, nodes)):
            raise ImageNotPulledError(f"No gateway can be created. {image.explain(waiting)}")
        with self._connection.call() as client, understand_answer():
            api, port = client.read_api(), settings.BERTH_SWARM_GATEWAY_PORT
        make_plan = partial(NodePlan, spec=spec, listens_at=listens_at, control_port=port, api=api)
        late = []
        for node in nodes:
            row = found.get(node.node_id)
            if name := image.name if image.is_on(node) else _image_of(row):
                files = {"gateway_key": spec.key, **self._node_secrets.of_node(node.node_id)}
                plan = make_plan(node=node.node_id, image=name, files=files)
                late += self._settle(node, plan, row)
        others = [node for node in nodes if node not in waiting]
        warning = self._update_next(late, others, found) if late else ""
        return Ensured(nodes, warning or image.explain(waiting))

    def way_to(self, node: Node) -> TlsTransport:
        return TlsTransport(
            node.address, settings.BERTH_SWARM_GATEWAY_PORT, name=name_of_node(node.node_id), contexts=self._contexts
        )

    def remove(self) -> None:
        """Removes all gateways. Their data stays on their nodes."""
        for row in self._rows():
            self._remove(row)
        self._node_secrets.remove()

    def _rows(self) -> list[Mapping[str, Any]]:
        with self._connection.call() as client, understand_answer():
            rows = client.services(filters={"label": [f"{LABEL}={settings.BERTH_INSTANCE}"]})
            return [row for row in rows if is_our_helper(row["Spec"]["Labels"] or {}, LABEL)]

    def _settle(self, node: Node, plan: NodePlan, row: Mapping[str, Any] | None) -> list[_Late]:
        if row is None:
            self._make(plan)
            return []
        return [] if row["Spec"]["Labels"].get(MADE_LABEL) == plan.made else [_Late(node, plan, row)]

    def _make(self, plan: NodePlan) -> None:
        payload = service_payload(plan, self._node_secrets.make(plan), made=plan.made)
        # If another process created it first, the next call finds that one.
        with suppress(NameTakenError, ConflictError), self._connection.call() as client:
            client.create_service_from(payload)

    def _update_next(self, late: Sequence[_Late], nodes: Sequence[Node], found: Mapping[str, Mapping[str, Any]]) -> str:
        waiting = {each.node.node_id for each in late}
        done = [node for node in nodes if node.node_id in found and node.node_id not in waiting]
        heard = [self._look_at(node, found[node.node_id]) for node in done if node.is_ready and not node.is_drained]
        if trouble := next(filter(None, (each.trouble for each in heard)), ""):
            return f"{trouble} {_others_stay(late)}"
        answering = next((each for each in late if each.node.is_ready and self._answers(each.node)), None)
        if answering is None and heard and not any(each.answers for each in heard):
            return f"No gateway answers. {_others_stay(late)}"  # a changed one might not come back either
        self._change(answering or late[0], answered=ANSWERED if answering else NEVER)
        return ""

    def _look_at(self, node: Node, row: Mapping[str, Any]) -> _Heard:
        """Checks a gateway that already matches its plan."""
        # A service whose update failed stays "paused" permanently, even if the Swarm has started it since.
        if (row.get("UpdateStatus") or {}).get("State", "") == "updating":
            return _Heard(f"The gateway of {node.name} is being changed.")
        if self._answers(node):
            return _Heard("", answers=True)
        did_answer = row["Spec"]["Labels"].get(ANSWERED_LABEL) == ANSWERED
        return _Heard(f"The gateway of {node.name} does not answer." if did_answer else "")

    def _change(self, each: _Late, *, answered: str) -> None:
        secrets = self._node_secrets.make(each.plan)
        payload = service_payload(each.plan, secrets, made=each.plan.made, answered=answered)
        try:
            with self._connection.call() as client, understand_answer():
                client.update_service_to(str(each.row["ID"]), int(each.row["Version"]["Index"]), payload)
        except (EngineFailedError, EngineRefusedError) as error:
            if _CHANGED_MEANWHILE not in str(error):
                raise
        else:
            logger.info("Updated the gateway of the node %s.", each.node.name)
            self._node_secrets.remove(node=each.node.node_id, keep=secrets)

    def _forget(self, gone: Iterable[str], found: Mapping[str, Mapping[str, Any]]) -> None:
        """Also removes the secrets of a gateway whose service was removed by a process that ended too early."""
        for node in gone:
            if node in found:
                self._remove(found[node])
            self._node_secrets.remove(node=node)

    def _answers(self, node: Node) -> bool:
        try:
            return GatewayClient(self.way_to(node), within=ANSWERS_WITHIN).is_ready()
        except EngineUnavailableError:
            return False

    def _remove(self, row: Mapping[str, Any]) -> None:
        with suppress(MissingError), self._connection.call() as client:
            client.remove_service(row["ID"])


def _image_of(row: Mapping[str, Any] | None) -> str:
    """Returns the image of the service's tasks; empty if there is no service."""
    return str(row["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"]) if row else ""


def _waits(node: Node, image: ImageAvailability, row: Mapping[str, Any] | None) -> bool:
    """Whether the node needs a new gateway but lacks the image. A node that is away or drained pulls nothing and does
    not count.
    """
    is_at_work = node.is_ready and not node.is_drained
    return is_at_work and not image.is_on(node) and _image_of(row) != image.name


def _others_stay(late: Sequence[_Late]) -> str:
    return f"The gateways of {len(late)} other nodes stay as they are until it answers."
