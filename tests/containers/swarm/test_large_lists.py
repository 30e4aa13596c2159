"""Lists of many agents. Each service contains its list of system calls, so each row has some 40 kB."""

import json
from typing import Any

import pytest
from django.conf import settings

from containers.docker_api.client import ANSWER_SIZE, Connection
from containers.swarm.observation.events import LOOK_AT_MANY_EVERY, LOOK_EVERY, pause_after
from containers.swarm.services.services import Services
from containers.swarm.tasks.service_spec import service_payload
from tests.containers.docker_api.calling import SPEC
from tests.containers.swarm.manager import manager
from tests.containers.swarm.test_tasks import BEGAN
from tests.containers.swarm.test_tasks import task as make_task
from tests.fakes.messages import Answer

MANY = 1000


def test_a_thousand_services_are_listed_with_their_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = service_payload(SPEC, image=("x", "x"), network="n", secrets={}, api=(1, 44), volume={})
    row = {"Version": {"Index": 3}, "CreatedAt": BEGAN.isoformat(), "Spec": spec, "PreviousSpec": spec, "ID": "#"}
    task = {**make_task(1, "running"), "ID": "#", "ServiceID": "#", "Spec": spec["TaskTemplate"]}
    with manager(monkeypatch) as fake:
        fake.bodies = {"/services": _many(row), "/tasks": _many(task)}
        assert len(fake.bodies["/services"].body) > 4 * ANSWER_SIZE
        found = Services(Connection()).list_labels({"berth.instance": settings.BERTH_INSTANCE})
    assert len(found) == MANY
    assert all(len(service.runs) == 1 for service in found)


def _many(row: dict[str, Any]) -> Answer:
    pieces = json.dumps(row).split("#")
    return Answer(200, f"[{','.join(str(number).join(pieces) for number in range(MANY))}]".encode())


def test_the_states_of_many_services_are_compared_less_often() -> None:
    assert [pause_after(count) for count in (0, 99, 100, MANY)] == [LOOK_EVERY] * 2 + [LOOK_AT_MANY_EVERY] * 2
