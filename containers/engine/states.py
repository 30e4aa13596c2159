"""What Berth asks of a container engine about what agents keep, for backups: a part of `containers.engine.Engine`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol


class KeepsStates(Protocol):
    def read_state(self, key: str, *, image: str, of_copy: bool = False) -> Iterator[bytes]:
        """What the agent keeps in `DATA_PATH`, as the pieces of a tar archive whose names begin with `data`.

        Nothing where there is no such volume. The agent may run, and write meanwhile. Where it has no container, one is
        made of this image, which never runs. Closing the iterator ends it. `of_copy`: what `keep_copy` has kept is read
        instead, where there is one.
        """

    def knows_state(self, key: str) -> bool:
        """Whether the engine knows where to look for the state of this key. One that has all on its own disk does.

        Where it does not, `remove` with volumes removes nothing of a state that there may be.
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
        """Makes a volume of this name and with these labels, and fills it with what `read_state` has read.

        It holds so many bytes at the most, where the engine can see to that; 0 is no limit.

        For a key of which there is nothing: call `remove` before. Raises `EngineRefusedError` where there is a volume
        of this name already. A call that failed may have left a part, which `remove` removes.
        """

    def keep_copy(self, key: str, *, image: str, labels: Mapping[str, str], most: int = 0) -> None:
        """Makes a second volume, with these labels, that holds what the state of this key holds, in place of any other.

        A hard limit on the state is one on the copy as well, and again on the state that `return_copy` makes of it. For
        an agent that does not run. Does nothing where there is no state. Raises `EngineRefusedError` where it is more
        than `most` bytes as an archive; 0 is no limit. What fails leaves no part behind where it can, so that the agent
        finds room again; a part that it leaves the next call replaces. `remove` with volumes removes the copy as well.
        """

    def return_copy(self, key: str, *, image: str) -> bool:
        """Puts the copy in the place of the state, and keeps it: a call that was cut off may be repeated.

        For a key without a container. Does nothing where there is no copy, and returns whether there was one.
        """

    def drop_copy(self, key: str) -> None:
        """Removes the copy, where there is one."""
