"""Which channels get which alerts, and that their credentials are stored nowhere in plain text."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail

from accounts.models import User
from projects.models import AlertChannel, AlertDelivery, DeliveryState, Project
from projects.models.event import SYSTEM
from projects.rules.alerts import AlertKind, Way
from projects.services.alerts.channels import choose_kinds, renew_secret, rotate_alert_secrets, set_webhook
from projects.watcher.notifications import troubles
from projects.watcher.notifications.alerts import open_cursor, read_events
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from tests.fakes.engine import MemoryEngine
from tests.mailing import deliver
from tests.projects.alerts.conftest import Receiver

Beat = Callable[[], None]


def test_mails_are_sent_as_before_until_a_user_chooses(
    project: Project, owner: User, engine: MemoryEngine, beat: Beat, settings: Any
) -> None:
    settings.BERTH_SENDS_MAIL = True
    project.event(SYSTEM, "degraded", "provider_unreachable").save()
    beat()
    choose_kinds(user=owner, way=Way.MAIL, kinds=[AlertKind.DEGRADED])
    project.event(SYSTEM, "degraded", "provider_unreachable").save()
    engine.crash(project.container_name, exit_code=20, restarting=True)
    beat()
    beat()
    deliver()
    (message,) = mail.outbox
    assert message.subject.startswith(f"{project.name}: In trouble")
    assert "/settings/alerts" in message.body


def test_credentials_are_nowhere_but_encrypted(
    project: Project,
    owner: User,
    secret: str,
    receiver: Receiver,
    beat: Beat,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver.stop()
    project.event(SYSTEM, "crash", "crash").save()
    beat()
    assert AlertDelivery.objects.get().last_answer.startswith("It could not be reached")
    channel = AlertChannel.objects.get()
    stored = "".join(str(value) for row in AlertChannel.objects.values() for value in row.values())
    stored += "".join(str(row) for row in AlertDelivery.objects.values()) + caplog.text
    for needle in (secret[:-4], "of=alice"):
        assert needle not in stored
    before = settings.BERTH_ENCRYPTION_KEYS
    settings.BERTH_ENCRYPTION_KEYS = ["Y2FuYXJ5MGNhbmFyeTBjYW5hcnkwY2FuYXJ5MDAwMDA=", *before]
    assert rotate_alert_secrets() == 1
    settings.BERTH_ENCRYPTION_KEYS = settings.BERTH_ENCRYPTION_KEYS[:1]
    channel.refresh_from_db()
    assert channel.decrypt("secret") == secret
    assert renew_secret(user=owner) != secret


def test_of_two_simultaneous_saves_the_shown_secret_signs(
    owner: User, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def save_meanwhile(count: int) -> bytes:
        patch.undo()
        shown.append(set_webhook(user=owner, url=f"{receiver.url}/second"))
        return secrets.token_bytes(count)

    with monkeypatch.context() as patch:
        patch.setattr(secrets, "token_bytes", save_meanwhile)
        shown.append(set_webhook(user=owner, url=f"{receiver.url}/first"))
    channel = AlertChannel.objects.get()
    assert shown == [channel.decrypt("secret"), ""]
    assert channel.decrypt("address").endswith("/first")


def test_nothing_goes_out_that_no_secret_signs(
    project: Project, owner: User, secret: str, receiver: Receiver, beat: Beat
) -> None:
    AlertChannel.objects.update(secret_ciphertext="")
    project.event(SYSTEM, "crash", "crash").save()
    beat()
    assert receiver.taken == []
    assert AlertDelivery.objects.get().state == DeliveryState.REFUSED
    assert set_webhook(user=owner, url=receiver.url)


def test_a_look_that_finds_nothing_asks_little(project: Project, owner: User, django_assert_num_queries: Any) -> None:
    deliveries = DeliveryThreads(run=lambda work: work())
    with django_assert_num_queries(6):
        troubles.note_troubles()
        read_events(open_cursor())
        deliveries.send_due()
