"""Limits on the engine's own name server: a part of `containers.engine.Engine`."""

from collections.abc import Collection
from typing import Protocol


class LimitsNames(Protocol):
    def limit_names(self, containers: Collection[str]) -> str | None:
        """Limits how often the agents in these containers, given by id, can ask the engine's own name server.

        Containers that do not run or belong to no agent are ignored. An agent has no limit from its start until the
        first call with its id. Agents that already have the limit cost no call to the engine. Returns None, or a
        sentence for the operator that says why some agents cannot have the limit; these keep running without it.
        """
