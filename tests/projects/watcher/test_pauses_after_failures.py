"""A project that fails repeatedly is processed less and less often, and staff see that."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import clock
from containers.errors import EngineRefusedError, EngineUnavailableError
from projects.models import Project, Watch
from projects.models.columns.reconciliation import LONGEST_PAUSE, pause_after
from projects.watcher.reconcile import project as reconcile_project
from projects.watcher.reconcile.full import reconcile
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.watcher.failing import break_at, end
from tests.projects.watcher.rows import later


def test_a_project_that_fails_is_skipped_for_longer_and_longer(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.exit(victim.container_name, exit_code=1)
    with monkeypatch.context() as patch:
        broken = break_at(patch, victim, reconcile_project, "carry_out", RuntimeError("a bug"))
        at = timezone.now()
        patch.setattr(clock, "now", lambda: at)
        for failures in range(1, 13):
            reconcile()
            assert reconcile().skipped == 1
            assert len(broken) == failures
            now = Project.objects.get(pk=victim.pk)
            assert now.reconcile_failures == failures
            assert now.reconcile_again_at == at + pause_after(failures)
            later(victim, reconcile_again_at=at)
    assert reconcile().repaired == [f"bring back: {victim.container_name}"]
    now = Project.objects.get(pk=victim.pk)
    assert (now.reconcile_failures, now.reconcile_failed_at, now.reconcile_again_at, now.reconcile_error) == (
        (0, None, None, "")
    )


def test_the_pause_grows_and_has_an_end() -> None:
    pauses = [pause_after(failures) for failures in range(1, 100)]
    assert pauses[:3] == [timedelta(seconds=4), timedelta(seconds=8), timedelta(seconds=16)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == pause_after(10**9) == LONGEST_PAUSE


def test_a_container_that_cannot_be_stopped_does_not_cause_an_event_in_each_round(
    victim: Project, others: list[Project], engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = timezone.now()
    monkeypatch.setattr(clock, "now", lambda: at)  # otherwise the pause would end on a slow machine
    later(victim, desired="stopped")
    engine.fail("stop", EngineRefusedError("It does not stop."), times=100)
    for _ in range(20):
        reconcile()
    assert engine.calls.count(("stop", victim.container_key)) == 1


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
def test_a_command_of_the_owner_ends_the_pause(
    victim: Project, others: list[Project], engine: MemoryEngine, api: Any, action: str
) -> None:
    later(victim, reconcile_failures=9, reconcile_again_at=timezone.now() + LONGEST_PAUSE, observed_at=None)
    engine.exit(victim.container_name, exit_code=1)
    assert api.post(f"/api/projects/{victim.pk}/control", {"action": action}).status_code == 200
    assert Project.objects.get(pk=victim.pk).reconcile_failures == 0


def test_a_failing_row_does_not_count_as_fresh(
    victim: Project, others: list[Project], engine: MemoryEngine, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeat does not vouch for a row at which rounds fail, so a read asks the engine."""
    old = timezone.now() - timedelta(minutes=1)
    later(victim, observed_at=old, updated_at=old)
    engine.crash(victim.container_name, exit_code=20)
    with monkeypatch.context() as patch:
        break_at(patch, victim, reconcile_project, "record_observation", RuntimeError("a bug"))
        result = reconcile()
    Watch.objects.create(instance="berth", heartbeat_at=result.at)
    assert api.get(f"/api/projects/{victim.pk}").json()["status"] == "crashed"


def test_staff_see_failures_in_log_and_admin_without_the_exception_s_message(
    victim: Project,
    others: list[Project],
    engine: MemoryEngine,
    sam: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine.exit(victim.container_name, exit_code=1)
    with monkeypatch.context() as patch:
        break_at(patch, victim, reconcile_project, "carry_out", RuntimeError("what it says"))
        with caplog.at_level(logging.WARNING):
            reconcile()
    assert f"Could not look at {victim.container_name} (1 times in a row)." in caplog.text
    assert "Traceback" in caplog.text
    admin = browser_of(sam)
    page = admin.get(f"/admin/projects/project/{victim.pk}/change/").content.decode()
    assert "Failed 1 times in a row, at last with RuntimeError at " in page
    assert "what it says" not in page
    address = "/admin/projects/project/?reconcile_failed_at__isempty="
    listed = {kind: admin.get(f"{address}{empty}").content.decode() for kind, empty in (("fails", 0), ("well", 1))}
    assert str(victim.pk) in listed["fails"]
    assert str(victim.pk) not in listed["well"]
    assert all(str(other.pk) in listed["well"] and str(other.pk) not in listed["fails"] for other in others)


def test_if_the_engine_answers_no_call_the_round_ends_and_no_project_is_blamed(
    victim: Project, others: list[Project], engine: MemoryEngine
) -> None:
    end(others, engine)
    engine.exit(victim.container_name)
    engine.slow("deploy", lambda: setattr(engine, "unavailable", True))
    with pytest.raises(EngineUnavailableError):
        reconcile()
    assert not Project.objects.filter(reconcile_failures__gt=0).exists()
