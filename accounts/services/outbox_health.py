"""Reports whether mails arrive: troubles of single mails, and outages of the server."""

import smtplib
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from accounts import clock
from accounts.models import MailState, OutgoingMail
from accounts.models.outgoing_mail import ENDED_BADLY
from accounts.moments import future, not_recent
from accounts.services.outbox import BROKEN

LATE_AFTER = timedelta(minutes=10)
REPORTED_FOR = timedelta(days=7)

SEVERAL = 3
"""Number of people whose mails the server refuses in a row before this counts as a fault of the server."""

_OF_ONE_MAIL = Q(last_error__startswith=smtplib.SMTPDataError.__name__) | Q(last_error__startswith=BROKEN)
"""Errors that concern one mail or one recipient: those of the server about it, and mails that could not be written."""


def describe_trouble() -> str:
    """Returns a sentence for staff about the state of the mails; empty if all is well."""
    now = clock.now()
    late = _find_late(now)
    lost = OutgoingMail.objects.filter(state__in=ENDED_BADLY, ended_at__gt=now - REPORTED_FOR)
    waiting, unsent = late.count(), lost.count()
    if not waiting + unsent:
        return ""
    newest = (late if waiting else lost).order_by("-next_try_at").values_list("last_error", flat=True).first()
    return (
        f"Mails to users: {waiting} wait for the mail server, {unsent} were refused or given up in the last week "
        f"(last error: {newest or 'no answer'}). The list of outgoing mails shows them and can try them again."
    )


def describe_outage() -> str:
    """Returns a sentence about what blocks all mails; empty if only one mail or one recipient has trouble.

    Mails wait for the server, or were given up, and it has accepted none since the newest of them was queued. Or it
    refuses those of one person after another, for example because it no longer relays for anyone.
    """
    now = clock.now()
    given_up = OutgoingMail.objects.filter(state=MailState.GIVEN_UP, ended_at__gt=now - REPORTED_FOR)
    late = (_find_late(now) | given_up).exclude(_OF_ONE_MAIL)
    newest = late.order_by("-created_at").values_list("created_at", "last_error").first()
    if newest is None:
        return _describe_refusals(now)
    since, error = newest
    sent = OutgoingMail.objects.filter(~future("ended_at", now=now), state=MailState.SENT, ended_at__gt=since)
    if sent.exists():
        return _describe_refusals(now)
    return (
        f"Mails do not arrive: {late.count()} could not be sent, and the mail server has accepted none since "
        f"{since:%Y-%m-%d %H:%M} UTC (last error: {error or 'no answer'}). Check it and BERTH_EMAIL_URL."
    )


def _describe_refusals(now: datetime) -> str:
    sent = OutgoingMail.objects.filter(~future("ended_at", now=now), state=MailState.SENT)
    latest = sent.order_by("-ended_at").values_list("ended_at", flat=True).first()
    begin = max(now - REPORTED_FOR, latest) if latest else now - REPORTED_FOR
    refused = OutgoingMail.objects.filter(_OF_ONE_MAIL, created_at__gt=begin)
    people = refused.values("user_id").distinct().count()
    if people < SEVERAL:
        return ""
    error = refused.order_by("-created_at").values_list("last_error", flat=True).first()
    return (
        f"Mails do not arrive: those to {people} people were refused, and the mail server has accepted none since "
        f"{begin:%Y-%m-%d %H:%M} UTC (last error: {error}). Check it and BERTH_EMAIL_URL."
    )


def _find_late(now: datetime) -> QuerySet[OutgoingMail]:
    """Returns mails that were tried and still wait."""
    is_late = not_recent("created_at", within=LATE_AFTER, now=now)
    return OutgoingMail.objects.filter(is_late, state=MailState.WAITING, attempts__gt=0)
