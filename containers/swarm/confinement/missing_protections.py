"""Lists the protections of a single host that a Swarm service of this engine's API cannot have.

An operator may accept that they are missing (`BERTH_SWARM_ACCEPT`). Otherwise no agent is started.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

NO_NEW_PRIVILEGES = "no-new-privileges"
NO_RUNTIME = "runtime"


class Measure(NamedTuple):
    """`since` is the first API whose services have the protection; None if no API does. `loss` says what is lost
    without it.
    """

    since: tuple[int, int] | None
    loss: str


MEASURES = {
    NO_NEW_PRIVILEGES: Measure(
        (1, 44),
        "A program with the setuid bit in an image may get root's rights inside the container, without capabilities. "
        'It counts as held where every node\'s daemon.json says `"no-new-privileges": true`.',
    ),
    "seccomp": Measure(
        (1, 44),
        "Agents have the engine's own list of system calls, not Berth's, which is shorter.",
    ),
    "swap": Measure(
        (1, 52),
        "On a node that has swap, an agent may use as much of it as it has memory.",
    ),
    NO_RUNTIME: Measure(
        None,
        "`BERTH_CONTAINER_RUNTIME` has no effect: each node runs agents with its own `default-runtime`.",
    ),
}
"""By the words of `BERTH_SWARM_ACCEPT`. Services have every other protection of agents from API 1.41 on."""


ENGINES = {
    (20, 10): (1, 41), (23, 0): (1, 42), (24, 0): (1, 43), (25, 0): (1, 44), (26, 0): (1, 45), (27, 0): (1, 46),
    (27, 2): (1, 47), (28, 0): (1, 48), (28, 1): (1, 49), (28, 2): (1, 50), (28, 3): (1, 51), (29, 0): (1, 52),
}  # fmt: skip
"""The API by the version of Docker that introduced it. A manager reports a node's version, not its API."""

_ENGINE = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?!\d)")


def api_of(engine: str) -> tuple[int, int]:
    """Returns the newest API that an engine of this version surely has, such as (1, 44), or (0, 0) if unknown."""
    found = _ENGINE.match(engine)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    return max((api for since, api in ENGINES.items() if since <= version), default=(0, 0))


def find_missing(api: tuple[int, int], *, held_by_daemons: bool, runtime: str) -> list[str]:
    """Returns the protections that services of this API lack. `held_by_daemons`: every node's daemon sets
    no-new-privileges.
    """
    missing = [word for word, measure in MEASURES.items() if measure.since is None or api < measure.since]
    needless = {NO_NEW_PRIVILEGES} if held_by_daemons else set()
    return [word for word in missing if word not in needless and (word != NO_RUNTIME or runtime)]


def explain_refusal(missing: Iterable[str], *, accepted: Collection[str]) -> str | None:
    """Returns a sentence for the operator, or None if every missing protection is accepted."""
    refused = [word for word in missing if word not in accepted]
    if not refused:
        return None
    return (
        f"This Swarm's services lack protections that agents need: {', '.join(refused)}. Update Docker on its nodes, "
        "or list in BERTH_SWARM_ACCEPT what you can do without (docs/swarm.md explains each)."
    )
