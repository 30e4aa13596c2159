"""Finds the services of a key, by their labels, and changes how many tasks they have."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings

from containers.docker_api.answers import read_labels
from containers.docker_api.client import Connection
from containers.docker_api.errors import EngineFailedError, MissingError, understand_answer
from containers.errors import EngineError, EngineRefusedError, EngineUnavailableError
from containers.identity import is_ours
from containers.swarm.notes.state_locations import StateLocations, kept_on
from containers.swarm.services.spec_changes import force, quarantine, scale, unbind
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL, CRASHES_LABEL, KEPT_ON_LABEL
from containers.swarm.tasks.tasks import Run, Service, read_run, read_service
from containers.vocabulary import INSTANCE_LABEL, PROJECT_LABEL

LIST_SIZE = 128 * 1024 * 1024
"""The largest accepted list of services or tasks in bytes, enough for a thousand agents. A Swarm returns whole
specifications, about 18 kB each from API 1.44 on: two for each service, and one for each of the five tasks that it
keeps."""

_TRIES = 5


class Services:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.state_locations = StateLocations(connection)

    def list_labels(self, labels: Mapping[str, str]) -> list[Service]:
        """Returns the services with these labels and their tasks, in two calls."""
        chosen, rows = _filter(labels), self._rows(labels)
        if not rows:
            return []
        of_one = {"service": [str(rows[0]["ID"])]} if len(rows) == 1 else {"label": chosen}
        with self._connection.call(size=LIST_SIZE) as client, understand_answer():
            tasks: dict[str, list[Any]] = defaultdict(list)
            for task in client.tasks(filters=of_one):
                tasks[str(task["ServiceID"])].append(task)
        with understand_answer():
            return [read_service(row, tasks[str(row["ID"])]) for row in rows]

    def list_rows(self, labels: Mapping[str, str]) -> list[Service]:
        """Returns the same without their tasks."""
        rows = self._rows(labels)
        with understand_answer():
            return [read_service(row) for row in rows]

    def _rows(self, labels: Mapping[str, str]) -> list[Any]:
        with self._connection.call(size=LIST_SIZE) as client, understand_answer():
            return list(client.services(filters={"label": _filter(labels)}))

    def of_key(self, key: str) -> list[Service]:
        """Returns all services with this key, even other installations' of our instance, highest generation first."""
        found = self.list_labels({INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key})
        return sorted(found, key=_rank, reverse=True)

    def ours(self, key: str) -> list[Service]:
        return [service for service in self.of_key(key) if is_ours(service.labels)]

    def left_behind(self, key: str, services: Collection[str] = ()) -> list[Run]:
        """Returns tasks that may still have a process although their service is gone: those of `services`, or any of
        ours.
        """
        labels = {INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key}
        with self._connection.call(size=LIST_SIZE, about_one=True) as client, understand_answer():
            tasks = client.tasks(filters={"label": _filter(labels)})
            theirs = [(task["ServiceID"], read_run(task)) for task in tasks if _is_of(task, services)]
        if not any(run.may_live for _, run in theirs):
            return []
        there = {row["ID"] for row in self._rows(labels)}
        return [run for service, run in theirs if run.may_live and service not in there]

    def look_up(self, name_or_id: str) -> Service | None:
        """Returns the service of exactly this name or id, even if it is not ours, or None."""
        try:
            with self._connection.call(about_one=True) as client:
                row = client.inspect_service(name_or_id)
        except MissingError:
            return None
        with understand_answer():
            if name_or_id not in {row["ID"], row["Spec"]["Name"]}:
                return None
        return self.with_tasks(row)

    def with_tasks(self, row: Mapping[str, Any]) -> Service:
        with self._connection.call(about_one=True) as client, understand_answer():
            tasks = client.tasks(filters={"service": [str(row["ID"])]})
        return read_service(row, tasks)

    def create(self, payload: dict[str, Any], notes: Mapping[str, str]) -> str:
        """Creates the service with these notes as labels, except empty ones."""
        payload["Labels"].update({label: text for label, text in notes.items() if text})
        with self._connection.call(about_one=True) as client, understand_answer():
            return client.create_service_from(payload)

    def remove(self, service: Service) -> None:
        """Removes the service, if it still exists. Notes first which nodes hold its state. Its tasks end afterwards."""
        self.state_locations.keep(service)
        try:
            with self._connection.call(about_one=True) as client:
                client.remove_service(service.service_id)
        except MissingError:
            return

    def start(self, service_id: str) -> None:
        """Lets one task of the service run. Raises `MissingError` if the service is gone."""
        self._change(service_id, lambda spec: scale(spec, replicas=1, is_held=False))

    def hold(self, service_id: str) -> None:
        """Lets no task of the service run. A running one ends, and can still be inspected."""
        self._change(service_id, lambda spec: scale(spec, replicas=1, is_held=True))

    def empty(self, service_id: str) -> None:
        """Keeps tasks from waiting for a node, once none runs."""
        self._change(service_id, lambda spec: scale(spec, replicas=0, is_held=True))

    def unbind(self, service: Service) -> None:
        """Lets the agent run on other nodes again than the one with a copy of its state. Its task keeps running."""
        if COPIED_ON_LABEL in service.labels:
            with suppress(MissingError):
                self._change(service.service_id, unbind)

    def restart(self, service_id: str) -> None:
        self._change(service_id, force)

    def keep_count(self, service: Service) -> None:
        """Saves the number of crashes in a label before the Swarm forgets them. The task keeps running."""
        newest = service.uncounted[0].made_at
        if newest is None:
            return
        label = {CRASHES_LABEL: f"{service.crashes}@{newest.isoformat()}"}
        label[KEPT_ON_LABEL] = " ".join(sorted(kept_on(service)))
        spec = {**service.spec, "Labels": {**service.labels, **label}}
        with suppress(EngineError), self._connection.call(about_one=True) as client:
            client.update_service_to(service.service_id, service.version, spec)  # or another process was faster

    def quarantine(self, service_id: str, since: str) -> None:
        """Removes the service's credentials and keeps it from being started again."""
        self._change(service_id, lambda spec: quarantine(spec, since))

    def _change(self, service_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Reads the service again and retries if another process changes it at the same time."""
        for attempt in range(_TRIES):
            with self._connection.call(about_one=True) as client, understand_answer():
                row = client.inspect_service(service_id)
                spec, version = dict(row["Spec"]), int(row["Version"]["Index"])
                change(spec)
            try:
                with self._connection.call(about_one=True) as client:
                    client.update_service_to(service_id, version, spec)
            except (EngineFailedError, EngineRefusedError) as error:
                if "out of sequence" not in str(error) or attempt == _TRIES - 1:
                    raise
            else:
                return
        raise EngineUnavailableError("Another process keeps changing the service.")


def _filter(labels: Mapping[str, str]) -> list[str]:
    """An empty value selects every row that has the label."""
    return [f"{label}={value}" if value else label for label, value in labels.items()]


def _is_of(task: Mapping[str, Any], services: Collection[str]) -> bool:
    labels = (task["Spec"].get("ContainerSpec") or {}).get("Labels") or {}
    return task["ServiceID"] in services or is_ours(read_labels(labels))


def _rank(service: Service) -> tuple[int, float]:
    return service.generation, service.made_at.timestamp() if service.made_at else 0.0
