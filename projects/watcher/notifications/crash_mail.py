"""The mail that an agent needs its owner: it was given up after crashes, or could not be created again.

It reads events with a cursor of its own, so that no crash is lost if the process dies after recording one.
"""

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string

from accounts import clock
from accounts.errors import OutboxFullError
from accounts.models import OutgoingMail, User
from accounts.moments import not_recent
from accounts.services.outbox import Letter, queue_mail
from containers.vocabulary import ContainerState
from projects.models import Event, EventCursor, Project
from projects.models.event import SYSTEM
from projects.models.event_cursor import newest_event_id
from projects.rules.alerts import AlertKind
from projects.rules.status.lifecycle import Desired, Operation
from projects.rules.status.reasons import Reason
from projects.rules.status.remedies import Remedy
from projects.services.alerts.channels import wants_mail
from projects.services.credentials.bot_claims import VERIFY
from projects.services.limits.disk import EVENT, FULL
from projects.watcher.failures import is_of_the_database

log = logging.getLogger(__name__)

KIND = "agent"
AT_MOST_EVERY = timedelta(hours=1)
BATCH = 200
"""The maximum number of events that a round reads."""

NEEDS_THE_OWNER = {(Remedy.GIVE_UP.value, "done"), (Remedy.DECLARE_FAILED.value, "done")} | {
    *((remedy.value, "failed") for remedy in Remedy),
    (VERIFY, "failed"),
    (EVENT, FULL),
}
"""Actions and outcomes of the watcher's events that cause a mail."""


def open_cursor() -> EventCursor:
    return EventCursor.named(f"{settings.BERTH_INSTANCE} crash mail")


def queue_crash_mails(cursor: EventCursor) -> None:
    """Reads events from the cursor on and puts mails to owners into the outbox. Without a mail server it skips all.

    Each mail is one transaction with the advance of the cursor, so that a dying process neither loses nor repeats one.
    If the outbox is full, or the database fails at an event, for example because of a lock, the events wait.
    """
    if not settings.BERTH_SENDS_MAIL:
        cursor.advance(newest_event_id())
        return
    for event in cursor.unread(limit=BATCH):
        try:
            notice = _find_notice(event) if _needs_the_owner(event) else None
            with transaction.atomic():
                if notice is not None:
                    _queue(*notice, event=event)
                cursor.advance(event.pk)
        except Exception as error:
            if isinstance(error, OutboxFullError) or is_of_the_database(error):
                log.warning("The crash notice for project %s waits: %s", event.project_id, error)
                return
            # Other owners still get their mails.
            log.exception("The crash notice for project %s failed; it is skipped.", event.project_id)
            cursor.advance(event.pk)


def render_crash_mail(mail: OutgoingMail, _user: User) -> Letter | None:
    """Renders the mail, or returns None if the project is deleted. Reads the log now, so that it has only one copy."""
    project = Project.objects.filter(pk=UUID(mail.facts["project"]), owner_id=mail.user_id).first()
    if project is None:
        return None
    facts = {
        "project": project,
        "reason": mail.facts["reason"],
        "at": mail.facts["at"],
        "link": f"{settings.BERTH_PUBLIC_URL}/projects/{project.pk}",
    }
    return Letter(subject=f"{project.name} needs you", text=render_to_string("projects/crash_mail.txt", facts))


def _needs_the_owner(event: Event) -> bool:
    return event.source == SYSTEM.source and (event.action, event.outcome) in NEEDS_THE_OWNER


def _find_notice(event: Event) -> tuple[Project, Reason] | None:
    """Returns the project and why it needs its owner; None if it is gone or well again.

    The reason comes from the row, which was written with the event. A busy engine might not answer.
    """
    rows = Project.objects.filter(pk=event.project_id, instance=settings.BERTH_INSTANCE)
    project = rows.select_related("owner", "plan", "agent_type").first()
    if project is None:
        return None
    _pass_over_our_stop(project)
    facts = project.facts()
    reason = project.explain(facts._replace(checked_at=facts.now))
    return None if reason is None else (project, reason)


def _pass_over_our_stop(project: Project) -> None:
    """Shows a given-up agent that is still being stopped as it was when it ended by itself."""
    is_given_up = project.gave_up_at is not None and project.desired == Desired.RUNNING
    if not (is_given_up and project.operation == Operation.STOP):
        return
    project.operation, project.container_state = Operation.NONE, ContainerState.EXITED
    if project.ended_at is not None:
        for field, value in project.last_end().items():
            setattr(project, field, value)


def _queue(project: Project, reason: Reason, *, event: Event) -> None:
    """Puts the mail into the outbox, at most one per project and hour, if the owner wants it.

    Raises `OutboxFullError`.
    """
    if not wants_mail(project.owner_id, AlertKind.CRASH):
        return
    now = clock.now()
    due = Project.objects.filter(not_recent("noticed_at", within=AT_MOST_EVERY, now=now), pk=project.pk)
    if due.update(noticed_at=now):
        at = f"{event.at:%Y-%m-%d %H:%M}"
        facts = {"project": str(project.pk), "reason": reason.message, "at": at}
        queue_mail(kind=KIND, user_id=project.owner_id, facts=facts)
