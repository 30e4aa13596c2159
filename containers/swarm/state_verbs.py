"""What agents keep in a Swarm is on a node's disk, or where its volumes' driver has it. A manager reads neither."""

from collections.abc import Iterable, Iterator, Mapping

from containers.errors import EngineRefusedError
from containers.swarm.memory import Memory

OUT_OF_REACH = "What agents keep is on the nodes of the Swarm, where Berth cannot read it. Back up the volumes there."


class StateVerbs:
    """Implements `containers.engine.states.KeepsStates`: what would have to read a state is refused."""

    _memory: Memory

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
