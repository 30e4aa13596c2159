"""How an engine backs up, restores and copies agents' states: a part of `containers.engine.Engine`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol


class KeepsStates(Protocol):
    def read_state(self, key: str, *, image: str, of_copy: bool = False) -> Iterator[bytes]:
        """Yields the files in the agent's `DATA_PATH` as chunks of a tar archive whose names begin with `data`.

        Yields nothing if there is no such volume. The agent may run and write meanwhile. If it has no container, one is
        created from this image that never runs. Closing the iterator ends the read. With `of_copy`, the copy that
        `keep_copy` made is read instead, if there is one.
        """

    def knows_state(self, key: str) -> bool:
        """Returns whether the engine knows where the state of this key is. A single host always does.

        If it does not know, `remove` with volumes cannot remove a state that may exist.
        """

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
        """Creates a volume with this name and these labels, and fills it with an archive from `read_state`.

        `ceiling` limits its size in bytes if the engine can enforce that; 0 means no limit.

        Call `remove` first, because the key must have nothing on the engine. Raises `EngineRefusedError` if there is
        already a volume of this name. A failed call may leave a partial volume, which `remove` removes.
        """

    def keep_copy(self, key: str, *, image: str, labels: Mapping[str, str], most: int = 0) -> None:
        """Copies the state of this key to a second volume with these labels, which replaces any earlier copy.

        The agent must not run. A hard limit on the state also applies to the copy, and to the state that `return_copy`
        restores from it. Does nothing if there is no state. Raises `EngineRefusedError` if the archive is larger than
        `most` bytes; 0 means no limit. A failed call removes its partial copy if it can, so that the agent has room
        again; otherwise the next call replaces it. `remove` with volumes removes the copy as well.
        """

    def return_copy(self, key: str, *, image: str) -> bool:
        """Replaces the state with the copy and keeps the copy, so that an interrupted call can be repeated.

        The key must have no container. Returns whether there was a copy; without one it does nothing.
        """

    def drop_copy(self, key: str) -> None:
        """Removes the copy, if there is one."""
