"""How an engine lists containers, and checks a single one: a part of `containers.engine.Engine`."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from containers.vocabulary import Observation

Keys = Collection[str]
"""Values of `PROJECT_LABEL`."""

Runs = Mapping[str, datetime]
"""When the present runs of agents began, by their keys and the engine's clock."""

NO_RUNS: Runs = MappingProxyType({})


Prefetch = Callable[[], list[Observation]]
"""Waits for the answer to a question that the engine was asked earlier; `list` if there was no question. Raises
`EngineError`."""


class ListsContainers(Protocol):
    def observe(
        self, within: Mapping[str, str], *, others: bool = False, briefly: Keys = (), doubted: Keys = (),
        runs: Runs = NO_RUNS,
    ) -> list[Observation]:  # fmt: skip
        """Returns every container of this installation with these labels, in any state.

        It makes one list call, and one more call for each container that is not running and healthy. A container that
        disappears in between is left out. An empty list means that the engine answered and has none; if it does not
        answer, this raises `EngineUnavailableError`. If the engine does not answer for a single container, that one is
        in the result as `is_silent`: it costs the others three seconds the first time, and half of what is left of a
        `read_deadline`.

        With `others` the result includes containers of other installations of this instance, only as the list describes
        them, for callers that need to know that they exist. Nor are containers inspected whose key is in `briefly`, or
        that run without a health check and, by the list, can have been running since the time in `runs`.

        A container with a key in `doubted` is inspected even if the list says that it is well, unless the list was
        found to be right about it in the last seconds. If the list is right, the result is as listed.
        """

    def prefetch(self, key: str, container_id: str = "") -> Prefetch:
        """Starts asking which containers have this key, for a `stop` that follows soon, and returns at once.

        Asks nothing if `container_id`, which the caller takes for the only one, is known to have this key.
        """

    def look_up(self, container_id: str) -> Observation | None:
        """Returns our container with this id as `inspect` does, without the agent's report, or None if there is none.

        It makes one call, and does not rely on the list: Docker lists a container as it last saved it, and cannot save
        it while its disk is full. Raises `ContainerSilentError` if the engine answers for other containers only.
        """


def is_as_listed(found: Observation, listed: Observation) -> bool:
    """Returns whether the list describes the container as it is."""
    return (found.state, found.health, found.has_drifted) == (listed.state, listed.health, listed.has_drifted)
