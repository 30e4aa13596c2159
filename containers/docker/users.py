"""Which numbers of users are taken on the engine."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from django.conf import settings

from containers.docker.data_directory import read_root
from containers.docker.lookup import Lookup
from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError
from containers.identity import is_ours
from containers.vocabulary import INSTANCE_LABEL, QUARANTINE_LABEL, USER_LABEL, Observation

HIGHEST = 2_147_352_575
"""The last number before those of systemd. What claims a higher one is none of ours."""


class Users:
    """A container that was made before there was a label for it is asked for its user once."""

    def __init__(self, connection: Connection, lookup: Lookup) -> None:
        self._connection = connection
        self._lookup = lookup
        self._asked: dict[str, int] = {}

    def highest(self) -> int | None:
        return max((user for user in self._list() if user <= HIGHEST), default=None)

    def _list(self) -> Iterator[int]:
        of_instance = {INSTANCE_LABEL: settings.BERTH_INSTANCE}
        containers = [each for each in self._lookup.list_labels(of_instance) if is_ours(each.labels)]
        for container in containers:
            labelled = _read_label(container.labels)
            yield self._ask(container) if labelled is None else labelled
        for volume in self._lookup.list_volumes(of_instance):
            labelled = _read_label(volume.labels)
            if is_ours(volume.labels) and labelled is not None:
                yield labelled

    def _ask(self, container: Observation) -> int:
        """A container in quarantine never runs: there the state says whose it is."""
        known = self._asked.get(container.container_id)
        if known is not None:
            return known
        user = 0
        if QUARANTINE_LABEL in container.labels:
            with suppress(EngineRefusedError):  # it is gone by now
                user = read_root(self._connection, container.container_id).user
        elif details := self._lookup.read(container.container_id):
            user = details.user
        self._asked[container.container_id] = user
        return user


def _read_label(labels: Mapping[str, str]) -> int | None:
    label = labels.get(USER_LABEL, "")
    return int(label) if label.isascii() and label.isdecimal() and len(label) <= len(str(HIGHEST)) else None
