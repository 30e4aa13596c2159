"""The memory of the engine's host is the bound for what runs: deploys and starts beyond it are 503 `no_capacity`."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Actor, EngineHost, Event, IdempotencyRecord, Plan, Project
from projects.services import lift_suspension, suspend_project
from projects.services.capacity import ASK_EVERY, measure_capacity
from projects.services.places import COMMANDS
from projects.watcher.reconcile import reconcile
from tests.chaos.racing import at_once
from tests.clients import api_of, browser_of, make_person
from tests.deploying import PROJECT, deploy_project
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem

STAFF = Actor(label="sam@example.com", source="admin")
MIB = 1 << 20


@pytest.fixture(autouse=True)
def small_host(engine: MemoryEngine, settings: Any) -> None:
    """Room for two projects on `pro`, which are 1024 MB each: 1024 MB, given twice."""
    engine.memory_of_host, settings.BERTH_OVERCOMMIT = 1024 * MIB, Decimal(2)


@pytest.fixture
def create(api: APIClient) -> Callable[..., Any]:
    numbers = iter(range(1, 100))
    return lambda **fields: api.post("/api/projects", PROJECT | {"telegramToken": f"{next(numbers)}:token"} | fields)


@pytest.fixture
def full(create: Callable[..., Any]) -> list[Project]:
    """Two projects that leave no room."""
    return [Project.objects.get(pk=create(name=name).json()["id"]) for name in ("One", "Two")]


def send(api: APIClient, project: Project, action: str) -> Any:
    return api.post(f"/api/projects/{project.pk}/control", {"action": action})


def test_a_deploy_that_the_host_cannot_hold_is_refused_and_leaves_nothing(
    full: list[Project], create: Callable[..., Any], engine: MemoryEngine
) -> None:
    answer = create()
    document = assert_problem(answer, 503, "no_capacity")
    assert document["detail"] == (
        "The host has no 1024 MB of memory left for an agent on the pro plan. "
        "Stop another agent, choose a smaller plan, or ask the staff for more room."
    )
    assert int(answer["Retry-After"]) > 0
    assert Project.objects.count() == len(engine.containers) == 2
    assert create(plan="free").json()["code"] == "no_capacity"


def test_a_dry_run_says_so_too(full: list[Project], api: APIClient) -> None:
    body = PROJECT | {"telegramToken": "77:token"}
    assert_problem(api.post("/api/projects/validate", body), 503, "no_capacity")


def test_a_refused_creation_frees_its_key(full: list[Project], api: APIClient) -> None:
    body = PROJECT | {"telegramToken": "77:token"}
    assert api.post("/api/projects", body, headers={"Idempotency-Key": "one"}).status_code == 503
    assert not IdempotencyRecord.objects.exists()
    send(api, full[0], "stop")
    assert api.post("/api/projects", body, headers={"Idempotency-Key": "one"}).status_code == 201


def test_a_stop_makes_room_and_a_start_needs_it(
    full: list[Project], create: Callable[..., Any], api: APIClient, engine: MemoryEngine
) -> None:
    assert send(api, full[0], "stop").status_code == 200
    assert create().status_code == 201
    for action in ("start", "restart"):
        assert_problem(send(api, full[0], action), 503, "no_capacity")
    row = Project.objects.get(pk=full[0].pk)
    assert (row.desired, row.status, row.operation) == ("stopped", "stopped", "")
    assert not engine.containers[row.container_name].is_up
    refused = Event.objects.filter(project_id=row.pk, outcome="failed").values_list("action", flat=True)
    assert sorted(refused) == ["restart", "start"]
    assert api.delete(f"/api/projects/{full[1].pk}").status_code == 204
    assert send(api, full[0], "start").status_code == 200


def test_what_runs_may_be_restarted_on_a_host_that_has_become_too_small(
    full: list[Project], api: APIClient, engine: MemoryEngine, settings: Any
) -> None:
    settings.BERTH_OVERCOMMIT = Decimal("0.5")
    for project in full:
        assert send(api, project, "restart").status_code == 200
        assert send(api, project, "start").status_code == 200
    engine.exit(full[0].container_name)
    reconcile()
    assert engine.containers[full[0].container_name].is_up, "the watcher brings back what has its memory"


@pytest.mark.parametrize("trouble", ["crash", "suspension", "silence"])
def test_what_is_wanted_running_keeps_its_memory(
    trouble: str, full: list[Project], create: Callable[..., Any], engine: MemoryEngine
) -> None:
    if trouble == "crash":
        engine.crash(full[0].container_name, exit_code=20)
        reconcile()
    elif trouble == "suspension":
        suspend_project(project=full[0], actor=STAFF)
    else:
        engine.fail("observe", EngineUnavailableError)
    assert create().json()["code"] == "no_capacity"
    if trouble == "suspension":
        lift_suspension(project=Project.objects.get(pk=full[0].pk), actor=STAFF)
        assert Project.objects.get(pk=full[0].pk).status == "running"


def test_a_stop_that_the_engine_did_not_carry_out_frees_nothing(
    full: list[Project], create: Callable[..., Any], api: APIClient, engine: MemoryEngine
) -> None:
    engine.fail("stop", EngineUnavailableError)
    assert send(api, full[0], "stop").status_code == 202
    assert create().json()["code"] == "no_capacity"
    reconcile()
    assert create().status_code == 201


@pytest.mark.parametrize("by", ["api", "dashboard"])
def test_a_larger_plan_needs_its_memory_too(by: str, create: Callable[..., Any], alice: User, api: APIClient) -> None:
    first, second = (Project.objects.get(pk=create(plan=plan).json()["id"]) for plan in ("pro", "starter"))
    Plan.objects.filter(slug="pro").update(memory_mb=1600)  # now 1600 and 512 of 2048 are promised

    def enlarge() -> int:
        if by == "api":
            return int(api.patch(f"/api/projects/{second.pk}", {"plan": "pro"}).status_code)
        form = {"name": second.name, "plan": "pro"}
        status = browser_of(alice).post(f"/projects/{second.pk}/change", form).status_code
        return 200 if status == 302 else status

    assert enlarge() == 503
    assert Project.objects.get(pk=second.pk).plan_id == "starter"
    assert send(api, second, "stop").status_code == 200
    assert enlarge() == 200, "a stopped one takes none"
    assert_problem(send(api, second, "start"), 503, "no_capacity")
    assert api.patch(f"/api/projects/{second.pk}", {"plan": "starter"}).status_code == 200
    assert api.patch(f"/api/projects/{first.pk}", {"plan": "free"}).status_code == 200, "a smaller one always fits"
    assert send(api, second, "start").status_code == 200


# -- what is known of the host --------------------------------------------------------------------------------------


def test_the_engine_is_asked_rarely(create: Callable[..., Any], api: APIClient, engine: MemoryEngine) -> None:
    made = Project.objects.get(pk=create().json()["id"])
    for action in ("stop", "start", "restart"):
        send(api, made, action)
    create()

    def asked() -> int:
        return [verb for verb, _ in engine.calls].count("host_memory")

    assert asked() == 1
    engine.memory_of_host = 4096 * MIB
    assert create().json()["code"] == "no_capacity"
    EngineHost.objects.update(ask_again_at=timezone.now() - timedelta(seconds=1))
    assert create().status_code == 201
    assert asked() == 2
    assert EngineHost.objects.get().ask_again_at > timezone.now() + ASK_EVERY / 2


@pytest.mark.parametrize("error", [EngineUnavailableError, EngineRefusedError, None])
def test_an_unknown_memory_refuses_nothing(error: Any, create: Callable[..., Any], engine: MemoryEngine) -> None:
    engine.memory_of_host = None
    if error:
        engine.fail("host_memory", error, times=9)
    assert [create().status_code for _ in range(4)] == [201] * 4
    capacity = measure_capacity()
    assert (capacity.host, capacity.limit, capacity.promised) == (None, None, 4096)


@pytest.mark.parametrize("error", [EngineUnavailableError, EngineRefusedError, None])
def test_what_was_known_stays_known_while_the_engine_does_not_say(
    error: Any, full: list[Project], create: Callable[..., Any], engine: MemoryEngine
) -> None:
    EngineHost.objects.update(ask_again_at=timezone.now())
    engine.memory_of_host = None
    if error:
        engine.fail("host_memory", error)
    assert create().json()["code"] == "no_capacity"
    assert EngineHost.objects.get().memory == 1024 * MIB


def test_another_instance_has_its_own_host(full: list[Project], create: Callable[..., Any], settings: Any) -> None:
    settings.BERTH_INSTANCE = "other"
    assert measure_capacity().promised == 0
    assert create().status_code == 201


# -- pages ------------------------------------------------------------------------------------------------------------


def test_the_pages_say_it(full: list[Project], alice: User, api: APIClient) -> None:
    dashboard = browser_of(alice)
    form = {
        "id": "0c1d2d1e-32a5-4f0b-9a51-0d5ad5b3d0a1", "name": "Three", "type": "assistant", "plan": "pro",
        "telegram_token": "77:token", "api_key": PROJECT["apiKey"],
    }  # fmt: skip
    refused = dashboard.post("/projects/new", form)
    assert refused.status_code == 503
    assert "has no 1024 MB of memory left" in refused.content.decode()
    send(api, full[0], "stop")
    assert dashboard.post("/projects/new", form).status_code == 302
    refused = dashboard.post(f"/projects/{full[0].pk}/control", {"action": "start"})
    assert refused.status_code == 503
    assert "has no 1024 MB of memory left" in refused.content.decode()


@pytest.mark.parametrize("path", ["project", "plan"])
def test_the_admin_shows_the_sum(path: str, full: list[Project], sam: User, engine: MemoryEngine) -> None:
    staff = browser_of(sam)

    def sentence() -> str:
        return " ".join(staff.get(f"/admin/projects/{path}/").content.decode().split())

    engine.calls.clear()
    expected = "promised 2048 MB of 2048 MB of memory: the 1024 MB of the engine's host, 2 times."
    assert expected in sentence().replace("&#x27;", "'")
    assert ("host_memory", "") not in engine.calls, "a page asks for nothing that takes time"
    EngineHost.objects.all().delete()
    assert "promised 2048 MB of memory. The engine has not said" in sentence()


def test_staff_are_told_as_well(full: list[Project], create: Callable[..., Any], sam: User, api: APIClient) -> None:
    send(api, full[0], "stop")
    create()
    data = {"action": "start", "_selected_action": [str(full[0].pk)]}
    page = browser_of(sam).post("/admin/projects/project/", data, follow=True).content.decode()
    assert "One: The host has no 1024 MB of memory left" in page


# -- at the same moment -----------------------------------------------------------------------------------------------

Taker = Callable[[APIClient, int], Callable[[], int]]


def creates(api: APIClient, number: int) -> Callable[[], int]:
    return lambda: api.post("/api/projects", PROJECT | {"telegramToken": f"{number}:token"}).status_code


def starts(api: APIClient, number: int) -> Callable[[], int]:
    made = deploy_project(api, telegramToken=f"{number}:token")
    send(api, made, "stop")
    return lambda: int(send(api, made, "start").status_code)


def enlarges(api: APIClient, number: int) -> Callable[[], int]:
    """A running one that takes no memory worth speaking of, and wants more."""
    made = deploy_project(api, telegramToken=f"{number}:token", plan="free")
    return lambda: api.patch(f"/api/projects/{made.pk}", {"plan": "pro"}).status_code


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", [creates, starts, enlarges])
@pytest.mark.parametrize("second", [creates, starts, enlarges])
def test_of_two_owners_one_gets_the_last_memory(
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
        answers = at_once(2, lambda index, takers=takers: takers[index]())  # type: ignore[misc]
        assert sorted(answers) in ([200, 503], [201, 503]), answers
        capacity = measure_capacity()
        assert capacity.limit is not None
        assert capacity.promised <= capacity.limit
        for client in clients:
            for row in client.get("/api/projects").json():
                assert client.delete(f"/api/projects/{row['id']}").status_code == 204


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_gets_the_last_place(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.memory_of_host = 1 << 40
    alice = make_person("alice")
    alice.allowances.filter(plan="pro").update(max_projects=1)
    client = api_of(alice)
    for bound in ("_total", "_each"):
        monkeypatch.setattr(COMMANDS, bound, 1000)
    answers = at_once(6, lambda index: creates(client, index + 1)())
    assert sorted(answers) == [201] + [403] * 5
    assert Project.objects.count() == len(engine.containers) == 1
