"""What agents keep in a Swarm is on a node's disk, or where its volumes' driver has it. A manager reads neither."""

from collections.abc import Iterable, Iterator, Mapping

from containers.errors import EngineRefusedError

OUT_OF_REACH = (
    "What agents keep is on the nodes of the Swarm, where Berth cannot read or write it. Back up the volumes there."
)


class StateVerbs:
    """Implements `containers.engine.states.KeepsStates`: each verb that would need the state is refused."""

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
        raise EngineRefusedError(OUT_OF_REACH)

    def keep_copy(self, key: str, *, image: str, labels: Mapping[str, str], most: int = 0) -> None:
        raise EngineRefusedError(OUT_OF_REACH)

    def return_copy(self, key: str, *, image: str) -> bool:
        return False

    def drop_copy(self, key: str) -> None:
        """There is none."""
