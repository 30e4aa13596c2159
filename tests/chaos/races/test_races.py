"""Many requests at once: one operation at a time, one container for a key, no more projects than the plan allows, and
at the end the engine has what was wanted last."""

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from rest_framework.test import APIClient

from projects.models import Plan, Project
from projects.services.bulkheads import COMMANDS as COMMANDS_AT_ONCE
from projects.watcher.reconcile.full import reconcile
from tests.chaos.inside import kill_points
from tests.chaos.races.racing import COMMANDS, assert_one_at_a_time, at_once
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.other_databases import grow_old
from tests.waiting import wait_until

pytestmark = [pytest.mark.timeout(3600), pytest.mark.django_db(transaction=True), pytest.mark.either_database]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every = metafunc.config.getoption("--chaos", "short") == "long"
    if "threads" in metafunc.fixturenames:
        metafunc.parametrize(("threads", "rounds"), [(50, 20) if every else (8, 5)])


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """Which claim held which project when, in this process."""
    monkeypatch.setenv("CHAOS_DIR", str(tmp_path))
    for name in ("claim", "record"):
        monkeypatch.setattr(Project, name, getattr(Project, name))  # put back afterwards
    kill_points.keep_history(Project)
    return lambda: [json.loads(line) for line in (tmp_path / "history").read_text().splitlines()]


@pytest.fixture(autouse=True)
def _places_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The more requests there are at once, the harder the race."""
    for bound in ("_total", "_each"):
        monkeypatch.setattr(COMMANDS_AT_ONCE, bound, 1000)


@pytest.fixture
def api(api: APIClient, settings: Any) -> APIClient:
    settings.BERTH_LIMITS = dict.fromkeys(settings.BERTH_LIMITS, 1_000_000)
    return api


@pytest.fixture
def slow_engine(engine: MemoryEngine) -> Iterator[MemoryEngine]:
    """Every step takes a moment, in which the others come."""
    for step in ("deploy.create", "deploy.confirm", "deploy.start", "stop", "remove", "inspect"):
        engine.slow(step, lambda: time.sleep(random.uniform(0, 0.004)))
    yield engine
    engine.reset()


def body(token: str = "123:abc", **fields: Any) -> dict[str, Any]:
    return {"name": "Pilot", "plan": "pro", "telegramToken": token, "apiKey": "sk-racer", **fields}


def test_mixed_commands_never_overlap_and_reach_the_desired_state(
    threads: int, rounds: int, api: APIClient, slow_engine: MemoryEngine, history: Any
) -> None:
    chance = random.Random(1)
    for _ in range(rounds):
        path = f"/api/projects/{api.post('/api/projects', body()).json()['id']}"
        wishes = [chance.choice(COMMANDS) for _ in range(threads)]
        answers = at_once(threads, lambda index: api.post(f"{path}/control", {"action": wishes[index]}))  # noqa: B023 - all are answered within the round
        for wish, answer in zip(wishes, answers, strict=True):
            assert answer.status_code in ({200, 202} if wish == "stop" else {200, 409}), (wish, answer.content)
        reconcile()  # it finishes the stops that were answered 202
        project = Project.objects.get()
        container = slow_engine.containers.get(project.container_name)
        assert project.operation == ""
        assert (container is not None and container.is_up) == (project.desired == "running")
        assert api.get(path).json()["status"] == project.desired
        assert len(slow_engine.containers) <= 1
        assert api.delete(path).status_code == 204
    assert_one_at_a_time(history())


def test_a_deletion_among_other_commands_leaves_nothing(
    threads: int, rounds: int, api: APIClient, slow_engine: MemoryEngine
) -> None:
    chance = random.Random(2)
    for _ in range(rounds):
        path = f"/api/projects/{api.post('/api/projects', body()).json()['id']}"
        wishes = ["delete", *(chance.choice([*COMMANDS, "delete"]) for _ in range(threads - 1))]

        def act(index: int, path: str = path, wishes: list[str] = wishes) -> Any:
            time.sleep(index % 4 / 100)
            return (
                api.delete(path)
                if wishes[index] == "delete"
                else api.post(f"{path}/control", {"action": wishes[index]})
            )

        answers = at_once(threads, act)
        assert {answer.status_code for answer in answers} <= {200, 202, 204, 404, 409}
        assert [answer.status_code for answer in answers].count(204) == 1
        assert not Project.objects.exists()
        assert not slow_engine.containers
        if (
            slow_engine.volumes
        ):  # of a deploy that had found them before the deletion, and created its container after it
            grow_old(slow_engine)
            reconcile()
        assert not slow_engine.volumes


def test_reads_during_commands_never_report_a_crash_or_a_failure(
    threads: int, rounds: int, api: APIClient, slow_engine: MemoryEngine
) -> None:
    """Nothing crashes here: a read that says so has mixed two moments."""
    path = f"/api/projects/{api.post('/api/projects', body()).json()['id']}"
    chance = random.Random(3)

    def act(index: int) -> set[str]:
        seen = set()
        for _ in range(10 * rounds if index % 2 == 0 else rounds):
            if index % 2 == 0:
                seen.add(api.get(path).json()["status"])
            else:
                api.post(f"{path}/control", {"action": chance.choice(COMMANDS)})
            connections.close_all()  # as after every request, because there are more threads than connections
        return seen

    seen = set().union(*at_once(threads, act))
    assert seen <= {"running", "starting", "stopping", "stopped", "restarting"}


def test_one_idempotency_key_creates_one_container(is_long: bool, api: APIClient, slow_engine: MemoryEngine) -> None:
    number = 100 if is_long else 20

    def created() -> str | None:
        answer = api.post("/api/projects", body(), headers={"Idempotency-Key": "same"})
        assert answer.status_code in {201, 409}, answer.content
        connections.close_all()
        return str(answer.json()["id"]) if answer.status_code == 201 else None

    assert len(set(at_once(number, lambda _: wait_until(created, within=60, every=0.05)))) == 1
    assert len(slow_engine.containers) == Project.objects.count() == 1


def test_parallel_creations_never_exceed_the_plan(is_long: bool, api: APIClient, slow_engine: MemoryEngine) -> None:
    number = 50 if is_long else 16
    answers = at_once(number, lambda index: api.post("/api/projects", body(f"{index + 1}:abc")))
    allowed = Plan.objects.get(slug="pro").max_projects
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [201] * allowed + [403] * (number - allowed)
    assert len(slow_engine.containers) == Project.objects.count() == allowed


def test_one_of_many_creations_gets_the_bot(is_long: bool, api: APIClient, slow_engine: MemoryEngine) -> None:
    number = 50 if is_long else 8
    answers = at_once(number, lambda index: api.post("/api/projects", body("77:abc", plan="pro")))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * (number - 1)
    assert len(slow_engine.containers) == Project.objects.count() == 1
