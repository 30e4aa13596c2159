"""The volume of an agent's credentials, which is kept for the next container if it already holds them.

Filling it takes the engine a tenth of the time of a deploy, and its content seldom changes.
"""

from collections.abc import Sequence

from containers.agent_contract import SECRETS_PATH
from containers.credential_digest import DIGEST_LABEL, digest_credentials
from containers.docker.containers import Containers
from containers.docker.lookup import Lookup
from containers.docker.networks.agents import read_engine_start
from containers.docker.secrets import pack_secrets
from containers.docker_api.client import Connection
from containers.hardening import secrets_volume
from containers.vocabulary import ContainerSpec, Volume


class Credentials:
    """The credentials of one call of `deploy`."""

    def __init__(self, connection: Connection, lookup: Lookup, containers: Containers, spec: ContainerSpec) -> None:
        self._connection = connection
        self._lookup = lookup
        self._containers = containers
        self._spec = spec
        self._volume = secrets_volume(spec.name)
        self._is_kept = False

    def find_known(self) -> list[Volume]:
        """Returns the volume of a container that was ours. Asks for its labels only if it may be kept."""
        if self._spec.well_since is None:
            return [Volume(name=self._volume, labels={})]
        found = self._lookup.find_volume(self._volume)
        return [found] if found else []

    def prepare(self, found: Sequence[Volume]) -> list[str]:
        """Removes these volumes, because the spec may lack one of the credentials there, but not one that is filled.

        Returns the name of the volume if the next container creates it.
        """
        kept = [each.name for each in found if self._is_filled(each)]
        for each in found:
            if each.name not in kept:
                self._containers.remove_known_volume(each.name)
        self._is_kept = bool(kept)
        return [] if kept else [self._volume]

    def deliver(self, container_id: str, user: int, *, is_new: bool) -> None:
        """Fills the volume, unless it was kept and has not disappeared since then."""
        is_there = is_new and self._is_kept and user == self._spec.user
        if is_there and not self._lookup.has_volume(self._volume, generation=self._spec.generation):
            return
        with self._connection.call(about_one=True) as client:
            client.put_archive(container_id, SECRETS_PATH, pack_secrets(self._spec.secrets, group=user))

    def _is_filled(self, volume: Volume) -> bool:
        """Returns whether the volume holds exactly these credentials, complete and for this user.

        It is labelled with their digest before it is filled, so the agent must have worked with it since. The engine
        must not have been started since, because a machine that fails may lose what was written last.
        """
        made, well = volume.created_at, self._spec.well_since
        if volume.name != self._volume or made is None or well is None or made >= well:
            return False
        if volume.labels.get(DIGEST_LABEL) != digest_credentials(self._spec):
            return False
        started_at = read_engine_start(self._connection)
        return started_at is not None and started_at < made
