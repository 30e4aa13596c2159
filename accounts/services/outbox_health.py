"""Whether mails arrive: what staff see of single ones, and what is an outage of the server."""

import smtplib
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from accounts import clock
from accounts.models import MailState, OutgoingMail
from accounts.models.outgoing_mail import ENDED_BADLY
from accounts.moments import future, not_recent
from accounts.services.outbox import BROKEN

LATE_AFTER = timedelta(minutes=10)
TOLD_FOR = timedelta(days=7)

SEVERAL = 3
"""People whose mails the server refuses, one after the other, before it is taken for a fault of the server's."""

_OF_ONE_MAIL = Q(last_error__startswith=smtplib.SMTPDataError.__name__) | Q(last_error__startswith=BROKEN)
"""What the server says of one mail or one recipient, and what is none of its."""


def describe_trouble() -> str:
    """What the staff have to know of the mails, in a sentence; empty where all is well."""
    now = clock.now()
    late = _find_late(now)
    lost = OutgoingMail.objects.filter(state__in=ENDED_BADLY, ended_at__gt=now - TOLD_FOR)
    waiting, unsent = late.count(), lost.count()
    if not waiting + unsent:
        return ""
    newest = (late if waiting else lost).order_by("-next_try_at").values_list("last_error", flat=True).first()
    return (
        f"Mails to users: {waiting} wait for the mail server, {unsent} were refused or given up in the last week "
        f"(at last: {newest or 'no answer'}). The list of outgoing mails names them, and has them tried again."
    )


def describe_outage() -> str:
    """What keeps all mails back, in a sentence; empty where it is one mail or one recipient that does.

    Mails wait for the server itself, or were given up, and it has taken none since the newest of them was left. Or it
    refuses those of one after the other, as where it relays for nobody any more.
    """
    now = clock.now()
    given_up = OutgoingMail.objects.filter(state=MailState.GIVEN_UP, ended_at__gt=now - TOLD_FOR)
    late = (_find_late(now) | given_up).exclude(_OF_ONE_MAIL)
    newest = late.order_by("-created_at").values_list("created_at", "last_error").first()
    if newest is None:
        return _describe_refusals(now)
    since, error = newest
    sent = OutgoingMail.objects.filter(~future("ended_at", now=now), state=MailState.SENT, ended_at__gt=since)
    if sent.exists():
        return _describe_refusals(now)
    return (
        f"Mails do not arrive: {late.count()} could not be sent, and the mail server has taken none since "
        f"{since:%Y-%m-%d %H:%M} UTC (at last: {error or 'no answer'}). Look at it and at BERTH_EMAIL_URL."
    )


def _describe_refusals(now: datetime) -> str:
    sent = OutgoingMail.objects.filter(~future("ended_at", now=now), state=MailState.SENT)
    latest = sent.order_by("-ended_at").values_list("ended_at", flat=True).first()
    begin = max(now - TOLD_FOR, latest) if latest else now - TOLD_FOR
    refused = OutgoingMail.objects.filter(_OF_ONE_MAIL, created_at__gt=begin)
    people = refused.values("user_id").distinct().count()
    if people < SEVERAL:
        return ""
    error = refused.order_by("-created_at").values_list("last_error", flat=True).first()
    return (
        f"Mails do not arrive: those to {people} people were refused, and the mail server has taken none since "
        f"{begin:%Y-%m-%d %H:%M} UTC (at last: {error}). Look at it and at BERTH_EMAIL_URL."
    )


def _find_late(now: datetime) -> QuerySet[OutgoingMail]:
    """Those that were tried, and still wait."""
    is_late = not_recent("created_at", within=LATE_AFTER, now=now)
    return OutgoingMail.objects.filter(is_late, state=MailState.WAITING, attempts__gt=0)
