"""A Docker engine's methods for agents' states (`containers.engine.states.KeepsStates`)."""

from collections.abc import Iterable, Iterator, Mapping

from containers.docker.volumes.state import State


class StateVerbs:
    _state: State

    def read_state(self, key: str, *, image: str, of_copy: bool = False) -> Iterator[bytes]:
        return self._state.read(key, image, of_copy=of_copy)

    def knows_state(self, key: str) -> bool:
        return True

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
        self._state.write(key, volume=volume, labels=labels, image=image, pieces=pieces, ceiling=ceiling)

    def keep_copy(self, key: str, *, image: str, labels: Mapping[str, str], most: int = 0) -> None:
        self._state.keep_copy(key, image=image, labels=labels, most=most)

    def return_copy(self, key: str, *, image: str) -> bool:
        return self._state.return_copy(key, image=image)

    def drop_copy(self, key: str) -> None:
        self._state.drop_copy(key)
