"""Agents' memories are measured; at 80 % the owner is warned, at 100 % the agent is stopped until there is room."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail
from rest_framework.test import APIClient

from accounts import clock
from accounts.models import MailState, OutgoingMail
from accounts.services import outbox
from projects.models import Plan, Project
from projects.rules.disk import BYTES_PER_FILE
from projects.watcher.reconcile.full import reconcile
from projects.watcher.upkeep.disk import measure_disks
from tests.fakes.engine import MemoryEngine
from tests.mailing import deliver
from tests.projects.disk.measuring import GIB, fill, keep, keep_and_measure, told
from tests.projects.disk.showing import shown


@pytest.fixture(autouse=True)
def _mail_is_configured(settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True
    settings.BERTH_PUBLIC_URL = "https://berth.example"


def test_the_size_of_the_memory_is_shown_with_its_time(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    empty = {"used": None, "limit": 5 * GIB, "files": None, "max_files": 5 * GIB // BYTES_PER_FILE}
    assert shown(api, project)["disk"] == empty | {"measured_at": None, "warning": None}
    before = clock.now()
    keep_and_measure(engine, project, 0.5, files=7)
    disk = shown(api, project)["disk"]
    assert (disk["used"], disk["files"], disk["warning"]) == (5 * GIB // 2, 7, None)
    assert project.disk_measured_at is not None
    assert before <= project.disk_measured_at <= clock.now()
    assert disk["measured_at"] == project.disk_measured_at.isoformat().replace("+00:00", "Z")
    assert (shown(api, project)["status"], told(project)) == ("running", [])


def test_at_80_percent_the_owner_is_warned_once_each_time(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    for portion, number in ((0.79, 0), (0.8, 1), (0.9, 1), (0.78, 1), (0.85, 1), (0.5, 1), (0.81, 2)):
        keep_and_measure(engine, project, portion)
        reconcile()
        assert len(told(project)) == number, portion
        assert shown(api, project)["status"] == "running"
        deliver()
        assert len(mail.outbox) == number
    assert told(project) == [("disk", "warning")] * 2
    assert "4.1 GB of 5 GB" in shown(api, project)["disk"]["warning"]
    assert mail.outbox[-1].to == ["alice@example.com"]
    assert "4.1 GB of 5 GB" in mail.outbox[-1].body
    assert f"https://berth.example/projects/{project.pk}" in mail.outbox[-1].body


def test_a_warning_that_finds_the_outbox_full_is_tried_again(
    project: Project, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_WAITING", 0)
    keep_and_measure(engine, project, 0.9)
    assert (project.disk_warned_at, told(project)) == (None, [])
    assert project.disk_share.warning is not None
    monkeypatch.setattr(outbox, "MOST_WAITING", 10)
    keep_and_measure(engine, project, 0.9)
    assert told(project) == [("disk", "warning")]
    assert OutgoingMail.objects.filter(state=MailState.WAITING).count() == 1


def test_an_outdated_warning_is_not_sent(project: Project, engine: MemoryEngine) -> None:
    keep_and_measure(engine, project, 0.9)
    keep_and_measure(engine, project, 0.1)
    deliver()
    assert mail.outbox == []


@pytest.mark.parametrize("what", ["space", "files"])
def test_a_full_memory_stops_the_agent_and_nothing_starts_it(
    what: str, api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    Plan.objects.filter(slug="pro").update(disk_mb=1024)
    reconcile()  # from here on events cause mails
    if what == "space":
        engine.fill(project.container_key, int(1.1 * GIB))
        sentence = "Its memory is full: 1.1 GB of 1 GB. Clear the agent's memory or choose a larger plan, then start."
    else:
        engine.fill(project.container_key, 4096, files=1_000_000)
        sentence = (
            "Its memory is full: 65,536 of 65,536 files. Clear the agent's memory or choose a larger plan, then start."
        )
    woken: list[str] = []
    measure_disks(look_soon_at=woken.append)
    assert woken == [project.container_key]
    answer = shown(api, project)
    assert answer["status"] == "stopping"
    assert answer["status_reason"]["message"] == sentence
    for _ in range(3):
        reconcile()
        measure_disks()
        assert engine.containers[project.container_name].state == "exited"
        answer = shown(api, project)
        assert (answer["status"], answer["status_reason"]["code"]) == ("failed", "disk_full")
        assert answer["status_reason"]["message"] == sentence
    assert told(project) == [("disk", "full")]
    deliver()
    (message,) = mail.outbox
    assert message.subject == "Harbour pilot needs you"
    assert sentence in message.body
    engine.restart_engine()
    engine.vanish(project.container_name)
    reconcile()
    assert project.container_name not in engine.containers
    assert shown(api, project)["status"] == "failed"


def test_the_agent_starts_again_by_itself_once_there_is_room(
    api: APIClient, project: Project, engine: MemoryEngine
) -> None:
    fill(engine, project)
    keep_and_measure(engine, project, 0.5)
    reconcile()
    assert shown(api, project)["status"] == "running"
    assert told(project) == [("disk", "full"), ("disk", "room")]


@pytest.mark.parametrize("restart", ["", "?restart=true"])
def test_a_larger_plan_lets_a_full_agent_start(
    restart: str, api: APIClient, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    project = deploy(plan="starter")
    fill(engine, project)
    answer = api.patch(f"/api/projects/{project.pk}{restart}", {"plan": "pro"})
    assert answer.status_code == 200
    reconcile()
    assert shown(api, project)["status"] == "running"


def test_a_plan_that_is_too_small_does_not_let_it_start(
    api: APIClient, deploy: Callable[..., Project], engine: MemoryEngine
) -> None:
    """The agent stores more than the larger plan allows, too: it stays down, and the start is refused."""
    project = deploy(plan="starter")
    engine.fill(project.container_key, 100 * GIB)
    measure_disks()
    reconcile()
    answer = api.patch(f"/api/projects/{project.pk}?restart=true", {"plan": "pro"})
    assert (answer.status_code, answer.json()["code"]) == (409, "disk_full")
    reconcile()
    assert shown(api, project)["status"] == "failed"


def test_staff_may_change_what_a_plan_gives(api: APIClient, project: Project, engine: MemoryEngine) -> None:
    fill(engine, project)
    Plan.objects.filter(slug="pro").update(disk_mb=10_000)
    measure_disks()
    reconcile()
    assert shown(api, project)["status"] == "running"
    Plan.objects.filter(slug="pro").update(disk_mb=100)
    measure_disks()
    reconcile()
    assert shown(api, project)["status"] == "failed"


def test_starting_a_full_stopped_agent_is_refused_with_the_reason(
    api: APIClient, project: Project, engine: MemoryEngine, control: Callable[..., Any]
) -> None:
    keep(engine, project, 1.5)
    control("stop")
    measure_disks()
    assert shown(api, project)["status"] == "stopped"
    answer = control("start")
    assert (answer.status_code, answer.json()["code"]) == (409, "disk_full")
    assert answer.json()["detail"] == (
        "The memory of “Harbour pilot” is full: 7.5 GB of 5 GB. Clear the agent's memory or choose a larger plan, "
        "then start."
    )
    assert shown(api, project)["status"] == "stopped"
