"""While there is a copy of its memory, an agent starts only on the node that has it."""

from collections.abc import Iterator

import pytest

from containers.docker_api.client import Connection
from containers.errors import NoRoomError
from containers.swarm.notes.copied_states import SHARED, Copy
from containers.swarm.placement.capacity import PLAN_LABEL
from containers.swarm.placement.placement import place
from containers.swarm.services.services import Services
from containers.swarm.tasks.service_spec import COPIED_ON_LABEL
from containers.swarm.tasks.tasks import observe
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.copying import AWAY, KEY, LABELS, CopyingManager, bind, copies, copying_swarm
from tests.containers.swarm.test_copies import keep, set_absent

pytestmark = pytest.mark.one_database


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[CopyingManager]:
    with copying_swarm(monkeypatch, AWAY) as found:
        yield found


def where(copy: Copy | None) -> tuple[list[str], str]:
    found = place(Connection(), Services(Connection()), SPEC, "i", copy)
    return found.constraints, found.copied_on


@pytest.fixture
def with_room(swarm: CopyingManager) -> CopyingManager:
    for each in swarm.rows["nodes"]:
        each["Description"]["Resources"] = {"MemoryBytes": 1 << 30}
    return swarm


def test_an_agent_starts_where_its_copy_is(with_room: CopyingManager) -> None:
    bound = ["node.id == n2"]
    for is_complete in (True, False):
        assert where(Copy(AWAY, is_complete=is_complete, image="i")) == (bound, AWAY)
    assert where(Copy(SHARED, is_complete=True, image="i")) == where(None) == ([], "")
    with_room.rows["nodes"][2]["Spec"]["Labels"] = {PLAN_LABEL: "large"}
    assert where(Copy(AWAY, is_complete=True, image="i")) == ([f"node.labels.{PLAN_LABEL} != large", *bound], AWAY)
    assert where(Copy("n3", is_complete=True, image="i")) == (["node.id == n3"], "n3"), "Its plan may go there no more."


@pytest.mark.parametrize("how", ["down", "drained"])
def test_only_a_complete_copy_keeps_an_agent_from_starting_elsewhere(with_room: CopyingManager, how: str) -> None:
    set_absent(with_room, how)
    assert where(Copy(AWAY, is_complete=False, image="i")) == ([], "")
    with pytest.raises(NoRoomError, match="host2"):
        where(Copy(AWAY, is_complete=True, image="i"))
    del with_room.rows["nodes"][1]
    assert where(Copy(AWAY, is_complete=True, image="i")) == ([], "")


def test_a_bound_agent_is_released_with_its_copy_and_shows_none_of_it(swarm: CopyingManager) -> None:
    keep()
    bind(swarm, AWAY)
    assert COPIED_ON_LABEL not in observe(Services(Connection()).ours(KEY)[0]).labels
    copies().drop(KEY)
    spec = swarm.agent["Spec"]
    assert (spec["Labels"], spec["TaskTemplate"]["Placement"]["Constraints"]) == (LABELS, ["node.labels.a != b"])
