"""A watcher that hangs in any work is overdue; one that makes progress is not, no matter how long it takes."""

import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from projects.models import Project
from projects.models.processes.watcher import read_heartbeat
from projects.watcher import heartbeat, listener, protection, reports
from projects.watcher import watcher as loop
from projects.watcher.heartbeat import Pulse
from projects.watcher.notifications import outbox
from projects.watcher.reconcile import background
from projects.watcher.upkeep import bot_claims
from projects.watcher.watcher import Watcher
from tests.fakes.engine import MemoryEngine
from tests.waiting import wait_until
from tests.watchers import run_in_thread

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.one_database]


LIMITS = (
    (loop, "IDLE"),
    (loop, "STEP"),
    (protection, "STEP"),
    (protection, "FIREWALL"),
    (listener, "LISTENING"),
    (reports, "STEP"),
    (outbox, "SENDING"),
)


class Noted:
    """What `serve` would see."""

    def __init__(self) -> None:
        self.due = time.monotonic() + 60
        self.signs = 0

    def publish(self, due: float) -> None:
        self.due = due
        self.signs += 1

    def is_overdue(self) -> bool:
        return time.monotonic() > self.due


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    """Each piece of work has half a second, so that nobody has to wait for a minute."""
    for module, name in (*LIMITS, (background, "REPAIR"), (bot_claims, "CONFIRMATION")):
        monkeypatch.setattr(module, name, 0.5)
    for module, name in ((loop, "LOOK_EVERY"), (listener, "SILENCE"), (reports, "WAIT"), (outbox, "EVERY")):
        monkeypatch.setattr(module, name, 0.02)
    monkeypatch.setattr(protection, "FIREWALL_EVERY", 0.02)
    return Noted()


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """Set at the end, so that everything that hangs ends then."""
    event = threading.Event()
    yield event
    event.set()


HANGS = {
    "the firewall": ("ensure_firewall", None),
    "the list": ("observe", None),
    "an inspection": ("inspect", "vanish"),
    "the log of a crash": ("logs", "crash"),
    "a repair": ("deploy", "vanish"),
    "the volumes": ("list_volumes", None),
    "the lease": ("become_leader", None),
    "the heartbeat": ("beat", None),
    "the events": ("events", None),
    "the outbox": ("send_due", None),
}
"""What hangs: an engine call, or a function of the loop; and what happens to the agent before."""


@pytest.mark.parametrize(("what", "event"), HANGS.values(), ids=HANGS.keys())
def test_a_hanging_step_is_overdue(
    project: Project,
    engine: MemoryEngine,
    noted: Noted,
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    what: str,
    event: str | None,
) -> None:
    settings.BERTH_SENDS_MAIL = True
    if module := next((each for each in (loop, outbox) if hasattr(each, what)), None):
        monkeypatch.setattr(module, what, lambda *_, **__: held.wait(60))
    else:
        engine.slow(what, held)
    if event is not None:
        getattr(engine, event)(project.container_name)
    with run_in_thread(Watcher(Pulse(noted.publish))):
        wait_until(noted.is_overdue, within=60, what="Nobody would notice")
        held.set()


def test_a_hanging_thread_stops_the_heartbeat_until_it_continues(
    project: Project, engine: MemoryEngine, noted: Noted, held: threading.Event
) -> None:
    """So that `/readyz` and the first page of the admin say so, even if nothing starts another watcher."""
    engine.slow("events", held)
    with run_in_thread(Watcher(Pulse(noted.publish))):
        wait_until(noted.is_overdue, within=60)
        looks = engine.calls.count(("observe", ""))
        wait_until(lambda: engine.calls.count(("observe", "")) > looks + 2, within=60)
        stopped_at = read_heartbeat()
        wait_until(lambda: engine.calls.count(("observe", "")) > looks + 9, within=60)
        assert read_heartbeat() == stopped_at
        engine.slow("events", None)
        held.set()
        wait_until(lambda: read_heartbeat() != stopped_at, within=60)


def test_a_finished_step_is_never_overdue(
    project: Project, engine: MemoryEngine, noted: Noted, held: threading.Event
) -> None:
    """Once the engine answers again, signs of life come again too."""
    engine.slow("observe", held)
    with run_in_thread(Watcher(Pulse(noted.publish))):
        wait_until(noted.is_overdue, within=60)
        engine.slow("observe", None)
        held.set()
        wait_until(lambda: not noted.is_overdue(), within=60)
    assert noted.due == math.inf


def test_a_silent_engine_does_not_stop_the_heartbeat(
    project: Project, engine: MemoryEngine, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process could do no better."""
    for module, name in LIMITS:
        monkeypatch.setattr(module, name, 60.0)
    engine.unavailable = True
    with run_in_thread(Watcher(Pulse(noted.publish))):
        signs = noted.signs
        wait_until(lambda: noted.signs > signs + 20, within=60)
        assert not noted.is_overdue()


@pytest.mark.parametrize("seconds", [1.0, 100.0])
def test_the_first_piece_that_is_due_counts(seconds: float) -> None:
    noted = Noted()
    pulse_ = Pulse(noted.publish)
    pulse_.expect(50.0)
    began = time.monotonic()
    with pulse_.work(within=seconds):
        assert noted.due <= began + min(seconds, 50.0) + 1
    assert noted.due > began + 40
    pulse_.end()
    assert noted.due == math.inf


def test_a_step_has_longer_than_all_limits_inside_it() -> None:
    from containers.docker_api.client import CALL_LIMIT
    from projects.rules.status.lifecycle import LONGEST_CLAIM

    assert heartbeat.STEP > 3 * CALL_LIMIT
    assert LONGEST_CLAIM.total_seconds() < heartbeat.REPAIR
    assert heartbeat.CONFIRMATION > bot_claims.PASS_SECONDS + 20
    assert heartbeat.IDLE > loop.LOOK_EVERY + loop.SETTLE
