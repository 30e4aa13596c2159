"""Finds the containers and volumes of a key on Docker: by their labels, because names are only names."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from django.conf import settings

from containers.docker.observations import Details, read_details, read_rows
from containers.docker_api.answers import read_volume, read_volumes
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, is_timeout, understand_answer
from containers.errors import ContainerSilentError, EngineRefusedError, EngineUnavailableError, NameTakenError
from containers.hardening import DATA, SECRETS, data_volume, secrets_volume
from containers.identity import container_name, former_name, is_ours
from containers.vocabulary import (
    GENERATION_LABEL,
    INSTANCE_LABEL,
    PROJECT_LABEL,
    Observation,
    Volume,
)

SILENT = "The container engine does not say how this container is."
FOREIGN_STATE = "The agent's state, the volume {}, belongs to another installation."
FOREIGN_VOLUME = "A volume that is not ours is called {}. Remove or rename it."


class AgentVolumes(NamedTuple):
    """Of one agent: the volume of its state, empty where there is none yet, and those with credentials."""

    state: str
    secrets: set[str]


class Lookup:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(self, name_or_id: str) -> Details | None:
        """The container, also one that is not ours, or None where Docker answers 404."""
        try:
            with self._connection.call(about_one=True) as client:
                answer: dict[str, Any] = client.inspect_container(name_or_id)
        except MissingError:
            return None
        details = read_details(answer)
        # Docker also finds a container by the beginning of its id.
        is_exact = name_or_id in {details.observation.name, details.observation.container_id}
        return details if is_exact else None

    def read_image(self, container_id: str) -> str:
        """The id of the container's image; empty where the container is gone."""
        try:
            with self._connection.call(about_one=True) as client, understand_answer():
                return str(client.inspect_container(container_id)["Image"])
        except MissingError:
            return ""

    def look_up(self, name_or_id: str) -> Observation | None:
        details = self.read(name_or_id)
        return details.observation if details else None

    def list_key(self, key: str) -> list[Observation]:
        """The containers with this key, also those of other installations, the one that tells the state first."""
        found = self.list_labels({INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key})
        return sorted(found, key=lambda each: each.rank, reverse=True)

    def inspect_all(self, key: str) -> list[Observation]:
        """Those that `list_key` finds, exactly. Raises `NameTakenError` where another installation has made one."""
        listed = self.list_key(key)
        if not all(is_ours(each.labels) for each in listed):
            raise NameTakenError("The container of this agent belongs to another installation, which made it.")
        return [now for each in listed if (now := self.look_up(each.container_id))]

    def list_labels(self, labels: Mapping[str, str]) -> list[Observation]:
        """The containers with these labels as Docker lists them, which says less than an inspection."""
        with self._connection.call() as client:
            rows = client.containers(all=True, filters=_filters(labels))
        return read_rows(rows)

    def find(self, key: str) -> Details | None:
        """Our container of this key, or None where there is none. Of several, the one that tells the state."""
        there = self.list_key(key)
        for listed in there:
            if is_ours(listed.labels) and (details := self.read_now(listed.container_id)):
                return details if len(there) > 1 else details.alone
        return self.find_by_name(key)

    def read_now(self, container_id: str) -> Details | None:
        """As `read`. Raises `ContainerSilentError` where the engine, which may answer for others, does not for this."""
        try:
            return self.read(container_id)
        except EngineUnavailableError as error:
            if is_timeout(error.__cause__ or error):
                raise ContainerSilentError(SILENT) from error
            raise

    def find_all(self, key: str) -> list[Observation]:
        """All of our containers of this key, also those that somebody has renamed."""
        found = [listed for listed in self.list_key(key) if is_ours(listed.labels)]
        if not found and (named := self.find_by_name(key)):
            found = [named.observation]
        return found

    def find_by_name(self, key: str) -> Details | None:
        """A list that lacks a container is no proof of its absence: Docker shows it a moment after it exists."""
        for name in (container_name(key), former_name(key)):
            details = self.read(name)
            if details and is_ours(details.observation.labels) and details.observation.key == key:
                return details
        return None

    def list_volumes(self, labels: Mapping[str, str]) -> list[Volume]:
        with self._connection.call() as client:
            answer = client.volumes(filters=_filters(labels))
        return read_volumes(answer)

    def find_data_volume(self, key: str) -> str:
        """The name of the volume that holds the state of this key. Empty where there is none yet.

        Volumes keep the name with which they were made. Raises `EngineRefusedError` for one of another installation.
        """
        states = [volume for volume in self._volumes_of(key) if volume.name.endswith(DATA)]
        if foreign := next((volume.name for volume in states if not is_ours(volume.labels)), None):
            raise EngineRefusedError(FOREIGN_STATE.format(foreign))
        return states[0].name if states else ""

    def find_volumes_for(self, key: str, name: str) -> "AgentVolumes":
        """What there is for the agent of this key, whose next container has this name: by labels and by names.

        Raises `EngineRefusedError` for a state of another installation, and for a volume that is not ours and in the
        way of one of ours.
        """
        found = {volume.name: volume for volume in self._volumes_of(key)}
        states = [volume for volume in found.values() if volume.name.endswith(DATA)]
        if foreign := next((volume.name for volume in states if not is_ours(volume.labels)), None):
            raise EngineRefusedError(FOREIGN_STATE.format(foreign))
        state = states[0].name if states else data_volume(name)
        for own in {state, secrets_volume(name)}:
            if volume := found.get(own) or self._find_volume(own):
                found[own] = volume
                if not is_ours(volume.labels):
                    raise EngineRefusedError(FOREIGN_VOLUME.format(own))
        secrets = {each.name for each in found.values() if each.name.endswith(SECRETS) and is_ours(each.labels)}
        return AgentVolumes(state=state if state in found else "", secrets=secrets)

    def _find_volume(self, name: str) -> Volume | None:
        """By its name. A list by names would try each of them as a pattern on every volume of the engine: a tenth of
        a second where there are a thousand."""
        try:
            with self._connection.call() as client:
                return read_volume(client.inspect_volume(name))
        except MissingError:
            return None

    def find_secrets(self, key: str, *, belong: Callable[[Mapping[str, str]], bool] = is_ours) -> list[str]:
        """The names of the volumes that hold credentials of this key. `belong` says by their labels which are meant."""
        found = self._volumes_of(key)
        return [volume.name for volume in found if volume.name.endswith(SECRETS) and belong(volume.labels)]

    def _volumes_of(self, key: str) -> list[Volume]:
        return self.list_volumes({INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key})

    def find_volumes(self, key: str) -> list[str]:
        """The names of all volumes of this key. Raises `EngineRefusedError` where one of their names is not ours."""
        names = {volume.name for volume in self._volumes_of(key) if is_ours(volume.labels)}
        bases = (
            {container_name(key)}
            if any(name.endswith(DATA) for name in names)
            else {container_name(key), former_name(key)}
        )
        own = {f"{base}{suffix}" for base in bases for suffix in (SECRETS, DATA)}
        for volume in filter(None, map(self._find_volume, sorted(own - names))):
            if not is_ours(volume.labels):
                raise EngineRefusedError(FOREIGN_VOLUME.format(volume.name))
            names.add(volume.name)
        return sorted(names, key=lambda name: not name.endswith(SECRETS))

    def has_volume(self, volume: str, *, generation: int | None = None) -> bool:
        """Whether we have it, of this `generation`. Raises `EngineRefusedError` where one of this name is not ours."""
        found = self._find_volume(volume)
        if found is None:
            return False
        if not is_ours(found.labels):
            raise EngineRefusedError(FOREIGN_VOLUME.format(volume))
        return generation is None or found.labels.get(GENERATION_LABEL) == str(generation)


def _filters(labels: Mapping[str, str]) -> dict[str, list[str]]:
    return {"label": [f"{label}={value}" for label, value in labels.items()]}
