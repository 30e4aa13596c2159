"""Alerts about agents arrive once, in few messages, even if other receivers are slow."""

import base64
import hashlib
import hmac
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from accounts import clock
from accounts.models import User
from containers.agent_contract import AgentState
from containers.vocabulary import Health
from projects.models import AlertChannel, AlertDelivery, DeliveryState, Event, Project, Trouble
from projects.models.event import SYSTEM
from projects.rules.alerts import DEGRADED, FLAPS_WITHIN, PAUSES, RECOVER, AlertKind, Way
from projects.services.alerts.channels import choose_kinds, set_webhook
from projects.services.limits.budgets import EVENT as BUDGET
from projects.watcher.notifications import delivery_threads, troubles
from projects.watcher.notifications.alerts import open_cursor, read_events
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from tests.fakes.engine import MemoryEngine
from tests.projects.alerts.conftest import Receiver

Beat = Callable[[], None]


def _pass(monkeypatch: pytest.MonkeyPatch, time: timedelta) -> None:
    now = clock.now() + time
    monkeypatch.setattr(clock, "now", lambda: now)


def _kinds(receiver: Receiver) -> list[str]:
    return [body["data"]["kind"] for body in receiver.bodies]


def test_a_crash_and_its_outcome_are_sent_signed(
    project: Project, engine: MemoryEngine, secret: str, receiver: Receiver, beat: Beat, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.crash(project.container_name, exit_code=1)
    beat()
    beat()
    ((headers, body),) = receiver.taken
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mac = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{mac}"
    assert receiver.bodies[0]["data"]["project"]["name"] == project.name
    assert receiver.bodies[0]["data"]["sentence"] == "Crashed"
    engine.report(project.container_name, AgentState.RUNNING)
    beat()
    assert len(receiver.taken) == 1  # well, and not for long yet
    _pass(monkeypatch, troubles.WELL_FOR + timedelta(seconds=1))
    beat()
    assert _kinds(receiver) == ["crash", "recovery"]
    assert not Trouble.objects.exists()
    assert Event.objects.filter(action="recover").count() == 1


@pytest.mark.parametrize(
    ("code", "told"),
    [("provider_busy", "provider_busy"), ("of_its_own", "unexplained"), ("suspended", "unexplained")],
)
def test_a_problem_is_reported_once_it_lasts(
    project: Project,
    engine: MemoryEngine,
    secret: str,
    receiver: Receiver,
    beat: Beat,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    told: str,
) -> None:
    engine.report(project.container_name, AgentState.DEGRADED, code)
    engine.set_health(project.container_name, Health.UNHEALTHY)
    beat()
    assert receiver.taken == []
    _pass(monkeypatch, troubles.LASTS + timedelta(seconds=1))
    for _ in range(3):
        beat()
    assert _kinds(receiver) == ["degraded"]
    assert receiver.bodies[0]["data"]["code"] == told


def test_a_flapping_agent_causes_few_messages(
    project: Project, secret: str, receiver: Receiver, beat: Beat, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        action, outcome = ("recover", "done") if number % 2 else ("crash", "crash")
        project.event(SYSTEM, action, outcome).save()
    beat()
    assert len(receiver.taken) == 3
    assert AlertDelivery.objects.get(state=DeliveryState.WAITING).batched == 96
    _pass(monkeypatch, FLAPS_WITHIN + timedelta(seconds=1))
    beat()
    assert len(receiver.taken) == 4
    assert receiver.bodies[3]["data"]["batched"] == 96
    assert receiver.bodies[3]["data"]["kind"] == "recovery"


def test_a_repeated_problem_is_reported_once_an_hour(
    project: Project, secret: str, receiver: Receiver, beat: Beat, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes in (0, 1, 1, 1, 58):
        _pass(monkeypatch, timedelta(minutes=minutes))
        project.event(SYSTEM, "crash", "crash").save()
        beat()
    assert _kinds(receiver) == ["crash", "crash"]


def test_a_flapping_tool_server_is_reported_once_a_day(
    project: Project, owner: User, secret: str, receiver: Receiver, beat: Beat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it admits the agent again is also reported once, and other trouble each time."""
    choose_kinds(user=owner, way=Way.WEBHOOK, kinds=[AlertKind.CRASH, AlertKind.DEGRADED, AlertKind.RECOVERY])
    for code in [*["tools_refused"] * 3, "provider_down", *["tools_refused"] * 2]:
        for action, outcome in ((DEGRADED, code), (RECOVER, "done")):
            _pass(monkeypatch, timedelta(minutes=31))
            project.event(SYSTEM, action, outcome).save()
            beat()
    _pass(monkeypatch, timedelta(days=1))
    project.event(SYSTEM, DEGRADED, "tools_refused").save()
    beat()
    told = [body["data"]["code"] for body in receiver.bodies if body["data"]["kind"] == "degraded"]
    assert told == ["tools_refused", "provider_down", "tools_refused"]
    assert _kinds(receiver).count("recovery") <= 4


def test_each_channel_reports_only_chosen_events_of_own_projects(
    project: Project, owner: User, bob: User, secret: str, receiver: Receiver, beat: Beat
) -> None:
    choose_kinds(user=owner, way=Way.WEBHOOK, kinds=[AlertKind.BUDGET])
    set_webhook(user=bob, url=f"{receiver.url}/bobs")
    for action, outcome in (("crash", "crash"), (BUDGET, "granted"), (BUDGET, "warning"), ("start", "done")):
        project.event(SYSTEM, action, outcome).save()
    beat()
    assert _kinds(receiver) == ["budget"]


def test_a_try_that_fails_is_repeated_with_the_same_id_after_growing_pauses(
    project: Project, secret: str, receiver: Receiver, beat: Beat, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_kinds(user=User.objects.get(pk=project.owner_id), way=Way.WEBHOOK, kinds=[AlertKind.CRASH])
    receiver.status = 500
    project.event(SYSTEM, "crash", "crash").save()
    beat()
    beat()
    assert len(receiver.taken) == 1
    for pause in PAUSES:
        _pass(monkeypatch, pause + timedelta(seconds=1))
        beat()
    assert len(receiver.taken) == len(PAUSES) + 1
    assert len({headers["webhook-id"] for headers, _ in receiver.taken}) == 1
    delivery = AlertDelivery.objects.get()
    assert (delivery.state, delivery.last_answer) == (DeliveryState.GIVEN_UP, "Answered 500")


def test_after_a_kill_a_message_is_sent_again_with_the_same_id(
    project: Project, secret: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.event(SYSTEM, "crash", "crash").save()
    before = open_cursor()
    read_events(open_cursor())
    DeliveryThreads(run=lambda _: None).send_due()  # claimed, and dead before it was sent
    read_events(before)
    assert AlertDelivery.objects.count() == 1
    _pass(monkeypatch, PAUSES[0] + timedelta(seconds=1))
    DeliveryThreads(run=lambda work: work()).send_due()
    assert len(receiver.taken) == 1


def test_a_slow_receiver_delays_nobody_else(
    project: Project, owner: User, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All slow receivers together use fewer places than there are, and delay no other at a check."""
    monkeypatch.setattr(delivery_threads, "BATCH", 4)
    begun: list[Any] = []
    deliveries = DeliveryThreads(run=begun.append)
    users = [User.objects.create(email=f"u{number}@example.com") for number in range(12)]
    channels = [AlertChannel.objects.create(user=user, way=Way.WEBHOOK, target="x") for user in users]
    for channel in channels[:11]:
        for _ in range(2):
            AlertDelivery.objects.create(channel=channel, kind="crash")
        deliveries._leave(channel.pk, is_slow=True)
    deliveries.send_due()
    assert len(begun) == 4
    AlertDelivery.objects.create(channel=channels[11], kind="crash")
    deliveries.send_due()
    assert len(begun) == 5
