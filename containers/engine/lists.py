"""What Berth asks of a container engine about many containers, and about one in doubt: a part of
`containers.engine.Engine`.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from containers.vocabulary import Observation

Keys = Collection[str]
"""What containers belong to."""


Ahead = Callable[[], list[Observation]]
"""Waits for what the engine was asked for before. Raises `EngineError`."""


class ListsContainers(Protocol):
    def observe(
        self, within: Mapping[str, str], *, others: bool = False, briefly: Keys = (), doubted: Keys = ()
    ) -> list[Observation]:
        """Every container of this installation with these labels, in any state.

        One list call, and one more call for each container that is not running and healthy. A container that disappears
        in between is left out. An empty list means that the engine answered and has none; where it does not answer,
        this raises `EngineUnavailableError`. One for which alone it does not answer is there, and `is_silent`: it costs
        the others three seconds the first time, and half of what is left of a `read_deadline`.

        With `others` the containers of other installations of this instance are among them, as the list has them: for
        looking only, where somebody has to know that they exist. So are containers with a key in `briefly`.

        Of those with a key in `doubted` the list is not believed where it calls them well: there is one more call for
        each, but for those of which it was found to tell the truth in the last seconds. What is as listed is told so.
        """

    def look_ahead(self, key: str) -> Ahead:
        """Begins to ask which containers have this key, for a `stop` that is about to come, and returns at once."""

    def look_up(self, container_id: str) -> Observation | None:
        """Our container with this id, as `inspect` tells it but for what the agent reports; None where there is none.

        It costs one call, and does not believe the list: Docker lists a container as it last wrote it down, which it
        cannot while its disk is full. Raises `ContainerSilentError` where the engine answers for others.
        """


def is_as_listed(found: Observation, listed: Observation) -> bool:
    """Whether a list says of the container what is so."""
    return (found.state, found.health, found.has_drifted) == (listed.state, listed.health, listed.has_drifted)
