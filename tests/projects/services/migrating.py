"""A single host, all of whose agents must move to the engine of this process."""

from collections.abc import Iterable
from copy import deepcopy
from typing import ClassVar

from projects.models import Project
from projects.services.staff.migration import Migration
from tests.fakes.engine import MemoryEngine
from tests.fakes.states import pack_state, unpack_state

HELD = ("containers", "volumes", "volume_labels", "states")
"""The contents of an engine in memory."""


class FakeArrivals:
    """The agents that must not be started on the Swarm."""

    awaited: ClassVar[set[str]] = set()

    def __init__(self, connection: object) -> None:
        """There is no Swarm."""

    def expect(self, keys: Iterable[str]) -> None:
        self.awaited.update(keys)

    def settle(self, key: str) -> None:
        self.awaited.discard(key)


def become_former(engine: MemoryEngine, project: Project) -> MemoryEngine:
    """Makes the present engine the former host; the engine of this process is an empty one from now on."""
    Project.objects.update(uid=20001)
    engine.states[f"{project.container_name}-data"] = pack_state({"note": "remembered"})
    made = MemoryEngine()
    made.reset()
    for name in HELD:
        setattr(made, name, deepcopy(getattr(engine, name)))
    engine.reset()
    return made


def check_moved(engine: MemoryEngine, former: MemoryEngine, project: Project) -> None:
    volume = f"{project.container_name}-data"
    assert engine.containers[project.container_name].is_up
    assert not any(each.is_up for each in former.containers.values())
    assert unpack_state([engine.states[volume]])["note"] == "remembered"
    assert engine.volume_labels[volume].items() >= former.volume_labels[volume].items()
    assert all(move.is_done for move in Migration("").plan())
