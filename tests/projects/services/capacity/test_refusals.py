"""The memory of the engine's host limits what runs: deploys and starts beyond it are 503 `no_capacity`."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from containers.errors import EngineUnavailableError
from projects.models import Event, IdempotencyRecord, Plan, Project
from projects.services import lift_suspension, suspend_project
from projects.watcher.reconcile.full import reconcile
from tests.clients import browser_of
from tests.deploying import PROJECT
from tests.fakes.engine import MemoryEngine
from tests.problem_document import assert_problem
from tests.projects.services.capacity.commands import STAFF, send


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


def test_a_dry_run_reports_the_lack_of_memory_too(full: list[Project], api: APIClient) -> None:
    body = PROJECT | {"telegramToken": "77:token"}
    assert_problem(api.post("/api/projects/validate", body), 503, "no_capacity")


def test_a_refused_creation_frees_its_idempotency_key(full: list[Project], api: APIClient) -> None:
    body = PROJECT | {"telegramToken": "77:token"}
    assert api.post("/api/projects", body, headers={"Idempotency-Key": "one"}).status_code == 503
    assert not IdempotencyRecord.objects.exists()
    send(api, full[0], "stop")
    assert api.post("/api/projects", body, headers={"Idempotency-Key": "one"}).status_code == 201


def test_a_stop_frees_memory_and_a_start_needs_it(
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


def test_a_running_agent_may_be_restarted_on_a_host_that_became_too_small(
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
def test_an_agent_that_should_run_keeps_its_memory_reserved(
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
