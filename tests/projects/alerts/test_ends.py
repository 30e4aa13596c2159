"""Every message ends, no matter what fails, and none blocks its channel."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import DatabaseError

from accounts import clock
from accounts.models import User
from projects.models import AlertChannel, AlertDelivery, DeliveryState, Project
from projects.models.event import SYSTEM
from projects.rules.alerts import PAUSES, Way
from projects.services.alerts import queueing as alert_placing
from projects.services.alerts import sending as alert_sending
from projects.services.alerts.sending import send_test
from projects.watcher.notifications import delivery_threads
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from projects.watcher.upkeep import retention
from tests.projects.alerts.conftest import Receiver

Beat = Callable[[], None]


def _waiting(owner: User, **values: object) -> AlertDelivery:
    channel = AlertChannel.objects.get(user=owner)
    return AlertDelivery.objects.create(channel=channel, kind="crash", facts={"code": "crash"}, **values)


def _break(*_: object, **__: object) -> None:
    raise RuntimeError("can't start new thread")


def test_a_channel_is_released_if_no_thread_can_start(owner: User, secret: str) -> None:
    _waiting(owner)
    deliveries = DeliveryThreads(run=_break)
    with pytest.raises(RuntimeError):
        deliveries.send_due()
    assert deliveries._under_way == {}


@pytest.mark.parametrize("error", [RuntimeError, DatabaseError])
def test_the_last_try_ends_a_message_that_breaks(
    owner: User, secret: str, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(_: AlertDelivery) -> None:
        raise error

    monkeypatch.setattr(delivery_threads, "deliver", fail)
    delivery = _waiting(owner, attempts=len(PAUSES) - 1)
    for state in (DeliveryState.WAITING, DeliveryState.GIVEN_UP):
        AlertDelivery.objects.update(next_try_at=clock.now())
        DeliveryThreads(run=lambda work: work()).send_due()
        delivery.refresh_from_db()
        assert delivery.state == state
    assert delivery.ended_at is not None
    assert delivery.last_answer == "This server could not send it"


def test_an_unrecorded_last_attempt_does_not_stay_pending(owner: User, secret: str, receiver: Receiver) -> None:
    delivery = _waiting(owner, attempts=len(PAUSES) + 1)
    DeliveryThreads(run=lambda work: work()).send_due()
    delivery.refresh_from_db()
    assert (delivery.state, receiver.taken) == (DeliveryState.GIVEN_UP, [])


def test_tests_are_bounded_and_end_though_the_process_dies(
    owner: User, secret: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_placing, "KEPT", 3)
    channel = AlertChannel.objects.get(user=owner)
    for _ in range(5):
        last = send_test(channel, within=5.0)
    assert AlertDelivery.objects.count() == 3
    assert AlertDelivery.objects.filter(pk=last.pk, state=DeliveryState.DELIVERED).exists()
    monkeypatch.setattr(alert_sending, "send", _break)
    with pytest.raises(RuntimeError):
        send_test(channel, within=5.0)
    assert not AlertDelivery.objects.filter(ended_at=None).exists()


def test_removing_a_channel_during_its_test_is_no_error(
    owner: User, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(delivery: AlertDelivery, **_: object) -> alert_sending.Sent:
        AlertChannel.objects.all().delete()
        return alert_sending.Sent(DeliveryState.DELIVERED, "Answered 204")

    monkeypatch.setattr(alert_sending, "send", remove)
    assert send_test(AlertChannel.objects.get(user=owner), within=5.0).state == DeliveryState.DELIVERED


def test_a_refused_message_does_not_suppress_the_next_one(
    project: Project, secret: str, receiver: Receiver, beat: Beat
) -> None:
    for _ in range(2):
        project.event(SYSTEM, "crash", "crash").save()
        beat()
        AlertDelivery.objects.update(state=DeliveryState.REFUSED)
    assert len(receiver.taken) == 2


def test_a_bot_without_a_chat_keeps_its_messages_until_there_is_one(owner: User) -> None:
    channel = AlertChannel.objects.create(user=owner, way=Way.TELEGRAM)
    delivery = _waiting(owner)
    begun: list[object] = []
    DeliveryThreads(run=begun.append).send_due()
    assert begun == []
    AlertChannel.objects.filter(pk=channel.pk).update(target="77")
    DeliveryThreads(run=begun.append).send_due()
    assert len(begun) == 1
    AlertDelivery.objects.filter(pk=delivery.pk).update(created_at=clock.now() - timedelta(days=15))
    list(retention.prune())
    assert not AlertDelivery.objects.exists()
