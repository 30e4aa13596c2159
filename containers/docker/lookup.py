"""Finds a key's containers and volumes on Docker by their labels, because anyone can change names."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from django.conf import settings

from containers.docker.observations import Details, read_details, read_rows
from containers.docker_api.answers import read_volume, read_volumes
from containers.docker_api.client import Connection
from containers.docker_api.errors import MissingError, is_timeout, understand_answer
from containers.errors import ContainerSilentError, EngineRefusedError, EngineUnavailableError, NameTakenError
from containers.hardening import DATA, SECRETS, data_volume, secrets_volume
from containers.identity import container_name, former_name, is_ours
from containers.vocabulary import GENERATION_LABEL, INSTANCE_LABEL, PROJECT_LABEL, Observation, Volume

SILENT = "The container engine does not say how this container is."
FOREIGN_STATE = "The agent's state, the volume {}, belongs to another installation."
FOREIGN_VOLUME = "A volume that is not ours is called {}. Remove or rename it."


class AgentVolumes(NamedTuple):
    """An agent's volumes: the name of that of its state, empty if there is none yet, and those of its credentials.

    `labels` are those of its state, if they were read.
    """

    state: str
    secrets: Sequence[Volume]
    labels: Mapping[str, str] = MappingProxyType({})


class Lookup:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def read(self, name_or_id: str) -> Details | None:
        """Returns the container, even if it is not ours, or None if Docker answers 404."""
        try:
            with self._connection.call(about_one=True) as client:
                answer: dict[str, Any] = client.inspect_container(name_or_id)
        except MissingError:
            return None
        details = read_details(answer)
        # Docker also finds a container by a prefix of its id.
        is_exact = name_or_id in {details.observation.name, details.observation.container_id}
        return details if is_exact else None

    def read_image(self, container_id: str) -> str:
        """Returns the id of the container's image, or an empty string if the container is gone."""
        try:
            with self._connection.call(about_one=True) as client, understand_answer():
                return str(client.inspect_container(container_id)["Image"])
        except MissingError:
            return ""

    def look_up(self, name_or_id: str) -> Observation | None:
        details = self.read(name_or_id)
        return details.observation if details else None

    def list_key(self, key: str) -> list[Observation]:
        """Returns all containers with this key, even other installations', the one that decides the state first."""
        found = self.list_labels({INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key})
        return sorted(found, key=lambda each: each.rank, reverse=True)

    def inspect_all(self, key: str) -> list[Observation]:
        """Inspects what `list_key` finds. Raises `NameTakenError` if another installation has created one of them."""
        listed = self.list_key(key)
        if not all(is_ours(each.labels) for each in listed):
            raise NameTakenError("The container of this agent belongs to another installation, which made it.")
        return [now for each in listed if (now := self.look_up(each.container_id))]

    def list_labels(self, labels: Mapping[str, str]) -> list[Observation]:
        """Returns the containers with these labels as Docker lists them, with less detail than an inspection."""
        with self._connection.call() as client:
            rows = client.containers(all=True, filters=_filters(labels))
        return read_rows(rows)

    def find(self, key: str, *, of: str = "") -> Details | None:
        """Returns our container of this key, or None. If there are several, it is the one that decides the state.

        `of`: see `Engine.inspect`.
        """
        if of and (known := _if_ours(key, self.read_now(of))):
            return known
        there = self.list_key(key)
        for listed in there:
            if is_ours(listed.labels) and (details := self.read_now(listed.container_id)):
                return details if len(there) > 1 else details.alone
        return self.find_by_name(key)

    def read_now(self, container_id: str) -> Details | None:
        """Does the same as `read`, but raises `ContainerSilentError` if the engine does not answer for this one."""
        try:
            return self.read(container_id)
        except EngineUnavailableError as error:
            if is_timeout(error.__cause__ or error):
                raise ContainerSilentError(SILENT) from error
            raise

    def find_all(self, key: str) -> list[Observation]:
        """Returns all of our containers of this key, even if someone has renamed them."""
        found = [listed for listed in self.list_key(key) if is_ours(listed.labels)]
        if not found and (named := self.find_by_name(key)):
            found = [named.observation]
        return found

    def find_by_name(self, key: str) -> Details | None:
        """Finds our container by its name, because Docker lists a new container only a moment after it exists."""
        return _if_ours(key, self.read(container_name(key)))

    def list_volumes(self, labels: Mapping[str, str]) -> list[Volume]:
        with self._connection.call() as client:
            answer = client.volumes(filters=_filters(labels))
        return read_volumes(answer)

    def find_data_volume(self, key: str) -> str:
        """Returns the name of the volume with the state of this key, or an empty string if there is none yet.

        Volumes keep their first name. Raises `EngineRefusedError` if the volume belongs to another installation.
        """
        states = [volume for volume in self._volumes_of(key) if volume.name.endswith(DATA)]
        if foreign := next((volume.name for volume in states if not is_ours(volume.labels)), None):
            raise EngineRefusedError(FOREIGN_STATE.format(foreign))
        return states[0].name if states else ""

    def find_volumes_for(self, key: str, name: str) -> "AgentVolumes":
        """Finds the volumes of the agent with this key, whose next container has this name, by labels and by names.

        Raises `EngineRefusedError` for a state of another installation, and for a foreign volume that has the name of
        one of ours.
        """
        found = {volume.name: volume for volume in self._volumes_of(key)}
        states = [volume for volume in found.values() if volume.name.endswith(DATA)]
        if foreign := next((volume.name for volume in states if not is_ours(volume.labels)), None):
            raise EngineRefusedError(FOREIGN_STATE.format(foreign))
        state = states[0].name if states else data_volume(name)
        for own in {state, secrets_volume(name)}:
            if volume := found.get(own) or self.find_volume(own):
                found[own] = volume
                if not is_ours(volume.labels):
                    raise EngineRefusedError(FOREIGN_VOLUME.format(own))
        secrets = [each for each in found.values() if each.name.endswith(SECRETS) and is_ours(each.labels)]
        kept = found.get(state)
        return AgentVolumes(state, secrets, kept.labels) if kept else AgentVolumes("", secrets)

    def find_volume(self, name: str) -> Volume | None:
        """Returns the volume of this name, or None. A list filtered by names would match each name as a pattern against
        every volume of the engine, which takes a tenth of a second for a thousand volumes."""
        try:
            with self._connection.call() as client:
                return read_volume(client.inspect_volume(name))
        except MissingError:
            return None

    def find_secrets(self, key: str, *, belong: Callable[[Mapping[str, str]], bool] = is_ours) -> list[str]:
        """Returns the names of the volumes with credentials of this key. `belong` selects them by their labels."""
        found = self._volumes_of(key)
        return [volume.name for volume in found if volume.name.endswith(SECRETS) and belong(volume.labels)]

    def _volumes_of(self, key: str) -> list[Volume]:
        return self.list_volumes({INSTANCE_LABEL: settings.BERTH_INSTANCE, PROJECT_LABEL: key})

    def find_volumes(self, key: str) -> list[str]:
        """Returns the names of all volumes of this key. Raises `EngineRefusedError` if one of the names is not ours."""
        names = {volume.name for volume in self._volumes_of(key) if is_ours(volume.labels)}
        bases = {container_name(key)}
        if not any(name.endswith(DATA) for name in names):
            bases.add(former_name(key))
        own = {f"{base}{suffix}" for base in bases for suffix in (SECRETS, DATA)}
        for volume in filter(None, map(self.find_volume, sorted(own - names))):
            if not is_ours(volume.labels):
                raise EngineRefusedError(FOREIGN_VOLUME.format(volume.name))
            names.add(volume.name)
        return sorted(names, key=lambda name: not name.endswith(SECRETS))

    def has_volume(self, volume: str, *, generation: int | None = None) -> bool:
        """Returns whether we have it, of this `generation` if given. Raises `EngineRefusedError` if it is not ours."""
        found = self.find_volume(volume)
        if found is None:
            return False
        if not is_ours(found.labels):
            raise EngineRefusedError(FOREIGN_VOLUME.format(volume))
        return generation is None or found.labels.get(GENERATION_LABEL) == str(generation)


def _if_ours(key: str, details: Details | None) -> Details | None:
    """Returns the container if it is ours and has this key."""
    seen = details.observation if details else None
    return details if seen and is_ours(seen.labels) and seen.key == key else None


def _filters(labels: Mapping[str, str]) -> dict[str, list[str]]:
    return {"label": [f"{label}={value}" for label, value in labels.items()]}
