"""What Berth asks of a container engine about its own name server: a part of `containers.engine.Engine`."""

from collections.abc import Collection
from typing import Protocol


class LimitsNames(Protocol):
    def limit_names(self, containers: Collection[str]) -> str | None:
        """Sees to it that agents can ask the engine's own name server only so often: those with these container ids.

        What is no agent's or does not run is no error. An agent has no limit from its start until the first such call.
        Costs no call to the engine for those that have it already. Returns None, or a sentence for the operator that
        says why some cannot have it; these go on without.
        """
