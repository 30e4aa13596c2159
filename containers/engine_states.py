"""What Berth asks of a container engine about what agents keep, for backups: a part of `containers.engine.Engine`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol


class KeepsStates(Protocol):
    def read_state(self, key: str, *, image: str) -> Iterator[bytes]:
        """What the agent keeps in `DATA_PATH`, as the pieces of a tar archive whose names begin with `data`.

        Nothing where there is no such volume. The agent may run, and write meanwhile. Where it has no container, one is
        made of this image, which never runs. Closing the iterator ends it.
        """

    def write_state(
        self, key: str, *, volume: str, labels: Mapping[str, str], image: str, pieces: Iterable[bytes]
    ) -> None:
        """Makes a volume of this name and with these labels, and fills it with what `read_state` has read.

        For a key of which there is nothing: call `remove` before. Raises `EngineRefusedError` where there is a volume
        of this name already. A call that failed may have left a part, which `remove` removes.
        """
