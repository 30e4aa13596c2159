"""Operators are notified of trouble with the service once when it begins and once when it ends."""

import shutil
from collections.abc import Callable
from ctypes import c_int
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest
from django.core import mail
from django.test import Client

from accounts import clock
from accounts.models import OutgoingMail, User
from config.serving.fallback_alerts import FallbackAlerts
from config.serving.gunicorn import _begin
from projects.models import AlertChannel, AlertDelivery, Gateway, Installation, ServiceTrouble, Watch
from projects.models.installation import read_installation
from projects.rules.alerts import AlertKind, Way
from projects.rules.service_alerts import LASTS, WELL_FOR, Part
from projects.services.alerts.channels import choose_kinds, set_webhook
from projects.services.alerts.service_health import find_troubles
from projects.services.alerts.service_notifications import note_service
from projects.watcher.leader import beat
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from tests.clients import browser_of
from tests.fakes.engine import MemoryEngine
from tests.projects.alerts.conftest import Receiver

HERE = "berth"


class Disk(NamedTuple):
    total: int
    used: int
    free: int


Change = Callable[[], object]


def _changes(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> dict[Part, tuple[Change, Change]]:
    """For each part, how to break and how to repair it. A dead watcher is one without a heartbeat."""
    everything, watch = Installation.objects.all(), Watch.objects.filter(instance=HERE)
    long_ago, mails, user = clock.now() - timedelta(hours=1), OutgoingMail.objects, User.objects.get()

    def warn(warning: str) -> Change:
        return lambda: Gateway.objects.update_or_create(pk=HERE, defaults={"warning": warning})

    def leave(free: int) -> Change:
        return lambda: monkeypatch.setattr(shutil, "disk_usage", lambda _path: Disk(10**12, 10**12 - free, free))

    return {
        Part.HELD: (
            lambda: everything.update(held_because="Agents of another database are on the engine."),
            lambda: everything.update(held_because=""),
        ),
        Part.ENGINE: (partial(setattr, engine, "unavailable", True), partial(setattr, engine, "unavailable", False)),
        Part.WATCHER: (lambda: None, lambda: None),
        Part.FIREWALL: (
            lambda: watch.update(firewall_warning="Agents can reach private networks."),
            lambda: watch.update(firewall_warning=""),
        ),
        Part.GATEWAY: (warn("Its image is not there."), warn("")),
        Part.DISK: (leave(10**8), leave(10**12)),
        Part.BACKUP: (
            lambda: everything.update(created_at=clock.now() - timedelta(days=8)),
            lambda: everything.update(backed_up_at=clock.now()),
        ),
        Part.MAIL: (
            lambda: mails.create(kind="alert", user_id=user.pk, created_at=long_ago, attempts=3),
            lambda: mails.all().delete(),
        ),
    }


@pytest.fixture
def told(ada: User, receiver: Receiver, engine: MemoryEngine) -> Receiver:
    """Ada's webhook, which only gets alerts about the service."""
    read_installation()
    set_webhook(user=ada, url=f"{receiver.url}/hook")
    choose_kinds(user=ada, way=Way.WEBHOOK, kinds=[AlertKind.SERVICE])
    beat("tests", clock.now())
    Watch.objects.update_or_create(instance=HERE, defaults={"heartbeat_at": clock.now()})
    return receiver


def _pass(monkeypatch: pytest.MonkeyPatch, time: timedelta, *, beats: bool) -> None:
    now = clock.now() + time
    monkeypatch.setattr(clock, "now", lambda: now)
    if beats:
        Watch.objects.update(heartbeat_at=now)


@pytest.mark.django_db
@pytest.mark.parametrize("part", Part)
def test_each_service_problem_is_reported_once_at_its_beginning_and_end(
    part: Part, told: Receiver, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = FallbackAlerts(run=lambda work: work()).step if part in {Part.ENGINE, Part.WATCHER} else _look
    spoil, mend = _changes(engine, monkeypatch)[part]
    spoil()
    down = part in {Part.ENGINE, Part.WATCHER}
    assert down or set(find_troubles()) == {part}
    _pass(monkeypatch, timedelta(seconds=20), beats=not down)
    step()
    assert told.taken == []  # it may pass
    for _ in range(3):
        _pass(monkeypatch, LASTS, beats=not down)
        step()
    ((begun),) = told.bodies
    assert (begun["type"], begun["data"]["code"]) == ("service.begun", part.value)
    assert begun["data"]["sentence"]
    assert begun["data"]["url"].endswith("/admin/")
    mend()
    for time in (timedelta(0), WELL_FOR / 2, WELL_FOR, WELL_FOR):
        _pass(monkeypatch, time, beats=True)
        _look()
    assert [body["type"] for body in told.bodies] == ["service.begun", "service.ended"]
    assert told.bodies[1]["data"]["sentence"] == str(part.label)


def _look() -> None:
    """Does what the watcher does besides its rounds."""
    note_service()
    DeliveryThreads(run=lambda work: work()).send_due()


@pytest.mark.django_db
def test_the_web_server_sends_alerts_and_mails_for_a_dead_watcher(
    told: Receiver, ada: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BERTH_SENDS_MAIL = True
    choose_kinds(user=ada, way=Way.MAIL, kinds=[AlertKind.SERVICE])
    web = [FallbackAlerts(run=lambda work: work()) for _ in range(2)]
    for _ in range(4):
        _pass(monkeypatch, LASTS, beats=False)
        for process in web:
            process.step()
    assert [body["data"]["code"] for body in told.bodies] == ["watcher"]
    (letter,) = mail.outbox
    assert letter.to == [ada.email]
    assert "The watcher has done nothing since" in letter.subject
    assert "/admin/" in letter.body


@pytest.mark.django_db
def test_the_web_server_sends_nothing_while_the_watcher_beats(told: Receiver, engine: MemoryEngine) -> None:
    Installation.objects.update(held_because="Something.")
    FallbackAlerts().step()
    assert not ServiceTrouble.objects.exists()
    assert engine.calls == []


def test_each_process_of_the_web_server_has_an_alert_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[FallbackAlerts] = []
    booted = c_int(0)

    def note(fallback: FallbackAlerts) -> bool:
        begun.append(fallback)
        return True

    monkeypatch.setattr(FallbackAlerts, "start", note)
    _begin(booted, Mock(begin_when_possible=lambda begin: begin()))
    assert (len(begun), booted.value) == (1, 1)


@pytest.mark.django_db
def test_only_staff_choose_and_receive_service_alerts(
    told: Receiver, ada: User, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def boxes(user: User) -> str:
        return browser_of(user).get("/settings/alerts").content.decode()

    assert "Berth itself" in boxes(ada)
    assert "Berth itself" not in boxes(alice)
    client: Client = browser_of(alice)
    assert client.post("/settings/alerts/mail", {"do": "save", "mail-kinds": ["service"]}).status_code == 400
    assert not AlertChannel.objects.filter(user=alice, service=True).exists()
    User.objects.filter(pk=ada.pk).update(is_staff=False, is_superuser=False)
    Installation.objects.update(held_because="Something.")
    for _ in range(3):
        _pass(monkeypatch, LASTS, beats=True)
        note_service()
    assert ServiceTrouble.objects.get().is_told
    assert not AlertDelivery.objects.exists()


@pytest.mark.django_db
def test_zero_days_ask_for_no_backup(settings: Any) -> None:
    read_installation()
    Installation.objects.update(created_at=clock.now() - timedelta(days=400))
    assert "No backup is known yet" in find_troubles()[Part.BACKUP]
    settings.BERTH_BACKUP_DAYS = 0
    assert Part.BACKUP not in find_troubles()
