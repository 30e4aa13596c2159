"""The engine's verbs about agents' states, for a Swarm.

States are on the nodes' disks or where the volumes' driver keeps them. A manager can read neither, but jobs on the
nodes can count, empty and copy them.
"""

from collections.abc import Iterable, Iterator, Mapping

from containers.docker_api.usable_images import UsableImages
from containers.errors import EngineRefusedError
from containers.swarm.services.services import Services
from containers.swarm.services.verbs import Verbs
from containers.swarm.states.copies import Copies
from containers.swarm.states.disk_meter import DiskMeter
from containers.swarm.states.state_writer import Memory
from containers.swarm.states.volume_cleanup import VolumeCleanup

OUT_OF_REACH = "Agents' memory is on the nodes of the Swarm, where Berth cannot read it. Back up the volumes there."


class StateVerbs:
    """Implements `containers.engine.states.KeepsStates`; refuses to hand over what is in a state."""

    _copies: Copies
    _disks: DiskMeter
    _memory: Memory
    _emptying: VolumeCleanup
    _images: UsableImages
    _services: Services
    _verbs: Verbs

    def remove(self, key: str, *, volumes: bool = False) -> None:
        """Deletes the notes about the state last, so that a removal that was interrupted can be repeated."""
        if volumes:
            self._emptying.run(key)
            self._copies.drop(key)
            self._memory.release(key)
            self._disks.give_way(key)
        self._verbs.remove_key(key, volumes=volumes)
        if volumes:
            self._memory.forget(key)

    def knows_state(self, key: str) -> bool:
        """Also asks this node for a volume, because older versions removed services without noting their nodes."""
        return bool(
            self._services.ours(key) or self._services.state_locations.find(key).nodes or self._memory.is_here(key)
        )

    def read_state(self, key: str, *, image: str, of_copy: bool = False) -> Iterator[bytes]:
        raise EngineRefusedError(OUT_OF_REACH)

    def write_state(
        self,
        key: str,
        *,
        volume: str,
        labels: Mapping[str, str],
        image: str,
        pieces: Iterable[bytes],
        ceiling: int = 0,
    ) -> None:
        """Writes the state on the node that we are connected to and so binds the agent to it. Ignores `ceiling`."""
        self._images.require(image)
        self._memory.write(key, volume=volume, labels=labels, image=image, pieces=pieces)

    def keep_copy(self, key: str, *, image: str, labels: Mapping[str, str], most: int = 0) -> None:
        self._copies.keep(key, image=image, labels=labels, most=most)

    def return_copy(self, key: str, *, image: str) -> bool:
        return self._copies.give_back(key)

    def drop_copy(self, key: str) -> None:
        self._copies.drop(key)
