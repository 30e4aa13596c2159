"""The jobs that copy an agent's memory: their rights, their images, and the errors if they fail."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection
from containers.errors import EngineRefusedError, EngineUnavailableError
from containers.swarm.gateway.payload import LABEL as GATEWAY_LABEL
from containers.swarm.gateway.payload import NODE_LABEL
from containers.swarm.nodes.nodes import list_nodes
from containers.swarm.notes.copied_states import SHARED, CopiedStates
from containers.swarm.states import copy_jobs
from containers.swarm.states.copy_jobs import CopyJobs
from containers.swarm.states.copy_programs import DROP, KEEP, LACKS_PROGRAMS, RETURN, TOO_LARGE, job_payload
from tests.containers.swarm.copying import AWAY, KEY, LABELS, CopyingManager, copies, copying_swarm
from tests.containers.swarm.test_copies import FOLDERS, give_back, keep, notes

pytestmark = pytest.mark.one_database


@pytest.fixture
def swarm(monkeypatch: pytest.MonkeyPatch) -> Iterator[CopyingManager]:
    with copying_swarm(monkeypatch, AWAY) as found:
        yield found


@pytest.mark.parametrize(
    ("code", "said"),
    [(TOO_LARGE, "takes more than 2 MB"), (124, "too long"), (LACKS_PROGRAMS, "lacks tar"), (1, "non-zero exit")],
)
def test_a_failed_copy_says_why_and_counts_as_none(swarm: CopyingManager, code: int, said: str) -> None:
    swarm.exit_code = code
    with pytest.raises(EngineRefusedError, match=said):
        keep(most=2 << 20)
    assert notes() == (AWAY, False, "i")
    assert swarm.jobs == []


def test_a_node_that_is_lost_meanwhile_is_not_waited_for(swarm: CopyingManager) -> None:
    swarm.stalls = True
    with pytest.raises(EngineUnavailableError, match="host2 does not say"):
        copies(lost=frozenset({AWAY})).keep(KEY, image="i", labels=LABELS, most=0)
    assert (notes(), swarm.jobs) == ((AWAY, False, "i"), [])


def test_a_job_on_a_lost_node_holds_a_start_only_if_all_nodes_share_the_state(swarm: CopyingManager) -> None:
    """Without a shared memory, it changes nothing that the agent sees. Its own time limit ends it after minutes."""
    keep()
    task = {**swarm.rows["tasks"][-1], "CreatedAt": "2999-01-01T00:00:00Z"}
    swarm.rows["tasks"] = [task]
    task["Status"]["State"] = "running"
    found = copies(lost=frozenset({AWAY}))
    assert found.before_start(KEY) == (AWAY, True, "i")
    CopiedStates(Connection()).forget(KEY)
    CopiedStates(Connection()).begin(KEY, SHARED, "i")
    with override_settings(**FOLDERS):
        assert found.before_start(KEY) is not None, "It began long ago, by any clock."


@pytest.mark.parametrize(
    ("state", "error", "waits"),
    [("new", "", True), ("pending", "", True), ("pending", "no suitable node", False)]
    + [(state, "", True) for state in ("assigned", "accepted", "preparing", "ready", "starting")]
    + [(state, "", False) for state in ("running", "complete", "failed", "rejected")],
)
def test_a_job_is_removed_once_its_node_no_longer_prepares_it(
    swarm: CopyingManager, monkeypatch: pytest.MonkeyPatch, state: str, error: str, waits: bool
) -> None:
    """Otherwise the node would create its volumes after they were removed."""
    swarm.stalls = True
    with monkeypatch.context() as patch:
        patch.setattr(copy_jobs, "remove_job", lambda *_: None)
        patch.setattr(CopyJobs, "_await", lambda *_: pytest.fail("killed"))
        with pytest.raises(pytest.fail.Exception):
            keep()
    status = swarm.rows["tasks"][-1]["Status"]
    status |= {"State": state, "Err": error}
    rounds: list[int] = []

    def look(_: float) -> None:
        rounds.append(len(swarm.jobs))
        if len(rounds) == 3:
            status["State"] = "running"

    monkeypatch.setattr("containers.swarm.states.copy_jobs.time.sleep", look)
    copies().before_start(KEY)
    assert rounds == [1, 1, 1] * waits
    assert swarm.jobs == []


def test_the_gateway_s_image_copies_before_the_agent_s(swarm: CopyingManager) -> None:
    labels = {GATEWAY_LABEL: "berth", NODE_LABEL: AWAY}
    gateway = {"Name": "g", "Labels": labels, "TaskTemplate": {"ContainerSpec": {"Image": "gateway@node"}}}
    swarm.rows["services"].append({**swarm.agent, "ID": "g", "Spec": gateway})
    keep()
    with override_settings(BERTH_GATEWAY=True):
        keep()
    assert swarm.images == ["i", "gateway@node"]


@pytest.mark.parametrize(
    ("script", "rights"),
    [(KEEP, {"DAC_READ_SEARCH"}), (RETURN, {"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"}), (DROP, set())],
)
def test_a_job_has_no_more_rights_than_its_work_needs(swarm: CopyingManager, script: str, rights: set[str]) -> None:
    node = next(each for each in list_nodes(Connection()) if each.node_id == AWAY)
    payload = job_payload(script, [], key=KEY, node=node, image="i", mounts=[], api=(1, 44))
    program = payload["TaskTemplate"]["ContainerSpec"]
    assert (program["CapabilityDrop"], set(program["CapabilityAdd"]), program["ReadOnly"]) == (["ALL"], rights, True)
    assert program["Privileges"]["NoNewPrivileges"]
    assert "berth.project" not in payload["Labels"] | program["Labels"], "Or it would count as the agent."


def test_the_image_that_made_a_copy_reads_it_also_if_the_agent_has_another_one_by_then(swarm: CopyingManager) -> None:
    """The other image may lack the programs for that, and the copy would never be restored."""
    keep()
    swarm.agent["Spec"]["TaskTemplate"]["ContainerSpec"]["Image"] = "newer"
    assert give_back()
    copies().drop(KEY)
    assert swarm.images == ["i", "i", "i"]
    keep()
    assert swarm.images[3:] == ["newer"]
