"""Hands the volume of an agent's state to the user that its container runs as.

A new volume belongs to the image's user, and needs no handover if everyone may write to that directory of the image. A
volume from before each project had its own user belongs to `AGENT_USER`.
"""

import time
from collections.abc import Mapping
from contextlib import suppress

from django.conf import settings

from containers.agent_contract import DATA_PATH
from containers.docker.containers import Containers
from containers.docker.lookup import Lookup
from containers.docker.volumes.data_directory import OwnDirectory, Root, pack_directory, read_root
from containers.docker.volumes.new_volumes import NewVolumes
from containers.docker_api.client import Connection
from containers.docker_api.errors import ConflictError, MissingError, understand_answer
from containers.errors import EngineRefusedError, EngineUnavailableError, NameTakenError
from containers.hardening import data_volume
from containers.identity import container_name
from containers.vocabulary import GENERATION_LABEL, USER_LABEL, ContainerSpec, Observation
from containers.volume_containers import CARRIER, HANDOVER_LABEL, handover_name, handover_payload

WAIT_LIMIT = 8.0
"""Seconds that a deploy waits. A longer handover continues without it, and a later deploy finds it done or waits on."""

_PAUSE = 0.05
_ATTEMPTS = 3


class Handover:
    """One call of `complete`. The agent does not run meanwhile: its container was created but not started."""

    def __init__(
        self,
        connection: Connection,
        lookup: Lookup,
        directory: OwnDirectory,
        new_volumes: NewVolumes,
        spec: ContainerSpec,
    ) -> None:
        self._connection = connection
        self._lookup = lookup
        self._directory = directory
        self._new_volumes = new_volumes
        self._spec = spec
        self._user = spec.user
        self._name = handover_name(spec.name)
        self._until = time.monotonic() + WAIT_LIMIT

    def complete(self, container: Observation, *, is_new: bool = False, is_volume_new: bool = False) -> int:
        """Returns the user that the container runs as, once the volume and everything in it belong to that user.

        An adopted container of an older Berth keeps its user until the next deploy replaces it. A container that
        `is_new` was created for the spec, and runs as its user.

        Raises `EngineUnavailableError` if it takes longer than `WAIT_LIMIT`: it continues, and a later call finds it
        done. Raises `EngineRefusedError` if the image lacks the programs for it.
        """
        if not is_new and (details := self._lookup.read(container.container_id)):
            self._user = details.user
        for attempt in range(_ATTEMPTS):
            root = self._read(container, is_volume_new=is_volume_new and not attempt)
            if attempt and self._directory.works is None and root.is_empty:
                self._directory.works = root.serves(self._user)
            if root.serves(self._user):
                return self._user
            if not root.is_empty:
                self._give_all()
            elif self._directory.works is False:
                self._give_directory(root)
            elif self._directory.give(self._connection, container.container_id, root, self._user):
                return self._user
        message = (
            f"What the agent keeps could not be handed to its user. The image {self._spec.image} needs sh, find, chmod "
            f"and chown. Or make {self._user} the owner and group of all in the volume {self._volume()} by hand."
        )
        raise EngineRefusedError(message)

    def _read(self, container: Observation, *, is_volume_new: bool) -> Root:
        if is_volume_new and (known := self._new_volumes.root_from(self._spec.image)):
            return known
        root = read_root(self._connection, container.container_id)
        if is_volume_new:
            self._new_volumes.learn(self._spec.image, root)
        return root

    def _give_directory(self, root: Root) -> None:
        """Hands over an empty directory through a helper container that never starts, so any image will do."""
        helper_id = self._make_helper()
        with suppress(MissingError, ConflictError):  # another deploy has done it, and removed the container
            with self._connection.call(about_one=True) as client:
                client.put_archive(helper_id, "/", pack_directory(DATA_PATH.strip("/"), root, self._user))
            self._remove(helper_id)

    def _give_all(self) -> None:
        helper_id = self._make_helper()
        try:
            with self._connection.call(about_one=True) as client:
                client.start(helper_id)
        except MissingError:
            return  # it has ended already
        except EngineRefusedError:
            self._remove(helper_id)  # the image has no shell
            return
        while self._lookup.read(helper_id) is not None:
            self._pause()

    def _pause(self) -> None:
        if time.monotonic() >= self._until:
            message = "What the agent keeps is still being handed to its user. Try again in a minute."
            raise EngineUnavailableError(message)
        time.sleep(_PAUSE)

    def _make_helper(self) -> str:
        """Returns the helper container: a new one, or one that another deploy has created and that may be at work."""
        payload = handover_payload(
            self._spec, self._user, volume=self._volume(), runtime=settings.BERTH_CONTAINER_RUNTIME
        )
        while True:
            with suppress(NameTakenError, ConflictError), self._connection.call() as client, understand_answer():
                return str(client.create_container_from_config(payload, self._name)["Id"])
            found = self._lookup.look_up(self._name)
            if found is not None and found.labels.get(HANDOVER_LABEL) == payload["Labels"][HANDOVER_LABEL]:
                return found.container_id
            if found is not None and not _is_of(found, self._spec.name):
                message = f"A container that is not ours is called {self._name}. Remove or rename it."
                raise EngineRefusedError(message)
            if found is not None:
                self._remove(found.container_id)
            self._pause()  # a name is taken before its container can be found, and after it cannot be any more

    def _volume(self) -> str:
        return self._lookup.find_data_volume(self._spec.key) or data_volume(self._spec.name)

    def _remove(self, helper_id: str) -> None:
        with suppress(MissingError, ConflictError), self._connection.call(about_one=True) as client:
            client.remove_container(helper_id, v=True, force=True)


def was_handed_over(labels: Mapping[str, str], spec: ContainerSpec) -> bool:
    """Returns whether the volume with these labels belongs to the user of the spec already, without a look at it.

    That is so if an earlier deploy created the volume for this user, and the agent has run since: each deploy completes
    the handover before it starts the agent.
    """
    is_for_user = labels.get(USER_LABEL) == str(spec.user)
    return spec.has_state and is_for_user and labels.get(GENERATION_LABEL) != str(spec.generation)


def abandon_handover(lookup: Lookup, containers: Containers, key: str) -> None:
    """Ends any handover or copy of the state of this key, and removes their containers."""
    name = container_name(key)
    found = lookup.look_up(handover_name(name))
    if found is not None and _is_of(found, name):
        containers.remove_found(found)
    for carrier in lookup.list_labels({HANDOVER_LABEL: f"{name}{CARRIER}"}):
        if not carrier.key:  # otherwise it is an agent whose image has the label
            containers.remove_found(carrier)


def _is_of(found: Observation, name: str) -> bool:
    return found.labels.get(HANDOVER_LABEL, "").startswith(f"{name}:")
