"""The watcher: prompt because of the engine's events, right because of its list."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from projects.models import AgentType, Plan, Project, Watch
from projects.models.event import SYSTEM
from projects.services import NewProject, create_project
from projects.watcher import protection
from projects.watcher import watcher as loop
from projects.watcher.leader import become_leader
from projects.watcher.reconcile.full import reconcile
from projects.watcher.reconcile.round import Round
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until
from tests.watchers import watchers_in_threads

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(alice: User, engine: MemoryEngine) -> Project:
    wanted = NewProject(
        name="Pilot",
        agent_type=AgentType.objects.get(slug="assistant"),
        plan=Plan.objects.get(slug="free"),
        telegram_token="1:token",
    )
    return create_project(owner=alice, wanted=wanted, actor=SYSTEM)


@pytest.fixture
def watch() -> Iterator[Callable[[], Watcher]]:
    with watchers_in_threads() as start:
        yield start


HELD = 120.0
"""The most seconds without an answer of the engine, so that a failing test ends."""


def state() -> str:
    return Project.objects.get().container_state


def let_look(engine: MemoryEngine, *, times: int) -> None:
    """Waits until the watcher has asked the engine for its list this many times more."""
    seen = engine.calls.count(("observe", ""))
    wait_until(lambda: engine.calls.count(("observe", "")) >= seen + times)


def heartbeat() -> Any:
    return Watch.objects.values_list("heartbeat_at", flat=True).first()


def test_the_watcher_beats_once_the_rows_are_complete(project: Project, watch: Any) -> None:
    before = timezone.now()
    watch()
    wait_until(lambda: (heartbeat() or before) > before)


def test_an_event_triggers_a_check_at_once(
    project: Project, watch: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 3600)
    watch()
    wait_until(lambda: heartbeat() is not None)
    wait_until(lambda: ("events", "") in engine.calls)
    engine.crash(project.container_name, exit_code=20, restarting=True)
    wait_until(lambda: Project.objects.get().status == "crashed")


def test_an_end_is_shown_while_the_engine_does_not_answer_about_it(
    project: Project, watch: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 3600)
    watch()
    wait_until(lambda: heartbeat() is not None)
    wait_until(lambda: ("events", "") in engine.calls)
    answers = threading.Event()
    engine.slow("inspect", lambda: answers.wait(HELD))
    try:
        engine.crash(project.container_name, exit_code=1, restarting=True)
        wait_until(lambda: state() == "restarting", within=HELD / 2)
    finally:
        answers.set()


def test_many_that_are_put_off_wait_until_the_watcher_has_rested(watch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[tuple[float, set[str]]] = []
    late = {str(number) for number in range(9)}

    def put_off(*, changed_keys: set[str], **_: Any) -> Round:
        rounds.append((time.monotonic(), set(changed_keys)))
        return Round(at=timezone.now(), put_off=late if len(rounds) == 1 else set())

    monkeypatch.setattr(loop, "LOOK_EVERY", 3600)
    monkeypatch.setattr(loop, "REST", 0.3)
    monkeypatch.setattr(loop, "reconcile", put_off)
    watch()
    wait_until(lambda: len(rounds) == 2)
    (first, nothing), (second, asked) = rounds
    assert (nothing, asked) == (set(), late)
    assert second - first >= 0.3


def test_without_events_the_list_finds_it(
    project: Project, watch: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.1)

    def nothing(within: Any, **_: Any) -> Iterator[Any]:
        time.sleep(0.05)
        return iter(())

    monkeypatch.setattr(engine, "events", nothing)
    watch()
    wait_until(lambda: heartbeat() is not None)
    engine.vanish(project.container_name)
    wait_until(lambda: project.container_name in engine.containers)
    wait_until(lambda: Project.objects.get().status == "running")


def test_the_watcher_survives_an_engine_that_goes_and_comes_back(
    project: Project, watch: Any, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.05)
    watch()
    wait_until(lambda: heartbeat() is not None)
    engine.unavailable = True
    let_look(engine, times=2)  # the one that had begun before is over then
    silent = heartbeat()
    let_look(engine, times=3)
    assert heartbeat() == silent  # no heartbeat without a complete round
    engine.unavailable = False
    wait_until(lambda: heartbeat() > silent)


def test_an_unexpected_error_does_not_end_the_watcher(
    project: Project, watch: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = threading.Event()

    def break_once(**changed_names: Any) -> Any:
        if not broken.is_set():
            broken.set()
            raise RuntimeError("a bug")
        return reconcile(**changed_names)

    monkeypatch.setattr(loop, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(loop, "reconcile", break_once)
    watch()
    wait_until(lambda: heartbeat() is not None)
    assert "a bug" in caplog.text


def test_one_of_two_watchers_is_active_and_the_other_takes_over(
    project: Project, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def try_to_lead(name: str) -> bool:
        leads = become_leader(name)
        tries.append(name)
        return leads

    monkeypatch.setattr(loop, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(loop, "become_leader", try_to_lead)
    first, second = watch(), watch()
    wait_until(lambda: heartbeat() is not None)
    leader = Watch.objects.get().holder
    tries.clear()
    wait_until(lambda: all(tries.count(name) > 3 for name in (first.name, second.name)))
    assert Watch.objects.get().holder == leader
    other = second if leader == first.name else first
    (first if leader == first.name else second).stop()
    wait_until(lambda: Watch.objects.get().holder == other.name)


def test_the_watcher_sets_the_firewall_and_logs_a_failure_once(
    project: Project,
    watch: Any,
    engine: MemoryEngine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(protection, "FIREWALL_EVERY", 0.0)
    engine.firewall_warning = "Berth is not root and may not set firewall rules."
    watch()
    wait_until(lambda: engine.calls.count(("ensure_firewall", "")) > 3)
    assert caplog.text.count("may not set firewall rules") == 1
