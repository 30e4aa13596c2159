"""Alerts about the service never go to users who are no longer staff, not even waiting ones."""

from typing import Any

import pytest
from django.core import mail

from accounts.models import MailState, OutgoingMail, User
from config.serving.fallback_alerts import FallbackAlerts
from projects.models import AlertDelivery
from projects.rules.alerts import AlertKind, Way
from projects.rules.service_alerts import Moment, Part
from projects.services.alerts.channels import choose_kinds, set_webhook
from projects.services.alerts.queueing import place_of_service
from projects.services.alerts.sending import deliver
from projects.watcher.notifications.delivery_threads import DeliveryThreads
from tests.clients import browser_of
from tests.mailing import deliver as send_mails
from tests.projects.alerts.conftest import Receiver

KINDS = [AlertKind.SERVICE, AlertKind.CRASH]


@pytest.mark.django_db
def test_pending_service_alerts_do_not_reach_former_staff(ada: User, receiver: Receiver, settings: Any) -> None:
    settings.BERTH_SENDS_MAIL = True
    set_webhook(user=ada, url=f"{receiver.url}/hook")
    for way in (Way.WEBHOOK, Way.MAIL):
        choose_kinds(user=ada, way=way, kinds=KINDS)
    place_of_service(Part.HELD, Moment.BEGUN, sentence="It is held", name="Berth")
    waiting = AlertDelivery.objects.get(channel__way=Way.MAIL)
    page = browser_of(ada).get("/settings/alerts").content.decode()
    User.objects.filter(pk=ada.pk).update(is_staff=False, is_superuser=False)
    for send in (
        DeliveryThreads(run=lambda work: work()).send_due,
        FallbackAlerts(run=lambda work: work())._deliveries.send_due,
    ):
        send()
    assert (receiver.taken, OutgoingMail.objects.count()) == ([], 0)
    assert "It is held" in page
    assert "It is held" not in browser_of(ada).get("/settings/alerts").content.decode()
    deliver(waiting)  # the situation just before the rights were taken away
    assert send_mails()
    assert (mail.outbox, OutgoingMail.objects.get().state) == ([], MailState.NOT_NEEDED)
