"""What agents keep in a Swarm is on a node's disk, or where its volumes' driver has it. A manager reads neither."""

from collections.abc import Iterable, Iterator, Mapping

from containers.errors import EngineRefusedError
from containers.swarm.emptying import Emptying
from containers.swarm.memory import Memory
from containers.swarm.services import Services
from containers.swarm.verbs import Verbs

OUT_OF_REACH = "What agents keep is on the nodes of the Swarm, where Berth cannot read it. Back up the volumes there."


class StateVerbs:
    """Implements `containers.engine.states.KeepsStates`: what would have to read a state is refused."""

    _memory: Memory
    _emptying: Emptying
    _services: Services
    _verbs: Verbs

    def remove(self, key: str, *, volumes: bool = False) -> None:
        """What is noted of its memory goes last: who was killed before finds it again."""
        if volumes:
            self._emptying.run(key)
            self._memory.release(key)
        self._verbs.remove_key(key, volumes=volumes)
        if volumes:
            self._memory.forget(key)

    def knows_state(self, key: str) -> bool:
        """Services that were removed by older versions left no note of the nodes on which they ran."""
        return bool(self._services.ours(key) or self._services.traces.find(key).nodes or self._memory.is_here(key))

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
        """On the node that we speak with, to which the agent is bound by that. Holds it to no `ceiling`."""
        self._memory.write(key, volume=volume, labels=labels, image=image, pieces=pieces)

    def keep_copy(self, key: str, *, image: str, labels: Mapping[str, str], most: int = 0) -> None:
        raise EngineRefusedError(OUT_OF_REACH)

    def return_copy(self, key: str, *, image: str) -> bool:
        return False

    def drop_copy(self, key: str) -> None:
        """There is none."""
