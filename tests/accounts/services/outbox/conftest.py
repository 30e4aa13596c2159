"""A mail server, and a mail in the outbox."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.models import OutgoingMail, User
from accounts.services import code_alarm
from accounts.services.outbox import queue_mail
from tests.fakes.smtp import SmtpServer, smtp_server


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with smtp_server() as found:
        yield found


@pytest.fixture
def _mail_goes_there(settings: Any, server: SmtpServer) -> None:
    settings.BERTH_SENDS_MAIL = True
    settings.EMAIL_BACKEND = "config.mail_backend.DeadlineBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""


@pytest.fixture
def alarm(alice: User) -> OutgoingMail:
    queue_mail(kind=code_alarm.KIND, user_id=alice.pk, facts={"address": "203.0.113.9"})
    return OutgoingMail.objects.get()
