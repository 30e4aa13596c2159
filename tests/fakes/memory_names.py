"""The engine in memory limits look-ups at its name server, which does not exist."""

from collections.abc import Collection

from containers.identity import is_ours
from tests.fakes.memory_states import MemoryStates


class MemoryNames(MemoryStates):
    """`limited` are the ids of the limited containers; `names_warning` is what it says about them."""

    def reset(self) -> None:
        with self._changed:
            super().reset()
            self.names_warning: str | None = None
            self.limited: set[str] = set()

    def limit_names(self, containers: Collection[str]) -> str | None:
        self._enter("limit_names")
        with self._changed:
            running = {each.container_id for each in self.containers.values() if each.is_up and is_ours(each.labels)}
            self.limited = (self.limited | set(containers)) & running
        return self.names_warning
