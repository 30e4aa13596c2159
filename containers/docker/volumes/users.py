"""Finds the user numbers that are taken on the engine."""

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from containers.docker.lookup import Lookup
from containers.docker.observations import read_rows
from containers.docker.volumes.data_directory import read_root
from containers.docker_api.client import Connection
from containers.docker_api.errors import is_timeout, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.identity import is_ours
from containers.outbound.call_limits import time_limit
from containers.vocabulary import PROJECT_LABEL, QUARANTINE_LABEL, USER_LABEL, Observation

HIGHEST = 2_147_352_575
"""The last number before those of systemd. A container with a higher one is not ours."""

ASK_WITHIN = 2.0
"""Seconds to find out a container's user, for which a deploy waits."""

NOT_ASKED_FOR = 60.0
"""Seconds before the engine is asked again about a container it did not answer for. Until then its user is unknown."""


class Users:
    """Reads user numbers from labels, and inspects containers from before there was a label for it once."""

    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup
        self._asked: dict[str, int] = {}
        self._stuck_until: dict[str, float] = {}
        self._has_asked = False
        """Whether `_asked` has all containers without the label. There are no new ones."""

    def highest(self, block: Collection[int]) -> int | None:
        """Returns the highest number. All of ours count, and of other installations those that lie in the block."""
        return max((user for user in self._list(block) if user <= HIGHEST), default=None)

    def has(self, user: int) -> bool:
        """Returns whether any container or volume has this number. Lists only those, because there may be hundreds of
        others.
        """
        if not self._has_asked:
            self.highest(())
        return user in self._asked.values() or any(self._list_rows(PROJECT_LABEL, f"{USER_LABEL}={user}"))

    def _list_rows(self, *labels: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Returns the containers and the volumes with these labels."""
        chosen = {"label": list(labels)}
        with self._connection.call() as client:
            containers = client.containers(all=True, filters=chosen)
        with self._connection.call() as client, understand_answer():
            return containers, client.volumes(filters=chosen)["Volumes"] or []

    def _list(self, block: Collection[int]) -> Iterator[int]:
        containers, volumes = self._list_rows(PROJECT_LABEL)
        with understand_answer():
            # A list may have hundreds of rows, so only the user is read from them.
            unlabelled = [row for row in containers if _read_label(row["Labels"]) is None]
            labels = [each["Labels"] or {} for each in (*containers, *volumes)]
            labelled = [(user, each) for each in labels if (user := _read_label(each)) is not None]
            yield from (user for user, each in labelled if user in block or is_ours(each))
            ours = [container for container in read_rows(unlabelled) if is_ours(container.labels)]
        yield from map(self._ask, ours)
        self._has_asked = all(container.container_id in self._asked for container in ours)

    def _ask(self, container: Observation) -> int:
        """Returns the container's user, or 0 if the engine does not answer for it: other deploys must not fail then."""
        container_id = container.container_id
        if container_id in self._asked or time.monotonic() < self._stuck_until.get(container_id, 0.0):
            return self._asked.get(container_id, 0)
        try:
            with time_limit(ASK_WITHIN):
                self._asked[container_id] = self._read_user(container)
        except EngineUnavailableError as error:
            if not is_timeout(error.__cause__ or error):
                raise
            self._stuck_until[container_id] = time.monotonic() + NOT_ASKED_FOR
        return self._asked.get(container_id, 0)

    def _read_user(self, container: Observation) -> int:
        """Returns the container's user. A quarantined one never runs, so the owner of its state counts."""
        if QUARANTINE_LABEL in container.labels:
            with suppress(EngineRefusedError):  # it is gone by now
                root = read_root(self._connection, container.container_id)
                return max(root.user, root.first_user or 0)
            return 0
        details = self._lookup.read(container.container_id)
        return details.user if details else 0


def _read_label(labels: Mapping[str, str] | None) -> int | None:
    label = (labels or {}).get(USER_LABEL, "")
    return int(label) if label.isascii() and label.isdecimal() and len(label) <= len(str(HIGHEST)) else None
