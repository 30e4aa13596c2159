"""Keeps the keys and certificates of each node's gateway as secrets of the Swarm."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime

from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, understand_answer
from containers.errors import EngineRefusedError
from containers.gateway.authority import Authority, Role, name_of_node
from containers.identity import helper_labels, is_our_helper
from containers.swarm.gateway.payload import LABEL, NODE_LABEL, NodePlan


class NodeSecrets:
    def __init__(self, connection: Connection, now: Callable[[], datetime]) -> None:
        self._connection = connection
        self._now = now

    @sensitive_variables()
    def of_node(self, node: str) -> dict[str, str]:
        """Returns the key and certificate of this node's gateway, and the certificates of the authorities that sign for
        the service.
        """
        known = [Authority(key, instance=settings.BERTH_INSTANCE) for key in settings.BERTH_ENCRYPTION_KEYS]
        own = known[0].issue(Role.NODE, name_of_node(node), now=self._now())
        authorities = "".join(authority.certificate for authority in known)
        return {"gateway_control": own.key + own.certificate, "gateway_authorities": authorities}

    @sensitive_variables()
    def make(self, plan: NodePlan) -> dict[str, str]:
        """Returns the secrets' ids by file name. Reuses secrets that another process has created."""
        found = self._list(node=plan.node)
        return {file: found.get(plan.secret_name(file)) or self._create(plan, file) for file in plan.files}

    @sensitive_variables()
    def _create(self, plan: NodePlan, file: str) -> str:
        labels = {**helper_labels(LABEL), NODE_LABEL: plan.node}
        with self._connection.call() as client, understand_answer():
            return client.create_secret_from(plan.secret_name(file), plan.files[file], labels)

    def remove(self, *, node: str = "", keep: Mapping[str, str] | None = None) -> None:
        """Removes the secrets that no service uses any longer. The Swarm refuses to remove one that is in use."""
        kept = set((keep or {}).values())
        for secret in set(self._list(node=node).values()) - kept:
            with suppress(MissingError, EngineRefusedError), self._connection.call() as client:
                client.remove_secret(secret)

    def nodes(self) -> set[str]:
        """Returns the ids of the nodes that have such secrets."""
        with self._connection.call() as client, understand_answer():
            rows = client.secrets(filters={"label": [f"{LABEL}={settings.BERTH_INSTANCE}"]})
            labels = [row["Spec"].get("Labels") or {} for row in rows]
            return {str(each[NODE_LABEL]) for each in labels if is_our_helper(each, LABEL) and each.get(NODE_LABEL)}

    def _list(self, *, node: str) -> dict[str, str]:
        """Returns the ids of our secrets by name, for this node or, without one, for all nodes."""
        chosen = [f"{LABEL}={settings.BERTH_INSTANCE}", *([f"{NODE_LABEL}={node}"] if node else [])]
        with self._connection.call() as client, understand_answer():
            rows = client.secrets(filters={"label": chosen})
            specs = [(str(row["ID"]), row["Spec"], row["Spec"].get("Labels") or {}) for row in rows]
            return {
                str(spec["Name"]): secret
                for secret, spec, labels in specs
                if is_our_helper(labels, LABEL) and node in ("", labels.get(NODE_LABEL))
            }
