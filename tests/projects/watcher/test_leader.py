"""One watcher at a time holds the lease, and only that one writes the heartbeat."""

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from projects.models import Watch
from projects.models.processes.holder import name_process
from projects.rules.status.lifecycle import LEASE
from projects.watcher import leader
from projects.watcher.leader import (
    SURE_FOR,
    Leadership,
    LeadershipLostError,
    beat,
    become_leader,
    name_watcher,
    step_down,
)

pytestmark = pytest.mark.django_db(transaction=True)


def heartbeat() -> Any:
    return Watch.objects.values_list("heartbeat_at", flat=True).first()


def test_a_lease_has_one_holder_until_it_expires_or_is_released() -> None:
    assert become_leader("one")
    assert become_leader("one")
    assert not become_leader("two")
    Watch.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert become_leader("two")
    step_down("one")  # it no longer has it
    assert not become_leader("one")
    step_down("two")
    assert become_leader("one")


def test_a_watcher_without_the_lease_cannot_beat() -> None:
    assert become_leader("one")
    beat("two", timezone.now())
    assert heartbeat() is None
    beat("one", timezone.now())
    assert heartbeat() is not None
    lease_until = Watch.objects.get(instance=settings.BERTH_INSTANCE).lease_until
    assert lease_until is not None
    assert lease_until > timezone.now() + LEASE / 2


def test_a_late_round_leaves_a_newer_heartbeat_as_it_is_unless_it_is_in_the_future() -> None:
    now = timezone.now()
    at, newer = now - timedelta(seconds=11), now - timedelta(seconds=1)
    assert become_leader("one")
    for stored, expected in (
        (newer, newer),
        (now + timedelta(hours=1), at),
        (at - timedelta(seconds=1), at),
        (None, at),
    ):
        Watch.objects.update(heartbeat_at=stored)
        beat("one", at)
        assert heartbeat() == expected, stored


def test_a_watcher_paused_for_too_long_checks_its_lease_before_it_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has seen is outdated, even if the watcher that led meanwhile has returned the lease."""
    ours, now = Leadership("one"), time.clock_gettime(time.CLOCK_BOOTTIME)
    clocks = {time.CLOCK_BOOTTIME: lambda: now}  # the only one that continues while the machine sleeps
    monkeypatch.setattr("projects.watcher.leader.time.clock_gettime", lambda clock: clocks[clock]())
    assert ours.take(become_leader)
    Watch.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    ours.require()
    assert not ours.is_held()
    now += SURE_FOR  # a long round renews it
    ours.require()
    assert ours.is_held()
    assert not ours.is_elsewhere()
    for since in ("two", ""):
        Watch.objects.update(holder=since, lease_until=timezone.now() + LEASE if since else None)
        now += SURE_FOR
        assert ours.is_elsewhere() is bool(since)
        with pytest.raises(LeadershipLostError):
            ours.require()
        assert Watch.objects.get().holder == since


def test_two_watchers_with_the_same_process_id_have_different_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leader, "name_process", lambda: "")
    one, two = name_watcher(), name_watcher()
    assert one != two
    assert max(map(len, (one, two))) <= (Watch._meta.get_field("holder").max_length or 0)
    assert become_leader(one)
    assert not become_leader(two)


def test_one_of_many_watchers_gets_the_lease() -> None:
    barrier, got = threading.Barrier(12), []

    def take(name: str) -> None:
        barrier.wait()
        if become_leader(name):
            got.append(name)
        connection.close()

    threads = [threading.Thread(target=take, args=(str(number),)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1


def test_the_lease_of_a_process_that_was_killed_here_is_free_at_once_and_any_other_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = name_process().replace(f" {os.getpid()}", f" {process.pid}")
        assert name != name_process()
        assert become_leader(name)
        assert not become_leader("next")
        process.kill()
        process.wait()
    place, _, number = name.partition(" ")
    for other in (f"{place}0 {number}", f"{place} {number} ", f"{place} -{number}", f"here-{number}", number):
        Watch.objects.update(holder=other)
        assert not become_leader("next"), other
    Watch.objects.update(holder=name)
    assert become_leader("next")
    assert not become_leader("another")
