"""An agent whose memory is being brought here starts only when it is complete, and only on the node that has it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

from containers.docker_api.client import Connection, DockerClient
from containers.errors import EngineUnavailableError
from containers.hardening import data_volume
from containers.identity import container_name
from containers.swarm.notes.agent_configs import AgentConfigs
from containers.swarm.notes.awaited_states import AwaitedStates, find_home
from containers.swarm.services.services import Services
from containers.swarm.states.shared_folders import make_folder
from containers.swarm.states.state_writer import Memory
from containers.swarm.tasks.service_spec import KEPT_ON_LABEL
from containers.volume_containers import CARRIER as CARRIES
from containers.volume_containers import HANDOVER_LABEL, handover_name
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import Manager, manager
from tests.fakes.messages import Answer, Request

CARRIER = handover_name(container_name(SPEC.key))
VOLUME = data_volume(SPEC.name)
MISSING = Answer.json(404, {"message": "no such thing"})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    def put(self: DockerClient, container: str, path: str, pieces: Any, *, silence: float) -> None:
        list(pieces)

    monkeypatch.setattr(DockerClient, "put_pieces", put)
    with manager(monkeypatch) as found:
        found.rows |= {"services": [], "tasks": [], "configs": []}
        found.bodies["/containers/create"] = Answer.json(201, {"ID": "c", "Id": "c"})
        found.bodies["/info"] = Answer.json(200, {"Swarm": {"NodeID": "n1"}})
        found.bodies |= dict.fromkeys([f"/volumes/{VOLUME}", f"/containers/{CARRIER}/json"], MISSING)
        found.bodies |= dict.fromkeys(["/containers/c", "/containers/left"], Answer(204, b""))
        yield found


def bring(pieces: Any) -> None:
    Memory(Connection()).write(SPEC.key, volume=VOLUME, labels=SPEC.labels, image="i", pieces=pieces)


def home() -> str:
    """Returns the node that has the memory, as any server finds it. Only the manager's node has the volume."""
    return find_home(Connection(), Services(Connection()).of_key(SPEC.key), SPEC)


def test_half_a_memory_goes_and_its_agent_waits_for_the_whole_and_runs_where_that_is(fake: Manager) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise EngineUnavailableError("The former host is gone.")

    with pytest.raises(EngineUnavailableError, match="former host"):
        bring(broken())
    assert [path.split("/", 2)[-1] for method, path in fake.requests if method == "DELETE"][-1] == f"volumes/{VOLUME}"
    with pytest.raises(EngineUnavailableError, match="not arrived yet"):
        home()
    bring([b"all"])
    assert home() == "n1"
    Memory(Connection()).forget(SPEC.key)
    assert (home(), fake.rows["configs"]) == ("", [])


def test_an_old_memory_beside_the_manager_binds_none_that_has_run_elsewhere(fake: Manager) -> None:
    fake.bodies[f"/volumes/{VOLUME}"] = Answer.json(200, {"Labels": SPEC.labels})
    assert home() == "n1"
    AgentConfigs(Connection()).make(SPEC.key, "on-n2", KEPT_ON_LABEL, "n2")
    assert home() == ""


def test_what_is_expected_waits_until_it_has_come_or_nothing_has_to(fake: Manager) -> None:
    AwaitedStates(Connection()).expect([SPEC.key])
    Memory(Connection()).forget(SPEC.key)
    with pytest.raises(EngineUnavailableError):
        home()
    AwaitedStates(Connection()).settle(SPEC.key)
    assert home() == ""


def test_what_a_killed_deploy_has_left_goes_before_the_next_one_makes_the_folder(
    fake: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are unique on an engine. What is left behind has an anonymous volume, which nobody would find again."""
    labels = {HANDOVER_LABEL: f"{SPEC.name}{CARRIES}"}
    fake.bodies[f"/containers/{CARRIER}/json"] = Answer.json(200, {"Id": "left", "Config": {"Labels": labels}})
    told: list[tuple[str, str, str]] = []
    answer = fake.answer

    def note(request: Request) -> Answer:
        said = request.query.get("name") or request.query.get("v", "")
        told.append((request.method, request.path.split("/", 2)[-1], said))
        return answer(request)

    monkeypatch.setattr(fake, "answer", note)
    options = {"type": "nfs", "device": ":/agents/{agent}"}
    with override_settings(BERTH_SWARM_VOLUME_DRIVER="local", BERTH_SWARM_VOLUME_OPTIONS=options):
        make_folder(Connection(), replace(SPEC, name=container_name(SPEC.key), generation=7), "i")
    assert [each for each in told if each[2]] == [
        ("DELETE", "containers/left", "True"),
        ("POST", "containers/create", CARRIER),
        ("DELETE", "containers/c", "True"),
    ]
