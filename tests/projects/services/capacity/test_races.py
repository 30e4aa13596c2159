"""Of several requests for the last memory of the host, one gets it."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from projects.models import Plan, Project
from projects.services.bulkheads import COMMANDS
from projects.services.limits.capacity import measure_capacity
from tests.chaos.races.racing import at_once
from tests.clients import api_of, make_person
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine
from tests.projects.services.capacity.commands import MIB, send

Taker = Callable[[APIClient, int], Callable[[], int]]


def creates(api: APIClient, number: int) -> Callable[[], int]:
    return lambda: api.post("/api/projects", PROJECT | {"telegramToken": f"{number}:token"}).status_code


def starts(api: APIClient, number: int) -> Callable[[], int]:
    made = deploy_project(api, telegramToken=f"{number}:token")
    send(api, made, "stop")
    return lambda: int(send(api, made, "start").status_code)


def enlarges(api: APIClient, number: int) -> Callable[[], int]:
    """A running project that uses almost no memory, and wants more."""
    made = deploy_project(api, telegramToken=f"{number}:token", plan="free")
    return lambda: api.patch(f"/api/projects/{made.pk}", {"plan": "pro"}).status_code


@pytest.mark.django_db(transaction=True)
@pytest.mark.either_database
@pytest.mark.parametrize("first", [creates, starts, enlarges])
@pytest.mark.parametrize("second", [creates, starts, enlarges])
def test_one_of_two_owners_gets_the_last_memory(
    first: Taker, second: Taker, engine: MemoryEngine, settings: Any
) -> None:
    Plan.objects.filter(slug="free").update(memory_mb=128)
    engine.memory_of_host, settings.BERTH_OVERCOMMIT = (1024 + 256) * MIB, Decimal(1)
    clients = [api_of(make_person(name)) for name in ("alice", "bob")]
    for turn in range(3):
        takers = [
            take(client, 10 * turn + number)
            for number, (take, client) in enumerate(zip((first, second), clients, strict=True), 1)
        ]
        answers = at_once(2, lambda index, takers=takers: takers[index]())  # type: ignore[misc]  # its default is not inferred
        assert sorted(answers) in ([200, 503], [201, 503]), answers
        capacity = measure_capacity()
        assert capacity.limit is not None
        assert capacity.promised <= capacity.limit
        for client in clients:
            for row in client.get("/api/projects").json():
                assert client.delete(f"/api/projects/{row['id']}").status_code == 204


@pytest.mark.django_db(transaction=True)
def test_one_of_many_simultaneous_requests_gets_the_last_slot(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.memory_of_host = 1 << 40
    alice = make_person("alice")
    alice.allowances.filter(plan="pro").update(max_projects=1)
    client = api_of(alice)
    for bound in ("_total", "_each"):
        monkeypatch.setattr(COMMANDS, bound, 1000)
    answers = at_once(6, lambda index: creates(client, index + 1)())
    assert sorted(answers) == [201] + [403] * 5
    assert Project.objects.count() == len(engine.containers) == 1
