"""The engine lists a container as it last saved it. No verb relies on that."""

import itertools
import json
from types import SimpleNamespace

import pytest

from containers.docker import inspections
from containers.docker.engine import DockerEngine
from containers.docker.gateway.containers import GatewayContainers
from containers.docker.gateway.payload import LABEL
from containers.docker_api.client import Connection
from containers.errors import ContainerSilentError
from containers.identity import exit_network_name, helper_labels
from containers.vocabulary import ContainerState, Observation
from tests.containers.docker.scripted_engine import FAILED, GONE, ID, KEY, LABELS, LOST, NAME, Answer, container
from tests.fakes.docker_socket import FaultySocket

pytestmark = pytest.mark.one_database


def list_with(state: ContainerState, *, network: str = "agents", **labels: str) -> Answer:
    row = {
        "Id": ID,
        "Names": [f"/{NAME}"],
        "Labels": labels or {**LABELS, "berth.generation": "1"},
        "State": state,
        "Status": "Up 3 seconds (healthy)",
        "Created": 1_790_000_000,
        "HostConfig": {"NetworkMode": network},
        "NetworkSettings": {"Networks": {network: {}}},
    }
    return "answer", 200, json.dumps([row]).encode()


def was_stopped(daemon: FaultySocket) -> bool:
    return any(request.startswith(f"POST /v1.41/containers/{ID}/stop") for request in daemon.requests)


def test_a_running_container_is_stopped_in_spite_of_the_list(daemon: FaultySocket) -> None:
    """Every state that a list may report, for an agent in every state."""
    for listed, real in itertools.product(ContainerState, ContainerState):
        daemon.requests.clear()
        daemon.script["GET /containers/json"] = [list_with(listed)]
        is_up = real in {ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING}
        before, after = container(real), container("exited" if is_up else real)
        lists_down = listed not in {ContainerState.RUNNING, ContainerState.PAUSED, ContainerState.RESTARTING}
        daemon.script[f"GET /containers/{ID}/json"] = [before, after] if lists_down else [after]
        DockerEngine().stop(KEY, timeout=1)
        assert was_stopped(daemon) >= is_up, (listed, real)


def test_a_running_container_is_quarantined_in_spite_of_the_list(daemon: FaultySocket) -> None:
    for listed in (ContainerState.CREATED, ContainerState.EXITED, ContainerState.DEAD):
        daemon.requests.clear()
        daemon.script["GET /containers/json"] = [list_with(listed)]
        daemon.script[f"GET /containers/{ID}/json"] = [container("running"), container("exited")]
        retired: list[Observation] = []
        DockerEngine().quarantine(KEY, timeout=1, retire=retired.append)
        assert was_stopped(daemon)
        assert [each.container_id for each in retired] == [ID]  # its log is kept, because it has run


def test_looking_at_one_container_does_not_trust_the_list(daemon: FaultySocket) -> None:
    engine = DockerEngine()
    for state in ContainerState:
        daemon.requests.clear()
        daemon.script[f"GET /containers/{ID}/json"] = [container(state)]
        found = engine.look_up(ID)
        assert found
        assert (found.state, found.container_id) == (state, ID)
        assert not any("/containers/json" in request for request in daemon.requests)
    daemon.script[f"GET /containers/{ID}/json"] = [GONE]
    assert engine.look_up(ID) is None


def test_looking_at_a_container_without_an_answer_reports_silence(
    daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("containers.docker_api.client.CALL_LIMIT", 0.2)
    daemon.script[f"GET /containers/{ID}/json"] = [("hang", 0, b"")]
    with pytest.raises(ContainerSilentError):
        DockerEngine().look_up(ID)


@pytest.mark.parametrize("listed", ["running", "exited"])
@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        (container("running"), True),
        (container("paused"), False),
        (container("exited"), False),
        (GONE, False),
        (LOST, None),
        (FAILED, None),
    ],
    ids=["running", "paused", "exited", "gone", "lost", "failed"],
)
def test_the_gateway_runs_if_an_inspection_says_so(
    daemon: FaultySocket, listed: str, answer: Answer, *, runs: bool | None
) -> None:
    """If there is no inspection, the list has to be enough."""
    daemon.script["GET /containers/json"] = [
        list_with(ContainerState(listed), network=exit_network_name(), **helper_labels(LABEL))
    ]
    daemon.script[f"GET /containers/{ID}/json"] = [answer]
    [row] = GatewayContainers(Connection()).list()
    assert row.is_running is ((listed == "running") if runs is None else runs)


READS = [
    (container("running", health="healthy"), [(ContainerState.RUNNING, True, False)]),
    (container("running", health="unhealthy"), [(ContainerState.RUNNING, False, False)]),
    (container("exited", health="healthy"), [(ContainerState.EXITED, False, False)]),
    (container("paused", health="healthy"), [(ContainerState.PAUSED, False, False)]),
    (GONE, []),
    (("hang", 0, b""), [(ContainerState.RUNNING, True, True)]),
]
"""The answers of an inspection about a container that the list calls healthy, and then:
the state, whether the rest is missing, and silence."""


@pytest.mark.parametrize(("answer", "told"), READS, ids=["well", "ill", "ended", "paused", "gone", "hangs"])
def test_a_list_in_doubt_is_compared_with_an_inspection(
    daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch, answer: Answer, told: list[tuple[ContainerState, bool, bool]]
) -> None:
    monkeypatch.setattr(inspections, "PATIENCE", 0.5 if answer[0] == "hang" else 60.0)
    daemon.script["GET /containers/json"] = [list_with(ContainerState.RUNNING)]
    daemon.script[f"GET /containers/{ID}/json"] = [answer]
    engine = DockerEngine()
    [believed] = engine.observe({})
    assert believed.is_brief
    assert inspected(daemon) == 0
    seen = engine.observe({}, doubted={KEY})
    assert [(each.state, each.is_brief, each.is_silent) for each in seen] == told
    assert inspected(daemon) == 1


def test_a_list_that_was_right_is_believed_for_a_moment(daemon: FaultySocket, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(inspections, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    daemon.script["GET /containers/json"] = [list_with(ContainerState.RUNNING)]
    daemon.script[f"GET /containers/{ID}/json"] = [container("running", health="healthy")]
    engine = DockerEngine()
    for passes, expected in ((0.0, 1), (inspections.CONFIRMED_FOR - 0.1, 1), (0.2, 2)):
        clock[0] += passes
        engine.observe({}, doubted={KEY})
        engine.observe({}, doubted={"another"})
        engine.observe({}, doubted={KEY}, briefly={KEY})
        assert inspected(daemon) == expected


def inspected(daemon: FaultySocket) -> int:
    return sum(f"/containers/{ID}/json" in request for request in daemon.requests)
