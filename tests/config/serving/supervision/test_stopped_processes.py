"""A process that lives but does nothing is noticed:
a stopped watcher is replaced, and a stopped worker blocks nobody."""

import math
import os
import signal
import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts import clock
from accounts.models import User
from config.serving.supervision.watcher_process import OVERDUE_LOOKS, KeptWatcher
from config.serving.worker.heartbeat import SharedPulse
from projects.models import Watch
from projects.models.processes.watcher import BEATS_WITHIN
from tests.clients import browser_of
from tests.config.serving.served import PATIENCE, Served, children_of
from tests.waiting import wait_until

STUCK = 20.0
"""Seconds: more than a busy machine takes, and less than the half minute after which a stopped worker is replaced."""


class Child:
    """A watcher's process, as the supervisor sees it."""

    def __init__(self) -> None:
        self.pid, self.alive, self.killed = 1234, True, False

    def is_alive(self) -> bool:
        return self.alive

    def kill(self) -> None:
        self.killed = True

    def join(self, timeout: float) -> None:
        assert timeout
        self.alive = False


@pytest.fixture
def child() -> Child:
    return Child()


@pytest.fixture
def kept(child: Child) -> Any:
    kept: Any = KeptWatcher(lambda _: pytest.fail("It was started."))
    kept.child = child
    return kept


def test_a_watcher_that_is_overdue_at_several_looks_is_killed(kept: Any, child: Child) -> None:
    kept.due.value = time.monotonic() - 1
    for _ in range(OVERDUE_LOOKS - 1):
        kept.end_stuck(child)
        assert not child.killed
    kept.end_stuck(child)
    assert child.killed


def test_a_process_that_shows_life_in_between_is_not_replaced(kept: Any, child: Child) -> None:
    """The situation after both were stopped together, or the whole machine was."""
    for _ in range(5):
        for due in (time.monotonic() - 1, time.monotonic() - 1, time.monotonic() + 60):
            kept.due.value = due
            kept.end_stuck(child)
    assert not child.killed


@pytest.mark.parametrize("due", [math.inf, time.monotonic() + 3600])
def test_a_process_that_is_not_due_yet_is_not_replaced(kept: Any, child: Child, due: float) -> None:
    kept.due.value = due
    for _ in range(10):
        kept.end_stuck(child)
    assert not child.killed


def test_a_dead_process_is_left_to_the_restart(kept: Any, child: Child) -> None:
    kept.due.value, child.alive = 0.0, False
    for _ in range(10):
        kept.end_stuck(child)
    assert not child.killed


def test_a_worker_shows_its_life_on_the_monotonic_clock() -> None:
    from gunicorn.config import Config

    shown = SharedPulse(Config())
    first = shown.last_update()
    shown.notify()
    assert first <= shown.last_update() <= time.monotonic()
    shown.close()


def test_a_worker_is_not_blamed_for_time_without_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    from gunicorn.config import Config

    now = 1000.0
    monkeypatch.setattr("config.serving.worker.heartbeat.time.monotonic", lambda: now)
    shown = SharedPulse(Config())

    def age() -> float:
        return now - shown.last_update()

    now = 1001.0
    assert age() == 1.0
    now = 1601.0  # the machine was stopped for ten minutes
    assert age() == 1.0
    now = 1602.0
    assert age() == 2.0  # and since then the worker does nothing
    shown.notify()
    now = 1603.0
    assert age() == 1.0
    now = 1606.0
    assert age() == 4.0  # the ten minutes are forgotten
    shown.close()


AGES = {
    "just now": (timedelta(0), True),
    "nearly too long ago": (BEATS_WITHIN - timedelta(seconds=5), True),
    "too long ago": (BEATS_WITHIN + timedelta(seconds=1), False),
    "yesterday": (timedelta(days=1), False),
    "tomorrow": (-timedelta(days=1), False),
}


@pytest.mark.django_db
@pytest.mark.parametrize(("age", "works"), AGES.values(), ids=AGES.keys())
def test_readiness_and_the_admin_say_whether_the_watcher_works(
    client: Client, sam: User, age: timedelta, works: bool
) -> None:
    Watch.objects.create(instance=settings.BERTH_INSTANCE, heartbeat_at=clock.now() - age)
    answer = client.get("/readyz")
    word = "ok" if works else "unavailable"
    assert (answer.status_code, answer.json()["watcher"]) == (200 if works else 503, word)
    page = browser_of(sam).get(reverse("admin:index")).content.decode()
    assert ("The watcher has done nothing since" in page) == (not works)


@pytest.mark.rare(1)
def test_stopped_processes_are_replaced_or_done_without(served: Served) -> None:
    served.wait_until_up()
    watcher, worker = served.watcher, min(children_of(served.web))
    os.kill(worker, signal.SIGSTOP)
    os.kill(watcher, signal.SIGSTOP)
    try:
        assert all(served.is_up(within=STUCK) for _ in range(20))
    finally:
        os.kill(worker, signal.SIGCONT)
    wait_until(lambda: served.watcher != watcher, within=2 * PATIENCE, what=served.log.read_text)
    assert f"The watcher, process {watcher}, is alive but no longer works." in served.log.read_text()
    wait_until(lambda: served.log.read_text().count("Watching.") == 2, within=PATIENCE, what=served.log.read_text)
    assert served.is_up()
