"""Restores the network, limits and restart policy of containers that someone has changed."""

import time
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.docker.drift import (
    has_more_privileges,
    has_other_address,
    has_other_policy,
    other_limits,
    read_networks,
    telling_of_address,
    wanted_policy,
)
from containers.docker.lookup import Lookup
from containers.docker.networks.endpoints import connect
from containers.docker_api.client import Connection, DockerClient
from containers.docker_api.errors import ConflictError, EngineFailedError, MissingError, is_timeout, understand_answer
from containers.errors import AlteredError, EngineRefusedError, EngineUnavailableError
from containers.gateway.vocabulary import ADDRESS_LABEL
from containers.hardening import NEVER_BY_ENGINE
from containers.identity import find_spare, is_ours
from containers.outbound.call_limits import time_limit
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL, QUARANTINE_LABEL, Observation

ALL_EVERY = 300.0
"""Seconds after which the policies of all containers are checked again. The engine's events report most changes."""

NETWORK, POLICY, LIMITS, SPARE = "network", "restart policy", "limits", "second container"
"""The differences that can be repaired."""

_ALL_WITHIN = 5.0
"""Seconds for all containers in total. The next round does the rest."""

_ONE_WITHIN = 1.0


class Alignment:
    """Updates the policies of existing containers: at first, when the wanted policy changes, and every `ALL_EVERY`."""

    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup
        self._set = ""
        self._again_at = 0.0

    def align_all(self) -> None:
        """Gives our containers the policy that is wanted now. Running ones keep running.

        A container for which the engine does not answer is skipped.
        """
        wanted, now = wanted_policy(), time.monotonic()
        if wanted == self._set and now < self._again_at:
            return
        self._set, self._again_at = "", now + ALL_EVERY
        is_done = True
        for listed in self._lookup.list_labels({INSTANCE_LABEL: settings.BERTH_INSTANCE}):
            if not is_ours(listed.labels):
                continue
            if time.monotonic() - now >= _ALL_WITHIN:
                return
            is_done = self._try_to_align(listed) and is_done
        self._set = wanted if is_done else ""

    def align_key(self, key: str) -> list[str]:
        """Restores all our containers of this key, and removes those that are down beside the one that is up.

        Returns the differences in words.
        """
        found = self._lookup.find_all(key)
        spare = find_spare(found)
        restored = {SPARE for each in spare if self._remove_down(each)}
        return sorted(restored.union(*(self.align(each) for each in found if each not in spare)))

    def align(self, found: Observation) -> set[str]:
        """Restores the container's network, policy and limits, and removes it from every other network.

        Returns the differences in words. Raises `AddressUnusableError`, and `AlteredError` if more has changed.
        """
        restored: set[str] = set()
        with suppress(MissingError):
            answer = self._inspect(found)
            with understand_answer():
                is_beyond = has_more_privileges(answer, found.labels)
            if is_beyond:
                raise AlteredError
            restored |= {POLICY} if self._align_policy(found, answer) else set()
            restored |= {LIMITS} if self._align_limits(found, answer) else set()
            if QUARANTINE_LABEL not in found.labels:
                restored |= {NETWORK} if self._align_networks(found, answer) else set()
        return restored

    def _remove_down(self, found: Observation) -> bool:
        """Removes the container, unless the engine says that it is up. Returns whether it has removed it."""
        with suppress(MissingError, ConflictError), self._connection.call(about_one=True) as client:
            client.remove_container(found.container_id, v=True, force=False)
            return True
        return False

    def _try_to_align(self, listed: Observation) -> bool:
        """Updates the policy, and returns whether the engine answered in time."""
        try:
            with suppress(MissingError, ConflictError), time_limit(_ONE_WITHIN):
                self._align_policy(listed, self._inspect(listed))
        except EngineUnavailableError as error:
            if not is_timeout(error.__cause__ or error):
                raise
            return False
        return True

    def _inspect(self, found: Observation) -> dict[str, Any]:
        with self._connection.call(about_one=True) as client:
            answer: dict[str, Any] = client.inspect_container(found.container_id)
        return answer

    def _align_policy(self, found: Observation, answer: dict[str, Any]) -> bool:
        """Restores the policy, and returns whether it was different. The methods below do so for other settings."""
        with understand_answer():
            is_other = has_other_policy(answer, found.labels)
        if is_other:
            with self._connection.call(about_one=True) as client:
                client.update_container(found.container_id, restart_policy={"Name": wanted_policy()})
        return is_other

    def _align_limits(self, found: Observation, answer: dict[str, Any]) -> bool:
        with understand_answer():
            limits = other_limits(answer, found.labels)
        if limits:
            try:
                with self._connection.call(about_one=True) as client:
                    client.update_limits(found.container_id, limits)
            except (EngineRefusedError, EngineFailedError) as error:
                raise AlteredError from error  # it uses more memory than it may have, or the engine cannot
        return bool(limits)

    def _align_networks(self, found: Observation, answer: dict[str, Any]) -> bool:
        with understand_answer():
            own, networks = read_networks(answer)
            elsewhere = networks if has_other_address(answer, found.labels) else networks - {own}
        with self._connection.call(about_one=True) as client:
            # First it leaves the networks without egress rules.
            for network in elsewhere:
                _leave(client, network, found)
        if own not in networks - elsewhere:
            with telling_of_address(found.labels):
                connect(self._connection, found.container_id, own, address=found.labels.get(ADDRESS_LABEL) or None)
        return bool(elsewhere) or own not in networks


def keep_down(connection: Connection) -> None:
    """Stops the engine from starting agents of any installation by itself. Running ones keep running.

    Call it for a host that no longer closes the agents' bridges at boot, on which all of them rely. Raises
    `EngineError`.
    """
    with connection.call() as client:
        rows = client.containers(all=True, filters={"label": [PROJECT_LABEL]})
    with understand_answer():
        ids = [str(row["Id"]) for row in rows if row["Labels"][PROJECT_LABEL]]  # the label of others is empty
    for container_id in ids:
        # A container that is being removed will not start again.
        with suppress(MissingError, ConflictError), connection.call(about_one=True) as client:
            client.update_container(container_id, restart_policy={"Name": NEVER_BY_ENGINE})


def _leave(client: DockerClient, network: str, found: Observation) -> None:
    """Disconnects the container. Ignores a failure, which also means that someone else has disconnected it already."""
    with suppress(MissingError, ConflictError, EngineFailedError):
        client.disconnect_container_from_network(found.container_id, network, force=True)
