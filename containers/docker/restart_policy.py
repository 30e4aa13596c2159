"""Who starts agents again: the engine, or Berth once the firewall rules are set."""

from contextlib import suppress

from django.conf import settings

from containers.docker.lookup import Lookup
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.firewall.boot import restarts_by_engine
from containers.hardening import BY_ENGINE, NEVER_BY_ENGINE
from containers.identity import is_ours
from containers.vocabulary import INSTANCE_LABEL


def wanted_policy() -> str:
    return BY_ENGINE if restarts_by_engine() else NEVER_BY_ENGINE


class RestartPolicies:
    """Brings the policies of existing containers up to date: once, and again where another one is wanted."""

    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup
        self._set = ""

    def align(self) -> None:
        """Our containers get the policy that is wanted now. Running ones go on."""
        wanted = wanted_policy()
        if wanted == self._set:
            return
        for listed in self._lookup.list_labels({INSTANCE_LABEL: settings.BERTH_INSTANCE}):
            if is_ours(listed.labels):
                with suppress(MissingError, ConflictError):
                    self._align(listed.container_id, wanted)
        self._set = wanted

    def _align(self, container_id: str, wanted: str) -> None:
        with self._connection.call() as client, understand_answer():
            found = client.inspect_container(container_id)["HostConfig"]["RestartPolicy"]["Name"]
            if (found or NEVER_BY_ENGINE) != wanted:
                client.update_container(container_id, restart_policy={"Name": wanted})
