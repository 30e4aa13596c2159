"""On which node a memory is copied, where an agent with a copy may start, and the errors if neither is possible."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.swarm.notes.copied_states import SHARED, CopiedStates, Copy
from containers.swarm.states.copy_programs import KEEP
from containers.swarm.tasks.service_spec import HOME_LABEL, KEPT_ON_LABEL
from tests.containers.swarm.copying import (
    AWAY,
    HERE,
    KEY,
    LABELS,
    OLD,
    SPOILED,
    CopyingManager,
    copies,
    copy_on,
    copying_swarm,
    ended_task,
    state_on,
)
from tests.fakes.messages import Answer

pytestmark = pytest.mark.one_database

FOLDERS = {"BERTH_SWARM_VOLUME_DRIVER": "local", "BERTH_SWARM_VOLUME_OPTIONS": {"device": ":/agents/{agent}"}}


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[CopyingManager]:
    with copying_swarm(monkeypatch, AWAY) as found:
        yield found


def keep(most: int = 0) -> None:
    copies().keep(KEY, image="i", labels=LABELS, most=most)


def give_back() -> bool:
    return copies().give_back(KEY)


def notes() -> Copy | None:
    return CopiedStates(Connection()).find(KEY)


def set_absent(swarm: CopyingManager, how: str) -> None:
    change = {"down": {"Status": {"State": "down", "Addr": "10.0.0.2"}}, "drained": {"Spec": {"Availability": "drain"}}}
    swarm.rows["nodes"][1] |= change[how]


@pytest.mark.parametrize("how", ["down", "drained"])
def test_no_copy_is_begun_while_the_node_with_the_state_is_away(swarm: CopyingManager, how: str) -> None:
    set_absent(swarm, how)
    with pytest.raises(EngineUnavailableError, match="is on host2, which takes no tasks now"):
        keep()
    assert (notes(), swarm.scripts, swarm.volumes) == (None, [], {state_on(AWAY): OLD})


@pytest.mark.parametrize("how", ["down", "drained"])
def test_a_copy_on_an_absent_node_is_neither_forgotten_nor_called_lost(swarm: CopyingManager, how: str) -> None:
    keep()
    set_absent(swarm, how)
    for act in (give_back, lambda: copies().drop(KEY)):
        with pytest.raises(EngineUnavailableError, match="host2"):
            act()
    assert notes() == (AWAY, False, "i"), "It no longer binds the agent, and is still to be removed."
    swarm.rows["nodes"][1] |= {"Spec": {"Availability": "active"}, "Status": {"State": "ready"}}
    copies().drop(KEY)
    assert (notes(), swarm.volumes[copy_on(AWAY)]) == (None, "")


def test_a_copy_is_gone_with_its_node(swarm: CopyingManager) -> None:
    keep()
    del swarm.rows["nodes"][1]
    assert not give_back()
    copies().drop(KEY)
    assert (notes(), swarm.scripts) == (None, [KEEP])


@pytest.mark.parametrize("state", ["running", "starting"])
def test_nothing_is_copied_while_the_agent_may_run(swarm: CopyingManager, state: str) -> None:
    swarm.rows["tasks"] = [ended_task(AWAY, state)]
    with pytest.raises(EngineUnavailableError, match="still runs"):
        keep()
    swarm.rows["tasks"] = [ended_task(AWAY)]
    keep()
    swarm.rows["tasks"][0]["Status"]["State"] = state
    with pytest.raises(EngineUnavailableError, match="still runs"):
        give_back()
    swarm.rows["tasks"][0]["Status"]["State"] = "shutdown"
    swarm.agent["Spec"]["Mode"] = {"Replicated": {"Replicas": 1}}
    with pytest.raises(EngineUnavailableError, match="still runs"):
        give_back()
    assert swarm.scripts == [KEEP]


def test_an_agent_without_a_state_has_no_copy(swarm: CopyingManager) -> None:
    swarm.rows["tasks"] = []
    swarm.bodies["/volumes/" + state_on(HERE)[1]] = Answer.json(404, {"message": "no such volume"})
    keep()
    assert (notes(), swarm.scripts, give_back()) == (None, [], False)


@pytest.mark.parametrize(
    ("labels", "there"), [({KEPT_ON_LABEL: "n3"}, "n3"), ({HOME_LABEL: AWAY, KEPT_ON_LABEL: ""}, AWAY)]
)
def test_the_notes_say_where_a_state_is_if_the_swarm_has_forgotten_its_tasks(
    swarm: CopyingManager, labels: dict[str, str], there: str
) -> None:
    swarm.rows["tasks"] = []
    swarm.agent["Spec"]["Labels"] = LABELS | labels
    keep()
    assert notes() == (there, True, "i")


def test_a_state_on_one_of_several_nodes_is_not_guessed(swarm: CopyingManager) -> None:
    swarm.rows["tasks"] = []
    swarm.agent["Spec"]["Labels"] = {**LABELS, KEPT_ON_LABEL: "n2 n3"}
    with pytest.raises(EngineRefusedError, match="which of several nodes"):
        keep()
    assert (notes(), swarm.scripts) == (None, [])


def test_without_its_archive_a_state_is_left_as_it_is(swarm: CopyingManager) -> None:
    """Someone has removed the volume with the copy."""
    keep()
    del swarm.volumes[copy_on(AWAY)]
    swarm.volumes[state_on(AWAY)] = SPOILED
    assert not give_back()
    assert swarm.volumes[state_on(AWAY)] == SPOILED


def test_shared_folders_are_copied_by_any_node_and_bind_nobody(
    swarm: CopyingManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr("containers.swarm.states.copies.make_copy_folder", lambda _, key, image: made.append(key))
    set_absent(swarm, "down")
    image = "r:5/a@sha256:" + "b" * 64
    swarm.agent["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] = image
    swarm.rows["tasks"].append(ended_task("n3"))
    with override_settings(**FOLDERS):
        keep()
        [job] = {row["NodeID"] for row in swarm.rows["tasks"][2:]}
    assert (job, made, notes()) == ("n3", [KEY], (SHARED, True, image))


def test_what_a_foreign_driver_keeps_is_not_copied(swarm: CopyingManager) -> None:
    options: list[dict[str, Any]] = [
        {"BERTH_SWARM_VOLUME_DRIVER": "rexray", "BERTH_SWARM_VOLUME_OPTIONS": {}},
        {"BERTH_SWARM_VOLUME_DRIVER": "local", "BERTH_SWARM_VOLUME_OPTIONS": {"device": ":/agents/{agent}/data"}},
    ]
    for each in options:
        with override_settings(**each), pytest.raises(EngineRefusedError, match="BERTH_SWARM_VOLUME_DRIVER"):
            keep()
    assert (notes(), swarm.scripts) == (None, [])
