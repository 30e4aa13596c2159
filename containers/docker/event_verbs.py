"""Reads a Docker engine's events (`containers.engine.events.ReportsEvents`)."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from django.conf import settings

from containers.docker_api.client import Connection
from containers.docker_api.events import find_newest_event, follow_events
from containers.vocabulary import INSTANCE_LABEL, EngineEvent


class EventVerbs:
    _connection: Connection

    def events(
        self, within: Mapping[str, str], *, timeout: float, after: datetime | None = None
    ) -> Iterator[EngineEvent]:
        return follow_events(self._connection, self._of_instance(within), silence=timeout, after=after)

    def find_newest_event(self, within: Mapping[str, str], *, since: datetime, until: datetime) -> datetime | None:
        return find_newest_event(self._connection, self._of_instance(within), since=since, until=until)

    @staticmethod
    def _of_instance(within: Mapping[str, str]) -> dict[str, str]:
        return {**within, INSTANCE_LABEL: settings.BERTH_INSTANCE}
