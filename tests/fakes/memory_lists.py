"""The list of the engine in memory, and when it differs from an inspection."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from containers.errors import ContainerSilentError
from containers.vocabulary import Observation
from tests.fakes.memory_container import MemoryContainer
from tests.fakes.memory_images import MemoryImages


class MemoryLists(MemoryImages):
    """Like Docker, it lists the last saved states, and cannot save any while its disk is full."""

    def reset(self) -> None:
        with self._changed:
            super().reset()
            self._gone: list[MemoryContainer] = []

    def fill_disk(self) -> None:
        """From now on the list shows the present state of each existing container, no matter what happens to it."""
        with self._changed:
            for each in self.containers.values():
                each.written = each.briefly

    def free_disk(self, *names: str) -> None:
        """The list is right again about these containers or about all. Docker saves each one when it changes next."""
        with self._changed:
            for each in self.containers.values():
                each.written = None if not names or each.name in names else each.written
            self._gone = [each for each in self._gone if names and each.name not in names]

    def vanish(self, name: str) -> None:
        with self._changed:
            if self.containers[name].written:
                self._gone.append(self.containers[name])
            super().vanish(name)

    def look_up(self, container_id: str) -> Observation | None:
        self._enter("look_up", container_id)
        with self._changed:
            found = next((each for each in self.containers.values() if each.container_id == container_id), None)
            if found and found.is_silent:
                raise ContainerSilentError("The engine does not say how this container is.")
            return replace(found.without_report, report=None) if found and found.is_ours else None

    def _listed(self, doubted: Collection[str]) -> Iterator[MemoryContainer]:
        yield from self.containers.values()
        yield from (each for each in self._gone if each.key not in doubted)
