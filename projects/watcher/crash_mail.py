"""Tells an owner by email that an agent needs them: it crashed for good, or could not be made again.

It reads the events with a cursor of its own, so that no crash is forgotten when the process dies after recording one.
"""

import logging
from datetime import timedelta
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from projects.models import Event, EventCursor, Project
from projects.models.event import SYSTEM
from projects.models.event_cursor import newest_event_id
from projects.rules.reasons import Reason
from projects.rules.remedies import Remedy
from projects.services.bot_claims import VERIFY
from projects.services.observation import refresh
from projects.watcher.failures import concerns_all

log = logging.getLogger(__name__)

AT_MOST_EVERY = timedelta(hours=1)
BATCH = 200
"""Events that a round reads at most."""

NEEDS_THE_OWNER = {(Remedy.GIVE_UP.value, "done"), (Remedy.DECLARE_FAILED.value, "done")} | {
    *((remedy.value, "failed") for remedy in Remedy),
    (VERIFY, "failed"),
}
"""Action and outcome of the watcher's events that make a mail."""


def open_cursor() -> EventCursor:
    return EventCursor.named(f"{settings.BERTH_INSTANCE} crash mail")


def send_crash_mails(cursor: EventCursor) -> None:
    """Reads on from the cursor and mails the owners. Without a mail server the events are passed over.

    A mail that cannot be sent is given up, and ends this round's mails: a silent mail server takes 10 s for each.
    """
    if not settings.BERTH_SENDS_MAIL:
        cursor.advance(newest_event_id())
        return
    for event in cursor.unread(limit=BATCH):
        can_go_on = not _needs_the_owner(event) or _try_to_notify(event)
        cursor.advance(event.pk)
        if not can_go_on:
            return


def _try_to_notify(event: Event) -> bool:
    """As `_notify_owner`. A mail that breaks in a way that nobody foresaw is passed over, so that others get theirs."""
    try:
        return _notify_owner(event)
    except Exception as error:
        if concerns_all(error):
            raise
        log.exception("The crash notice for project %s broke; it is passed over.", event.project_id)
        return True


def _needs_the_owner(event: Event) -> bool:
    return event.source == SYSTEM.source and (event.action, event.outcome) in NEEDS_THE_OWNER


def _notify_owner(event: Event) -> bool:
    """Sends the reason and a link; at most one mail for each project and hour. Returns False where sending failed."""
    rows = Project.objects.filter(pk=event.project_id, instance=settings.BERTH_INSTANCE)
    project = rows.select_related("owner", "plan", "agent_type").first()
    if project is None:
        return True
    refresh([project])
    reason = project.reason
    now = timezone.now()
    due = rows.filter(Q(noticed_at=None) | Q(noticed_at__lte=now - AT_MOST_EVERY))
    if reason is None or not due.update(noticed_at=now):
        return True
    return _send(project, reason)


def _send(project: Project, reason: Reason) -> bool:
    link = f"{settings.BERTH_PUBLIC_URL}/projects/{project.pk}"
    text = render_to_string("projects/crash_mail.txt", {"project": project, "reason": reason, "link": link})
    try:
        send_mail(f"{project.name} needs you", text, None, [project.owner.email])
    except (SMTPException, OSError) as error:
        # The status tells it all the same.
        log.warning("The crash notice for project %s could not be sent: %s", project.pk, type(error).__name__)
        return False
    return True
