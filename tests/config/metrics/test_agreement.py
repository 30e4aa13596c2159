"""/metrics agrees with the API at each step of agents' lives, and while the database is away it reports the rest."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import product

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from rest_framework.test import APIClient

from accounts import clock
from accounts.models import User
from config.metrics import database_metrics
from projects.models import Event, Watch
from projects.rules.status.reasons import REPORTED_CODES, code_of_end
from projects.services.alerts.service_notifications import note_service
from projects.services.limits.capacity import learn_host_memory
from projects.services.staff.metrics import OPERATIONS, REASONS
from projects.watcher.leader import beat, become_leader
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.chores import do_chores
from tests.clients import api_of
from tests.config.metrics.reading import scrape
from tests.deploying import deploy_project, token_of_bot
from tests.fakes.engine import MemoryEngine

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]


def look() -> None:
    """Runs a round of the watcher."""
    assert become_leader("the watcher")
    beat("the watcher", reconcile().at)


def assert_agreement(*clients: APIClient) -> None:
    listed = Counter(project["status"] for client in clients for project in client.get("/api/projects").json())
    happened = Counter(Event.objects.values_list("action", "outcome"))
    told = scrape()
    assert told.by("berth_projects", "status") == listed
    done = {key: number for key, number in happened.items() if key[0] in OPERATIONS and key[1] != "warning"}
    assert told.by("berth_operations_total", "operation", "outcome") == done
    assert told.by("berth_crashes_total", "reason") == {
        outcome: number for (action, outcome), number in happened.items() if action == "crash"
    }


def test_metrics_agree_with_the_list_and_the_events_at_each_step(
    alice: User, bob: User, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second passes with each step, no matter how slow the machine is, and ten while nobody looks."""
    began, passed = clock.now(), 0
    clients = [api_of(alice), api_of(bob)]
    project = deploy_project(clients[0], telegramToken=token_of_bot(1))
    for number in (2, 3):
        deploy_project(clients[1], telegramToken=token_of_bot(number))
    path, name = f"/api/projects/{project.pk}", project.container_name

    def control(action: str) -> None:
        assert clients[0].post(f"{path}/control", {"action": action}).status_code == 200

    def break_down() -> None:
        engine.unavailable = True

    def recover() -> None:
        engine.unavailable = False
        look()

    def crash() -> None:
        engine.crash(name, exit_code=1, restarting=True)
        look()

    steps: list[Callable[[], object]] = [
        look,
        lambda: control("stop"),
        lambda: control("stop"),
        lambda: control("start"),
        look,
        *[crash] * 5,
        do_chores,
        lambda: control("restart"),
        look,
        break_down,
        recover,
        lambda: clients[0].delete(path),
        look,
        do_chores,
    ]
    for step in steps:
        passed += 10 if step is break_down else 1
        now = began + timedelta(seconds=passed)
        monkeypatch.setattr(clock, "now", lambda now=now: now)
        step()
        assert_agreement(*clients)


def test_each_node_of_a_swarm_has_a_row_and_none_is_up_while_the_manager_is_silent(engine: MemoryEngine) -> None:
    look()

    def told() -> dict[str, float]:
        return {each.labels["node"]: each.value for each in scrape().samples if each.name == "berth_engine_up"}

    single = {settings.BERTH_INSTANCE: 1}
    assert told() == single
    for nodes in ({"node1": True, "node2": False}, {"node1": True, "node3": True}):
        engine.nodes = nodes
        learn_host_memory(at_once=True)
        assert told() == nodes
    engine.unavailable = True
    learn_host_memory(at_once=True)  # which learns nothing
    Watch.objects.update(heartbeat_at=clock.now() - timedelta(minutes=1))
    note_service()
    assert told() == {"node1": 0, "node3": 0}
    engine.unavailable, engine.nodes = False, {}  # the installation went back to a single host
    look()
    learn_host_memory(at_once=True)
    assert told() == single


def test_each_crash_reason_is_counted_from_the_first() -> None:
    said = {
        code_of_end(exit_code, agent_code=code, oom_killed=oom)
        for exit_code, code, oom in product([None, *range(256)], ["", "of nobody", *REPORTED_CODES], [False, True])
    }
    assert said <= set(REASONS)


def test_no_label_is_somebodys(api: APIClient, engine: MemoryEngine) -> None:
    project = deploy_project(api, name="Telltale")
    paths = (f"/api/projects/{project.pk}", f"/projects/{project.pk}", f"/{project.pk}", "/admin/")
    for method, path in (*product(["GET"], paths), ("POST", paths[0]), *product(["BREW"], paths[:3])):
        api.generic(method, path)
    told = scrape()
    somebodys = {str(project.pk), project.pk.hex, str(project.owner_id), "Telltale", "BREW", settings.BERTH_INSTANCE}
    found = {(each.name, value) for each in told.samples for value in each.labels.values() if value in somebodys}
    assert found == {("berth_engine_up", settings.BERTH_INSTANCE)}
    assert {each.labels["method"] for each in told.samples if "method" in each.labels} >= {"GET", "POST", "other"}


def test_without_a_database_metrics_show_the_process_s_figures(engine: MemoryEngine) -> None:
    scrape()

    def refuse(*_: object) -> None:
        raise OperationalError("connection refused")

    with connection.execute_wrapper(refuse):
        told = scrape()
    assert told.value("berth_database_up") == 0
    assert told.value("berth_build_info", version=settings.BERTH_VERSION) == 1
    assert told.value("berth_http_request_duration_seconds_count", route="metrics", method="GET", status="200")
    assert told.value("berth_projects") is None
    assert engine.calls == []
    assert scrape().value("berth_database_up") == 1


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL ends what its connections wait for")
def test_a_query_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_for_long() -> None:
        with connection.cursor() as cursor:
            numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999999)"
            cursor.execute(f"{numbers} SELECT i FROM n WHERE i < 0")

    with monkeypatch.context() as slow:
        slow.setattr(database_metrics, "read_metrics", ask_for_long)
        slow.setattr(database_metrics, "DATABASE_LIMIT", 0.05)
        assert scrape().value("berth_database_up") == 0
    assert scrape().value("berth_database_up") == 1


def test_the_engine_is_not_asked(api: APIClient, engine: MemoryEngine) -> None:
    deploy_project(api)
    engine.calls.clear()
    engine.unavailable = True
    scrape()
    assert engine.calls == []
